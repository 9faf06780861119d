// Appends bytes to a string. Collects them on the stack first, because an
// append to the string costs more than the copy of a few bytes.
//
// Thread-safety: belongs to one thread. While an object lives, nothing else
// uses its string.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/system/assert.h"

namespace actord::runtime {

class ByteWriter {
 public:
  // What one Room may ask for. Unit: bytes.
  static constexpr size_t kMaxRoom = 64;

  // Borrows `out`, which has all bytes only after Finish.
  explicit ByteWriter(std::string& out) : out_(out) {}
  ~ByteWriter() {
    ACTORD_ASSERT_HOT(collected_ == 0 || std::uncaught_exceptions() != 0,
                      "byte_writer.h: Finish comes last");
  }
  ByteWriter(const ByteWriter&) = delete;
  ByteWriter& operator=(const ByteWriter&) = delete;

  // Appends the collected bytes. Not left to the destructor, because the string
  // may throw std::bad_alloc.
  void Finish() { out_.append(bytes_, std::exchange(collected_, 0)); }

  // Bytes of the string, with the collected ones.
  [[nodiscard]] size_t size() const { return out_.size() + collected_; }

  void Put(char byte) {
    if (collected_ == sizeof bytes_) Finish();
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
    if (bytes > sizeof bytes_ - collected_) Finish();
    return bytes_ + collected_;
  }
  void Took(const char* end) {
    ACTORD_ASSERT_HOT(
        end >= bytes_ + collected_ && end <= bytes_ + sizeof bytes_,
        "byte_writer.h: the place is in the room");
    collected_ = static_cast<size_t>(end - bytes_);
  }

  // The byte at this position of the string, and those after it that came
  // with the same Room. Valid until the next call.
  [[nodiscard]] char* At(size_t position) {
    if (position >= out_.size()) return bytes_ + (position - out_.size());
    return out_.data() + position;
  }
  // Removes all bytes from this position on.
  void Truncate(size_t size) {
    ACTORD_ASSERT_HOT(size <= this->size(), "byte_writer.h: Truncate");
    if (size >= out_.size()) {
      collected_ = size - out_.size();
    } else {
      collected_ = 0;
      out_.resize(size);
    }
  }
  // Puts `bytes` in the place of the byte at this position.
  void Replace(size_t position, std::string_view bytes) {
    Finish();
    out_.replace(position, 1, bytes);
  }

 private:
  void AppendLong(std::string_view bytes) {
    Finish();
    out_.append(bytes);
  }

  std::string& out_;
  size_t collected_ = 0;
  char bytes_[512];
};

}  // namespace actord::runtime
