// Events of durable processes that are in the journal. Their envelopes carry
// the position of the event's body, so that the step that consumes an event can
// name it.
//
// Thread-safety: any thread, with its own lane. Ownership: the caller owns the
// envelopes.
#pragma once

#include <actord/text.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/process/envelope.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

inline constexpr uint16_t kEventPassivate = UINT16_MAX - 10;

// The order to a durable process to become dormant, if it still has taken this
// number of steps. All its records are before the position.
struct PassivateHeader {
  uint64_t steps = 0;
  uint64_t position = 0;
  // The number of its yields in the store, which are timers alone.
  uint64_t timers = 0;
  // When the first of them is due, and when the order is too late, on the
  // store's clock. Unused if there are no timers.
  uint64_t due_ns = 0;
  uint64_t until_ns = 0;
};

namespace detail {

template <typename Header>
Envelope* NewWithHeader(uint16_t type, const Header& header,
                        std::string_view topic, const actord_payload& payload,
                        Lane& lane) {
  char text[sizeof(Header) + kMaxLabelBytes];
  std::memcpy(text, &header, sizeof(header));
  topic.copy(text + sizeof(header), kMaxLabelBytes);
  return lane.NewEnvelope(type, {text, sizeof(header) + topic.size()}, payload);
}

}  // namespace detail

inline Envelope* NewLoggedMessage(const actord_pid& from,
                                  std::string_view topic,
                                  const actord_payload& payload,
                                  uint64_t position, Lane& lane) {
  Envelope* const envelope = detail::NewWithHeader(
      kEventLogged, PositionHeader{position}, topic, payload, lane);
  envelope->from = from;
  return envelope;
}

// `tag`: the tag of the yield of the caller, `from`.
inline Envelope* NewLoggedCall(const actord_pid& from, uint64_t tag,
                               std::string_view topic,
                               const actord_payload& payload, uint64_t position,
                               Lane& lane) {
  Envelope* const envelope = detail::NewWithHeader(
      kEventLoggedCall, LoggedCallHeader{position, tag}, topic, payload, lane);
  envelope->from = from;
  return envelope;
}

// `type`: ACTORD_EVENT_COMPLETION or kEventTagCompletion. `position`: 0 if the
// completion is not in the journal.
inline Envelope* NewLoggedCompletion(uint16_t type, uint64_t tag,
                                     int32_t status,
                                     const actord_payload& payload,
                                     uint64_t position, Lane& lane) {
  Envelope* const envelope =
      detail::NewWithHeader(type, PositionHeader{position}, {}, payload, lane);
  envelope->completion.tag = tag;
  envelope->completion.status = status;
  return envelope;
}

// The position of the event in the journal; 0: it has none.
inline uint64_t PositionOf(const Envelope& envelope) {
  switch (envelope.type) {
    case kEventLogged:
      return envelope.ReadHeader<PositionHeader>().position;
    case kEventLoggedCall:
      return envelope.ReadHeader<LoggedCallHeader>().position;
    case ACTORD_EVENT_COMPLETION:
      return envelope.topic_bytes == 0
                 ? 0
                 : envelope.ReadHeader<PositionHeader>().position;
    case ACTORD_EVENT_CANCEL:
      return envelope.completion.tag;
    default:
      return 0;
  }
}

// Size of the buffer of the envelope of a logged message.
inline size_t LoggedBytesFor(std::string_view topic,
                             const actord_payload& payload) {
  return BufferCache::RoundUp(sizeof(Envelope) + sizeof(PositionHeader) +
                              Envelope::TextBytes(topic, payload));
}

// A copy of a logged message, or of a logged call, as a message or a call that
// is not in the journal. Nobody waits for the answer of the call.
inline Envelope* NewPlainMessage(const Envelope& logged, Lane& lane) {
  std::string_view topic = logged.topic();
  Envelope* envelope = nullptr;
  if (logged.type == kEventLoggedCall) {
    topic.remove_prefix(sizeof(LoggedCallHeader));
    envelope = detail::NewWithHeader(kEventCall, CallHeader{}, topic,
                                     logged.payload(), lane);
  } else {
    topic.remove_prefix(sizeof(PositionHeader));
    envelope = lane.NewEnvelope(ACTORD_EVENT_MESSAGE, topic, logged.payload());
  }
  envelope->from = logged.from;
  return envelope;
}

}  // namespace actord::runtime
