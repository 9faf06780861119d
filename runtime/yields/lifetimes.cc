#include "runtime/yields/lifetimes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

void Lifetimes::Begin(const Process& process, uint32_t generation,
                      uint64_t lifetime_ns, Lane& lane) {
  const uint64_t now = clock_.MonotonicNs();
  const uint64_t deadline = now + std::min(lifetime_ns, UINT64_MAX - 1 - now);
  const uint32_t slot = process.index();
  lane.hold().last_queue().timers.Add(
      EncodeTimer(TimerKind::kLifetime, TimerHandle(slot, generation)),
      deadline);
  scheduler_.TimerAdded(deadline);
}

void Lifetimes::BeginCancel(const Pid& pid, absl::Duration deadline,
                            absl::Duration named) {
  ACTORD_ASSERT(deadline > absl::ZeroDuration(),
                "lifetimes.h: the deadline is above zero");
  const auto in_ms = [](absl::Duration duration) {
    return absl::ToInt64Milliseconds(
        absl::Ceil(duration, absl::Milliseconds(1)));
  };
  const int64_t after_ms = in_ms(named);
  const int64_t after_ns =
      absl::ToInt64Nanoseconds(absl::Milliseconds(in_ms(deadline)));
  const uint64_t now = clock_.MonotonicNs();
  const uint64_t at_ns =
      now + std::min(static_cast<uint64_t>(after_ns), UINT64_MAX - 1 - now);
  uint32_t slot = 0;
  uint32_t generation = 0;
  {
    const MutexLock lock(mutex_);
    // The process may have ended since it was cancelled. Its deadline must not
    // replace the deadline of the slot's next process, which the lock orders
    // before this look-up.
    const FoundProcess found = processes_.Find(pid);
    if (!found) return;
    slot = found->index();
    generation = found.generation;
    CancelDeadline& known = cancels_[slot];
    if (known.generation == generation &&
        (known.is_over || known.at_ns <= at_ns)) {
      return;
    }
    known = {.generation = generation,
             .is_over = false,
             .at_ns = at_ns,
             .after_ms = after_ms};
  }
  // The timer of an earlier call with a later deadline stays; when it fires,
  // this deadline is over already. Any wheel serves; all these timers of one
  // process use the same wheel, so they fire in order.
  scheduler_.queue(slot % scheduler_.size())
      .timers.Add(EncodeTimer(TimerKind::kCancelDeadline,
                              TimerHandle(slot, generation)),
                  at_ns);
  scheduler_.TimerAdded(at_ns);
}

void Lifetimes::LifetimeDue(uint64_t handle, Lane& lane, ReadyList& ready) {
  if (!IsWanted(handle)) return;
  const Process& process = ProcessOf(handle);
  const int64_t lived = static_cast<int64_t>(clock_.UnixNs()) -
                        static_cast<int64_t>(process.started_unix_ns.load(
                            std::memory_order_relaxed));
  const std::string text =
      absl::StrCat("the process has lived for ",
                   absl::FormatDuration(absl::Milliseconds(lived / 1'000'000)),
                   ", which is as long as it may");
  Post(handle, kEventLifetimeEnd, text, lane, ready);
}

void Lifetimes::CancelDeadlineDue(uint64_t handle, Lane& lane,
                                  ReadyList& ready) {
  if (!IsWanted(handle)) return;
  int64_t after_ms = 0;
  {
    const MutexLock lock(mutex_);
    const auto found = cancels_.find(static_cast<uint32_t>(handle));
    if (found == cancels_.end()) return;
    CancelDeadline& deadline = found->second;
    if (deadline.generation != static_cast<uint32_t>(handle >> 32) ||
        std::exchange(deadline.is_over, true)) {
      return;
    }
    after_ms = deadline.after_ms;
  }
  Post(handle, kEventTerminate,
       absl::StrCat("the process did not end within ", after_ms,
                    " ms of its cancel"),
       lane, ready);
}

void Lifetimes::Post(uint64_t handle, uint16_t type, std::string_view text,
                     Lane& lane, ReadyList& ready) {
  const Process& process = ProcessOf(handle);
  // Each process gets at most one event of each type, so Activity::kUrgentMax
  // leaves room for them.
  Run run(Run::Kind::kUrgent, lane.NewEnvelope(type, {}, TextPayload(text)),
          Owner::kAny);
  const Pid pid =
      processes_.PidOf(process, static_cast<uint32_t>(handle >> 32));
  if (delivery_.Post(pid, run, lane, &ready) != Posted::kDelivered) {
    lane.Free(run.first);
  }
}

}  // namespace actord::runtime
