// performance-notes: Rare code moved out, Prefetch of due timers.
#include "runtime/scheduler/timer_wheel.h"

#include <algorithm>
#include <bit>

#include "runtime/system/processor.h"

namespace actord::runtime {
uint64_t TimerWheel::TickOf(uint64_t deadline_ns) {
  // The last tick that kLevels digits can express: all times but the end of the
  // clock.
  constexpr uint64_t kLastTick = (uint64_t{1} << (kLevels * kLevelBits)) - 1;
  constexpr uint64_t kTickNs = uint64_t{1} << kTickShift;
  const uint64_t tick = deadline_ns >> kTickShift;
  const bool whole = (deadline_ns & (kTickNs - 1)) == 0;
  return std::min(whole ? tick : tick + 1, kLastTick);
}

void TimerWheel::Add(uint64_t value, uint64_t deadline_ns) {
  const MutexLock lock(mutex_);
  const uint64_t tick = std::max(TickOf(deadline_ns), now_tick_);
  const uint64_t begin_ns = Link({value, tick}) << kTickShift;
  if (begin_ns < earliest_ns_.load(std::memory_order_relaxed)) {
    // seq_cst: see EarliestNs. If the bound is earlier already, a sleeper will
    // check the wheel before this timer is due.
    earliest_ns_.store(begin_ns, std::memory_order_seq_cst);
  }
  if (++size_ > room_ && is_wanted_) is_crowded_ = true;
  if (is_crowded_) [[unlikely]] {
    Forget();
  }
}

uint64_t TimerWheel::Link(const Timer& timer) {
  // The highest bit that differs decides the level. The OR gives level 0 to a
  // tick that differs in the lowest digit or not at all.
  const uint64_t differing = (timer.tick ^ now_tick_) | (kSlots - 1);
  const int highest = 63 - std::countl_zero(differing);
  const int level = highest / kLevelBits;
  const uint64_t place = timer.tick >> (level * kLevelBits);
  const auto slot = static_cast<int>(place & (kSlots - 1));
  SlotAt(level, slot).push_back(timer, blocks_);
  levels_[static_cast<size_t>(level)].SetOccupied(slot);
  return place << (level * kLevelBits);
}

void TimerWheel::Removed(int level, int slot) {
  if (!SlotAt(level, slot).empty()) return;
  levels_[static_cast<size_t>(level)].SetEmpty(slot);
  if (moving_.level == level && moving_.slot == slot) moving_ = {};
}

TimerWheel::Timer TimerWheel::TakeLast(Slot& timers) {
  // The entry this many timers ahead is prefetched from the slot.
  constexpr size_t kAhead = 32;
  const size_t last = timers.size() - 1;
  if (last >= kAhead) PrefetchForRead(&timers[last - kAhead]);
  const Timer timer = timers[last];
  timers.pop_back(blocks_);
  return timer;
}

size_t TimerWheel::MoveDown(const Next& next, size_t max) {
  moving_ = next;
  Slot& timers = SlotAt(next.level, next.slot);
  const size_t count = std::min(max, timers.size());
  // Each timer goes to a lower level, because its tick differs from now in no
  // digit of this level or above.
  for (size_t i = 0; i < count; ++i) Link(TakeLast(timers));
  Removed(next.level, next.slot);
  return count;
}

size_t TimerWheel::Fire(int slot, size_t max, std::vector<uint64_t>& due) {
  Slot& timers = SlotAt(0, slot);
  const size_t count = std::min(max, timers.size());
  for (size_t i = 0; i < count; ++i) due.push_back(TakeLast(timers).value);
  size_ -= count;
  Removed(0, slot);
  return count;
}

bool TimerWheel::FindNext(Next& next) const {
  if (moving_.level == 0) return FindFirst(next);
  next = moving_;
  return true;
}

bool TimerWheel::FindFirst(Next& next) const {
  // A timer on a lower level is always due before all timers of a higher level,
  // because it shares the higher digits with now.
  for (int level = 0; level < kLevels; ++level) {
    // No slot before now's digit holds a timer.
    const int slot = levels_[static_cast<size_t>(level)].NextOccupied(0);
    if (slot == kSlots) continue;
    const int shift = level * kLevelBits;
    const uint64_t level_start = (now_tick_ >> shift >> kLevelBits)
                                 << kLevelBits << shift;
    next = {level, slot, level_start + (static_cast<uint64_t>(slot) << shift)};
    return true;
  }
  return false;
}

void TimerWheel::PublishEarliest() {
  Next next;
  const uint64_t earliest = FindNext(next) ? next.tick << kTickShift : kNever;
  // seq_cst: see EarliestNs.
  earliest_ns_.store(earliest, std::memory_order_seq_cst);
}

uint64_t TimerWheel::FirstDueNs() {
  const MutexLock lock(mutex_);
  Next next;
  if (!FindFirst(next)) return kNever;
  uint64_t first = FirstTick(next.level, next.slot);
  // The rest of a slot that is being moved down may be due before the timers
  // that were moved.
  if (moving_.level != 0) {
    first = std::min(first, FirstTick(moving_.level, moving_.slot));
  }
  return first << kTickShift;
}

uint64_t TimerWheel::FirstTick(int level, int slot) {
  Slot& timers = SlotAt(level, slot);
  uint64_t first = kNever;
  for (size_t i = 0; i < timers.size(); ++i) {
    first = std::min(first, timers[i].tick);
  }
  return first;
}

void TimerWheel::Advance(uint64_t now_ns, size_t max,
                         std::vector<uint64_t>& due) {
  const uint64_t until = now_ns >> kTickShift;
  const MutexLock lock(mutex_);
  size_t moves = Policy::kTimersMovedAtOnce;
  Next next;
  while (max > 0 && moves > 0 && FindNext(next) && next.tick <= until) {
    now_tick_ = std::max(now_tick_, next.tick);
    if (next.level > 0) {
      moves -= MoveDown(next, moves);
    } else {
      max -= Fire(next.slot, max, due);
    }
  }
  // No timer is left before `until`, unless `max` or `moves` ended the loop.
  if (max > 0 && moves > 0) now_tick_ = std::max(now_tick_, until);
  PublishEarliest();
  // If few timers are left, the wheel must count as crowded before it has as
  // many again as before. A walk that has begun goes on; otherwise no walk
  // might ever end.
  if (!is_crowded_) SetRoom(std::clamp(4 * size_, Policy::kFewTimers, room_));
}

void TimerWheel::SetRoom(size_t room) {
  room_ = room;
  is_crowded_ = false;
  forgetting_ = {};
}

void TimerWheel::Forget() {
  size_t looks = Policy::kTimersCheckedPerAdd;
  while (looks > 0) {
    if (!FindToForget()) {
      SetRoom(std::max(Policy::kFewTimers, 2 * size_));
      return;
    }
    Slot& timers = SlotAt(forgetting_.level, forgetting_.slot);
    const size_t end = forgetting_.left;
    const size_t begin = end - std::min(end, looks);
    // Ask about all timers before any removal, so that their cache misses
    // overlap.
    std::array<bool, Policy::kTimersCheckedPerAdd> wanted;
    for (size_t i = begin; i < end; ++i) {
      wanted[i - begin] = is_wanted_(timers[i].value);
    }
    for (size_t i = end; i > begin; --i) {
      if (wanted[i - 1 - begin]) continue;
      // The newest timer takes its place: it was checked already, or was added
      // after the walk began.
      timers[i - 1] = timers.back();
      timers.pop_back(blocks_);
      --size_;
    }
    forgetting_.left = begin;
    Removed(forgetting_.level, forgetting_.slot);
    looks -= end - begin;
  }
}

bool TimerWheel::FindToForget() {
  auto& [level, slot, left] = forgetting_;
  // Some timers may have gone meanwhile: firing and moving take the newest.
  if (left > 0) left = std::min(left, SlotAt(level, slot).size());
  while (left == 0) {
    slot = levels_[static_cast<size_t>(level)].NextOccupied(slot + 1);
    if (slot < kSlots) {
      left = SlotAt(level, slot).size();
    } else if (level == 0) {
      return false;
    } else {
      --level;
      slot = -1;
    }
  }
  return true;
}

}  // namespace actord::runtime
