// actord/frame_pool.h: memory for coroutine frames. Used by coroutine.h;
// authors of plugins do not need it.
//
// Every thread caches the frames that were freed on it, by size, and reuses
// them. On a cache miss, or when a cache is full, the global allocator is used.
// So a frame may be freed on another thread than the one that allocated it, as
// happens when a process moves.
//
// Each plugin has a pool of its own.
//
// Thread-safety: any thread. Ownership: the caller owns the memory from
// Allocate to Deallocate. A thread's cache is freed when the thread ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace actord::detail {

class FramePool {
 public:
  // Off under AddressSanitizer, which finds the use of a freed frame only if
  // the frame is really freed.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool kEnabled = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  static constexpr bool kEnabled = false;
#else
  static constexpr bool kEnabled = true;
#endif
#else
  static constexpr bool kEnabled = true;
#endif

  // The size of a block is a multiple of this; the alignment is that of
  // ::operator new.
  static constexpr size_t kUnitBytes = 64;
  // Larger blocks are not cached.
  static constexpr size_t kMaxUnits = 32;
  // A thread caches at most this much of each size.
  static constexpr size_t kMaxCachedUnits = 1024;

  static void* Allocate(size_t bytes) {
    const size_t units = (bytes + kUnitBytes - 1) / kUnitBytes;
    if (kEnabled && units <= kMaxUnits) [[likely]] {
      Size& size = cache_.sizes[units - 1];
      if (Block* block = size.free) {
        size.free = block->next;
        size.units -= static_cast<uint32_t>(units);
        return block;
      }
    }
    return ::operator new(units* kUnitBytes);
  }

  // `bytes` must be the same as in the call of Allocate.
  static void Deallocate(void* memory, size_t bytes) noexcept {
    const size_t units = (bytes + kUnitBytes - 1) / kUnitBytes;
    if (kEnabled && units <= kMaxUnits) [[likely]] {
      Cache& cache = cache_;
      Size& size = cache.sizes[units - 1];
      if (cache.state == State::kOpen && size.units < kMaxCachedUnits)
          [[likely]] {
        size.free = ::new (memory) Block{size.free};
        size.units += static_cast<uint32_t>(units);
        return;
      }
      if (cache.state == State::kNew) Open();
    }
    ::operator delete(memory);
  }

 private:
  struct Block {
    Block* next;
  };
  struct Size {
    Block* free;
    uint32_t units;
  };
  // kNew: the thread's Closer is not registered yet. kOpen: freed blocks are
  // cached. kClosed: the Closer has run. In kNew and kClosed nothing is cached.
  enum class State : uint8_t { kNew, kOpen, kClosed };
  // Has no constructor and no destructor, so access needs no initialisation
  // check.
  struct Cache {
    State state;
    Size sizes[kMaxUnits];
  };
  static inline constinit thread_local Cache cache_ = {};

  struct Closer {
    Closer() { cache_.state = State::kOpen; }
    ~Closer() {
      cache_.state = State::kClosed;
      for (size_t i = 0; i < kMaxUnits; ++i) {
        while (Block* block = cache_.sizes[i].free) {
          cache_.sizes[i].free = block->next;
          ::operator delete(static_cast<void*>(block));
        }
      }
    }
  };
  static void Open() noexcept { static thread_local Closer closer; }
};

}  // namespace actord::detail
