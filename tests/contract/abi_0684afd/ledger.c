/* Process types over the functions of actord_step_api. `old.ledger` adds
 * numbers, pays by an external command, hands its state over to a new version,
 * and decides itself how a cancel ends it. */
#include <stdio.h>

#include "old.h"

/* What a ledger has seen of its tour. */
enum {
  SAW_ANSWER = 1 << 0,        /* the child answered the call */
  SAW_CANCELLED = 1 << 1,     /* the yield that was given up */
  SAW_ALL = 1 << 2,           /* old.all: "ok" */
  SAW_TIMER = 1 << 3,         /* old.later: by the timer */
  SAW_DATA_LOSS = 1 << 4,     /* old.later: an error */
  SAW_SPAWNED = 1 << 5,       /* old.spawn: the text of a PID */
  SAW_HOSTED = 1 << 6,        /* the message that the host sent */
  SAW_CHILD_MONITOR = 1 << 7, /* the end of the child, by the monitor */
  SAW_CHILD_LINK = 1 << 8,    /* and by the link */
  SAW_SPAWNED_END = 1 << 9,   /* the end of the other child */
  SAW_EVERYTHING = (1 << 10) - 1
};

typedef struct ledger {
  unsigned long long total;
  unsigned long long pay;
  unsigned saw;
  char paid[32];
  const char* wrong; /* what failed first on the tour, or NULL */
  uint64_t ask, given_up, all, timer, data_loss, spawned, monitor;
} ledger;

static void Wrong(ledger* self, const char* what) {
  if (self->wrong == NULL) self->wrong = what;
}

static unsigned long long Number(actord_bytes bytes) {
  unsigned long long number = 0;
  for (size_t i = 0; i < bytes.size; ++i) {
    const unsigned digit = ((const unsigned char*)bytes.data)[i] - '0';
    if (digit > 9) return 0;
    number = number * 10 + digit;
  }
  return number;
}

static uint64_t Yield(actord_step* step, const char* command,
                      const char* payload) {
  const actord_work_policy policy = {
      .struct_size = sizeof(actord_work_policy),
      .max_attempts = 3,
      .lease_ns = 5000000000u,
  };
  const actord_yield yield = {
      .struct_size = sizeof(actord_yield),
      .timeout_ns = 600000000000u,
      .command = OldText(command),
      .payload = OldPayload(payload),
      .policy = &policy,
  };
  return step->api->yield(step, &yield);
}

static int32_t Init(void* state, const actord_init* init, actord_step* step) {
  ledger* self = state;
  if (OldIs(init->input.bytes, "refuse")) {
    step->api->set_failure(step, ACTORD_OUT_OF_RANGE,
                           OldText("as it was told"));
    return ACTORD_OUT_OF_RANGE;
  }
  if (step->api->struct_size < sizeof(actord_step_api)) {
    return ACTORD_UNIMPLEMENTED;
  }
  self->total = Number(init->input.bytes);
  return ACTORD_OK;
}

/* The functions that read. */
static void Read(ledger* self, actord_step* step) {
  const actord_pid me = step->api->self(step), parent = step->api->parent(step);
  const actord_pid none = {0, 0, 0, 0};
  actord_pid other = none;
  char text[64];
  actord_bytes pid_text = {text, step->api->format_pid(step, &me, text)};
  if (step->api->parse_pid(step, pid_text, &other) != ACTORD_OK ||
      !OldSamePid(&me, &other)) {
    Wrong(self, "parse_pid");
  }
  if (!OldSamePid(&parent, &none)) Wrong(self, "parent");
  if (step->api->unix_time_ns(step) < 1000000000000000000u) {
    Wrong(self, "unix_time_ns");
  }
  if (step->api->monotonic_ns(step) == 0) Wrong(self, "monotonic_ns");
  if (step->api->random(step) == step->api->random(step)) Wrong(self, "random");
  if (step->api->max_payload_bytes(step) != 1 << 20) {
    Wrong(self, "max_payload_bytes");
  }
}

/* The functions with an effect. What they cause is noted in `saw`. */
static void Act(ledger* self, actord_step* step) {
  const actord_spawn spawn = {
      .struct_size = sizeof(actord_spawn),
      .flags = ACTORD_SPAWN_LINK | ACTORD_SPAWN_MONITOR,
      .process_type = OldText("old.child"),
      .method = OldText("answer"),
      .input = OldPayload("of a step"),
      .monitor_tag = &self->monitor,
  };
  const actord_pid child = step->api->spawn(step, &spawn);
  const actord_request request = {
      .struct_size = sizeof(actord_request),
      .timeout_ns = 600000000000u,
      .to = child,
      .topic = OldText("ask"),
      .payload = OldPayload("the answer"),
  };
  const actord_message end = {
      .struct_size = sizeof(actord_message),
      .topic = OldText("end"),
      .payload = OldPayload(""),
  };
  self->ask = step->api->call(step, &request);
  step->api->demonitor(step, step->api->monitor(step, &child));
  step->api->unlink(step, &child);
  step->api->link(step, &child);
  step->api->send(step, &child, &end);
  self->given_up = Yield(step, "payment.never", "");
  step->api->cancel_yield(step, self->given_up);
  self->all = Yield(step, "old.all", "try");
  self->timer = Yield(step, "old.later", "timer");
  self->data_loss = Yield(step, "old.later", "error");
  self->spawned = Yield(step, "old.spawn", "of the host");
}

static void ReplyState(const ledger* self, actord_step* step, uint64_t call) {
  char text[256];
  snprintf(text, sizeof(text),
           "{\"version\": \"" VERSION
           "\", \"total\": %llu, \"paid\": \"%s\", \"wrong\": \"%s\", "
           "\"unseen\": %d}",
           self->total, self->paid, self->wrong == NULL ? "" : self->wrong,
           SAW_EVERYTHING & ~(int)self->saw);
  const actord_payload payload = OldPayload(text);
  step->api->reply(step, call, ACTORD_OK, &payload);
}

static void OnMessage(ledger* self, const actord_event* event,
                      actord_step* step) {
  if (OldIs(event->topic, "add")) {
    self->total += Number(event->payload.bytes);
  } else if (OldIs(event->topic, "pay")) {
    self->pay = Yield(step, "payment.charge", "17");
  } else if (OldIs(event->topic, "tour")) {
    Read(self, step);
    Act(self, step);
  } else if (OldIs(event->topic, "state") && event->call != 0) {
    ReplyState(self, step, event->call);
  } else if (OldIs(event->topic, "hosted") &&
             OldIs(event->payload.bytes, "by the host")) {
    self->saw |= SAW_HOSTED;
  } else {
    Wrong(self, "a message");
  }
}

static void OnCompletion(ledger* self, const actord_event* event,
                         actord_step* step) {
  const actord_bytes bytes = event->payload.bytes;
  const int ok = event->status == ACTORD_OK;
  actord_pid pid;
  if (event->tag == self->pay) {
    snprintf(self->paid, sizeof(self->paid), "%.*s", (int)bytes.size,
             (const char*)bytes.data);
  } else if (event->tag == self->ask && ok && OldIs(bytes, "the answer")) {
    self->saw |= SAW_ANSWER;
  } else if (event->tag == self->given_up &&
             event->status == ACTORD_CANCELLED) {
    self->saw |= SAW_CANCELLED;
  } else if (event->tag == self->all && ok) {
    self->saw |= SAW_ALL;
    if (!OldIs(bytes, "ok")) Wrong(self, "a function of the host");
  } else if (event->tag == self->timer && ok) {
    self->saw |= SAW_TIMER;
  } else if (event->tag == self->data_loss &&
             event->status == ACTORD_DATA_LOSS && OldIs(bytes, "later")) {
    self->saw |= SAW_DATA_LOSS;
  } else if (event->tag == self->spawned && ok &&
             step->api->parse_pid(step, bytes, &pid) == ACTORD_OK) {
    const actord_message end = {
        .struct_size = sizeof(actord_message),
        .topic = OldText("end"),
    };
    step->api->send(step, &pid, &end);
    self->saw |= SAW_SPAWNED;
  } else {
    Wrong(self, "a completion");
  }
}

static void OnExit(ledger* self, const actord_event* event) {
  if (event->reason != ACTORD_EXIT_DONE || event->status != ACTORD_OK) {
    Wrong(self, "the reason of an exit");
  } else if (event->tag == 0) {
    self->saw |= SAW_CHILD_LINK;
  } else if (event->tag == self->monitor) {
    self->saw |= SAW_CHILD_MONITOR;
    if (!OldIs(event->payload.bytes, "of a step")) Wrong(self, "a result");
  } else if (event->tag == self->spawned) {
    self->saw |= SAW_SPAWNED_END;
    if (!OldIs(event->payload.bytes, "of the host")) Wrong(self, "a result");
  } else {
    Wrong(self, "an exit");
  }
}

static int32_t End(const ledger* self, actord_bytes reason, actord_step* step) {
  char text[128];
  snprintf(text, sizeof(text), "%llu in version " VERSION ", %.*s", self->total,
           (int)reason.size, (const char*)reason.data);
  const actord_payload result = OldPayload(text);
  step->api->set_result(step, &result);
  return ACTORD_STEP_DONE;
}

static int32_t Step(void* state, const actord_event* const* events,
                    size_t count, actord_step* step) {
  ledger* self = state;
  for (size_t i = 0; i < count; ++i) {
    switch (events[i]->type) {
      case ACTORD_EVENT_MESSAGE:
        OnMessage(self, events[i], step);
        break;
      case ACTORD_EVENT_COMPLETION:
        OnCompletion(self, events[i], step);
        break;
      case ACTORD_EVENT_EXIT:
        OnExit(self, events[i]);
        break;
      case ACTORD_EVENT_CANCEL:
        return End(self, events[i]->payload.bytes, step);
    }
  }
  return ACTORD_STEP_IDLE;
}

static void Close(void* state) { (void)state; }

static int32_t Snapshot(const void* state, actord_step* step) {
  const ledger* self = state;
  char text[64];
  snprintf(text, sizeof(text), "%llu %llu", self->total, self->pay);
  const actord_payload snapshot = OldPayload(text);
  step->api->set_result(step, &snapshot);
  return ACTORD_OK;
}

static int32_t Restore(void* state, const actord_restore* restore,
                       actord_step* step) {
  ledger* self = state;
  const actord_bytes bytes = restore->snapshot.bytes;
  char text[64];
  snprintf(text, sizeof(text), "%.*s", (int)bytes.size,
           (const char*)bytes.data);
  if (!OldIs(restore->from_version, "1") || restore->method != 0 ||
      sscanf(text, "%llu %llu", &self->total, &self->pay) != 2) {
    step->api->set_failure(step, ACTORD_INVALID_ARGUMENT,
                           OldText("not what version 1 has said"));
    return ACTORD_INVALID_ARGUMENT;
  }
  if (step->api->adopt_yield(step, self->pay + 1) != ACTORD_NOT_FOUND) {
    return ACTORD_INTERNAL;
  }
  return self->pay == 0 ? ACTORD_OK : step->api->adopt_yield(step, self->pay);
}

/* `old.child` answers calls and ends with its input when a message says so. */
typedef struct child {
  char input[32];
  size_t size;
} child;

static int32_t InitChild(void* state, const actord_init* init,
                         actord_step* step) {
  child* self = state;
  (void)step;
  if (init->method != 1 || init->input.bytes.size > sizeof(self->input)) {
    return ACTORD_INVALID_ARGUMENT;
  }
  self->size = init->input.bytes.size;
  memcpy(self->input, init->input.bytes.data, self->size);
  return ACTORD_OK;
}

static int32_t StepChild(void* state, const actord_event* const* events,
                         size_t count, actord_step* step) {
  const child* self = state;
  for (size_t i = 0; i < count; ++i) {
    if (events[i]->call != 0) {
      step->api->reply(step, events[i]->call, ACTORD_OK, &events[i]->payload);
    } else if (OldIs(events[i]->topic, "end")) {
      const actord_payload result = {{self->input, self->size}, {NULL, 0}};
      step->api->set_result(step, &result);
      return ACTORD_STEP_DONE;
    }
  }
  return ACTORD_STEP_IDLE;
}

static const actord_method methods[] = {{"run", "Adds."}, {"answer", NULL}};

static const actord_process_type ledger_type = {
    .struct_size = sizeof(actord_process_type),
    .flags = ACTORD_TYPE_HANDLES_CANCEL | ACTORD_TYPE_TRAPS_EXITS,
    .name = "old.ledger",
    .doc = "Adds, pays and goes on in a new version.",
    .state_size = sizeof(ledger),
    .state_align = 16,
    .methods = methods,
    .method_count = 1,
    .init = Init,
    .step = Step,
    .close = Close,
    .snapshot = Snapshot,
    .restore = Restore,
};
static const actord_process_type child_type = {
    .struct_size = sizeof(actord_process_type),
    .name = "old.child",
    .state_size = sizeof(child),
    .methods = methods,
    .method_count = 2,
    .init = InitChild,
    .step = StepChild,
    .close = Close,
};
static const actord_process_type* const types[] = {&ledger_type, &child_type};

const actord_plugin_info actord_plugin = {
    .magic = ACTORD_ABI_MAGIC,
    .abi_version = ACTORD_ABI_VERSION,
    .struct_size = sizeof(actord_plugin_info),
    .name = "old",
    .version = VERSION,
    .process_types = types,
    .process_type_count = 2,
    .commands = old_commands,
    .command_count = 3,
};
