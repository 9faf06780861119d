// A stack whose elements stay where they are while it grows and shrinks: blocks
// of them, which many stacks take from one pool. So a push or a pop never
// copies what lies below, and takes memory from the system, or gives it back,
// for a block at most.
//
// Thread-safety: none; stacks with a common pool count as one.
#pragma once

#include <algorithm>
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
      ++in_use_;
      if (free_.empty()) return std::make_unique<Block>();
      std::unique_ptr<Block> block = std::move(free_.back());
      free_.pop_back();
      return block;
    }
    void Give(std::unique_ptr<Block> block) {
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

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }

  // Precondition: below size().
  T& operator[](size_t index) {
    return (*blocks_[index / kBlockSize])[index % kBlockSize];
  }
  // Precondition of both: it is not empty.
  T& back() { return (*this)[size_ - 1]; }
  void pop_back(Pool& pool) {
    --size_;
    if (size_ % kBlockSize != 0) return;
    pool.Give(std::move(blocks_.back()));
    blocks_.pop_back();
  }

  void push_back(const T& value, Pool& pool) {
    if (size_ % kBlockSize == 0) blocks_.push_back(pool.Take());
    (*blocks_.back())[size_ % kBlockSize] = value;
    ++size_;
  }

 private:
  std::vector<std::unique_ptr<Block>> blocks_;
  size_t size_ = 0;
};

}  // namespace actord::runtime
