// actord/owned.h: payloads, messages and exits that own their bytes, so they
// can outlive the step that received them.
//
// Thread-safety: plain values. Ownership: each value owns its bytes. A view of
// it (Payload, std::string_view) ends when the value is changed, moved or
// destroyed.
#pragma once

#include <actord/copy_bytes.h>
#include <actord/process.h>
#include <actord/values.h>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace actord {

// Bytes with their content type, as Payload. Converts from every type that
// converts to a string or a Payload, by copying; a std::string can be moved in.
struct OwnedPayload {
  std::string bytes;
  std::string content_type;

  OwnedPayload() = default;
  OwnedPayload(std::string text)  // NOLINT: implicit by intent
      : bytes(std::move(text)), content_type(Payload(bytes).content_type) {}
  OwnedPayload(std::string payload_bytes, std::string type)
      : bytes(std::move(payload_bytes)), content_type(std::move(type)) {}
  OwnedPayload(const Payload& payload)  // NOLINT: implicit by intent
      : bytes(payload.bytes), content_type(payload.content_type) {}
  template <typename Text>
  requires(std::convertible_to<const Text&, std::string_view> &&
           !std::same_as<Text, std::string>)
      OwnedPayload(const Text& text)  // NOLINT: implicit by intent
      : OwnedPayload(Payload(std::string_view(text))) {}

  static OwnedPayload Text(std::string text) {
    return {std::move(text), "text/plain"};
  }
  // `text` must be valid JSON; it is not checked.
  static OwnedPayload Json(std::string text) {
    return {std::move(text), "application/json"};
  }
  static OwnedPayload Binary(std::string bytes) {
    return {std::move(bytes), "application/octet-stream"};
  }

  [[nodiscard]] Payload view() const { return {bytes, content_type}; }
  operator Payload() const { return view(); }  // NOLINT: implicit by intent
  [[nodiscard]] bool empty() const { return bytes.empty(); }
  // Judged by the content type. The bytes are not checked.
  [[nodiscard]] bool is_json() const { return view().is_json(); }

  friend bool operator==(const OwnedPayload&, const OwnedPayload&) = default;
};

// A received message. Owns its bytes; views of them end when the message is
// moved or destroyed.
class Message {
 public:
  explicit Message(const Event& event)
      : Message(event, event.topic(), event.payload()) {}
  Message(Message&& other) noexcept { Steal(other); }
  Message& operator=(Message&& other) noexcept {
    if (this != &other) {
      Free();
      Steal(other);
    }
    return *this;
  }
  ~Message() { Free(); }

  // The sender; empty() if it was sent from outside.
  [[nodiscard]] const Pid& from() const { return from_; }
  // The value for Context::Reply; 0: no answer is expected.
  [[nodiscard]] CallId call() const { return call_; }
  // The kind of the message; may be empty.
  [[nodiscard]] std::string_view topic() const { return {data_, topic_bytes_}; }
  [[nodiscard]] Payload payload() const {
    const char* const type = data_ + topic_bytes_;
    return {{type + type_bytes_, payload_bytes_}, {type, type_bytes_}};
  }
  // Total size of topic, content type and payload.
  [[nodiscard]] size_t bytes() const {
    return topic_bytes_ + type_bytes_ + payload_bytes_;
  }

 private:
  // Takes the views as values, so that the compiler knows that copying does not
  // change them.
  Message(const Event& event, std::string_view topic, Payload payload)
      : from_(event.from()),
        call_(event.call()),
        topic_bytes_(topic.size()),
        type_bytes_(payload.content_type.size()),
        payload_bytes_(payload.bytes.size()) {
    const size_t bytes =
        topic.size() + payload.content_type.size() + payload.bytes.size();
    char* to = inline_;
    if (bytes > sizeof(inline_)) [[unlikely]] {
      to = new char[bytes];
    }
    data_ = to;
    for (const std::string_view part :
         {topic, payload.content_type, payload.bytes}) {
      if (part.empty()) continue;
      detail::CopyBytes(to, part.data(), part.size());
      to += part.size();
    }
  }
  // Leaves `other` empty.
  void Steal(Message& other) {
    from_ = other.from_;
    call_ = other.call_;
    topic_bytes_ = std::exchange(other.topic_bytes_, 0);
    type_bytes_ = std::exchange(other.type_bytes_, 0);
    payload_bytes_ = std::exchange(other.payload_bytes_, 0);
    if (other.data_ == other.inline_) {
      data_ = inline_;
      std::memcpy(inline_, other.inline_, sizeof(inline_));
    } else {
      data_ = std::exchange(other.data_, other.inline_);
    }
  }
  void Free() {
    if (data_ != inline_) delete[] data_;
  }

  Pid from_;
  CallId call_;
  char* data_;
  size_t topic_bytes_;
  size_t type_bytes_;
  size_t payload_bytes_;
  char inline_[48];
};

// The end of a monitored or linked process.
struct Exit {
  // The process that has ended.
  Pid pid;
  // The tag that Monitor returned; 0: a link.
  Tag monitor;
  ExitReason reason;
  // kOk: it ended successfully.
  Code code;
  // Its result, or the text of its failure.
  OwnedPayload payload;

  explicit Exit(const Event& event)
      : pid(event.from()),
        monitor(event.tag()),
        reason(event.exit_reason()),
        code(event.error().code),
        payload(event.payload()) {}

  [[nodiscard]] bool ok() const { return code == Code::kOk; }
};

}  // namespace actord
