// A type-stable table: a slot's memory keeps its address and its type for the
// table's life, so a stale index can be looked at without harm. Whoever
// reuses slots puts a generation into T and checks it.
//
// Thread-safety: At() from any thread, for slots below SlotsInUse(); Take and
// Give from any thread; a Cache belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/mutex.h"

namespace actord::runtime {

template <typename T>
class SlotTable {
 public:
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  static constexpr size_t kChunkSlots = 4096;
  static constexpr size_t kMaxSlots = size_t{1} << 28;

  // Free slots at hand. What it holds cannot be allocated by others.
  class Cache {
   public:
    uint32_t Allocate(SlotTable& table) {
      if (free_.empty()) table.Take(table.cache_slots_ + 1, free_);
      if (free_.empty()) return kNoSlot;
      const uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    void Free(SlotTable& table, uint32_t slot) {
      free_.push_back(slot);
      if (free_.size() > 2 * table.cache_slots_) {
        table.Give(table.cache_slots_ + 1, free_);
      }
    }

   private:
    std::vector<uint32_t> free_;
  };

  // At most `capacity` slots; `caches` is how many caches will share it. In a
  // small table they hold nothing back, so that its limit is met exactly; of a
  // large one they may hold 1/32.
  SlotTable(size_t capacity, size_t caches)
      : capacity_(std::min(capacity, kMaxSlots)),
        cache_slots_(std::min<size_t>(capacity_ / (64 * (caches + 1)), 64)),
        chunks_((capacity_ + kChunkSlots - 1) / kChunkSlots) {}
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;
  ~SlotTable() {
    for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }

  // Precondition: `slot` came from Allocate, or is below SlotsInUse().
  T& At(uint32_t slot) const {
    // Acquire: pairs with the release that published the chunk.
    Chunk* chunk = chunks_[slot / kChunkSlots].load(std::memory_order_acquire);
    return (*chunk)[slot % kChunkSlots];
  }

  // Slots that have ever been handed out are below this. Grows only.
  uint32_t SlotsInUse() const {
    return static_cast<uint32_t>(next_.load(std::memory_order_acquire));
  }

 private:
  using Chunk = std::array<T, kChunkSlots>;

  void Take(size_t count, std::vector<uint32_t>& out) {
    const MutexLock lock(mutex_);
    while (count > 0 && !free_.empty()) {
      out.push_back(free_.back());
      free_.pop_back();
      --count;
    }
    const size_t begin = next_.load(std::memory_order_relaxed);
    const size_t end = std::min(begin + count, capacity_);
    for (size_t slot = begin; slot < end; ++slot) {
      if (slot % kChunkSlots == 0) {
        chunks_[slot / kChunkSlots].store(new Chunk(),
                                          std::memory_order_release);
      }
    }
    // The lowest ends on top.
    for (size_t slot = end; slot > begin; --slot) {
      out.push_back(static_cast<uint32_t>(slot - 1));
    }
    next_.store(end, std::memory_order_release);
  }

  void Give(size_t count, std::vector<uint32_t>& from) {
    const MutexLock lock(mutex_);
    free_.insert(free_.end(), from.end() - static_cast<std::ptrdiff_t>(count),
                 from.end());
    from.resize(from.size() - count);
  }

  const size_t capacity_;
  const size_t cache_slots_;  // a cache holds at most twice as many
  std::vector<std::atomic<Chunk*>> chunks_;
  // Written under mutex_.
  std::atomic<size_t> next_{0};

  Mutex mutex_;
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
