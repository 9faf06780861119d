#include "runtime/yields/lifetimes.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace actord::runtime {

void Lifetimes::Begin(const Process& process, uint32_t generation,
                      uint64_t lifetime_ns, Lane& lane) {
  const uint64_t now = clock_.MonotonicNs();
  const uint64_t deadline = now + std::min(lifetime_ns, UINT64_MAX - 1 - now);
  const uint32_t slot = process.slot.load(std::memory_order_relaxed);
  lane.hold().last_queue().timers.Add(
      EncodeTimer(TimerKind::kLifetime, TimerHandle(slot, generation)),
      deadline);
  scheduler_.TimerAdded(deadline);
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
  // At most one for each process, so Activity::kUrgentMax leaves room for it.
  Run run(Run::Kind::kUrgent,
          lane.NewEnvelope(kEventLifetimeEnd, {}, TextPayload(text)));
  const Pid pid =
      processes_.PidOf(process, static_cast<uint32_t>(handle >> 32));
  if (delivery_.Post(pid, run, lane, &ready) != Posted::kDelivered) {
    lane.Free(run.first);
  }
}

}  // namespace actord::runtime
