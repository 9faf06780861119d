// A stack whose elements keep their addresses while it grows and shrinks. The
// elements lie in blocks, which many stacks take from one pool. A push or a pop
// copies no element. When the list of blocks grows, 8 bytes for each block are
// copied. The pool takes blocks from the system 64 at a time.
//
// Thread-safety: none. Stacks that share a pool count as one object.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/system/assert.h"
#include "runtime/system/fresh_memory.h"

namespace actord::runtime {

template <typename T>
class BlockStack {
 public:
  static constexpr size_t kBlockSize = 64;
  using Block = std::array<T, kBlockSize>;

  // Blocks for several stacks. The pool must outlive the stacks. It keeps as
  // many blocks as the stacks have needed at the same time.
  class Pool {
   public:
    static constexpr size_t kSlabBlocks = 64;

    Block* Take() {
      if (free_.empty()) AddSlab();
      Block* const block = free_.back();
      free_.pop_back();
      return block;
    }
    void Give(Block* block) noexcept { free_.push_back(block); }
    // The number of free blocks.
    [[nodiscard]] size_t size() const { return free_.size(); }

   private:
    using Slab = std::array<Block, kSlabBlocks>;

    void AddSlab() {
      // Reserves room for all blocks, so that Give never allocates.
      const size_t all = (slabs_.size() + 1) * kSlabBlocks;
      if (free_.capacity() < all) free_.reserve(2 * all);
      slabs_.push_back(std::make_unique_for_overwrite<Slab>());
      Slab& slab = *slabs_.back();
      BringPages(&slab, sizeof(slab));
      // The first block of the slab is taken first.
      for (size_t i = kSlabBlocks; i > 0; --i) free_.push_back(&slab[i - 1]);
    }

    std::vector<std::unique_ptr<Slab>> slabs_;
    std::vector<Block*> free_;
  };

  BlockStack() = default;
  BlockStack(const BlockStack&) = delete;
  BlockStack& operator=(const BlockStack&) = delete;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }

  // Precondition: index < size().
  T& operator[](size_t index) {
    ACTORD_ASSERT_HOT(index < size_,
                      "block_stack.h: the index is below the size");
    return (*blocks_[index / kBlockSize])[index % kBlockSize];
  }
  // Precondition of back and pop_back: the stack is not empty.
  T& back() { return (*this)[size_ - 1]; }
  void pop_back(Pool& pool) noexcept {
    ACTORD_ASSERT_HOT(size_ != 0, "block_stack.h: the stack is not empty");
    --size_;
    if (size_ % kBlockSize != 0) return;
    pool.Give(blocks_.back());
    blocks_.pop_back();
    // The pool reuses the blocks. Nobody would reuse a long list of them.
    if (blocks_.empty() && blocks_.capacity() > kKeptList) {
      std::vector<Block*>().swap(blocks_);
    }
  }

  void push_back(const T& value, Pool& pool) {
    if (size_ % kBlockSize == 0) {
      // Reserves first: if the list could not grow, a taken block would be
      // lost.
      if (blocks_.size() == blocks_.capacity()) {
        blocks_.reserve(2 * blocks_.size() + 1);
      }
      blocks_.push_back(pool.Take());
    }
    (*blocks_.back())[size_ % kBlockSize] = value;
    ++size_;
  }

 private:
  static constexpr size_t kKeptList = 64;

  std::vector<Block*> blocks_;
  size_t size_ = 0;
};

}  // namespace actord::runtime
