#include "daemon/streams/held_receivers.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

void HeldReceivers::Seen(uint64_t count) {
  if (count <= seen_) return;
  seen_ = count;
  absl::erase_if(holds_, [count](const auto& entry) {
    return entry.second.last_item < count;
  });
}

const absl::Status* HeldReceivers::Find(const std::string& receiver) const {
  const auto hold = holds_.find(receiver);
  return hold == holds_.end() ? nullptr : &hold->second.why;
}

void HeldReceivers::Refused(const std::string& receiver, uint64_t item,
                            const absl::Status& why) {
  // The errors that have a retry delay (status_mapping.h).
  if (!absl::IsResourceExhausted(why) && !absl::IsUnavailable(why)) return;
  holds_.try_emplace(receiver, Hold{.why = why}).first->second.last_item = item;
}

absl::Status HeldReceivers::Check() const {
  if (holds_.size() <= kMax) return absl::OkStatus();
  return runtime::InvalidField(
      "seen_count", runtime::reason::kInvalidField,
      absl::StrCat("items to more than ", kMax,
                   " receivers were refused, and seen_count is still ", seen_,
                   "; raise it to the acked_count that the client has read"));
}

}  // namespace actord::daemon
