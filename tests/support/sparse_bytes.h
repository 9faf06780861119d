// The bytes of a simulated file. Pages that hold only zeros take no memory,
// because journals are made of zeros, and a test makes many of them.
//
// Thread-safety: a plain value.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace actord::runtime {

class SparseBytes {
 public:
  SparseBytes() = default;
  explicit SparseBytes(std::string_view bytes) {
    Resize(bytes.size());
    Write(0, bytes);
  }
  SparseBytes(const SparseBytes& other) { *this = other; }
  SparseBytes& operator=(const SparseBytes& other) {
    if (this == &other) return *this;
    size_ = other.size_;
    pages_.clear();
    pages_.resize(other.pages_.size());
    for (size_t i = 0; i < pages_.size(); ++i) {
      if (other.pages_[i] != nullptr) {
        pages_[i] = std::make_unique<Page>(*other.pages_[i]);
      }
    }
    return *this;
  }
  SparseBytes(SparseBytes&&) noexcept = default;
  SparseBytes& operator=(SparseBytes&&) noexcept = default;
  ~SparseBytes() = default;

  [[nodiscard]] uint64_t size() const { return size_; }

  // New bytes are zeros.
  void Resize(uint64_t size) {
    const uint64_t rest = size % kPageBytes;
    pages_.resize((size + kPageBytes - 1) / kPageBytes);
    if (size < size_ && rest != 0 && pages_.back() != nullptr) {
      std::fill(pages_.back()->begin() + static_cast<std::ptrdiff_t>(rest),
                pages_.back()->end(), '\0');
    }
    size_ = size;
  }

  // Precondition: the bytes lie within size().
  void Write(uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t within = offset % kPageBytes;
      const size_t count = std::min(bytes.size(), kPageBytes - within);
      WriteInPage(offset / kPageBytes, within, bytes.substr(0, count));
      offset += count;
      bytes.remove_prefix(count);
    }
  }

  // Precondition: the bytes lie within size().
  void Read(uint64_t offset, size_t count, char* into) const {
    while (count != 0) {
      const size_t within = offset % kPageBytes;
      const size_t part = std::min(count, kPageBytes - within);
      const std::unique_ptr<Page>& page = pages_[offset / kPageBytes];
      if (page == nullptr) {
        std::memset(into, 0, part);
      } else {
        std::memcpy(into, page->data() + within, part);
      }
      offset += part;
      into += part;
      count -= part;
    }
  }

  // Makes these bytes those of `other`, beyond whose size there are zeros.
  // Precondition: the bytes lie within one page, and within size().
  void CopyFrom(const SparseBytes& other, uint64_t offset, size_t count) {
    const size_t page = offset / kPageBytes;
    const size_t within = offset % kPageBytes;
    if (page >= other.pages_.size() || other.pages_[page] == nullptr) {
      if (pages_[page] != nullptr) {
        std::memset(pages_[page]->data() + within, 0, count);
      }
      return;
    }
    WriteInPage(page, within, {other.pages_[page]->data() + within, count});
  }

  // Precondition: `offset` is below size().
  void Flip(uint64_t offset, unsigned char mask) {
    char byte = 0;
    Read(offset, 1, &byte);
    byte = static_cast<char>(byte ^ mask);
    Write(offset, {&byte, 1});
  }

  [[nodiscard]] std::string ToString() const {
    std::string text(size_, '\0');
    Read(0, size_, text.data());
    return text;
  }

 private:
  static constexpr size_t kPageBytes = 4096;
  using Page = std::array<char, kPageBytes>;

  void WriteInPage(size_t page, size_t within, std::string_view bytes) {
    static constexpr Page kZeros{};
    std::unique_ptr<Page>& to = pages_[page];
    if (to == nullptr) {
      if (std::memcmp(bytes.data(), kZeros.data(), bytes.size()) == 0) return;
      to = std::make_unique<Page>();
    }
    std::memcpy(to->data() + within, bytes.data(), bytes.size());
  }

  uint64_t size_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;  // null: zeros
};

}  // namespace actord::runtime
