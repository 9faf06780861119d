// Writes and reads values as numbered fields: docs/journal-format.md, "Fields".
// A type lists its fields once, for both directions:
//
//   template <typename T, typename Visitor>
//   requires Is<T, Attempt>
//   void VisitFields(T& attempt, Visitor& visit) {
//     visit(1, attempt.pid);
//     visit(2, attempt.tag);
//   }
//
// The numbers ascend. A field that has its initial value is not written. Each
// value has only one encoding, and the reader refuses all others. So a value
// that was read is written again as the same bytes. A number is never used for
// another field; a new field gets the next number.
//
// A type with a member `unknown` keeps the optional fields of later versions.
// Every other unknown field is refused.
//
// Memory: the reader allocates an element only when it has found the element's
// bytes, and trusts no count and no length. So its allocations are bounded by
// the number of bytes times the size of the largest element.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "runtime/memory/byte_writer.h"
#include "runtime/process/fingerprint.h"
#include "runtime/process/pid.h"
#include "runtime/records/position.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

template <typename T, typename Type>
concept Is = std::same_as<std::remove_const_t<T>, Type>;

// Positions in one field: each is written as the difference from the previous
// one.
struct Positions {
  std::vector<Position> list;
  friend bool operator==(const Positions&, const Positions&) = default;
};

// Whether a version that does not know the field may ignore it.
enum class FieldUse : uint8_t { kOptional, kCritical };

namespace wire {

inline constexpr uint64_t kBytesForm = 1;
inline constexpr uint64_t kCriticalField = 2;
inline constexpr int kNumberShift = 2;

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// Types with a special form.
template <typename T>
inline constexpr bool kIsBytes =
    std::is_same_v<T, std::string> || std::is_same_v<T, Pid> ||
    std::is_same_v<T, Positions> || std::is_same_v<T, Fingerprint>;

template <typename T>
concept Number = std::integral<T> || std::is_enum_v<T>;

template <Number T>
constexpr uint64_t ToBits(T value) {
  if constexpr (std::is_signed_v<T>) {
    const auto wide = static_cast<int64_t>(value);
    return static_cast<uint64_t>(wide) << 1 ^ static_cast<uint64_t>(wide >> 63);
  } else {
    return static_cast<uint64_t>(value);
  }
}
// False: no value of T has these bits.
template <Number T>
constexpr bool FromBits(uint64_t bits, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = bits != 0;
    return bits <= 1;
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(bits);
    return bits <= static_cast<uint64_t>(LastOf(T{}));
  } else if constexpr (std::is_signed_v<T>) {
    const auto wide =
        static_cast<int64_t>(bits >> 1 ^ (uint64_t{0} - (bits & 1)));
    value = static_cast<T>(wide);
    return static_cast<int64_t>(value) == wide;
  } else {
    value = static_cast<T>(bits);
    return static_cast<uint64_t>(value) == bits;
  }
}

inline constexpr size_t kMaxVarintBytes = 10;

// Puts the number at `at`, and returns the place after it.
inline char* PutVarint(uint64_t value, char* at) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

}  // namespace wire

class FieldWriter {
 public:
  // Borrows `out`, which has all bytes only after Finish.
  explicit FieldWriter(std::string& out) : out_(out) {}

  template <typename T>
  void operator()(uint32_t number, const T& value,
                  FieldUse use = FieldUse::kOptional) {
    if constexpr (wire::kIsVector<T>) {
      for (const auto& element : value) Write(number, element, use);
    } else if constexpr (wire::kIsOptional<T>) {
      if (value.has_value()) Write(number, *value, use);
    } else if constexpr (wire::Number<T> || wire::kIsBytes<T> ||
                         Is<T, Position>) {
      if (value != T{}) Write(number, value, use);
    } else {
      const size_t begin = out_.size();
      const size_t body = BeginBytes(number, use);
      Body(value);
      if (out_.size() == body) return out_.Truncate(begin);
      SetLength(body);
    }
  }
  void Finish() { out_.Finish(); }
  // The fields of `value`, without a key and a length before them.
  template <typename T>
  void Fields(const T& value) {
    VisitFields(value, *this);
    if constexpr (requires { value.unknown; }) out_.Append(value.unknown);
  }

 private:
  static char* PutKey(uint32_t number, bool bytes, FieldUse use, char* at) {
    return wire::PutVarint(
        uint64_t{number} << wire::kNumberShift |
            (bytes ? wire::kBytesForm : 0) |
            (use == FieldUse::kCritical ? wire::kCriticalField : 0),
        at);
  }
  void Varint(uint64_t value) {
    out_.Took(wire::PutVarint(value, out_.Room(wire::kMaxVarintBytes)));
  }

  template <wire::Number T>
  void Write(uint32_t number, T value, FieldUse use) {
    char* const at =
        PutKey(number, false, use, out_.Room(2 * wire::kMaxVarintBytes));
    out_.Took(wire::PutVarint(wire::ToBits(value), at));
  }
  void Write(uint32_t number, const Position& value, FieldUse use);
  template <typename T>
  requires(!wire::Number<T>) void Write(uint32_t number, const T& value,
                                        FieldUse use) {
    const size_t body = BeginBytes(number, use);
    Body(value);
    SetLength(body);
  }
  // Writes the key of a field of bytes, and leaves a byte for their length.
  // Returns where the bytes begin.
  size_t BeginBytes(uint32_t number, FieldUse use) {
    char* const end =
        PutKey(number, true, use, out_.Room(wire::kMaxVarintBytes + 1));
    *end = 0;
    out_.Took(end + 1);
    return out_.size();
  }
  // Writes the length of the bytes appended since `begin` in front of them.
  void SetLength(size_t begin) {
    const size_t length = out_.size() - begin;
    if (length >= 0x80) return SetLongLength(begin, length);
    *out_.At(begin - 1) = static_cast<char>(length);
  }
  void SetLongLength(size_t begin, size_t length);
  template <typename T>
  void Body(const T& value) {
    Fields(value);
  }
  void Body(const std::string& value) { out_.Append(value); }
  void Body(const Pid& value);
  void Body(const Positions& value);
  void Body(const Fingerprint& value);

  ByteWriter out_;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : left_(bytes) {}

  template <typename T>
  void operator()(uint32_t number, T& value,
                  FieldUse use = FieldUse::kOptional) {
    if constexpr (wire::kIsVector<T>) {
      while (Finds(number, use)) Read(number, value.emplace_back());
    } else if constexpr (wire::kIsOptional<T>) {
      if (Finds(number, use)) Read(number, value.emplace());
    } else if (Finds(number, use)) {
      const size_t before = left_.size();
      Read(number, value);
      // Empty bytes are the initial value of all types except numbers.
      bool initial = before - left_.size() <= 1;
      if constexpr (wire::Number<T>) initial = value == T{};
      if constexpr (Is<T, Position>) initial = value == Position{};
      if constexpr (Is<T, Pid>) initial = value == Pid{};
      if constexpr (Is<T, Fingerprint>) initial = value == Fingerprint{};
      if (initial) Refuse(number, "an initial value is not written");
    }
  }
  // Takes the fields that VisitFields has not read. `unknown` receives them;
  // null: they are refused.
  void Finish(std::string* unknown);

  [[nodiscard]] bool ok() const { return why_.empty(); }
  // The mistake; empty: there is none.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  void Refuse(uint32_t number, std::string_view why);
  // The next field has this number: takes its key.
  bool Finds(uint32_t number, FieldUse use) {
    last_number_ = number;
    if (!has_key_ && (left_.empty() || !TakeKey())) return false;
    if (number_ != number) return false;
    has_key_ = false;
    if (is_critical_ != (use == FieldUse::kCritical)) RefuseUse(number);
    return ok();
  }
  bool TakeKey();
  void RefuseUse(uint32_t number);
  uint64_t Varint() {
    if (left_.empty() || static_cast<unsigned char>(left_.front()) >= 0x80) {
      return LongVarint();
    }
    const uint64_t value = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return value;
  }
  uint64_t LongVarint();
  std::string_view Bytes();

  template <wire::Number T>
  void Read(uint32_t number, T& value) {
    if (has_bytes_) return Refuse(number, "it has the form of bytes");
    if (!wire::FromBits(Varint(), value)) Refuse(number, "no such value");
  }
  void Read(uint32_t number, Position& value);
  template <typename T>
  requires(!wire::Number<T>) void Read(uint32_t number, T& value) {
    if (!has_bytes_) return Refuse(number, "it has the form of a number");
    FieldReader inner(Bytes());
    if constexpr (wire::kIsBytes<T>) {
      inner.Body(value);
      if (inner.ok() && !inner.left_.empty()) inner.why_ = "it is too long";
    } else {
      VisitFields(value, inner);
      if constexpr (requires { value.unknown; }) {
        inner.Finish(&value.unknown);
      } else {
        inner.Finish(nullptr);
      }
    }
    if (!inner.ok()) Refuse(number, inner.why_);
  }
  void Body(std::string& value) {
    value = left_;
    left_ = {};
  }
  void Body(Pid& value);
  void Body(Positions& value);
  void Body(Fingerprint& value);

  std::string_view left_;
  // Whether a key was taken whose field was not read yet.
  bool has_key_ = false;
  uint32_t number_ = 0;
  uint32_t last_number_ = 0;
  bool has_bytes_ = false;
  bool is_critical_ = false;
  std::string_view field_;  // from its key on
  std::string why_;
};

// The fields of a value, without a length before them.
template <typename T>
void EncodeFields(const T& value, std::string& out) {
  FieldWriter writer(out);
  writer.Fields(value);
  writer.Finish();
}
// Precondition: `value` has its initial value. INVALID_ARGUMENT: the message
// names the wrong field and the mistake.
template <typename T>
absl::Status DecodeFields(std::string_view bytes, T& value) {
  if constexpr (std::equality_comparable<T>) {
    ACTORD_ASSERT_HOT(value == T{}, "field_codec.h: the value is initial");
  }
  FieldReader reader(bytes);
  VisitFields(value, reader);
  if constexpr (requires { value.unknown; }) {
    reader.Finish(&value.unknown);
  } else {
    reader.Finish(nullptr);
  }
  return reader.ok() ? absl::OkStatus()
                     : absl::InvalidArgumentError(reader.why());
}

}  // namespace actord::runtime
