// A type-stable table: a slot's memory keeps its address and its type for the
// table's life, so a stale index can be looked at without harm. Whoever
// reuses slots puts a generation into T and checks it.
//
// Thread-safety: At() from any thread, for slots below SlotsInUse(); SetLimit
// from any thread; a Cache belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

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

  // Free slots at hand. What it holds cannot be allocated by others.
  class Cache {
   public:
    Cache() = default;
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    // Precondition: the table still is there, if it has been used with one.
    ~Cache() {
      if (table_ != nullptr) table_->Deregister(*this);
    }

    uint32_t Allocate(SlotTable& table) {
      // More than it may hold: the limit was lowered.
      if (free_.size() > 2 * table.cache_slots()) [[unlikely]] {
        table.Give(*this);
      }
      if (free_.empty()) table.Take(*this);
      if (free_.empty()) return kNoSlot;
      const uint32_t slot = free_.back();
      free_.pop_back();
      Publish();
      return slot;
    }
    // What Allocate would return next; kNoSlot if that is not at hand.
    [[nodiscard]] uint32_t Next() const {
      return free_.empty() ? kNoSlot : free_.back();
    }
    void Free(SlotTable& table, uint32_t slot) {
      free_.push_back(slot);
      if (table_ == nullptr) table.Register(*this);
      if (free_.size() > 2 * table.cache_slots()) table.Give(*this);
      Publish();
    }

   private:
    friend class SlotTable;

    void Publish() { held_.store(free_.size(), std::memory_order_relaxed); }

    std::vector<uint32_t> free_;
    // free_.size(), for other threads; relaxed: whoever counts with it may be a
    // moment behind.
    std::atomic<size_t> held_{0};
    SlotTable* table_ = nullptr;  // that knows it
  };

  // At most `limit` slots; see SetLimit. `caches` is how many caches will share
  // them. Under a small limit they hold nothing back, so that it is met
  // exactly; under a large one they may hold 1/32.
  SlotTable(size_t limit, size_t caches, size_t max_slots)
      : caches_count_(caches),
        chunks_((std::min(max_slots, kMaxSlots) + kChunkSlots - 1) /
                kChunkSlots) {
    SetLimit(limit);
  }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;
  ~SlotTable() {
    for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }

  // From now on at most `limit` slots are handed out, and no more than
  // max_slots. Those that are out stay out, also above the limit.
  void SetLimit(size_t limit) {
    const MutexLock lock(mutex_);
    limit_ = std::min(limit, chunks_.size() * kChunkSlots);
    cache_slots_.store(
        std::min<size_t>(limit_ / (64 * (caches_count_ + 1)), 64),
        std::memory_order_relaxed);
  }

  // Precondition: `slot` came from Allocate, or is below SlotsInUse().
  T& At(uint32_t slot) const {
    // Acquire: pairs with the release that published the chunk.
    Chunk* chunk = chunks_[slot / kChunkSlots].load(std::memory_order_acquire);
    return (*chunk)[slot % kChunkSlots];
  }

  // Slots that have ever been handed out are below this. Grows only. seq_cst,
  // as the store: a walk over all slots begins with it (lifecycle_log.h).
  uint32_t SlotsInUse() const {
    WillRead(&next_);
    return static_cast<uint32_t>(next_.load(std::memory_order_seq_cst));
  }

 private:
  // Aligned, so that `delete` of one takes its alignment along, as NewChunk.
  struct alignas(64) Chunk : std::array<T, kChunkSlots> {};

  static Chunk* NewChunk() {
    void* const memory =
        ::operator new(sizeof(Chunk), std::align_val_t(alignof(Chunk)));
    BringPages(memory, sizeof(Chunk));
    return new (memory) Chunk();
  }

  void AddChunk(size_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Room for all slots, so that Give copies nothing; nor does this, as there
    // is a chunk more only when no slot is free.
    const size_t slots = (index + 1) * kChunkSlots;
    if (free_.capacity() < slots) free_.reserve(2 * slots);
    chunks_[index].store(NewChunk(), std::memory_order_release);
  }

  // A cache holds at most twice as many.
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
  }

  // How many slots may be handed out now.
  [[nodiscard]] size_t Room() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const size_t out = next_.load(std::memory_order_relaxed) - free_.size();
    if (out < limit_) return limit_ - out;
    // What a cache holds in excess of its share, since a limit was lowered,
    // comes back before it allocates again: as good as free.
    size_t excess = 0;
    for (const Cache* cache : caches_) {
      const size_t held = cache->held_.load(std::memory_order_relaxed);
      excess += held - std::min(held, 2 * cache_slots());
    }
    const size_t counted = out - std::min(out, excess);
    return limit_ - std::min(limit_, counted);
  }

  void Take(Cache& cache) {
    const MutexLock lock(mutex_);
    RegisterLocked(cache);
    size_t count = std::min(cache_slots() + 1, Room());
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
    // The lowest ends on top.
    for (size_t slot = end; slot > begin; --slot) {
      out.push_back(static_cast<uint32_t>(slot - 1));
    }
    // Every look-up of a PID reads its line.
    if (end != begin) {
      WillWrite(&next_);
      next_.store(end, std::memory_order_seq_cst);
    }
  }

  // All but what the cache may keep at hand.
  void Give(Cache& cache) {
    const MutexLock lock(mutex_);
    std::vector<uint32_t>& from = cache.free_;
    const auto kept =
        static_cast<std::ptrdiff_t>(std::min(from.size(), cache_slots()));
    free_.insert(free_.end(), from.begin() + kept, from.end());
    from.resize(static_cast<size_t>(kept));
    cache.Publish();
  }

  const size_t caches_count_;
  // Written by SetLimit, read by caches; relaxed: a cache may go by the old
  // value for a moment.
  std::atomic<size_t> cache_slots_{0};
  std::vector<std::atomic<Chunk*>> chunks_;
  // Written under mutex_.
  std::atomic<size_t> next_{0};

  alignas(64) mutable Mutex mutex_;
  size_t limit_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<Cache*> caches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
