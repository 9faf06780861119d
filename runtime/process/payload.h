// Owned counterparts of the ABI's borrowed data, for everything that outlives a
// call.
//
// Thread-safety: plain values.
// performance-notes: Rare code moved out, Inlined by force.
#pragma once

#include <actord/abi.h>
#include <actord/text.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "handlers/rules/process_rules.h"

namespace actord::runtime {

// Bytes with their content type; an empty content type means application/json.
// The runtime never parses the bytes.
struct Payload {
  std::string bytes;
  std::string content_type;

  friend bool operator==(const Payload&, const Payload&) = default;
};

struct Message {
  std::string topic;
  Payload payload;
};

inline actord_bytes ToAbi(std::string_view text) {
  return {text.data(), text.size()};
}
inline std::string_view View(const actord_bytes& bytes) {
  return {static_cast<const char*>(bytes.data), bytes.size};
}
inline actord_payload ToAbi(const Payload& payload) {
  return {ToAbi(payload.bytes), ToAbi(payload.content_type)};
}
inline Payload FromAbi(const actord_payload& payload) {
  return {std::string(View(payload.bytes)),
          std::string(View(payload.content_type))};
}

// A text/plain payload, for people to read; borrows `text`.
inline actord_payload TextPayload(std::string_view text) {
  return {ToAbi(text), ToAbi(std::string_view("text/plain"))};
}

// A content type as an envelope holds it, in two bytes. Most payloads have one
// of three content types, of which it holds the number. The text of each other
// type is beside the payload, and the two bytes are its size.
class HeldType {
 public:
  // No content type, which means application/json.
  constexpr HeldType() = default;
  // Fits() has checked that the text has at most kMaxLabelBytes.
  [[gnu::always_inline]] explicit HeldType(const actord_bytes& type)
      : value_(ValueOf(View(type))) {}

  // The bytes that the envelope needs for the text.
  [[nodiscard]] size_t bytes() const { return value_ & kSizeMask; }
  // `text` is the address of the text, if bytes() is not 0.
  [[nodiscard]] actord_bytes TypeWith(const char* text) const {
    if (value_ > kSizeMask) [[unlikely]] {
      return ToAbi(kKnown[value_ >> kNumberShift]);
    }
    return {text, value_};
  }
  // Equal for types that need as many bytes.
  [[nodiscard]] uint16_t value() const { return value_; }

 private:
  static constexpr std::string_view kKnown[] = {
      {}, "text/plain", "application/octet-stream", "application/json"};
  static constexpr unsigned kNumberShift = 14;
  static constexpr uint16_t kSizeMask = (1u << kNumberShift) - 1;
  static_assert(kMaxLabelBytes <= kSizeMask);

  // The sizes differ, so that at most one text is compared. The compiler turns
  // each comparison of a fixed size into two or three loads.
  [[gnu::always_inline]] static uint16_t ValueOf(std::string_view text) {
    if (text.empty()) [[likely]] {
      return 0;
    }
    const size_t number = text.size() == kKnown[1].size()   ? 1
                          : text.size() == kKnown[2].size() ? 2
                          : text.size() == kKnown[3].size() ? 3
                                                            : 0;
    if ((number == 1 && Is<1>(text.data())) ||
        (number == 2 && Is<2>(text.data())) ||
        (number == 3 && Is<3>(text.data()))) {
      return static_cast<uint16_t>(number << kNumberShift);
    }
    return static_cast<uint16_t>(text.size());
  }
  template <size_t kNumber>
  [[gnu::always_inline]] static bool Is(const char* text) {
    return __builtin_memcmp(text, kKnown[kNumber].data(),
                            kKnown[kNumber].size()) == 0;
  }

  uint16_t value_ = 0;
};

// The highest limit on a payload's bytes that can be configured.
inline constexpr size_t kPayloadLimitMaxBytes = size_t{64} << 20;

// The only size rule: the configured limit applies to the payload's bytes.
using rules::Fits;

}  // namespace actord::runtime
