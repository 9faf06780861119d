#include "runtime/records/field_codec.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kMaxNumber = 1 << 16;

// Encodes a difference that may wrap around as a small number if it is near 0.
uint64_t Fold(uint64_t difference) {
  return difference << 1 ^ (uint64_t{0} - (difference >> 63));
}
uint64_t Unfold(uint64_t bits) {
  return bits >> 1 ^ (uint64_t{0} - (bits & 1));
}

}  // namespace

void FieldWriter::SetLongLength(size_t begin, size_t length) {
  char bytes[wire::kMaxVarintBytes];
  const char* const end = wire::PutVarint(length, bytes);
  out_.Replace(begin - 1, {bytes, static_cast<size_t>(end - bytes)});
}

void FieldWriter::Write(uint32_t number, const Position& value, FieldUse use) {
  ACTORD_ASSERT(value.lsn < kLsnLimit, "position.h: a position is below 2^61");
  if (value.is_short()) return Write(number, value.lsn, use);
  const size_t begin = BeginBytes(number, use);
  Varint(value.lsn);
  Varint(value.stream);
  Varint(value.epoch);
  SetLength(begin);
}

void FieldWriter::Body(const Pid& value) {
  char* end = out_.Room(4 * wire::kMaxVarintBytes);
  // The top bit of the node last, so that the node of a home is one byte.
  end = wire::PutVarint(std::rotl(value.node, 1), end);
  end = wire::PutVarint(value.incarnation, end);
  end = wire::PutVarint(value.slot, end);
  out_.Took(wire::PutVarint(value.generation, end));
}

void FieldWriter::Body(const Positions& value) {
  uint64_t before = 0;
  for (const Position& position : value.list) {
    ACTORD_ASSERT(position.lsn < kLsnLimit,
                  "position.h: a position is below 2^61");
    Varint(Fold(position.lsn - before) << 1 | (position.is_short() ? 0 : 1));
    if (!position.is_short()) {
      Varint(position.stream);
      Varint(position.epoch);
    }
    before = position.lsn;
  }
}

void FieldWriter::Body(const Fingerprint& value) {
  for (uint64_t half : {value.high, value.low}) {
    for (int i = 0; i < 8; ++i, half >>= 8) {
      out_.Put(static_cast<char>(half));
    }
  }
}

void FieldReader::Refuse(uint32_t number, std::string_view why) {
  if (ok()) why_ = absl::StrCat("field ", number, ": ", ToAbsl(why));
}

uint64_t FieldReader::LongVarint() {
  uint64_t value = 0;
  for (size_t i = 0; i < left_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(left_[i]);
    // The tenth byte has one bit left, and only the first byte may be empty.
    if ((i == 9 && byte > 1) || (i > 0 && byte == 0)) break;
    value |= uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) {
      left_.remove_prefix(i + 1);
      return value;
    }
  }
  Refuse(number_, "a number is cut short, too large or too long");
  left_ = {};
  return 0;
}

std::string_view FieldReader::Bytes() {
  const uint64_t size = Varint();
  if (size > left_.size()) {
    Refuse(number_,
           absl::StrCat("it ends ", size - left_.size(), " bytes too early"));
    left_ = {};
    return {};
  }
  const std::string_view bytes = left_.substr(0, size);
  left_.remove_prefix(size);
  return bytes;
}

bool FieldReader::TakeKey() {
  if (has_key_) return true;
  if (!ok() || left_.empty()) return false;
  field_ = left_;
  const uint64_t key = Varint();
  const uint64_t number = key >> wire::kNumberShift;
  if (ok() && (number == 0 || number > kMaxNumber)) {
    Refuse(number_, "no field has the number of the next one");
  }
  if (!ok()) return false;
  number_ = static_cast<uint32_t>(number);
  has_bytes_ = (key & wire::kBytesForm) != 0;
  is_critical_ = (key & wire::kCriticalField) != 0;
  has_key_ = true;
  return true;
}

void FieldReader::RefuseUse(uint32_t number) {
  Refuse(number, "it is optional or critical against its kind");
}

void FieldReader::Finish(std::string* unknown) {
  uint32_t before = last_number_;
  while (TakeKey()) {
    has_key_ = false;
    if (number_ < before || number_ == last_number_) {
      return Refuse(number_, "it is out of order, or comes twice");
    }
    if (is_critical_ || unknown == nullptr) {
      return Refuse(number_,
                    "this version does not know it, and may not go on without");
    }
    if (has_bytes_) {
      (void)Bytes();
    } else {
      (void)Varint();
    }
    if (!ok()) return;
    unknown->append(field_.substr(0, field_.size() - left_.size()));
    before = number_;
  }
}

void FieldReader::Read(uint32_t number, Position& value) {
  if (!has_bytes_) {
    value.lsn = Varint();
  } else {
    FieldReader inner(Bytes());
    value.lsn = inner.Varint();
    value.stream = inner.Varint();
    value.epoch = inner.Varint();
    if (!inner.ok() || !inner.left_.empty() || value.is_short()) {
      Refuse(number, "it is no position");
    }
  }
  if (value.lsn >= kLsnLimit) Refuse(number, "a position is below 2^61");
}

void FieldReader::Body(Pid& value) {
  const auto word = [&](uint32_t& field) {
    const uint64_t bits = Varint();
    if (bits > UINT32_MAX) Refuse(0, "it is no PID");
    field = static_cast<uint32_t>(bits);
  };
  word(value.node);
  value.node = std::rotr(value.node, 1);
  word(value.incarnation);
  word(value.slot);
  word(value.generation);
}

void FieldReader::Body(Positions& value) {
  uint64_t before = 0;
  while (ok() && !left_.empty()) {
    const uint64_t bits = Varint();
    Position position;
    position.lsn = before + Unfold(bits >> 1);
    if ((bits & 1) != 0) {
      position.stream = Varint();
      position.epoch = Varint();
    }
    if (ok() && (position.lsn >= kLsnLimit ||
                 position.is_short() != ((bits & 1) == 0) ||
                 Fold(position.lsn - before) != bits >> 1)) {
      Refuse(0, "it is no list of positions");
    }
    value.list.push_back(position);
    before = position.lsn;
  }
}

void FieldReader::Body(Fingerprint& value) {
  if (left_.size() != 16) return Refuse(0, "it is no fingerprint");
  for (uint64_t* const half : {&value.high, &value.low}) {
    for (size_t i = 8; i-- > 0;) {
      *half = *half << 8 | static_cast<unsigned char>(left_[i]);
    }
    left_.remove_prefix(8);
  }
}

}  // namespace actord::runtime
