#include "runtime/lifetimes.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace actord::runtime {

Lifetimes::~Lifetimes() {
  for (const auto& chunk : chunks_) {
    delete chunk.load(std::memory_order_relaxed);
  }
}

Lifetimes::Entry& Lifetimes::At(uint32_t slot) {
  std::atomic<Chunk*>& place = chunks_[slot / kChunkSlots];
  Chunk* chunk = place.load(std::memory_order_acquire);
  if (chunk == nullptr) {
    auto made = std::make_unique<Chunk>();
    if (place.compare_exchange_strong(chunk, made.get(),
                                      std::memory_order_acq_rel)) {
      chunk = made.release();
    }
  }
  return (*chunk)[slot % kChunkSlots];
}

void Lifetimes::Begin(const Process& process, uint32_t generation,
                      uint64_t lifetime_ns, Lane& lane) {
  const uint64_t now = clock_.MonotonicNs();
  const uint64_t deadline = now + std::min(lifetime_ns, UINT64_MAX - 1 - now);
  const uint32_t slot = process.slot.load(std::memory_order_relaxed);
  Entry& entry = At(slot);
  entry.timer.value = (uint64_t{generation} << 32) | kLifetime | slot;
  entry.wheel = &lane.hold().last_queue().timers;
  entry.wheel->Add(entry.timer, deadline, [] { return true; });
  scheduler_.TimerAdded(deadline);
}

void Lifetimes::Cancel(uint32_t slot) {
  Entry& entry = At(slot);
  if (entry.wheel == nullptr) return;
  entry.wheel->Cancel(entry.timer);
  entry.wheel = nullptr;
}

Process* Lifetimes::Fired(uint64_t value, Lane& lane) {
  Process& process =
      processes_.At(static_cast<uint32_t>(value & (kLifetime - 1)));
  const auto generation = static_cast<uint32_t>(value >> 32);
  // Relaxed: whoever drops it looks at the generation again.
  if (process.generation.load(std::memory_order_relaxed) != generation) {
    return nullptr;
  }
  const int64_t lived = static_cast<int64_t>(clock_.UnixNs()) -
                        static_cast<int64_t>(process.started_unix_ns.load(
                            std::memory_order_relaxed));
  const std::string text =
      absl::StrCat("the process has lived for ",
                   absl::FormatDuration(absl::Milliseconds(lived / 1'000'000)),
                   ", which is as long as it may");
  Envelope* const envelope =
      lane.NewEnvelope(kEventLifetimeEnd, {}, TextPayload(text));
  envelope->generation = generation;
  // At most one for each process, so Activity::kUrgentMax leaves room for it.
  return process.PostUrgent(envelope) ? &process : nullptr;
}

}  // namespace actord::runtime
