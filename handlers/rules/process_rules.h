// The rules for processes that the runtime and the harness of actord/testing.h
// both follow: the effects that a step may have, the meaning of its verdict,
// and the effect of a cancel, an end or an upgrade on a process.
//
// Each function is pure: its decision depends only on its arguments. It has no
// state and allocates nothing. The callers carry the decisions out, each in its
// own data.
//
// This header is not installed. runtime/ may include it, as handlers/ does.
//
// Thread-safety: pure functions.
#pragma once

#include <actord/abi.h>
#include <actord/text.h>
#include <actord/values.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace actord::rules {

// Requests of a step.

// Maximum number of effects in one step. A step with more effects is a runaway
// loop.
inline constexpr size_t kMaxEffects = 65536;

constexpr bool Fits(const actord_payload& payload, size_t max_payload_bytes) {
  return payload.bytes.size <= max_payload_bytes &&
         payload.content_type.size <= kMaxLabelBytes;
}
// `label`: the topic or the command that comes with the payload; may be empty.
constexpr bool Fits(const actord_payload& payload, const actord_bytes& label,
                    size_t max_payload_bytes) {
  return Fits(payload, max_payload_bytes) && label.size <= kMaxLabelBytes;
}

inline constexpr std::string_view kNoTopicToPublishText =
    "a publication has an empty topic; it must have 1 to 1,024 bytes";

// Fields that are newer than the first version of their struct. A plugin that
// was built before has a shorter struct, and must not be read beyond its end.

// The priority in `spawn`, valid or not; the default if the spawn has none.
constexpr int PriorityOf(const actord_spawn& spawn) {
  constexpr size_t kCovered =
      offsetof(actord_spawn, priority) + sizeof(actord_spawn::priority);
  return (spawn.flags & ACTORD_SPAWN_PRIORITY) != 0 &&
                 spawn.struct_size >= kCovered
             ? static_cast<int>(spawn.priority)
             : ACTORD_PRIORITY_DEFAULT;
}
constexpr bool IsPriority(int priority) {
  return priority >= 0 && priority <= ACTORD_PRIORITY_HIGHEST;
}
// The place for the tag of the monitor; null: the caller does not want it.
constexpr uint64_t* MonitorTagOf(const actord_spawn& spawn) {
  constexpr size_t kCovered =
      offsetof(actord_spawn, monitor_tag) + sizeof(actord_spawn::monitor_tag);
  return spawn.struct_size >= kCovered ? spawn.monitor_tag : nullptr;
}
// The name in `spawn`, valid or not; empty: none.
constexpr std::string_view NameOf(const actord_spawn& spawn) {
  constexpr size_t kCovered =
      offsetof(actord_spawn, name) + sizeof(actord_spawn::name);
  return (spawn.flags & ACTORD_SPAWN_NAME) != 0 && spawn.struct_size >= kCovered
             ? std::string_view(static_cast<const char*>(spawn.name.data),
                                spawn.name.size)
             : std::string_view();
}
// Null: the yield has no work policy.
constexpr const actord_work_policy* PolicyOf(const actord_yield& yield) {
  constexpr size_t kCovered =
      offsetof(actord_yield, policy) + sizeof(const void*);
  return yield.struct_size >= kCovered ? yield.policy : nullptr;
}
// `policy` with zeros in the fields that it does not have.
inline actord_work_policy WholePolicy(const actord_work_policy& policy) {
  actord_work_policy whole{};
  std::memcpy(&whole, &policy,
              std::min<size_t>(policy.struct_size, sizeof(whole)));
  return whole;
}
constexpr bool HasUpgrades(const actord_process_type& type) {
  return type.struct_size >= offsetof(actord_process_type, restore) +
                                 sizeof(actord_process_type::restore);
}

// The index of the method `name` of `type`; an empty name is the first method.
inline constexpr uint32_t kNoSuchMethod = UINT32_MAX;
constexpr uint32_t FindMethod(const actord_process_type& type,
                              std::string_view name) {
  if (name.empty()) return 0;
  for (size_t i = 0; i < type.method_count; ++i) {
    if (name == type.methods[i].name) return static_cast<uint32_t>(i);
  }
  return kNoSuchMethod;
}

// The timeout of a yield or a call that asks for `wanted_ns`; 0 is the default.
constexpr uint64_t TimeoutOf(uint64_t wanted_ns, uint64_t default_ns) {
  return wanted_ns != 0 ? wanted_ns : default_ns;
}

// Answers of a plugin's functions.

// The code of a failure: OK and numbers that are not codes become UNKNOWN.
constexpr int32_t ErrorCodeOf(int32_t status) {
  const Code code = ToCode(status);
  return static_cast<int32_t>(code == Code::kOk ? Code::kUnknown : code);
}

// How a call of Init, Snapshot or Restore ended. A later enumerator is only
// reached by a call that ended in none of the earlier ways.
enum class PluginCallEnd : uint8_t {
  kThrew,
  kBrokeRule,  // asked for something that only a step may, or that is too long
  kRefused,    // with a status
  kOk,
};
constexpr PluginCallEnd PluginCallEndOf(bool threw, bool broke_rule,
                                        int32_t status) {
  if (threw) return PluginCallEnd::kThrew;
  if (broke_rule) return PluginCallEnd::kBrokeRule;
  return status == ACTORD_OK ? PluginCallEnd::kOk : PluginCallEnd::kRefused;
}
// The code of a start that Init has failed. Precondition: not kOk.
constexpr int32_t CodeOfFailedInit(PluginCallEnd end, int32_t status) {
  assert(end != PluginCallEnd::kOk);
  return end == PluginCallEnd::kRefused ? ErrorCodeOf(status)
                                        : int32_t{ACTORD_INTERNAL};
}
// Whether Init or Restore left an object that has to be closed.
constexpr bool MadeObject(bool threw, int32_t status) {
  return !threw && status == ACTORD_OK;
}

// The answer of a command handler. `deferred`: it has called `defer`.
enum class Handled : uint8_t { kAnswered, kDeferred, kWrongly };
constexpr Handled HandledAs(int32_t answer, bool deferred) {
  if (answer == ACTORD_HANDLED) return Handled::kAnswered;
  return answer == ACTORD_DEFERRED && deferred ? Handled::kDeferred
                                               : Handled::kWrongly;
}

// Verdicts of steps.

inline constexpr std::string_view kBlockedForEverText =
    "Step blocked without an outstanding yield: nothing could ever wake it";

// Whether a step with this verdict takes effect. `can_wake`: a yield or a call
// is outstanding, or another event waits for the next step.
constexpr bool Succeeds(int32_t verdict, bool can_wake) {
  return verdict == ACTORD_STEP_IDLE || verdict == ACTORD_STEP_CONTINUE ||
         verdict == ACTORD_STEP_DONE ||
         (verdict == ACTORD_STEP_BLOCK && can_wake);
}
// Why a step takes no effect. Precondition: !Succeeds. `was_cancelled`: a step
// has seen a cancel. `code`: the code of the failure that was set.
enum class StepFailure : uint8_t {
  kFailed,
  kCancelled,  // the process ends because it was asked to
  kThrew,
  kBlockedForEver,
  kUnknownVerdict,
};
constexpr StepFailure FailureOf(int32_t verdict, bool was_cancelled,
                                int32_t code) {
  switch (verdict) {
    case ACTORD_STEP_FAIL:
      return was_cancelled && code == ACTORD_CANCELLED ? StepFailure::kCancelled
                                                       : StepFailure::kFailed;
    case ACTORD_STEP_THREW:
      return StepFailure::kThrew;
    case ACTORD_STEP_BLOCK:
      return StepFailure::kBlockedForEver;
    default:
      return StepFailure::kUnknownVerdict;
  }
}

// ContinueAs: the process begins again after the step.

inline constexpr std::string_view kNotContinuedText =
    "Step returned ACTORD_STEP_CONTINUE_AS and has not called continue_as";
inline constexpr std::string_view kNoSuchMethodText =
    "continue_as names a method that the process type does not have";
// The failure of a call that the former life has neither answered nor handed
// on.
inline constexpr std::string_view kCallNotKeptText =
    "the process that was called has begun again without a reply";
// The failure of a process that would begin again, but was asked to end.
inline constexpr std::string_view kCancelledInsteadText =
    "the process was asked to end, so it does not begin again";

// The most events of a step, as actord/abi.h says.
inline constexpr size_t kMaxStepEvents = 319;
// Whether the next life of a process can get this event of the former one.
constexpr bool IsHandedOn(const actord_event& event) {
  return event.type == ACTORD_EVENT_MESSAGE || event.type == ACTORD_EVENT_EXIT;
}

// Cancels and ends.

constexpr bool HandlesCancel(const actord_process_type& type) {
  return (type.flags & ACTORD_TYPE_HANDLES_CANCEL) != 0;
}
constexpr bool TrapsExits(const actord_process_type& type) {
  return (type.flags & ACTORD_TYPE_TRAPS_EXITS) != 0;
}

// The effect of a cancel on a process of `type`. `again`: the process has
// already had a cancel.
enum class Cancel : uint8_t { kIgnored, kIsSeen, kEnds };
constexpr Cancel CancelOf(const actord_process_type& type, bool again) {
  if (again) return Cancel::kIgnored;
  return HandlesCancel(type) ? Cancel::kIsSeen : Cancel::kEnds;
}

// ACTORD_EXIT_* for the end of a process. `Kind`: the EndKind of the runtime or
// of the harness; a kind that the other does not have is a failure.
template <typename Kind>
constexpr uint32_t ExitReasonOf(Kind kind) {
  switch (kind) {
    case Kind::kResult:
      return ACTORD_EXIT_DONE;
    case Kind::kThrew:
      return ACTORD_EXIT_THREW;
    case Kind::kInitRefused:
      return ACTORD_EXIT_INIT_REFUSED;
    case Kind::kCancelled:
      return ACTORD_EXIT_CANCELLED;
    case Kind::kTerminated:
      return ACTORD_EXIT_TERMINATED;
    default:
      return ACTORD_EXIT_FAILED;
  }
}
// The effect of an end with this reason (ACTORD_EXIT_*) on a process that
// monitors the ended process, or that is linked to it with or without trapping
// exits.
enum class TieEnd : uint8_t {
  kTells,    // the process gets an exit event
  kEnds,     // the process fails, too
  kForgets,  // nothing: it was a link, and the other process has not failed
};
constexpr TieEnd TieEndOf(bool is_monitor, bool traps_exits, uint32_t reason) {
  if (is_monitor || traps_exits) return TieEnd::kTells;
  return reason == ACTORD_EXIT_DONE || reason == ACTORD_EXIT_RESTARTED
             ? TieEnd::kForgets
             : TieEnd::kEnds;
}
// Whether an exit event carries the result; otherwise it carries the text of
// the failure.
constexpr bool CarriesResult(uint32_t reason) {
  return reason == ACTORD_EXIT_DONE;
}

// Upgrades.

enum class Upgrade : uint8_t {
  kGoesOn,
  kIsPutOff,    // is tried again after the next step
  kIsDeclined,  // for good: the process stays in its version
};
// Before Snapshot is called. `was_cancelled`: a step has seen a cancel.
// `is_asked_to_end`: an order to end has come that no step has seen.
constexpr Upgrade MayUpgrade(bool was_cancelled, bool is_asked_to_end,
                             bool has_method) {
  if (was_cancelled) return Upgrade::kIsDeclined;
  if (is_asked_to_end) return Upgrade::kIsPutOff;
  return has_method ? Upgrade::kGoesOn : Upgrade::kIsDeclined;
}
// Only a Snapshot can postpone an upgrade.
constexpr Upgrade AfterSnapshot(PluginCallEnd end, int32_t status) {
  if (end == PluginCallEnd::kOk) return Upgrade::kGoesOn;
  return end == PluginCallEnd::kRefused && status == ACTORD_UNAVAILABLE
             ? Upgrade::kIsPutOff
             : Upgrade::kIsDeclined;
}
constexpr Upgrade AfterRestore(PluginCallEnd end) {
  return end == PluginCallEnd::kOk ? Upgrade::kGoesOn : Upgrade::kIsDeclined;
}

}  // namespace actord::rules
