// How long turns take, by process type: histograms of a sample. A worker
// measures one of kTurnsPerSample turns on average, at random distances, so
// that processes that take turns with each other are all seen. A turn is
// usually one step and its effects.
//
// Bounds: the types with the first kMaxTypes numbers (TypeNames) have a
// histogram each, and all others share one. A histogram takes 100 bytes, from
// the first sample on.
//
// Thread-safety: one thread adds; any thread reads, a moment late.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/counters/counters.h"

namespace actord::runtime {

// The turns of one type that were measured.
struct TurnHistogram {
  // The upper bounds of the buckets. One more bucket has no bound.
  static constexpr std::array<uint64_t, 10> kBoundsNs = {
      1'000,     5'000,      25'000,     100'000,     500'000,
      2'500'000, 10'000'000, 50'000'000, 250'000'000, 1'000'000'000};

  // Turns in each bucket.
  std::array<uint64_t, kBoundsNs.size() + 1> turns{};
  uint64_t sum_ns = 0;
};

class TurnTimes {
 public:
  static constexpr uint64_t kTurnsPerSample = 64;
  static constexpr uint16_t kMaxTypes = 200;
  // The type of the shared histogram.
  static constexpr uint16_t kOther = 0;

  TurnTimes() = default;
  ~TurnTimes();
  TurnTimes(const TurnTimes&) = delete;
  TurnTimes& operator=(const TurnTimes&) = delete;

  // `type`: the number of the type; 0: it has none.
  void Add(uint16_t type, uint64_t took_ns);
  // Calls `use` with the histogram of each type that has one, as it is now.
  void ForEach(
      absl::FunctionRef<void(uint16_t type, const TurnHistogram&)> use) const;

 private:
  struct Counted {
    std::array<Counter, TurnHistogram::kBoundsNs.size() + 1> turns;
    Counter sum_ns;
  };

  // By the number of the type. Null: no sample yet. Written with release by the
  // one thread, read with acquire; never replaced.
  std::array<std::atomic<Counted*>, kMaxTypes + 1> of_types_{};
};

}  // namespace actord::runtime
