// actord/owned.h: payloads and messages that own their bytes, for whatever has
// to outlive the step that received it.
//
// Thread-safety: plain values. Ownership: each owns what it shows; a view of it
// (Payload, std::string_view) ends when it is changed, moved or destroyed.
#pragma once

#include <actord/process.h>
#include <actord/values.h>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace actord {

// Bytes with their content type; an empty content type means
// "application/json". Whatever converts to a string or to a Payload converts to
// it and is copied; a std::string can be moved in.
struct OwnedPayload {
  std::string bytes;
  std::string content_type;

  OwnedPayload() = default;
  OwnedPayload(std::string payload_bytes, std::string type = {})  // NOLINT
      : bytes(std::move(payload_bytes)), content_type(std::move(type)) {}
  OwnedPayload(const Payload& payload)  // NOLINT: implicit by intent
      : bytes(payload.bytes), content_type(payload.content_type) {}
  template <typename Text>
  requires(std::convertible_to<const Text&, std::string_view> &&
           !std::same_as<Text, std::string>)
      OwnedPayload(const Text& text)  // NOLINT: implicit by intent
      : bytes(std::string_view(text)) {}

  static OwnedPayload Text(std::string text) {
    return {std::move(text), "text/plain"};
  }
  static OwnedPayload Binary(std::string bytes) {
    return {std::move(bytes), "application/octet-stream"};
  }

  [[nodiscard]] Payload view() const { return {bytes, content_type}; }
  operator Payload() const { return view(); }  // NOLINT: implicit by intent
  [[nodiscard]] bool empty() const { return bytes.empty(); }
  // By its content type; nobody has looked at the bytes.
  [[nodiscard]] bool is_json() const { return view().is_json(); }

  friend bool operator==(const OwnedPayload&, const OwnedPayload&) = default;
};

// A message that was received.
struct Message {
  Pid from;  // the sender; empty() when it came from outside
  std::string topic;
  OwnedPayload payload;

  Message() = default;
  explicit Message(const Event& event)
      : from(event.from()), topic(event.topic()), payload(event.payload()) {}
};

}  // namespace actord
