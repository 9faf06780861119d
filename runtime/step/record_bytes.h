// Writes and reads the fields of a record as bytes: little-endian numbers,
// texts after their lengths, items after their headers (record_format.h).
//
// Thread-safety: belongs to one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "runtime/actors/tie_effect.h"
#include "runtime/memory/byte_writer.h"
#include "runtime/process/envelope.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/step/spawn_effect.h"

namespace actord::runtime {

class RecordWriter {
 public:
  // Borrows `out`, which has all bytes only after Finish.
  explicit RecordWriter(std::string& out) : out_(out) {}
  void Finish() { out_.Finish(); }

  // Begins a frame or an item. Returns the argument for the End of that frame
  // or item.
  size_t Begin(uint16_t kind);
  void End(size_t begin);

  template <typename Number>
  requires std::integral<Number> || std::is_enum_v<Number>
  void Write(Number number) {
    out_.Took(Put(number, out_.Room(sizeof(Number))));
  }
  void Write(std::string_view text);
  void Write(const std::string& text) { Write(std::string_view(text)); }
  void Write(const Pid& pid);
  void Write(const actord_payload& payload);
  void Write(const Content& content);

 private:
  // Puts the number at `at`, and returns the place after it.
  template <typename Number>
  static char* Put(Number number, char* at) {
    auto bits = static_cast<uint64_t>(number);
    for (size_t i = 0; i < sizeof(Number); ++i, bits >>= 8) {
      at[i] = static_cast<char>(bits);
    }
    return at + sizeof(Number);
  }
  static char* Put(const Pid& pid, char* at);

  ByteWriter out_;
};

template <typename Field>
std::string BytesOfField(const Field& field) {
  std::string bytes;
  RecordWriter writer(bytes);
  writer.Write(field);
  writer.Finish();
  return bytes;
}

class RecordReader {
 public:
  static constexpr uint16_t kSkippable = 1;
  static constexpr size_t kHeaderBytes = 8;

  struct Item {
    uint16_t kind = 0;
    uint16_t flags = 0;
    std::string_view body;
    std::string_view whole;  // with its header
  };

  explicit RecordReader(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] const absl::Status& status() const { return status_; }
  // Sets the status to an error. The first error counts.
  void Refuse(std::string_view why);
  void SkipAll() { left_ = {}; }

  Item TakeItem();

  template <typename Number>
  requires std::integral<Number> || std::is_enum_v<Number>
  void Read(Number& number, BufferCache& /*buffers*/) {
    uint64_t bits = 0;
    const std::string_view bytes = Take(sizeof(Number));
    for (size_t i = bytes.size(); i-- > 0;) {
      bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
    }
    if (bits > MaxOf<Number>()) Refuse("a value is none of its kind's");
    if (ok()) number = static_cast<Number>(bits);
  }
  void Read(std::string_view& text, BufferCache& buffers);
  void Read(std::string& text, BufferCache& buffers);
  void Read(Pid& pid, BufferCache& buffers);
  void Read(actord_payload& payload, BufferCache& buffers);
  void Read(Content& content, BufferCache& buffers);

 private:
  template <typename Number>
  static constexpr uint64_t MaxOf() {
    if constexpr (std::is_same_v<Number, bool>) {
      return 1;
    } else if constexpr (std::is_same_v<Number, SpawnRefusal>) {
      return static_cast<uint64_t>(SpawnRefusal::kUnknownMethod);
    } else if constexpr (std::is_same_v<Number, TieEffect::Kind>) {
      return static_cast<uint64_t>(TieEffect::Kind::kUnlink);
    } else {
      static_assert(std::integral<Number>, "which values may it have?");
      return UINT64_MAX;
    }
  }
  // Takes the next `bytes` bytes. Empty, and an error: fewer bytes are left.
  std::string_view Take(size_t bytes) {
    if (bytes > left_.size()) return RefuseShort(bytes);
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }
  std::string_view RefuseShort(size_t bytes);

  std::string_view left_;
  absl::Status status_;
};

}  // namespace actord::runtime
