#include "runtime/delivery/message_rules.h"

#include <actord/text.h>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

absl::Status CheckLabel(std::string_view field, std::string_view what,
                        std::string_view label) {
  if (label.size() <= kMaxLabelBytes) return absl::OkStatus();
  return InvalidField(field, reason::kInvalidField,
                      absl::StrCat("a ", ToAbsl(what), " of ", label.size(),
                                   " bytes; the limit is ", kMaxLabelBytes));
}

}  // namespace

absl::Status MemoryLow(const LiveLimits& limits) {
  limits.CountRefusedForMemory();
  return Retryable(absl::StatusCode::kResourceExhausted, reason::kMemoryLow,
                   "the daemon has little memory left: it refuses new "
                   "processes, messages and calls until others have ended",
                   absl::Seconds(1));
}

absl::Status CheckPayloadSize(std::string_view field,
                              const actord_payload& payload,
                              PayloadLimit limit) {
  const size_t size = payload.bytes.size;
  if (limit.Refuses(size)) {
    return InvalidField(
        field, reason::kPayloadTooLarge,
        absl::StrCat(ToAbsl(field), " has ", size, " bytes; the limit is ",
                     limit.max_bytes()));
  }
  return CheckLabel(field, "content type", View(payload.content_type));
}

absl::Status CheckEachPart(std::string_view payload_field,
                           const Message& message, PayloadLimit limit) {
  absl::Status status = CheckPayloadSize(payload_field, message.payload, limit);
  status.Update(CheckLabel("topic", "topic", message.topic));
  return status;
}

}  // namespace actord::runtime
