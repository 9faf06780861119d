// A durable process becomes dormant: its state is closed, and its slot is given
// back. The store has its image, and the next message to the process brings it
// back (runtime/wake.cc).
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/durable_turn/durable_turn.h"
#include "runtime/process/upgrading.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

bool DurableTurn::WaitsForMessages(const Process& process, const Turn& turn,
                                   const DurableState& state, uint64_t timers) {
  // A message may be counted before it is in the mailbox.
  return Activity::Messages(turn.word) == 0 &&
         (state.starting == nullptr || !state.starting->load()) &&
         process.state != nullptr && !state.restore_due && !process.step_due &&
         !process.init_due && process.in_hand == nullptr &&
         process.messages.IsEmpty() && process.replies == 0 &&
         process.admitted == nullptr && process.input == nullptr &&
         (process.owed_calls == nullptr || process.owed_calls->calls.empty()) &&
         (process.upgrading == nullptr || process.upgrading->fenced.empty()) &&
         process.yields_count.load(std::memory_order_relaxed) == timers &&
         !process.cancel_requested.load(std::memory_order_relaxed) &&
         state.calls.empty() && state.yields.empty() &&
         state.lifetime_ns == 0 && state.spawn.pid.empty();
}

std::optional<int32_t> DurableTurn::MayPassivate(Process& process, Turn& turn,
                                                 DurableState& state) {
  const Envelope* const event = process.urgent_taken.head();
  if (event == nullptr || event->type != kEventPassivate ||
      process.urgent_taken.After(event) != nullptr) {
    return std::nullopt;
  }
  const auto was = event->ReadHeader<PassivateHeader>();
  const bool is_stale = event->generation != turn.generation;
  lane_.Free(process.urgent_taken.PopFront());
  if (is_stale || process.steps.load(std::memory_order_relaxed) != was.steps ||
      durable().store().Applied() < was.position ||
      durable().store().Applied() <= state.upgraded_at ||
      shared_.limits.max_lifetime_ns() != LiveLimits::kForeverNs) {
    return std::nullopt;
  }
  if (IsReplayed(process) && state.IsImageDue()) {
    durable().NoteLongHistory(PidOf(process, turn));
    return std::nullopt;
  }
  ForgetGivenUpCalls(state);
  if (process.owed_calls != nullptr) {
    absl::erase_if(process.owed_calls->calls, [this](uint64_t call) {
      return !shared_.calls.IsOpen(call);
    });
  }
  if (!WaitsForMessages(process, turn, state, was.timers)) return std::nullopt;
  const Pid pid = PidOf(process, turn);
  if (was.timers != 0 && (durable().store().NowNs() >= was.until_ns ||
                          !EndTimers(process, turn, pid))) {
    return std::nullopt;
  }
  caller_.Close(process, *process.type.load(std::memory_order_relaxed),
                std::exchange(process.state, nullptr));
  process.running.store(false, std::memory_order_relaxed);
  delete std::exchange(process.owed_calls, nullptr);
  const uint32_t declined = Upgrading::CountedIn(process);
  Upgrading::ForgetAttempts(process);
  durable().NoteCalls(state);
  if (shared_.processes.Sleep(process, pid, turn.word, declined,
                              was.timers == 0 ? 0 : was.due_ns)) {
    durable().ForgetDormant(process);
    lane_.WithMemory([&](BufferCache& /*buffers*/, ProcessTable::Cache& cache) {
      shared_.processes.ReleaseAsleep(cache, process);
    });
    return kHasEnded;
  }
  process.running.store(true, std::memory_order_relaxed);
  Upgrading::IsCountedIn(process, declined);
  // An event has come for the process meanwhile, so it needs its state again.
  absl::StatusOr<StoredProcess> stored =
      durable().store().ReadProcess(pid, DurableStore::WithState);
  if (!stored.ok()) {
    // The program is about to end.
    durable().store().FailRead(stored.status());
    process.running.store(false, std::memory_order_relaxed);
    return kIsFrozen;
  }
  state.TakeStored(*stored);
  // The timers begin again with the state.
  state.yields = std::move(stored->entry.runtime.yields);
  return std::nullopt;
}

bool DurableTurn::EndTimers(Process& process, const Turn& turn,
                            const Pid& pid) {
  absl::flat_hash_set<uint64_t> due;
  // The last check of the time may be long ago.
  LongFailPoint();
  shared_.broker.CloseOthers(process, turn.generation, {}, lane_,
                             [&](uint64_t tag) { due.insert(tag); });
  if (due.empty()) return true;
  // A completion is on its way to the process, so the other timers go on.
  absl::StatusOr<StoredProcess> stored =
      durable().store().ReadProcess(pid, DurableStore::WithoutState);
  if (!stored.ok()) {
    // The program is about to end.
    durable().store().FailRead(stored.status());
    return false;
  }
  std::vector<records::YieldImage>& yields = stored->entry.runtime.yields;
  std::erase_if(yields, [&](const records::YieldImage& yield) {
    return due.contains(yield.tag);
  });
  yields_.Resume(yields, process, pid, 1);
  return false;
}

}  // namespace actord::runtime
