// Appends bytes to a string. Collects them on the stack first, because each
// growth of the string costs as much as many bytes.
//
// Thread-safety: belongs to one thread. While an object lives, nothing else
// uses its string.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/system/assert.h"

namespace actord::runtime {

class ByteWriter {
 public:
  // What one Room may ask for. Unit: bytes.
  static constexpr size_t kMaxRoom = 64;

  // `out` is borrowed, and has all bytes when the object is destroyed.
  explicit ByteWriter(std::string& out) : out_(out) {}
  ~ByteWriter() { Flush(); }
  ByteWriter(const ByteWriter&) = delete;
  ByteWriter& operator=(const ByteWriter&) = delete;

  // Bytes of the string, with the collected ones.
  [[nodiscard]] size_t size() const { return out_.size() + collected_; }

  void Put(char byte) {
    if (collected_ == sizeof bytes_) Flush();
    bytes_[collected_++] = byte;
  }
  void Append(std::string_view bytes) {
    if (bytes.size() > sizeof bytes_ - collected_) return AppendLong(bytes);
    if (bytes.empty()) return;  // its data may be null
    std::memcpy(bytes_ + collected_, bytes.data(), bytes.size());
    collected_ += bytes.size();
  }
  // Room for `bytes` bytes. The caller writes some, and gives the place after
  // them to Took.
  [[nodiscard]] char* Room(size_t bytes) {
    ACTORD_ASSERT_HOT(bytes <= kMaxRoom, "byte_writer.h: kMaxRoom");
    if (bytes > sizeof bytes_ - collected_) Flush();
    return bytes_ + collected_;
  }
  void Took(const char* end) { collected_ = static_cast<size_t>(end - bytes_); }

  // The byte at this position of the string, and those after it that came
  // with the same Room. Valid until the next call.
  [[nodiscard]] char* At(size_t position) {
    if (position >= out_.size()) return bytes_ + (position - out_.size());
    return out_.data() + position;
  }
  // Removes all bytes from this position on.
  void Truncate(size_t size) {
    if (size >= out_.size()) {
      collected_ = size - out_.size();
    } else {
      collected_ = 0;
      out_.resize(size);
    }
  }
  // Puts `bytes` in the place of the byte at this position.
  void Replace(size_t position, std::string_view bytes) {
    Flush();
    out_.replace(position, 1, bytes);
  }

 private:
  void Flush() {
    out_.append(bytes_, collected_);
    collected_ = 0;
  }
  void AppendLong(std::string_view bytes) {
    Flush();
    out_.append(bytes);
  }

  std::string& out_;
  size_t collected_ = 0;
  char bytes_[512];
};

}  // namespace actord::runtime
