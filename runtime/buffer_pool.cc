#include "runtime/buffer_pool.h"

#include <new>

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

void BufferPool::GiveBatch(size_t size_class, Free* batch) {
  const MutexLock lock(mutex_);
  batch->next_batch = batches_[size_class];
  batches_[size_class] = batch;
}

BufferPool::Free* BufferPool::TakeBatch(size_t size_class) {
  const size_t bytes = (size_class + 1) * kBufferUnitBytes;
  const MutexLock lock(mutex_);
  if (Free* batch = batches_[size_class]) {
    batches_[size_class] = batch->next_batch;
    return batch;
  }
  if (fresh_bytes_ < kBatch * bytes) {
    // What is left of the old slab (less than one batch) is given up.
    fresh_ = static_cast<std::byte*>(::operator new(kSlabBytes, kAlign));
    fresh_bytes_ = kSlabBytes;
    slabs_.push_back(fresh_);
  }
  Free* head = nullptr;
  for (uint32_t i = 0; i < kBatch; ++i) {
    fresh_bytes_ -= bytes;
    auto* buffer = reinterpret_cast<Free*>(fresh_ + fresh_bytes_);
    buffer->next = head;
    head = buffer;
    ASAN_POISON_MEMORY_REGION(buffer + 1, bytes - sizeof(*buffer));
  }
  return head;
}

void* BufferCache::AllocateLarge(size_t bytes) {
  return ::operator new(RoundUp(bytes), kAlign);
}

void BufferCache::DeallocateLarge(void* memory) {
  ::operator delete(memory, kAlign);
}

void BufferCache::Refill(size_t size_class) {
  lists_[size_class].head = pool_.TakeBatch(size_class);
  lists_[size_class].count = BufferPool::kBatch;
}

void BufferCache::Spill(size_t size_class) {
  // The oldest half stays: the batch goes from the hot end, in order, without
  // a walk over memory that this thread has not touched for long.
  List& list = lists_[size_class];
  BufferPool::Free* batch = list.head;
  BufferPool::Free* last = batch;
  for (uint32_t i = 1; i < BufferPool::kBatch; ++i) last = last->next;
  list.head = last->next;
  list.count -= BufferPool::kBatch;
  last->next = nullptr;
  pool_.GiveBatch(size_class, batch);
}

}  // namespace actord::runtime
