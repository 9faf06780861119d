// A queue whose elements stay where they are, in blocks. Memory that is new to
// the program costs a page fault when it is first written to, which is far more
// than a push: so whoever shares a queue under a lock can bring the next block
// from outside of it.
//
// Thread-safety: WantsBlock and NewBlock from any thread; all else: none.
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

  // It has no block at hand for when the last one is full. A hint.
  [[nodiscard]] bool WantsBlock() const {
    return wants_block_.load(std::memory_order_relaxed);
  }
  // All of it is written to.
  static std::unique_ptr<Block> NewBlock() { return std::make_unique<Block>(); }
  // Takes it, unless there is one at hand.
  void Give(std::unique_ptr<Block>& block) {
    if (block != nullptr && spare_ == nullptr) SetSpare(std::move(block));
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }

  // Precondition: below size().
  T& operator[](size_t index) {
    ACTORD_ASSERT_HOT(index < size_, "block_queue.h: the element exists");
    return At(begin_ + index);
  }
  const T& operator[](size_t index) const {
    ACTORD_ASSERT_HOT(index < size_, "block_queue.h: the element exists");
    return At(begin_ + index);
  }
  // Precondition of both: it is not empty.
  T& front() { return (*this)[0]; }
  // What a reused place holds, is what was left there.
  void pop_front() {
    ACTORD_ASSERT_HOT(size_ != 0, "block_queue.h: it is not empty");
    --size_;
    if (++begin_ != kBlockSize) return;
    begin_ = 0;
    std::unique_ptr<Block> block = std::move(blocks_.front());
    blocks_.pop_front();
    Give(block);
  }

  // A new element at the end: as T() made it, or as it was when popped.
  T& push_back() {
    if (begin_ + size_ == blocks_.size() * kBlockSize) {
      blocks_.push_back(spare_ != nullptr ? SetSpare(nullptr) : NewBlock());
    }
    return At(begin_ + size_++);
  }

 private:
  // `place`: from the first block's begin.
  [[nodiscard]] T& At(size_t place) const {
    return (*blocks_[place / kBlockSize])[place % kBlockSize];
  }
  // Returns the one before.
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
