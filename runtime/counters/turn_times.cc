#include "runtime/counters/turn_times.h"

#include <algorithm>

namespace actord::runtime {

TurnTimes::~TurnTimes() {
  for (auto& counted : of_types_) {
    delete counted.load(std::memory_order_relaxed);
  }
}

void TurnTimes::Add(uint16_t type, uint64_t took_ns) {
  auto& place = of_types_[type > kMaxTypes ? kOther : type];
  Counted* counted = place.load(std::memory_order_relaxed);
  if (counted == nullptr) {
    counted = new Counted;
    place.store(counted, std::memory_order_release);
  }
  constexpr auto& kBounds = TurnHistogram::kBoundsNs;
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), took_ns);
  counted->sum_ns.Add(took_ns);
  counted->turns[static_cast<size_t>(bound - kBounds.begin())].Add();
}

void TurnTimes::ForEach(
    absl::FunctionRef<void(uint16_t, const TurnHistogram&)> use) const {
  for (uint16_t type = 0; type <= kMaxTypes; ++type) {
    const Counted* const counted =
        of_types_[type].load(std::memory_order_acquire);
    if (counted == nullptr) continue;
    TurnHistogram histogram;
    for (size_t i = 0; i < histogram.turns.size(); ++i) {
      histogram.turns[i] = counted->turns[i].Get();
    }
    histogram.sum_ns = counted->sum_ns.Get();
    use(type, histogram);
  }
}

}  // namespace actord::runtime
