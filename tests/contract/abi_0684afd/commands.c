/* Command handlers over the functions of actord_host. */
#include "old.h"

typedef struct old_host {
  const actord_host* host;
} old_host;

static old_host the_host;

static int32_t Create(const actord_host* host, void** self) {
  if (host->struct_size < sizeof(actord_host)) return ACTORD_UNIMPLEMENTED;
  the_host.host = host;
  *self = &the_host;
  host->log(host, ACTORD_LOG_INFO, OldText("old commands are ready"));
  return ACTORD_OK;
}

/* The first function that does not do what the header says, or "ok". */
static const char* TryAll(const actord_host* host, const actord_pid* self) {
  const actord_pid none = {0, 0, 0, 0};
  const actord_message message = {
      .struct_size = sizeof(actord_message),
      .topic = {"hosted", 6},
      .payload = OldPayload("by the host"),
  };
  const actord_bytes name = OldText("old/name"), group = OldText("old/group");
  actord_pid other = none;
  char text[64];
  actord_bytes pid_text = {text, host->format_pid(host, self, text)};

  if (host->monotonic_ns(host) == 0) return "monotonic_ns";
  if (host->unix_time_ns(host) < 1000000000000000000u) return "unix_time_ns";
  if (host->parse_pid(host, pid_text, &other) != ACTORD_OK ||
      !OldSamePid(&other, self)) {
    return "parse_pid";
  }
  if (host->parse_pid(host, name, &other) != ACTORD_INVALID_ARGUMENT) {
    return "parse_pid of a name";
  }
  if (host->send(host, self, self, &message) != ACTORD_OK) return "send";
  if (host->send(host, self, &none, &message) != ACTORD_NOT_FOUND) {
    return "send to nobody";
  }
  if (host->register_name(host, self, name, &other) != ACTORD_OK) {
    return "register_name";
  }
  other = none;
  if (host->look_up_name(host, name, &other) != ACTORD_OK ||
      !OldSamePid(&other, self)) {
    return "look_up_name";
  }
  if (host->release_name(host, self, name) != ACTORD_OK) return "release_name";
  if (host->release_name(host, self, name) != ACTORD_NOT_FOUND) {
    return "release_name again";
  }
  if (host->join_group(host, self, group) != ACTORD_OK) return "join_group";
  other = none;
  if (host->group_members(host, group, &other, 1) != 1 ||
      !OldSamePid(&other, self)) {
    return "group_members";
  }
  if (host->leave_group(host, self, group) != ACTORD_OK) return "leave_group";
  if (host->cancel(host, &none, name) != ACTORD_NOT_FOUND) return "cancel";
  if (host->terminate(host, &none, name) != ACTORD_NOT_FOUND) {
    return "terminate";
  }
  return "ok";
}

static int32_t HandleAll(void* self, actord_call* call) {
  const actord_host* host = ((old_host*)self)->host;
  if (!OldIs(call->command, "old.all") || call->tag == 0 ||
      !OldIs(call->payload.bytes, "try")) {
    const actord_payload why = OldPayload("not what was yielded");
    call->api->reply(call, ACTORD_INTERNAL, &why);
    return ACTORD_HANDLED;
  }
  const actord_payload result = OldPayload(TryAll(host, &call->from));
  call->api->reply(call, ACTORD_OK, &result);
  return ACTORD_HANDLED;
}

/* On the blocking pool: completes later, by the timer or at once. */
static int32_t HandleLater(void* self, actord_call* call) {
  const actord_host* host = ((old_host*)self)->host;
  const actord_completion completion = call->api->defer(call);
  if (OldIs(call->payload.bytes, "timer")) {
    host->complete_after(host, completion, 1000000);
    return ACTORD_DEFERRED;
  }
  const actord_payload why = OldPayload("later");
  host->complete(host, completion, ACTORD_DATA_LOSS, &why);
  return ACTORD_DEFERRED;
}

static int32_t HandleSpawn(void* self, actord_call* call) {
  const actord_host* host = ((old_host*)self)->host;
  const actord_spawn spawn = {
      .struct_size = sizeof(actord_spawn),
      .flags = ACTORD_SPAWN_PRIORITY | ACTORD_SPAWN_MONITOR | ACTORD_SPAWN_NAME,
      .process_type = {"old.child", 9},
      .method = {"answer", 6},
      .input = call->payload,
      .priority = ACTORD_PRIORITY_HIGHEST,
      .name = {"old/spawned", 11},
  };
  host->spawn(host, &call->from, &spawn, call->api->defer(call));
  return ACTORD_DEFERRED;
}

static const actord_command_handler all = {
    .struct_size = sizeof(actord_command_handler),
    .mode = ACTORD_HANDLER_INLINE,
    .command = "old.all",
    .doc = "Calls functions of the host.",
    .create = Create,
    .handle = HandleAll,
};
static const actord_command_handler later = {
    .struct_size = sizeof(actord_command_handler),
    .mode = ACTORD_HANDLER_POOLED,
    .command = "old.later",
    .create = Create,
    .handle = HandleLater,
};
static const actord_command_handler spawn = {
    .struct_size = sizeof(actord_command_handler),
    .mode = ACTORD_HANDLER_INLINE,
    .command = "old.spawn",
    .create = Create,
    .handle = HandleSpawn,
};
const actord_command_handler* const old_commands[3] = {&all, &later, &spawn};
