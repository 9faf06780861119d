// A stack whose elements stay where they are while it grows and shrinks: blocks
// of them, which many stacks take from one pool. So a push or a pop copies
// nothing of what lies below, but 8 bytes for each block now and then, and
// takes memory for one block from the system, or gives back two.
//
// Thread-safety: none; stacks with a common pool count as one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace actord::runtime {

template <typename T>
class BlockStack {
 public:
  static constexpr size_t kBlockSize = 64;
  using Block = std::array<T, kBlockSize>;

  // Blocks for several stacks. It keeps as many at hand as are in use, and
  // kKept.
  class Pool {
   public:
    static constexpr size_t kKept = 16;

    std::unique_ptr<Block> Take() {
      std::unique_ptr<Block> block;
      if (free_.empty()) {
        // So that Give finds room for all.
        if (free_.capacity() <= in_use_) free_.reserve(2 * (in_use_ + 1));
        block = std::make_unique_for_overwrite<Block>();
      } else {
        block = std::move(free_.back());
        free_.pop_back();
      }
      ++in_use_;
      return block;
    }
    void Give(std::unique_ptr<Block> block) noexcept {
      --in_use_;
      free_.push_back(std::move(block));
      // Two at a time, so that they become fewer as those in use do.
      for (int i = 0; i < 2 && free_.size() > in_use_ + kKept; ++i) {
        free_.pop_back();
      }
    }
    // At hand.
    [[nodiscard]] size_t size() const { return free_.size(); }

   private:
    std::vector<std::unique_ptr<Block>> free_;
    size_t in_use_ = 0;
  };

  BlockStack() = default;
  BlockStack(const BlockStack&) = delete;
  BlockStack& operator=(const BlockStack&) = delete;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }

  // Precondition: below size().
  T& operator[](size_t index) {
    return (*blocks_[index / kBlockSize])[index % kBlockSize];
  }
  // Precondition of both: it is not empty.
  T& back() { return (*this)[size_ - 1]; }
  void pop_back(Pool& pool) noexcept {
    --size_;
    if (size_ % kBlockSize != 0) return;
    pool.Give(std::move(blocks_.back()));
    blocks_.pop_back();
  }

  void push_back(const T& value, Pool& pool) {
    if (size_ % kBlockSize == 0) {
      // Room first: a block that is taken and not kept would be lost to the
      // pool's count.
      if (blocks_.size() == blocks_.capacity()) {
        blocks_.reserve(2 * blocks_.size() + 1);
      }
      blocks_.push_back(pool.Take());
    }
    (*blocks_.back())[size_ % kBlockSize] = value;
    ++size_;
  }

 private:
  std::vector<std::unique_ptr<Block>> blocks_;
  size_t size_ = 0;
};

}  // namespace actord::runtime
