// Messages that are in the journal. Their envelopes carry the position of the
// message's body, so that the step that consumes one can name it.
//
// Thread-safety: any thread, with its own lane. Ownership: of the caller.
#pragma once

#include <actord/text.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/process/envelope.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

inline Envelope* NewLoggedMessage(const actord_pid& from,
                                  std::string_view topic,
                                  const actord_payload& payload,
                                  uint64_t position, Lane& lane) {
  char text[sizeof(PositionHeader) + kMaxLabelBytes];
  const PositionHeader header{position};
  std::memcpy(text, &header, sizeof(header));
  topic.copy(text + sizeof(header), kMaxLabelBytes);
  Envelope* const envelope = lane.NewEnvelope(
      kEventLogged, {text, sizeof(header) + topic.size()}, payload);
  envelope->from = from;
  return envelope;
}

// Size of the buffer of such an envelope.
inline size_t LoggedBytesFor(std::string_view topic,
                             const actord_payload& payload) {
  return BufferCache::RoundUp(sizeof(Envelope) + sizeof(PositionHeader) +
                              topic.size() + payload.bytes.size +
                              payload.content_type.size);
}

// A copy of a logged message as a message that is not in the journal.
inline Envelope* NewPlainMessage(const Envelope& logged, Lane& lane) {
  std::string_view topic = logged.topic();
  topic.remove_prefix(sizeof(PositionHeader));
  Envelope* const envelope =
      lane.NewEnvelope(ACTORD_EVENT_MESSAGE, topic, logged.payload());
  envelope->from = logged.from;
  return envelope;
}

}  // namespace actord::runtime
