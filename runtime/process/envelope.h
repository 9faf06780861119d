// An event on its way: a mailbox node and, in the same buffer, the event's
// topic and payload. The sender writes it once; the process reads it in place.
//
// An envelope with up to 24 bytes of text is one cache line: a message between
// two processors costs as much as the lines that it moves. So an envelope holds
// sizes instead of pointers; the plugin's actord_event is made when the step
// begins.
//
// Ownership: the holder of the pointer; the mailbox while it is queued.
// Thread-safety: one thread at a time; handed over through the mailbox.
// performance-notes: Rare code moved out, Inlined by force.
#pragma once

#include <actord/abi.h>
#include <actord/copy_bytes.h>
#include <actord/text.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "runtime/memory/buffer_pool.h"
#include "runtime/process/owner.h"
#include "runtime/process/payload.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

// Internal event types beside ACTORD_EVENT_*; a process never sees them.
inline constexpr uint16_t kEventTerminate = UINT16_MAX;
// A call, whose sender waits; the process sees an ACTORD_EVENT_MESSAGE.
inline constexpr uint16_t kEventCall = UINT16_MAX - 1;
// A linked process has failed: the payload says which and why.
inline constexpr uint16_t kEventLinkedEnd = UINT16_MAX - 2;
// The process has reached its maximum lifetime: the payload says so.
inline constexpr uint16_t kEventLifetimeEnd = UINT16_MAX - 3;
// A turn to check for a newer version of the type, or to leave a quarantine.
inline constexpr uint16_t kEventUpgrade = UINT16_MAX - 4;
// A message that is in the journal; the process sees an ACTORD_EVENT_MESSAGE.
inline constexpr uint16_t kEventLogged = UINT16_MAX - 6;
// The record of the end of a durable process is durable: the process may end.
inline constexpr uint16_t kEventEndLogged = UINT16_MAX - 7;
// A call between durable processes; the callee sees an ACTORD_EVENT_MESSAGE.
inline constexpr uint16_t kEventLoggedCall = UINT16_MAX - 8;
// A completion, with a PositionHeader, that names a durable process's yield by
// its tag. It becomes an ACTORD_EVENT_COMPLETION if the yield is outstanding.
inline constexpr uint16_t kEventTagCompletion = UINT16_MAX - 9;
// Not an event: the envelope holds the addresses of messages (chain.h).
inline constexpr uint16_t kEventChain = UINT16_MAX - 5;
inline constexpr uint16_t kEventKeptCall = UINT16_MAX - 11;  // continuing.h
inline constexpr uint16_t kEventKeptExit = UINT16_MAX - 12;  // continuing.h

// Headers of rarer events: the first bytes of the topic, which no process sees.
struct CallHeader {
  uint64_t call = 0;
};
struct PositionHeader {
  uint64_t position = 0;  // of the event's body in the journal; 0: none
};
struct LoggedCallHeader {
  uint64_t position = 0;  // of the call in the journal; it names the call
  uint64_t tag = 0;       // of the caller's yield
};
struct ExitHeader {
  actord_pid from{};
  uint32_t reason = 0;
  uint32_t end = 0;  // which of the watcher's linked ends (ties.h), or 0
};
struct LinkedEndHeader {
  actord_pid from{};   // the linked process
  actord_pid first{};  // the process that failed first
  uint32_t links = 0;  // between `first` and the watcher
  uint32_t end = 0;    // as ExitHeader::end
};
inline constexpr size_t kMaxHeaderBytes = sizeof(LinkedEndHeader);

inline constexpr uint32_t kNoYieldSlot = UINT32_MAX;

// The text that fits into the envelope's own line.
inline constexpr size_t kOneLineTextBytes = 24;

struct Envelope {
  // The yield that the event completes, and the status of that yield.
  struct Completion {
    uint64_t tag = 0;
    // The slot of the yield's record, or kNoYieldSlot.
    uint32_t yield_slot = kNoYieldSlot;
    int32_t status = ACTORD_OK;
  };

  // In a mailbox: the next producer writes it, and the consumer reads it.
  // Elsewhere: the link of the list that holds the envelope.
  std::atomic<Envelope*> next{nullptr};
  // The generation of the process that the sender looked up; a process of
  // another generation drops the envelope. Messages in a chain have none; the
  // chain has it.
  uint32_t generation = 0;
  // The payload, topic and content type follow the envelope, in this order.
  uint32_t payload_bytes = 0;
  uint16_t topic_bytes = 0;
  HeldType content_type;
  uint16_t type;  // decides which member of the union is in use
  // The owner who is charged for a message, or a chain, in a mailbox
  // (OwnerLimits); kNobody: no owner. Delivery writes it; the turn that takes
  // the envelope gives the bytes back.
  Owner charged = Owner::kNobody;
  union {
    // Messages, logged or not, and calls; all zero: from outside.
    actord_pid from;
    Completion completion;  // all other events
  };

  // An envelope without text.
  explicit Envelope(uint16_t event_type) : Envelope(event_type, 0, 0, {}) {}

  // An event with copies of `topic` and `payload` in one buffer. Precondition:
  // Fits(payload, kPayloadLimitMaxBytes), and a topic of at most kMaxLabelBytes
  // behind its header.
  [[gnu::always_inline]] static Envelope* Create(
      BufferCache& cache, uint16_t type, std::string_view topic,
      const actord_payload& payload) {
    ACTORD_ASSERT_HOT(topic.size() <= kMaxLabelBytes + kMaxHeaderBytes &&
                          Fits(payload, kPayloadLimitMaxBytes),
                      "envelope.h: topic and payload fit");
    const HeldType content_type(payload.content_type);
    const size_t bytes = sizeof(Envelope) + topic.size() + payload.bytes.size;
    // This path makes no calls, so that it saves no registers.
    const bool is_short = payload.bytes.size <= detail::kShortBytes &&
                          topic.size() <= detail::kShortBytes &&
                          content_type.bytes() == 0;
    if (!is_short || !cache.IsAtHand(bytes)) {
      return CreateSlowly(cache, type, topic, payload);
    }
    auto* envelope = new (cache.AllocateAtHand(bytes))
        Envelope(type, topic.size(), payload.bytes.size, content_type);
    char* free = envelope->content();
    Copy(View(payload.bytes), free);
    Copy(topic, free);
    return envelope;
  }

  // An envelope with room for `bytes` bytes, which the caller writes to
  // content().
  static Envelope* CreateFor(BufferCache& cache, uint16_t type, size_t bytes) {
    return new (cache.Allocate(sizeof(Envelope) + bytes))
        Envelope(type, 0, bytes, {});
  }
  char* content() { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] const char* content() const {
    return reinterpret_cast<const char*>(this + 1);
  }

  [[gnu::always_inline]] static void Destroy(BufferCache& cache,
                                             Envelope* envelope) {
    cache.Deallocate(envelope, envelope->bytes_used());
  }

  // The bytes of `topic` and `payload` in an envelope, and those of its buffer.
  static size_t TextBytes(std::string_view topic,
                          const actord_payload& payload) {
    return topic.size() + payload.bytes.size +
           HeldType(payload.content_type).bytes();
  }
  static size_t BytesFor(std::string_view topic,
                         const actord_payload& payload) {
    return BufferCache::RoundUp(sizeof(Envelope) + TextBytes(topic, payload));
  }

  // The whole envelope is in one cache line.
  [[nodiscard]] bool IsOfOneLine() const {
    return bytes_used() <= kBufferUnitBytes;
  }
  // Replaces the whole text. Precondition: IsOfOneLine(), at most
  // kOneLineTextBytes, and a content type that needs no bytes.
  void ReplaceText(std::string_view bytes, HeldType type_of_bytes) {
    ACTORD_ASSERT_HOT(IsOfOneLine() && bytes.size() <= kOneLineTextBytes &&
                          type_of_bytes.bytes() == 0,
                      "envelope.h: the buffer has room for the text");
    payload_bytes = static_cast<uint32_t>(bytes.size());
    topic_bytes = 0;
    content_type = type_of_bytes;
    detail::CopyBytes(content(), bytes.data(), bytes.size());
  }

  // Size of the whole buffer; a mailbox is charged this size.
  [[nodiscard]] size_t bytes() const {
    return BufferCache::RoundUp(bytes_used());
  }
  [[nodiscard]] uint32_t units() const {
    return static_cast<uint32_t>(bytes() / kBufferUnitBytes);
  }

  // Views of this buffer.
  [[nodiscard]] std::string_view topic() const {
    return {content() + payload_bytes, topic_bytes};
  }
  [[nodiscard]] actord_payload payload() const {
    return {{content(), payload_bytes},
            content_type.TypeWith(content() + payload_bytes + topic_bytes)};
  }
  // The header of a call, a logged message, an exit or a linked end.
  template <typename Header>
  [[nodiscard]] Header ReadHeader() const {
    Header header;
    std::memcpy(&header, content() + payload_bytes, sizeof(header));
    return header;
  }
  template <typename Header>
  void WriteHeader(const Header& header) {
    std::memcpy(content() + payload_bytes, &header, sizeof(header));
  }

  // Write the event that the plugin sees, which refers to this buffer; field by
  // field, because copying a value that was just assembled is slow.
  // WriteMessage is for ACTORD_EVENT_MESSAGE, WriteOther for other types.
  void WriteMessage(actord_event& event) const {
    WriteAsMessage(event);
    WriteContent(event);
  }
  void WriteOther(actord_event& event) const {
    WriteContent(event);
    if (type != ACTORD_EVENT_COMPLETION) [[unlikely]] {
      WriteRare(event);
      return;
    }
    // A completion that is in the journal has its position there.
    event.topic.size = 0;
    event.type = ACTORD_EVENT_COMPLETION;
    event.status = completion.status;
    event.tag = completion.tag;
    event.from = {};
  }

  Envelope* Next() const { return next.load(std::memory_order_relaxed); }
  void SetNext(Envelope* envelope) {
    next.store(envelope, std::memory_order_relaxed);
  }

 private:
  Envelope(uint16_t event_type, size_t topic, size_t payload,
           HeldType type_of_payload)
      : payload_bytes(static_cast<uint32_t>(payload)),
        topic_bytes(static_cast<uint16_t>(topic)),
        content_type(type_of_payload),
        type(event_type) {
    WillWrite(this);
    if (event_type == ACTORD_EVENT_MESSAGE || event_type == kEventCall ||
        event_type == kEventLogged || event_type == kEventLoggedCall) {
      from = {};
    } else {
      new (&completion) Completion;
    }
  }
  // Create for texts of any size.
  [[gnu::noinline]] static Envelope* CreateSlowly(
      BufferCache& cache, uint16_t type, std::string_view topic,
      const actord_payload& payload) {
    const HeldType content_type(payload.content_type);
    auto* envelope =
        new (cache.Allocate(sizeof(Envelope) + TextBytes(topic, payload)))
            Envelope(type, topic.size(), payload.bytes.size, content_type);
    char* free = envelope->content();
    Copy(View(payload.bytes), free);
    Copy(topic, free);
    if (content_type.bytes() != 0) Copy(View(payload.content_type), free);
    return envelope;
  }
  [[nodiscard]] size_t bytes_used() const {
    return sizeof(Envelope) + payload_bytes + topic_bytes +
           content_type.bytes();
  }
  void WriteAsMessage(actord_event& event) const {
    event.type = ACTORD_EVENT_MESSAGE;
    event.status = ACTORD_OK;
    event.tag = 0;
    event.from = from;
  }
  void WriteContent(actord_event& event) const {
    const char* const bytes = content();
    event.payload.bytes.data = bytes;
    event.payload.bytes.size = payload_bytes;
    event.topic.data = bytes + payload_bytes;
    event.topic.size = topic_bytes;
    event.payload.content_type =
        content_type.TypeWith(bytes + payload_bytes + topic_bytes);
    event.call = 0;
    event.reason = 0;
    event.reserved = 0;
  }
  // (Not inlined, so that a completion saves no registers.)
  [[gnu::noinline]] void WriteRare(actord_event& event) const {
    size_t header_bytes = 0;
    if (type == kEventCall || type == kEventKeptCall) {
      header_bytes = sizeof(CallHeader);
      WriteAsMessage(event);
      event.call = ReadHeader<CallHeader>().call;
    } else if (type == kEventLoggedCall) {
      header_bytes = sizeof(LoggedCallHeader);
      WriteAsMessage(event);
      event.call = ReadHeader<LoggedCallHeader>().position;
    } else if (type == kEventLogged) {
      header_bytes = sizeof(PositionHeader);
      WriteAsMessage(event);
    } else {
      event.type = type;
      event.status = completion.status;
      event.tag = 0;  // the tag of a cancel is its position, or 0
      event.from = {};
      if (type == ACTORD_EVENT_EXIT) {
        const auto header = ReadHeader<ExitHeader>();
        header_bytes = sizeof(header);
        event.tag = completion.tag;
        event.from = header.from;
        event.reason = header.reason;
      }
    }
    event.topic.data =
        static_cast<const char*>(event.topic.data) + header_bytes;
    event.topic.size -= header_bytes;
  }
  [[gnu::always_inline]] static void Copy(std::string_view from, char*& to) {
    detail::CopyBytes(to, from.data(), from.size());
    to += from.size();
  }
};
static_assert(sizeof(Envelope) + kOneLineTextBytes == kBufferUnitBytes);

// A private list, first in, first out: a ring, whose last link leads to the
// first.
class EnvelopeList {
 public:
  [[nodiscard]] bool empty() const { return last_ == nullptr; }
  [[nodiscard]] Envelope* head() const {  // null: the list is empty
    return last_ == nullptr ? nullptr : last_->Next();
  }
  // The envelope behind `envelope`, which is in the list; null: it is the last.
  Envelope* After(const Envelope* envelope) const {
    return envelope == last_ ? nullptr : envelope->Next();
  }

  void PushBack(Envelope* envelope) {
    if (last_ == nullptr) {
      envelope->SetNext(envelope);
    } else {
      envelope->SetNext(last_->Next());
      last_->SetNext(envelope);
    }
    last_ = envelope;
  }

  Envelope* PopFront() {
    if (last_ == nullptr) return nullptr;
    Envelope* const first = last_->Next();
    if (first == last_) {
      last_ = nullptr;
    } else {
      last_->SetNext(first->Next());
    }
    return first;
  }

 private:
  Envelope* last_ = nullptr;
};

// An envelope with one owner: the content of an effect. Freeing an envelope
// needs the memory of a lane, so the destructor frees nothing: the holder of a
// Content passes it on, or frees the envelope that Take returns.
class Content {
 public:
  Content() = default;
  explicit Content(Envelope* envelope) : envelope_(envelope) {}
  Content(Content&& other) noexcept : envelope_(other.Take()) {}
  Content& operator=(Content&& other) noexcept {
    envelope_ = other.Take();
    return *this;
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content() = default;

  [[nodiscard]] Envelope* get() const { return envelope_; }  // null: none
  Envelope* operator->() const { return envelope_; }
  Envelope& operator*() const { return *envelope_; }
  explicit operator bool() const { return envelope_ != nullptr; }

  // The caller owns the envelope from now on.
  Envelope* Take() { return std::exchange(envelope_, nullptr); }
  // Take, without the store of the null: nothing reads the content again.
  [[nodiscard]] Envelope* TakeLast() { return envelope_; }

 private:
  Envelope* envelope_ = nullptr;
};

}  // namespace actord::runtime
