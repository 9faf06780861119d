// Memory for envelopes and process state: buffers in multiples of 64 bytes,
// cached per worker, so that a message costs no lock and reuses hot memory.
//
// A BufferCache belongs to one thread at a time. Buffers wander: a producer's
// allocation is freed by its consumer. Caches exchange surplus in batches
// through the pool, which they share; that is the only lock, taken once per
// kBatch buffers. After Bonwick and Adams, "Magazines and Vmem" (2001).
// Memory of up to kMaxPooledBytes a buffer is kept until the pool dies.
#pragma once

#include <sanitizer/asan_interface.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/mutex.h"

namespace actord::runtime {

inline constexpr size_t kBufferUnitBytes = 64;

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
  static constexpr uint32_t kBatch = 32;
  static constexpr size_t kSlabBytes = 256 << 10;

  // A free buffer.
  struct Free {
    Free* next;
    Free* next_batch;  // in the pool's stack of batches
  };

  // Thread-safety: any thread.
  void GiveBatch(size_t size_class, Free* batch);
  // A chain of kBatch free buffers, linked by `next`.
  Free* TakeBatch(size_t size_class);

  Mutex mutex_;
  std::array<Free*, kClasses> batches_ ABSL_GUARDED_BY(mutex_){};
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

  // `bytes` rounded up to what Allocate really provides.
  static constexpr size_t RoundUp(size_t bytes) {
    const size_t units = (bytes + kBufferUnitBytes - 1) / kBufferUnitBytes;
    return (units == 0 ? 1 : units) * kBufferUnitBytes;
  }

  // Aligned to 64 bytes, not initialised. Never null: out of memory aborts, as
  // everywhere in this program.
  void* Allocate(size_t bytes) {
    const size_t size_class = ClassOf(bytes);
    if (size_class >= BufferPool::kClasses) [[unlikely]] {
      return AllocateLarge(bytes);
    }
    List& list = lists_[size_class];
    if (list.head == nullptr) [[unlikely]]
      Refill(size_class);
    BufferPool::Free* buffer = list.head;
    Unpoison(buffer, (size_class + 1) * kBufferUnitBytes);
    list.head = buffer->next;
    --list.count;
    return buffer;
  }

  // `bytes` as given to Allocate, or as RoundUp made of it.
  void Deallocate(void* memory, size_t bytes) {
    const size_t size_class = ClassOf(bytes);
    if (size_class >= BufferPool::kClasses) [[unlikely]] {
      DeallocateLarge(memory);
      return;
    }
    auto* buffer = static_cast<BufferPool::Free*>(memory);
    List& list = lists_[size_class];
    buffer->next = list.head;
    list.head = buffer;
    Poison(buffer, (size_class + 1) * kBufferUnitBytes);
    if (++list.count >= 2 * BufferPool::kBatch) [[unlikely]]
      Spill(size_class);
  }

 private:
  struct List {
    BufferPool::Free* head = nullptr;
    uint32_t count = 0;
  };

  static constexpr size_t ClassOf(size_t bytes) {
    return RoundUp(bytes) / kBufferUnitBytes - 1;
  }
  // Tell AddressSanitizer, where it is built in, that free memory is free. The
  // links in front stay readable. (The macros are empty without it.)
  static void Poison([[maybe_unused]] BufferPool::Free* buffer,
                     [[maybe_unused]] size_t bytes) {
    ASAN_POISON_MEMORY_REGION(buffer + 1, bytes - sizeof(*buffer));
  }
  static void Unpoison([[maybe_unused]] BufferPool::Free* buffer,
                       [[maybe_unused]] size_t bytes) {
    ASAN_UNPOISON_MEMORY_REGION(buffer + 1, bytes - sizeof(*buffer));
  }

  static void* AllocateLarge(size_t bytes);
  static void DeallocateLarge(void* memory);
  void Refill(size_t size_class);
  void Spill(size_t size_class);

  BufferPool& pool_;
  std::array<List, BufferPool::kClasses> lists_{};
};

}  // namespace actord::runtime
