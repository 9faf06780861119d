#include "runtime/memory/buffer_pool.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "runtime/memory/free_pages.h"
#include "runtime/system/fresh_memory.h"

namespace actord::runtime {
namespace {

constexpr std::align_val_t kAlign{kBufferUnitBytes};

}  // namespace

BufferPool::~BufferPool() {
  for (void* slab : slabs_) {
    ASAN_UNPOISON_MEMORY_REGION(slab, kSlabBytes);
    ::operator delete(slab, kAlign);
  }
}

void BufferPool::GiveBatch(size_t size_class, void* const* batch) {
  const MutexLock lock(mutex_);
  if (empty_.empty()) empty_.push_back(std::make_unique<Batch>());
  std::copy_n(batch, kBatch, empty_.back()->begin());
  full_[size_class].push_back(std::move(empty_.back()));
  empty_.pop_back();
}

void BufferPool::TakeBatch(size_t size_class, void** batch) {
  const size_t bytes = BytesOf(size_class);
  const MutexLock lock(mutex_);
  auto& full = full_[size_class];
  if (!full.empty()) {
    std::copy_n(full.back()->begin(), kBatch, batch);
    empty_.push_back(std::move(full.back()));
    full.pop_back();
    return;
  }
  if (fresh_bytes_ < kBatch * bytes) {
    // The rest of the old slab, less than a batch, is not used.
    fresh_ = static_cast<std::byte*>(::operator new(kSlabBytes, kAlign));
    BringPages(fresh_, kSlabBytes);
    fresh_bytes_ = kSlabBytes;
    slabs_.push_back(fresh_);
    ASAN_POISON_MEMORY_REGION(fresh_, kSlabBytes);
  }
  // Taken from the end, the buffers come in the order of their addresses.
  fresh_bytes_ -= kBatch * bytes;
  for (uint32_t i = 0; i < kBatch; ++i) {
    batch[i] = fresh_ + fresh_bytes_ + (kBatch - 1 - i) * bytes;
  }
}

size_t BufferPool::FreeBytes() const {
  const MutexLock lock(mutex_);
  size_t bytes = 0;
  for (size_t size_class = 0; size_class < kClasses; ++size_class) {
    bytes += full_[size_class].size() * kBatch * BytesOf(size_class);
  }
  return bytes;
}

size_t BufferPool::GivePagesBack() {
  size_t given = 0;
  for (size_t size_class = 0; size_class < kClasses; ++size_class) {
    Batches free;
    std::vector<void*> slabs;
    {
      const MutexLock lock(mutex_);
      free.swap(full_[size_class]);
      // No free buffer lies in a later slab.
      if (!free.empty()) slabs = slabs_;
    }
    if (free.empty()) continue;
    FreePages pages(slabs, kSlabBytes);
    for (const auto& batch : free) {
      for (const void* buffer : *batch) pages.Add(buffer, BytesOf(size_class));
    }
    given += pages.GiveBack();
    const MutexLock lock(mutex_);
    Batches& full = full_[size_class];
    // Buffers that came in the meantime are hotter.
    free.insert(free.end(), std::make_move_iterator(full.begin()),
                std::make_move_iterator(full.end()));
    full = std::move(free);
  }
  return given;
}

void* BufferCache::AllocateSlowly(size_t bytes) {
  const size_t size_class = ClassOf(bytes);
  if (size_class >= BufferPool::kClasses) {
#ifdef ACTORD_FAIL_POINTS
    ++buffers_in_use;
#endif
    return ::operator new(RoundUp(bytes), kAlign);
  }
  pool_.TakeBatch(size_class, magazines_[size_class].data());
  counts_[size_class] = BufferPool::kBatch;
  return AllocateAtHand(bytes);
}

void BufferCache::DeallocateLarge(void* memory) {
  ::operator delete(memory, kAlign);
}

void BufferCache::Spill(size_t size_class) {
  // Gives the older half away and keeps the hot half.
  void** const buffers = magazines_[size_class].data();
  pool_.GiveBatch(size_class, buffers);
  std::copy_n(buffers + BufferPool::kBatch, BufferPool::kBatch, buffers);
  counts_[size_class] = BufferPool::kBatch;
}

}  // namespace actord::runtime
