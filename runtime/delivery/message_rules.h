// The rules that refuse a message, an input or a call before its receiver is
// looked at: the size of its payload, the length of its labels, low memory.
// Delivery (delivery.h) refuses it for its receiver: unknown, ended, full, its
// owner at its quota. DurableInputs refuses it, too, if the store has no room.
//
// Thread-safety: any thread.
#pragma once

#include <actord/text.h>

#include <string_view>

#include "absl/status/status.h"
#include "runtime/process/payload.h"
#include "runtime/settings/limits.h"

namespace actord::runtime {

// The error of CheckMemory. Counts it.
absl::Status MemoryLow(const LiveLimits& limits);
// MEMORY_LOW, which is counted, if little memory is left. The same rule holds
// for each process, message and call from outside.
inline absl::Status CheckMemory(const LiveLimits& limits) {
  return limits.memory_low() ? MemoryLow(limits) : absl::OkStatus();
}

// PAYLOAD_TOO_LARGE if the payload is larger than the limit, INVALID_FIELD if
// its content type is longer than kMaxLabelBytes; `field` is the field of the
// request. The same rule holds at each place where a payload enters.
absl::Status CheckPayloadSize(std::string_view field,
                              const actord_payload& payload,
                              PayloadLimit limit);
inline absl::Status CheckPayloadSize(std::string_view field,
                                     const Payload& payload,
                                     PayloadLimit limit) {
  return CheckPayloadSize(field, ToAbi(payload), limit);
}

// The error of CheckMessage, if there is one.
absl::Status CheckEachPart(std::string_view payload_field,
                           const Message& message, PayloadLimit limit);
// The rule of CheckPayloadSize for the payload, and INVALID_FIELD if the topic
// is longer than kMaxLabelBytes. (Inline, because each message from outside
// comes here.)
inline absl::Status CheckMessage(std::string_view payload_field,
                                 const Message& message, PayloadLimit limit) {
  const bool fits = message.payload.bytes.size() <= limit.max_bytes() &&
                    message.payload.content_type.size() <= kMaxLabelBytes &&
                    message.topic.size() <= kMaxLabelBytes;
  return fits ? absl::OkStatus() : CheckEachPart(payload_field, message, limit);
}

}  // namespace actord::runtime
