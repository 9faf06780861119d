#include "runtime/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace actord::runtime {

uint64_t TimerWheel::TickOf(uint64_t deadline_ns) {
  // The last tick that kLevels digits can say: all but the end of the clock.
  constexpr uint64_t kLastTick = (uint64_t{1} << (kLevels * kLevelBits)) - 1;
  constexpr uint64_t kTickNs = uint64_t{1} << kTickShift;
  const uint64_t tick = deadline_ns >> kTickShift;
  const bool whole = (deadline_ns & (kTickNs - 1)) == 0;
  return std::min(whole ? tick : tick + 1, kLastTick);
}

void TimerWheel::Link(Timer& timer) {
  // The highest bit that differs decides the level; bits below one level's
  // digit count as that level.
  const uint64_t differing = (timer.tick ^ now_tick_) | (kSlots - 1);
  const int highest = 63 - std::countl_zero(differing);
  const int level = highest / kLevelBits;
  const auto slot =
      static_cast<int>((timer.tick >> (level * kLevelBits)) & (kSlots - 1));
  timer.level = static_cast<uint8_t>(level);
  timer.slot = static_cast<uint8_t>(slot);
  Timer** head =
      &levels_[static_cast<size_t>(level)].slots[static_cast<size_t>(slot)];
  timer.next = *head;
  if (timer.next != nullptr) timer.next->link = &timer.next;
  timer.link = head;
  *head = &timer;
  levels_[static_cast<size_t>(level)].occupied |= uint64_t{1} << slot;
}

void TimerWheel::Unlink(Timer& timer) {
  if (timer.link == nullptr) return;
  *timer.link = timer.next;
  if (timer.next != nullptr) timer.next->link = timer.link;
  timer.link = nullptr;
  Level& level = levels_[timer.level];
  if (level.slots[timer.slot] == nullptr) {
    level.occupied &= ~(uint64_t{1} << timer.slot);
  }
}

bool TimerWheel::FindNext(Next& next) const {
  // A timer on a lower level is always due before all of a higher one: it
  // shares the higher digits with now.
  for (int index = 0; index < kLevels; ++index) {
    const Level& level = levels_[static_cast<size_t>(index)];
    if (level.occupied == 0) continue;
    const int shift = index * kLevelBits;
    const auto now_digit =
        static_cast<int>((now_tick_ >> shift) & (kSlots - 1));
    const int ahead = std::countr_zero(std::rotr(level.occupied, now_digit));
    next.level = index;
    next.slot = (now_digit + ahead) & (kSlots - 1);
    const uint64_t level_start = (now_tick_ >> shift >> kLevelBits)
                                 << kLevelBits << shift;
    next.tick = level_start + (static_cast<uint64_t>(next.slot) << shift);
    return true;
  }
  return false;
}

void TimerWheel::PublishEarliest() {
  Next next{};
  const uint64_t earliest = FindNext(next) ? next.tick << kTickShift : kNever;
  // seq_cst: see EarliestNs.
  earliest_ns_.store(earliest, std::memory_order_seq_cst);
}

void TimerWheel::Advance(uint64_t now_ns, size_t max,
                         std::vector<uint64_t>& due) {
  const uint64_t until = now_ns >> kTickShift;
  const MutexLock lock(mutex_);
  Next next{};
  while (max > 0 && FindNext(next) && next.tick <= until) {
    now_tick_ = std::max(now_tick_, next.tick);
    Timer** head = &levels_[static_cast<size_t>(next.level)]
                        .slots[static_cast<size_t>(next.slot)];
    while (*head != nullptr) {
      Timer& timer = **head;
      if (next.level == 0 && max == 0) break;
      Unlink(timer);
      if (next.level > 0) {
        Link(timer);  // a level or more down
      } else {
        due.push_back(timer.value);
        --max;
      }
    }
  }
  // Nothing is left before `until`, unless `max` cut the walk short.
  if (max > 0) now_tick_ = std::max(now_tick_, until);
  PublishEarliest();
}

}  // namespace actord::runtime
