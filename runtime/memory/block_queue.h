// A queue whose elements keep their addresses, in blocks. The first write to
// new memory costs a page fault, which takes far longer than a push. So a
// thread that shares the queue under a lock can make the next block before it
// locks.
//
// Thread-safety: WantsBlock and NewBlock from any thread. All other functions
// need external synchronisation.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "runtime/system/assert.h"

namespace actord::runtime {

template <typename T>
class BlockQueue {
 public:
  static constexpr size_t kBlockSize = 64;
  using Block = std::array<T, kBlockSize>;

  BlockQueue() = default;
  BlockQueue(const BlockQueue&) = delete;
  BlockQueue& operator=(const BlockQueue&) = delete;

  // True: there is no spare block for the time when the last block is full. A
  // hint.
  [[nodiscard]] bool WantsBlock() const {
    return wants_block_.load(std::memory_order_relaxed);
  }
  // Writes to the whole block, so that its pages are mapped.
  static std::unique_ptr<Block> NewBlock() { return std::make_unique<Block>(); }
  // Takes the block unless there is a spare block.
  void Give(std::unique_ptr<Block>& block) {
    if (block != nullptr && spare_ == nullptr) SetSpare(std::move(block));
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }

  // Precondition: index < size().
  T& operator[](size_t index) {
    ACTORD_ASSERT_HOT(index < size_,
                      "block_queue.h: the index is below the size");
    return At(begin_ + index);
  }
  const T& operator[](size_t index) const {
    ACTORD_ASSERT_HOT(index < size_,
                      "block_queue.h: the index is below the size");
    return At(begin_ + index);
  }
  // Precondition of front and pop_front: the queue is not empty.
  T& front() { return (*this)[0]; }
  // The element is not destroyed. Its place is reused as it is.
  void pop_front() {
    ACTORD_ASSERT_HOT(size_ != 0, "block_queue.h: the queue is not empty");
    --size_;
    if (++begin_ != kBlockSize) return;
    begin_ = 0;
    std::unique_ptr<Block> block = std::move(blocks_.front());
    blocks_.pop_front();
    Give(block);
  }

  // A new element at the end, as T() made it or as it was when popped.
  T& push_back() {
    if (begin_ + size_ == blocks_.size() * kBlockSize) {
      blocks_.push_back(spare_ != nullptr ? SetSpare(nullptr) : NewBlock());
    }
    return At(begin_ + size_++);
  }

 private:
  // `place`: counted from the begin of the first block.
  [[nodiscard]] T& At(size_t place) const {
    return (*blocks_[place / kBlockSize])[place % kBlockSize];
  }
  // Returns the former spare block.
  std::unique_ptr<Block> SetSpare(std::unique_ptr<Block> block) {
    wants_block_.store(block == nullptr, std::memory_order_relaxed);
    return std::exchange(spare_, std::move(block));
  }

  std::deque<std::unique_ptr<Block>> blocks_;
  size_t begin_ = 0;  // of the first element, in the first block
  size_t size_ = 0;
  std::unique_ptr<Block> spare_;
  std::atomic<bool> wants_block_{true};  // spare_ == nullptr
};

}  // namespace actord::runtime
