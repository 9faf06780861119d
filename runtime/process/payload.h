// Owned counterparts of the ABI's borrowed data, for everything that outlives a
// call.
//
// Thread-safety: plain values.
#pragma once

#include <actord/abi.h>

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

// The highest limit on a payload's bytes that can be configured.
inline constexpr size_t kPayloadLimitMaxBytes = size_t{64} << 20;

// The only size rule: the configured limit applies to the payload's bytes.
using rules::Fits;

}  // namespace actord::runtime
