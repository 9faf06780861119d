// actord/frame_pool.h: memory for coroutine frames. Used by coroutine.h;
// authors of plugins do not need it.
//
// Every thread keeps the frames that were freed on it, by size, and hands them
// out again; what it does not have, and what it has too much of, comes from and
// goes to the global allocator. So a frame may be freed on another thread than
// the one that allocated it, as happens when a process moves.
//
// A plugin has a pool of its own, apart from other plugins'.
//
// Thread-safety: any thread. Ownership: the caller owns what it was given until
// it gives it back; a thread's cache is freed when the thread ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace actord::detail {

class FramePool {
 public:
  // AddressSanitizer finds the use of a freed frame only if it is really freed.
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

  // Blocks are multiples of this, and aligned as ::operator new aligns.
  static constexpr size_t kUnitBytes = 64;
  // Larger ones are not kept.
  static constexpr size_t kMaxUnits = 32;
  // A thread keeps at most this much of each size.
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

  // `bytes` as in the call of Allocate.
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
  // Nothing is kept before the thread's end is taken care of, and after it.
  enum class State : uint8_t { kNew, kOpen, kClosed };
  // No constructor and no destructor, so that reaching it costs no check.
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
