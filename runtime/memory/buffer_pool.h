// Memory for envelopes and states that do not fit into their process: buffers
// in multiples of 64 bytes, cached per worker, so that a message costs no lock
// and reuses hot memory.
//
// A BufferCache belongs to one thread at a time. Buffers wander: a producer's
// allocation is freed by its consumer. Caches exchange surplus in batches
// through the pool, which they share; that is the only lock, taken once per
// kBatch buffers. After Bonwick and Adams, "Magazines and Vmem" (2001): what is
// free is listed in arrays, not linked through the buffers, so that freeing one
// does not write to it, nor does the list have to be read from memory that
// another processor had last.
// Memory of up to kMaxPooledBytes a buffer is kept until the pool dies.
#pragma once

#include <sanitizer/asan_interface.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/system/assert.h"
#include "runtime/system/mutex.h"
#include "runtime/system/processor.h"

namespace actord::runtime {

inline constexpr size_t kBufferUnitBytes = 64;

#ifdef ACTORD_FAIL_POINTS
// Buffers that this thread has allocated and not freed.
inline constinit thread_local int64_t buffers_in_use = 0;
#endif

class BufferPool {
 public:
  BufferPool() = default;
  // All caches must be gone, and all buffers are invalid afterwards, except
  // those larger than kMaxPooledBytes, which must have been freed.
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

 private:
  friend class BufferCache;
  static constexpr size_t kClasses = 16;  // 64, 128 … 1024 bytes
  static constexpr size_t kMaxPooledBytes = kClasses * kBufferUnitBytes;
  static constexpr uint32_t kBatch = 64;
  static constexpr size_t kSlabBytes = 256 << 10;

  using Batch = std::array<void*, kBatch>;

  // Thread-safety: any thread. `batch` points to kBatch free buffers.
  void GiveBatch(size_t size_class, void* const* batch);
  void TakeBatch(size_t size_class, void** batch);

  Mutex mutex_;
  // Stacks of full batches.
  std::array<std::vector<std::unique_ptr<Batch>>, kClasses> full_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Batch>> empty_ ABSL_GUARDED_BY(mutex_);
  std::vector<void*> slabs_ ABSL_GUARDED_BY(mutex_);
  std::byte* fresh_ ABSL_GUARDED_BY(mutex_) = nullptr;
  size_t fresh_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

class BufferCache {
 public:
  explicit BufferCache(BufferPool& pool) : pool_(pool) {}
  // Leaves what it holds to the pool's own end.
  ~BufferCache() = default;
  BufferCache(const BufferCache&) = delete;
  BufferCache& operator=(const BufferCache&) = delete;

  // `bytes` rounded up to what Allocate really provides. Not of 0.
  static constexpr size_t RoundUp(size_t bytes) {
    return (bytes + kBufferUnitBytes - 1) / kBufferUnitBytes * kBufferUnitBytes;
  }

  // At least 1 byte; aligned to 64 bytes, not initialised. Never null: out of
  // memory aborts, as everywhere in this program.
  void* Allocate(size_t bytes) {
    if (!IsAtHand(bytes)) [[unlikely]] {
      return AllocateSlowly(bytes);
    }
    return AllocateAtHand(bytes);
  }
  // Whether Allocate would find one without asking the pool.
  [[nodiscard]] bool IsAtHand(size_t bytes) const {
    const size_t size_class = ClassOf(bytes);
    return size_class < BufferPool::kClasses && counts_[size_class] != 0;
  }
  // Allocate, without any call. Precondition: IsAtHand(bytes).
  void* AllocateAtHand(size_t bytes) {
    ACTORD_ASSERT_HOT(IsAtHand(bytes), "buffer_pool.h: a buffer is at hand");
#ifdef ACTORD_FAIL_POINTS
    ++buffers_in_use;
#endif
    const size_t size_class = ClassOf(bytes);
    const uint32_t left = --counts_[size_class];
    const Magazine& magazine = magazines_[size_class];
    void* buffer = magazine[left];
    // The next one will be written to soon, and may be in another cache.
    if (left != 0) PrefetchForWrite(magazine[left - 1]);
    ASAN_UNPOISON_MEMORY_REGION(buffer, (size_class + 1) * kBufferUnitBytes);
    return buffer;
  }

  // `bytes` as given to Allocate, or as RoundUp made of it.
  void Deallocate(void* memory, size_t bytes) {
#ifdef ACTORD_FAIL_POINTS
    --buffers_in_use;
#endif
    const size_t size_class = ClassOf(bytes);
    if (size_class >= BufferPool::kClasses) [[unlikely]] {
      DeallocateLarge(memory);
      return;
    }
    if (counts_[size_class] == kMagazine) [[unlikely]]
      Spill(size_class);
    ACTORD_ASSERT_HOT(counts_[size_class] < kMagazine,
                      "buffer_pool.h: Spill has made room");
    magazines_[size_class][counts_[size_class]++] = memory;
    ASAN_POISON_MEMORY_REGION(memory, (size_class + 1) * kBufferUnitBytes);
  }

 private:
  static constexpr size_t kMagazine = size_t{2} * BufferPool::kBatch;
  // The newest last.
  using Magazine = std::array<void*, kMagazine>;

  static constexpr size_t ClassOf(size_t bytes) {
    return (bytes - 1) / kBufferUnitBytes;
  }
  // What is not at hand.
  void* AllocateSlowly(size_t bytes);
  static void DeallocateLarge(void* memory);
  void Spill(size_t size_class);

  BufferPool& pool_;
  // Of each class: how many there are, and which.
  std::array<uint32_t, BufferPool::kClasses> counts_{};
  std::array<Magazine, BufferPool::kClasses> magazines_;
};

}  // namespace actord::runtime
