// The quarantine of a durable process, in its turn.
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/durable_turn/absent_types.h"
#include "runtime/durable_turn/durable_turn.h"
#include "runtime/process/upgrading.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

void DurableTurn::NewTry::Tell(const absl::Status& status) {
  for (Quarantine::Retried& done : std::exchange(waiting, {})) {
    std::move(done)(status);
  }
}

std::optional<int32_t> DurableTurn::Idle(Process& process, Turn& turn,
                                         DurableState& state, NewTry& attempt) {
  HeldInQuarantine& kept = *state.quarantined;
  bool is_terminated = false;
  bool is_asked = false;
  while (Envelope* event = process.urgent_taken.PopFront()) {
    const bool is_own = event->generation == turn.generation;
    // As in every turn, a second cancel changes nothing.
    const bool is_vain = event->type == ACTORD_EVENT_CANCEL &&
                         (process.cancel_seen ||
                          (is_own && std::exchange(kept.holds_cancel, true)));
    if (is_own && event->type == kEventTerminate) {
      is_terminated = true;
    } else if (event->type == kEventUpgrade) {
      is_asked |= is_own;
    } else if (!is_vain && event->type != kEventPassivate) {
      kept.held.PushBack(event);
      continue;
    }
    lane_.Free(event);
  }
  process.step_due = false;
  if (is_terminated) {
    process.init_due = false;
    process.urgent_taken = std::exchange(kept.held, {});
    state.quarantined.reset();
    durable().quarantine().End(PidOf(process, turn));
    return BeginEnd(process, turn, state,
                    {EndKind::kTerminated, absl::StatusCode::kAborted,
                     "it was terminated in quarantine"},
                    0);
  }
  if (is_asked && Leave(process, turn, state, attempt)) return std::nullopt;
  return ACTORD_STEP_BLOCK;
}

bool DurableTurn::Leave(Process& process, Turn& turn, DurableState& state,
                        NewTry& attempt) {
  const Pid pid = PidOf(process, turn);
  std::optional<Quarantine::Left> left =
      durable().quarantine().LeaveIfAsked(pid);
  if (!left) return false;
  QuarantineEntry& entry = left->entry;
  attempt.sequence = entry.sequence;
  attempt.since_unix_ns = entry.since_unix_ns;
  attempt.waiting = std::move(left->waiting);
  const ProcessType& was = *process.type.load(std::memory_order_relaxed);
  const std::string_view method =
      was.descriptor->methods[process.method.load(std::memory_order_relaxed)]
          .name;
  const ProcessType* const type =
      state.restore_due ? shared_.catalog.FindStored(was.name, state.plugin)
                        : shared_.catalog.FindProcessType(was.name);
  const absl::Status fits =
      type == nullptr
          ? NoSuchType(was.name, durable().store().TextOfPlugin(state.plugin))
          : WhyTypeDoesNotFit(type, {.process_type = was.name,
                                     .method = method,
                                     .started = state.restore_due,
                                     .durability = state.durability});
  if (!fits.ok()) {
    entry.cause = QuarantineCause::kNoType;
    entry.why = std::string(fits.message());
    durable().quarantine().Enter(std::move(entry));
    const absl::Status refusal = durable().quarantine().Refusal(pid);
    ACTORD_ASSERT(!refusal.ok(), "quarantine.h (1)");
    RefuseCalls(process, turn, refusal);
    attempt.Tell(refusal);
    return false;
  }
  RefuseCalls(process, turn, Quarantine::RefusalOf(entry));
  if (type != &was) {
    // Process::method says why the order matters.
    const auto index = static_cast<uint16_t>(type->FindMethod(method));
    process.method.store(Process::kNoMethod, std::memory_order_release);
    process.type.store(type, std::memory_order_release);
    process.method.store(index, std::memory_order_release);
  }
  // The newest version is asked again.
  Upgrading::AskAgain(process);
  // Its crashes are counted anew.
  if (StepMarks* const marks = durable().store().marks()) marks->Forget(pid);
  process.urgent_taken = std::exchange(state.quarantined->held, {});
  process.step_due = state.quarantined->step_due;
  attempt.blocked = state.quarantined->was_blocked;
  state.quarantined.reset();
  return true;
}

void DurableTurn::EnterQuarantine(Process& process, Turn& turn,
                                  DurableState& state, const absl::Status& why,
                                  NewTry& attempt) {
  const Pid pid = PidOf(process, turn);
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  // An entry that cannot be read does not come back with a version.
  const std::string remedy =
      absl::IsDataLoss(why)
          ? "Restore a backup, or run \"actorctl store salvage\" without the "
            "daemon: it makes a store without this process"
          : absl::StrCat(
                "Its state and its mailbox are kept. Load a version of plugin ",
                type.plugin, " that can restore it, or terminate it");
  shared_.log(LogLevel::kError,
              absl::StrCat("process ", FormatPid(pid), " of type ", type.name,
                           " is in quarantine: ", why.message(), ". ", remedy),
              {.pid = pid, .type = type.name});
  state.quarantined.emplace();
  state.quarantined->was_blocked = attempt.blocked;
  state.quarantined->step_due = std::exchange(process.step_due, false);
  QuarantineEntry entry{.pid = pid,
                        .process_type = type.name,
                        .owner = process.owner.load(std::memory_order_relaxed),
                        .cause = QuarantineCause::kNotRestored,
                        .why = std::string(why.message()),
                        .since_unix_ns = attempt.since_unix_ns,
                        .plugin = type.plugin,
                        .version = type.version,
                        .signal = {},
                        .crashes = 0,
                        .sequence = attempt.sequence};
  if (entry.sequence == 0) entry.since_unix_ns = durable().clock().UnixNs();
  durable().quarantine().Enter(std::move(entry));
  const absl::Status refusal = durable().quarantine().Refusal(pid);
  ACTORD_ASSERT(!refusal.ok(), "quarantine.h (1)");
  RefuseCalls(process, turn, refusal);
  attempt.Tell(refusal);
}

void DurableTurn::RefuseCalls(Process& process, Turn& turn,
                              const absl::Status& why) {
  inbox_.TakeCalls(process, turn, [&](Envelope* call) {
    shared_.calls.Refuse(*call, why, lane_);
    lane_.Free(call);
  });
}

}  // namespace actord::runtime
