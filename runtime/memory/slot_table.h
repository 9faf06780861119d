// A type-stable table: a slot's memory keeps its address and its type for the
// table's lifetime, so a stale index can be read without harm. T holds a
// generation, and the users of T check it.
//
// The limit is on the number of slots in use, and it is met exactly. A slot is
// in use, free in the table, or free in a cache, where no other thread reaches
// it. The table has two modes:
//
//   shared   The slots in use and in caches are at most `limit` together. A
//            cache hands out its slots without a lock.
//     │ all of these slots are out, and a thread wants one more
//   exact    Caches keep no free slots. Each slot is handed out under the lock
//            if the slots in use are below the limit. Slots that an idle cache
//            still holds are not in use. The table replaces them with slots
//            beyond the limit.
//     │ enough slots have come back
//   shared
//
// (1) A cache publishes its number of slots (`held_`) before it reads the mode
//     (`cache_slots_`). A thread that makes the table exact stores the mode,
//     fences all threads, and then counts. So a slot that a cache hands out
//     without the lock is counted as in use, or the cache sees the new mode and
//     gives the slot back. tests/model/slot_table.pml checks (1).
// (2) While the table is exact, every allocation and every free takes the lock.
//
// The table is always exact if no thread can fence the others, and under a
// small limit.
//
// Thread-safety: At() from any thread, for slots below SlotsInUse(); SetLimit
// from any thread; a Cache belongs to one thread at a time.
// performance-notes: Rare code moved out.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "runtime/system/all_threads_fence.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/fresh_memory.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

template <typename T>
class SlotTable {
 public:
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  static constexpr size_t kChunkSlots = 4096;
  static constexpr size_t kMaxSlots = size_t{1} << 28;

  // Free slots for one thread. Other threads cannot allocate them.
  class Cache {
   public:
    Cache() = default;
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    // Precondition: the table that the cache was used with still exists.
    ~Cache() {
      if (table_ != nullptr) table_->Deregister(*this);
    }

    uint32_t Allocate(SlotTable& table) {
      uint32_t slot = kNoSlot;
      if (!free_.empty()) [[likely]] {
        slot = free_.back();
        free_.pop_back();
        Publish();
        FencedByOthers();
        if (free_.size() < 2 * table.cache_slots()) [[likely]]
          return slot;
      }
      return table.AllocateSlowly(*this, slot);
    }
    // As Allocate, even if the limit is reached. kNoSlot: `max_slots` are in
    // use.
    uint32_t AllocateAbove(SlotTable& table) {
      const uint32_t slot = Allocate(table);
      return slot != kNoSlot ? slot : table.AllocateAbove(*this);
    }
    // The slot that Allocate would return next. kNoSlot: the cache is empty.
    [[nodiscard]] uint32_t Next() const {
      return free_.empty() ? kNoSlot : free_.back();
    }
    void Free(SlotTable& table, uint32_t slot) {
      free_.push_back(slot);
      if (table_ == nullptr) table.Register(*this);
      if (free_.size() > 2 * table.cache_slots()) table.Give(*this);
      Publish();
    }
    // Gives a slot up for ever.
    void Retire(SlotTable& table) { table.Retire(); }

   private:
    friend class SlotTable;

    void Publish() { held_.store(free_.size(), std::memory_order_relaxed); }

    std::vector<uint32_t> free_;
    // free_.size(), for other threads. Relaxed, because (1) orders it. A slot
    // that is being freed may be counted as in use for a moment.
    std::atomic<size_t> held_{0};
    SlotTable* table_ = nullptr;  // the table that has registered the cache
  };

  // `limit`: as for SetLimit. `caches`: the number of caches that will share
  // the slots. `max_slots`: bounds every limit.
  SlotTable(size_t limit, size_t caches, size_t max_slots)
      : caches_count_(caches),
        max_slots_(std::min(max_slots, kMaxSlots)),
        chunks_((std::min(max_slots_ + caches * (2 * kMaxCacheSlots + 1),
                          kMaxSlots) +
                 kChunkSlots - 1) /
                kChunkSlots) {
    SetLimit(limit);
  }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;
  ~SlotTable() {
    for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }

  // From now on at most min(limit, max_slots) slots are in use, except by
  // AllocateAbove. Slots in use stay in use, even above the limit.
  void SetLimit(size_t limit) {
    const MutexLock lock(mutex_);
    limit_ = std::min(limit, max_slots_);
    // All caches together hold at most 1/32 of the slots.
    shared_cache_slots_ =
        CanFenceAllThreads()
            ? std::min(limit_ / (64 * (caches_count_ + 1)), kMaxCacheSlots)
            : 0;
    if (shared_cache_slots_ == 0 || Out() > limit_) {
      MakeExact();
    } else {
      cache_slots_.store(shared_cache_slots_, std::memory_order_relaxed);
    }
  }

  // Precondition: `slot` < SlotsInUse().
  T& At(uint32_t slot) const {
    ACTORD_ASSERT_HOT(slot < next_.load(), "slot_table.h: the slot is in use");
    // Acquire: pairs with the release that published the chunk.
    Chunk* chunk = chunks_[slot / kChunkSlots].load(std::memory_order_acquire);
    return (*chunk)[slot % kChunkSlots];
  }

  // Greater than every slot that was ever handed out. Only grows. The load and
  // the store are seq_cst: a walk over all slots begins with the load
  // (lifecycle_log.h).
  uint32_t SlotsInUse() const {
    return static_cast<uint32_t>(next_.load(std::memory_order_seq_cst));
  }

 private:
  // Aligned, so that `delete` passes the same alignment as NewChunk.
  struct alignas(64) Chunk : std::array<T, kChunkSlots> {};

  static Chunk* NewChunk() {
    void* const memory =
        ::operator new(sizeof(Chunk), std::align_val_t(alignof(Chunk)));
    BringPages(memory, sizeof(Chunk));
    return new (memory) Chunk();
  }

  void AddChunk(size_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Reserves room for all slots, so that Give never reallocates. This call
    // copies nothing either, because a chunk is added only if no slot is free.
    const size_t slots = (index + 1) * kChunkSlots;
    if (free_.capacity() < slots) free_.reserve(2 * slots);
    chunks_[index].store(NewChunk(), std::memory_order_release);
  }

  static constexpr size_t kMaxCacheSlots = 64;

  // A cache holds at most twice this number of slots. 0: the table is exact.
  [[nodiscard]] size_t cache_slots() const {
    return cache_slots_.load(std::memory_order_relaxed);
  }

  void Register(Cache& cache) {
    const MutexLock lock(mutex_);
    RegisterLocked(cache);
  }
  void RegisterLocked(Cache& cache) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (cache.table_ != nullptr) return;
    cache.table_ = this;
    caches_.push_back(&cache);
  }
  void Deregister(Cache& cache) {
    const MutexLock lock(mutex_);
    std::erase(caches_, &cache);
    free_.insert(free_.end(), cache.free_.begin(), cache.free_.end());
  }

  [[nodiscard]] bool IsExact() const { return cache_slots() == 0; }
  // Slots in use and slots in caches.
  [[nodiscard]] size_t Out() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return next_.load(std::memory_order_relaxed) - free_.size() - retired_;
  }
  // Slots in use. Precondition: IsExact().
  [[nodiscard]] size_t InUse() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ACTORD_ASSERT(IsExact(), "slot_table.h: the table is exact");
    size_t held = 0;
    for (const Cache* cache : caches_) {
      held += cache->held_.load(std::memory_order_relaxed);
    }
    return Out() - std::min(Out(), held);
  }
  void MakeExact() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (IsExact()) return;
    cache_slots_.store(0, std::memory_order_relaxed);
    FenceAllThreads();
  }

  // `slot`: the slot that the cache has just taken from its list and not yet
  // handed out, or kNoSlot.
  [[gnu::noinline]] uint32_t AllocateSlowly(Cache& cache, uint32_t slot) {
    const MutexLock lock(mutex_);
    RegisterLocked(cache);
    if (slot != kNoSlot) cache.free_.push_back(slot);
    // The cache holds too many: the limit was lowered, or the table is exact.
    if (cache.free_.size() > 2 * cache_slots()) GiveLocked(cache);
    if (!IsExact()) {
      if (cache.free_.empty()) Fill(cache, cache_slots() + 1);
      if (cache.free_.empty()) MakeExact();
    }
    if (IsExact() && InUse() < limit_) Fill(cache, 1);
    if (cache.free_.empty()) return kNoSlot;
    const uint32_t allocated = cache.free_.back();
    cache.free_.pop_back();
    cache.Publish();
    return allocated;
  }

  [[gnu::noinline]] uint32_t AllocateAbove(Cache& cache) {
    const MutexLock lock(mutex_);
    RegisterLocked(cache);
    // No other cache may hand out slots above the limit.
    MakeExact();
    if (cache.free_.empty() && Out() < max_slots_) Fill(cache, 1);
    if (cache.free_.empty()) return kNoSlot;
    const uint32_t slot = cache.free_.back();
    cache.free_.pop_back();
    cache.Publish();
    return slot;
  }

  // Puts up to `count` slots into an empty cache. While the table is shared, no
  // more than the limit leaves.
  void Fill(Cache& cache, size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ACTORD_ASSERT(cache.free_.empty(), "slot_table.h: the cache is empty");
    if (!IsExact()) count = std::min(count, limit_ - std::min(limit_, Out()));
    std::vector<uint32_t>& out = cache.free_;
    while (count > 0 && !free_.empty()) {
      out.push_back(free_.back());
      free_.pop_back();
      --count;
    }
    const size_t begin = next_.load(std::memory_order_relaxed);
    const size_t end = std::min(begin + count, chunks_.size() * kChunkSlots);
    for (size_t slot = begin; slot < end; ++slot) {
      if (slot % kChunkSlots == 0) AddChunk(slot / kChunkSlots);
    }
    // The lowest slot is on top.
    for (size_t slot = end; slot > begin; --slot) {
      out.push_back(static_cast<uint32_t>(slot - 1));
    }
    // Stores only a new value, because every look-up of a PID reads this line.
    if (end != begin) {
      next_.store(end, std::memory_order_seq_cst);
    }
  }

  // Gives back the slots that the cache may not keep.
  void Give(Cache& cache) {
    const MutexLock lock(mutex_);
    GiveLocked(cache);
    // With some slack, so that the next fence of all threads is not due at
    // once.
    const size_t slack = 4 * caches_count_ * shared_cache_slots_;
    if (IsExact() && Out() + slack <= limit_) {
      cache_slots_.store(shared_cache_slots_, std::memory_order_relaxed);
    }
  }
  void GiveLocked(Cache& cache) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<uint32_t>& from = cache.free_;
    const auto kept =
        static_cast<std::ptrdiff_t>(std::min(from.size(), cache_slots()));
    free_.insert(free_.end(), from.begin() + kept, from.end());
    from.resize(static_cast<size_t>(kept));
    ACTORD_ASSERT_HOT(!IsExact() || from.empty(), "slot_table.h (2)");
    cache.Publish();
  }

  void Retire() {
    const MutexLock lock(mutex_);
    ++retired_;
  }

  const size_t caches_count_;
  const size_t max_slots_;
  // 0, or shared_cache_slots_. Written under the lock, read by caches. Relaxed:
  // (1) orders the store of 0, and a cache may see another value late.
  std::atomic<size_t> cache_slots_{0};
  std::vector<std::atomic<Chunk*>> chunks_;
  // Written under mutex_.
  Atomic<size_t> next_{0};

  alignas(64) mutable Mutex mutex_;
  size_t limit_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t shared_cache_slots_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t retired_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<Cache*> caches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
