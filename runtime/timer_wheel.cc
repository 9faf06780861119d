#include "runtime/timer_wheel.h"

#include <algorithm>
#include <bit>

#include "runtime/processor.h"

namespace actord::runtime {
namespace {

// So many timers before it is its turn, a timer's memory is fetched, and what
// the slot says of it.
constexpr size_t kTimerAhead = 8;
constexpr size_t kEntryAhead = 32;

}  // namespace

uint64_t TimerWheel::TickOf(uint64_t deadline_ns) {
  // The last tick that kLevels digits can say: all but the end of the clock.
  constexpr uint64_t kLastTick = (uint64_t{1} << (kLevels * kLevelBits)) - 1;
  constexpr uint64_t kTickNs = uint64_t{1} << kTickShift;
  const uint64_t tick = deadline_ns >> kTickShift;
  const bool whole = (deadline_ns & (kTickNs - 1)) == 0;
  return std::min(whole ? tick : tick + 1, kLastTick);
}

void TimerWheel::Link(Timer& timer, uint64_t tick) {
  // The highest bit that differs decides the level; bits below one level's
  // digit count as that level.
  const uint64_t differing = (tick ^ now_tick_) | (kSlots - 1);
  const int highest = 63 - std::countl_zero(differing);
  const int level = highest / kLevelBits;
  const auto slot =
      static_cast<int>((tick >> (level * kLevelBits)) & (kSlots - 1));
  Slot& entries = SlotAt(level, slot);
  entries.push_back({&timer, tick}, blocks_);
  timer.level = static_cast<uint8_t>(level);
  timer.slot = static_cast<uint8_t>(slot);
  timer.index = static_cast<uint32_t>(entries.size() - 1);
  levels_[static_cast<size_t>(level)].SetOccupied(slot);
}

void TimerWheel::Unlink(Timer& timer) {
  if (timer.index == Timer::kNone) return;
  Slot& entries = SlotAt(timer.level, timer.slot);
  // The last one takes its place.
  entries[timer.index] = entries.back();
  entries[timer.index].timer->index = timer.index;
  entries.pop_back(blocks_);
  timer.index = Timer::kNone;
  Removed(timer.level, timer.slot);
}

void TimerWheel::Removed(int level, int slot) {
  if (!SlotAt(level, slot).empty()) return;
  levels_[static_cast<size_t>(level)].SetEmpty(slot);
  if (moving_.level == level && moving_.slot == slot) moving_ = {};
}

TimerWheel::Entry TimerWheel::TakeLast(Slot& entries) {
  const size_t last = entries.size() - 1;
  if (last >= kTimerAhead) PrefetchForWrite(entries[last - kTimerAhead].timer);
  if (last >= kEntryAhead) PrefetchForRead(&entries[last - kEntryAhead]);
  const Entry entry = entries[last];
  entries.pop_back(blocks_);
  return entry;
}

size_t TimerWheel::MoveDown(const Next& next, size_t max) {
  moving_ = next;
  Slot& entries = SlotAt(next.level, next.slot);
  const size_t count = std::min(max, entries.size());
  for (size_t i = 0; i < count; ++i) {
    const Entry entry = TakeLast(entries);
    // Below, since its time differs from now in no digit from here up.
    Link(*entry.timer, entry.tick);
  }
  Removed(next.level, next.slot);
  return count;
}

size_t TimerWheel::Fire(int slot, size_t max, std::vector<uint64_t>& due) {
  Slot& entries = SlotAt(0, slot);
  const size_t count = std::min(max, entries.size());
  for (size_t i = 0; i < count; ++i) {
    Timer& timer = *TakeLast(entries).timer;
    due.push_back(timer.value);
    timer.index = Timer::kNone;
    timer.may_be_in.store(false, std::memory_order_release);
  }
  Removed(0, slot);
  return count;
}

bool TimerWheel::FindNext(Next& next) const {
  if (moving_.level == 0) return FindFirst(next);
  next = moving_;
  return true;
}

bool TimerWheel::FindFirst(Next& next) const {
  // A timer on a lower level is always due before all of a higher one: it
  // shares the higher digits with now.
  for (int level = 0; level < kLevels; ++level) {
    // Before now's digit there is none.
    const int slot = levels_[static_cast<size_t>(level)].FirstOccupied();
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
  // Of a slot that is moved down, the rest may be due before what was moved.
  if (moving_.level != 0) {
    first = std::min(first, FirstTick(moving_.level, moving_.slot));
  }
  return first << kTickShift;
}

uint64_t TimerWheel::FirstTick(int level, int slot) {
  Slot& entries = SlotAt(level, slot);
  uint64_t first = kNever;
  for (size_t i = 0; i < entries.size(); ++i) {
    first = std::min(first, entries[i].tick);
  }
  return first;
}

void TimerWheel::Advance(uint64_t now_ns, size_t max,
                         std::vector<uint64_t>& due) {
  const uint64_t until = now_ns >> kTickShift;
  const MutexLock lock(mutex_);
  size_t moves = kMovesAtOnce;
  Next next;
  while (max > 0 && moves > 0 && FindNext(next) && next.tick <= until) {
    now_tick_ = std::max(now_tick_, next.tick);
    if (next.level > 0) {
      moves -= MoveDown(next, moves);
    } else {
      max -= Fire(next.slot, max, due);
    }
  }
  // Nothing is left before `until`, unless the walk was cut short.
  if (max > 0 && moves > 0) now_tick_ = std::max(now_tick_, until);
  PublishEarliest();
}

}  // namespace actord::runtime
