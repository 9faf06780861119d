// Memory for envelopes and for states that do not fit into their process:
// buffers in multiples of 64 bytes, cached for each worker. So a message takes
// no lock and reuses hot memory.
//
// A BufferCache belongs to one thread at a time. Buffers move between caches,
// because the consumer frees what the producer has allocated. Caches exchange
// surplus buffers in batches through a common pool. The pool's lock is the only
// one, and is taken once for kBatch buffers. After Bonwick and Adams,
// "Magazines and Vmem" (2001): free buffers are listed in arrays, not linked
// through the buffers. So a free does not write to the buffer, and the list is
// not read from memory that another processor used last. Buffers of up to
// kMaxPooledBytes are kept until the pool is destroyed.
// performance-notes: Rare code moved out, Marks not measured alone, Volatile
// work beside durable work.
#pragma once

#include <sanitizer/asan_interface.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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
  // Invalidates all buffers. Precondition: all caches are destroyed, and the
  // buffers larger than kMaxPooledBytes are freed.
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Both functions may be called on any thread. The bytes of the free buffers
  // in the pool, including pages that were given back.
  [[nodiscard]] size_t FreeBytes() const;
  // Gives pages back to the system if all of their buffers are free and in the
  // pool. The buffers stay, and the next use of each page costs a page fault.
  // Returns the bytes of these pages. Takes 10 to 100 ns for each free buffer.
  // During this time the free buffers of one size are not in the pool, so a
  // thread that needs one gets it from a new slab.
  size_t GivePagesBack();

 private:
  friend class BufferCache;
  static constexpr size_t kClasses = 16;  // 64, 128 … 1024 bytes
  static constexpr size_t kMaxPooledBytes = kClasses * kBufferUnitBytes;
  static constexpr uint32_t kBatch = 64;
  static constexpr size_t kSlabBytes = 256 << 10;

  using Batch = std::array<void*, kBatch>;
  using Batches = std::vector<std::unique_ptr<Batch>>;

  static constexpr size_t BytesOf(size_t size_class) {
    return (size_class + 1) * kBufferUnitBytes;
  }
  // Thread-safety: any thread. `batch` points to kBatch free buffers.
  void GiveBatch(size_t size_class, void* const* batch);
  void TakeBatch(size_t size_class, void** batch);

  mutable Mutex mutex_;
  // Stacks of full batches.
  std::array<Batches, kClasses> full_ ABSL_GUARDED_BY(mutex_);
  Batches empty_ ABSL_GUARDED_BY(mutex_);
  std::vector<void*> slabs_ ABSL_GUARDED_BY(mutex_);
  std::byte* fresh_ ABSL_GUARDED_BY(mutex_) = nullptr;
  size_t fresh_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

class BufferCache {
 public:
  explicit BufferCache(BufferPool& pool) : pool_(pool) {}
  // The pool's destructor frees what the cache holds.
  ~BufferCache() = default;
  BufferCache(const BufferCache&) = delete;
  BufferCache& operator=(const BufferCache&) = delete;

  // `bytes` rounded up to the size that Allocate provides. Precondition: bytes
  // > 0.
  static constexpr size_t RoundUp(size_t bytes) {
    ACTORD_ASSERT_HOT(bytes > 0, "buffer_pool.h: bytes > 0");
    return (bytes + kBufferUnitBytes - 1) / kBufferUnitBytes * kBufferUnitBytes;
  }

  // Allocates a buffer that is aligned to 64 bytes and not initialised.
  // Precondition: bytes > 0. Never null: the program aborts when it is out of
  // memory.
  void* Allocate(size_t bytes) {
    ACTORD_ASSERT_HOT(bytes > 0, "buffer_pool.h: bytes > 0");
    if (!IsAtHand(bytes)) [[unlikely]] {
      return AllocateSlowly(bytes);
    }
    return AllocateAtHand(bytes);
  }
  // Whether Allocate would find a buffer in the cache.
  [[nodiscard]] bool IsAtHand(size_t bytes) const {
    const size_t size_class = ClassOf(bytes);
    return size_class < BufferPool::kClasses && counts_[size_class] != 0;
  }
  // Allocate without a function call. Precondition: IsAtHand(bytes).
  void* AllocateAtHand(size_t bytes) {
    ACTORD_ASSERT_HOT(IsAtHand(bytes), "buffer_pool.h: a buffer is at hand");
#ifdef ACTORD_FAIL_POINTS
    ++buffers_in_use;
#endif
    const size_t size_class = ClassOf(bytes);
    const uint32_t left = --counts_[size_class];
    const Magazine& magazine = magazines_[size_class];
    void* buffer = magazine[left];
    // The next buffer will be written to soon, and another processor may have
    // its line.
    if (left != 0) PrefetchForWrite(magazine[left - 1]);
    ASAN_UNPOISON_MEMORY_REGION(buffer, (size_class + 1) * kBufferUnitBytes);
    return buffer;
  }

  // `bytes`: as given to Allocate, or RoundUp of that. (Inlined: each step
  // frees the envelope of its event.)
  [[gnu::always_inline]] void Deallocate(void* memory, size_t bytes) {
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
  // Deallocates all buffers. `bytes_of` gives the bytes of one; two buffers
  // with the same `sizes_of` have the same bytes. Neighbours mostly have. The
  // count of their class is then read and written once for all of them.
  template <typename Buffer, typename BytesOf, typename SizesOf>
  void DeallocateAll(std::span<Buffer* const> buffers, BytesOf bytes_of,
                     SizesOf sizes_of) {
    auto next = buffers.begin();
    while (next != buffers.end()) {
      const size_t size_class = ClassOf(bytes_of(**next));
      if (size_class >= BufferPool::kClasses ||
          counts_[size_class] == kMagazine) [[unlikely]] {
        Deallocate(*next, bytes_of(**next));
        ++next;
        continue;
      }
      Magazine& magazine = magazines_[size_class];
      uint32_t count = counts_[size_class];
      const auto sizes = sizes_of(**next);
      do {
#ifdef ACTORD_FAIL_POINTS
        --buffers_in_use;
#endif
        magazine[count++] = *next;
        ASAN_POISON_MEMORY_REGION(*next, (size_class + 1) * kBufferUnitBytes);
        ++next;
      } while (next != buffers.end() && count != kMagazine &&
               sizes_of(**next) == sizes);
      counts_[size_class] = count;
    }
  }

 private:
  static constexpr size_t kMagazine = size_t{2} * BufferPool::kBatch;
  // Free buffers, the newest last.
  using Magazine = std::array<void*, kMagazine>;

  static constexpr size_t ClassOf(size_t bytes) {
    return (bytes - 1) / kBufferUnitBytes;
  }
  // Allocates a buffer that the cache does not hold.
  void* AllocateSlowly(size_t bytes);
  static void DeallocateLarge(void* memory);
  void Spill(size_t size_class);

  BufferPool& pool_;
  // Number of free buffers of each class, and the buffers.
  std::array<uint32_t, BufferPool::kClasses> counts_{};
  std::array<Magazine, BufferPool::kClasses> magazines_;
};

}  // namespace actord::runtime
