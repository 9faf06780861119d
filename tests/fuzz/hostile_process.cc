#include "tests/fuzz/hostile_process.h"

#include <span>
#include <string>

#include "tests/fuzz/hostile_values.h"

namespace actord::fuzz {
namespace {

void CallSome(actord_step* step,
              std::span<const actord_event* const> events = {}) {
  plugin->events = events;
  for (size_t count = plugin->input.Below(5); count > 0; --count) {
    if (plugin->input.Byte() % 8 == 0) {
      CallHost();
    } else {
      CallStep(step);
    }
  }
  if (plugin->input.Byte() == 255) throw std::string("hostile");
}

int32_t Init(void* state, const actord_init* init, actord_step* step) {
  Require(init->struct_size >= sizeof(*init), "the start is whole");
  See(plugin->pids, step->api->self(step));
  if (plugin->input.Byte() % 4 == 0) CallSome(step);
  const int32_t status = plugin->input.Byte() % 16 == 15 ? ACTORD_ABORTED : 0;
  // An effect makes it fail after all, and then nothing is closed.
  *static_cast<uint64_t*>(state) = 17;
  return status;
}

int32_t Step(void* state, const actord_event* const* events, size_t count,
             actord_step* step) {
  Require(*static_cast<uint64_t*>(state) == 17, "the state is kept");
  for (size_t i = 0; i < count; ++i) {
    See(plugin->pids, events[i]->from);
    if (events[i]->call != 0) See(plugin->calls, events[i]->call);
  }
  CallSome(step, {events, count});
  if (plugin->input.empty()) return ACTORD_STEP_DONE;
  const uint8_t verdict = plugin->input.Byte();
  // All verdicts, and sometimes another value.
  return verdict < 250 ? verdict % (ACTORD_STEP_CONTINUE_AS + 1)
                       : verdict - 300;
}

void Close(void* state) {
  Require(*static_cast<uint64_t*>(state) == 17, "closed once");
  *static_cast<uint64_t*>(state) = 0;
}

int32_t Snapshot(const void*, actord_step* step) {
  CallSome(step);
  return plugin->input.Byte() % 4 == 3 ? ACTORD_UNAVAILABLE : ACTORD_OK;
}

int32_t Restore(void* state, const actord_restore* restore, actord_step* step) {
  Require(restore->struct_size >= sizeof(*restore), "the start is whole");
  CallSome(step);
  *static_cast<uint64_t*>(state) = 17;
  return plugin->input.Byte() % 4 == 3 ? ACTORD_ABORTED : ACTORD_OK;
}

int32_t Handle(void*, actord_call* call) {
  for (size_t count = plugin->input.Below(4); count > 0; --count) {
    const actord_payload payload = AnyPayload();
    switch (plugin->input.Byte() % 4) {
      case 0:
        call->api->reply(call, plugin->input.Byte() % 20,
                         plugin->input.Byte() % 4 == 0 ? nullptr : &payload);
        break;
      case 1:
        See(plugin->completions, call->api->defer(call));
        break;
      default:
        CallHost();
        break;
    }
  }
  return plugin->input.Byte() % 4;
}

constexpr actord_method kMethods[] = {{"run", nullptr}, {"other", nullptr}};

constexpr actord_process_type Type(const char* name, uint32_t flags) {
  return {.struct_size = sizeof(actord_process_type),
          .flags = flags,
          .name = name,
          .doc = nullptr,
          .state_size = sizeof(uint64_t),
          .state_align = 8,
          .methods = kMethods,
          .method_count = 2,
          .init = Init,
          .step = Step,
          .close = Close,
          .snapshot = Snapshot,
          .restore = Restore,
          .durability = ACTORD_DURABILITY_NONE,
          .flat_version = 0,
          .flat_size = 0};
}

void CallHostWithNames(const actord_host* host) {
  const actord_pid pid = AnyPid();
  actord_pid holder{};
  const actord_bytes name = TrueText();
  switch (plugin->input.Byte() % 6) {
    case 0:
      host->register_name(host, &pid, name,
                          plugin->input.Byte() % 2 == 0 ? nullptr : &holder);
      return;
    case 1:
      host->release_name(host, &pid, name);
      return;
    case 2:
      host->look_up_name(host, name, &holder);
      return;
    case 3:
      host->join_group(host, &pid, name);
      return;
    case 4:
      host->leave_group(host, &pid, name);
      return;
    default: {
      actord_pid members[2];
      host->group_members(host, name, members, plugin->input.Below(3));
      return;
    }
  }
}

}  // namespace

const actord_process_type kHostileTypes[3] = {
    Type("hostile", 0), Type("hostile.cancellable", ACTORD_TYPE_HANDLES_CANCEL),
    Type("hostile.trapping",
         ACTORD_TYPE_TRAPS_EXITS | ACTORD_TYPE_STOPS_CHILDREN)};

const actord_command_handler kHostileCommand = {
    .struct_size = sizeof(actord_command_handler),
    .mode = ACTORD_HANDLER_INLINE,
    .command = "hostile.command",
    .doc = nullptr,
    .create = nullptr,
    .destroy = nullptr,
    .handle = Handle,
    .flags = ~0u,  // also bits without a meaning
    .reserved = 0};

void SetHostilePlugin(HostilePlugin* one) { plugin = one; }

void CallHost() {
  const actord_host* const host = plugin->host;
  const actord_pid pid = AnyPid();
  const actord_payload payload = AnyPayload();
  switch (plugin->input.Byte() % 8) {
    case 0:
      if (plugin->input.Byte() % 2 == 0) {
        host->log(host, plugin->input.Byte() - 100, TrueText());
      } else {
        host->log_for(host, plugin->input.Byte() - 100, &pid, TrueText());
      }
      return;
    case 1:
    case 2:
      host->complete(host, AnyNumber(plugin->completions),
                     plugin->input.Byte() % 20,
                     plugin->input.Byte() % 4 == 0 ? nullptr : &payload);
      return;
    case 3:
      host->complete_after(host, AnyNumber(plugin->completions), AnyTime());
      return;
    case 4: {
      const actord_pid from = AnyPid();
      const actord_message message = AnyMessage();
      host->send(host, plugin->input.Byte() % 2 == 0 ? nullptr : &from, &pid,
                 &message);
      return;
    }
    case 5: {
      actord_spawn spawn = AnySpawn(nullptr);
      host->spawn(host, plugin->input.Byte() % 4 == 0 ? nullptr : &pid, &spawn,
                  AnyNumber(plugin->completions));
      return;
    }
    case 6:
      if (plugin->input.Byte() % 2 == 0) {
        host->cancel(host, &pid, TrueText());
      } else {
        host->terminate(host, &pid, TrueText());
      }
      return;
    default:
      return CallHostWithNames(host);
  }
}

}  // namespace actord::fuzz
