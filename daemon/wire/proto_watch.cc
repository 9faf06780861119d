#include "daemon/wire/proto_watch.h"

#include <actord/text.h>

#include <charconv>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/proto_time.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

// A token consists of incarnation, cursor, slot and checksum, in hexadecimal.
constexpr size_t kIncarnationDigits = 8;
constexpr size_t kCursorDigits = 16;
constexpr size_t kSlotDigits = 8;
constexpr size_t kCheckDigits = 8;
constexpr size_t kCheckedDigits =
    kIncarnationDigits + kCursorDigits + kSlotDigits;
constexpr uint32_t kNoSlot = UINT32_MAX;

// Hashes `text` with FNV-1a. Every run of the daemon must get the same hash for
// the same text, which absl::Hash does not promise.
uint32_t HashOn(uint32_t hash, std::string_view text) {
  constexpr uint32_t kPrime = 16777619;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  }
  return hash;
}

uint32_t ScopeOf(const runtime::ProcessFilter& filter, std::string_view owner) {
  constexpr uint32_t kBasis = 2166136261;
  // A space separates the filters, because no name contains a space.
  uint32_t scope =
      HashOn(kBasis, absl::StrCat(filter.process_type, " ",
                                  filter.parent.empty()
                                      ? ""
                                      : runtime::FormatPid(filter.parent)));
  // Neither a name nor a label has this separator.
  for (const runtime::LabelSelector& label : filter.labels) {
    scope = HashOn(scope, absl::StrCat("\n", label.key, label.value ? "=" : "",
                                       label.value.value_or("")));
  }
  return owner.empty() ? scope : HashOn(HashOn(scope, " "), owner);
}

// Takes `digits` characters off `text` and reads them as a hexadecimal number.
// False: they are not lower-case hexadecimal digits.
template <typename Number>
bool TakeHex(std::string_view& text, size_t digits, Number& number) {
  const std::string_view part = text.substr(0, digits);
  text.remove_prefix(digits);
  if (part.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return false;
  }
  const auto [rest, error] =
      std::from_chars(part.data(), part.data() + part.size(), number, 16);
  return error == std::errc() && rest == part.data() + part.size();
}

absl::Status ReadResumeToken(std::string_view token, uint32_t incarnation,
                             WatchOrder& order) {
  uint32_t run = 0;
  uint32_t slot = 0;
  uint32_t check = 0;
  WatchPlace place;
  std::string_view rest = token;
  if (token.size() != kCheckedDigits + kCheckDigits ||
      !TakeHex(rest, kIncarnationDigits, run) ||
      !TakeHex(rest, kCursorDigits, place.cursor) ||
      !TakeHex(rest, kSlotDigits, slot) ||
      !TakeHex(rest, kCheckDigits, check) ||
      check != HashOn(order.scope, token.substr(0, kCheckedDigits))) {
    return runtime::InvalidField(
        "resume_token", runtime::reason::kInvalidResumeToken,
        "resume_token is not the token of a watch with these filters");
  }
  if (slot != kNoSlot) place.slot = slot;
  if (run == incarnation) {
    order.resumes = place;
  } else {
    order.resumes_other_run = true;
  }
  return absl::OkStatus();
}

void WriteStarted(const runtime::LifecycleEvent& event,
                  v1::ProcessStarted* proto) {
  proto->set_pid(runtime::FormatPid(event.pid));
  proto->set_process_type(event.process_type);
  proto->set_method(ToUtf8(event.method));
  if (!event.parent.empty()) {
    proto->set_parent_pid(runtime::FormatPid(event.parent));
  }
  proto->set_priority(event.priority);
  *proto->mutable_create_time() = ToProtoTimestamp(event.started_unix_ns);
  WriteLabels(event.labels, proto->mutable_labels());
}

void WriteEndedEvent(const runtime::LifecycleEvent& event,
                     v1::ProcessEnded* proto) {
  proto->set_pid(runtime::FormatPid(event.pid));
  proto->set_process_type(event.process_type);
  if (!event.parent.empty()) {
    proto->set_parent_pid(runtime::FormatPid(event.parent));
  }
  *proto->mutable_create_time() = ToProtoTimestamp(event.started_unix_ns);
  *proto->mutable_end_time() = ToProtoTimestamp(event.ended_unix_ns);
  proto->set_steps(event.steps);
  if (event.end != runtime::EndKind::kResult) {
    WriteFailure(event.end, event.code, event.message,
                 proto->mutable_failure());
  }
  WriteLabels(event.labels, proto->mutable_labels());
}

}  // namespace

absl::StatusOr<WatchOrder> ReadWatch(const v1::WatchProcessesRequest& request,
                                     uint32_t incarnation, runtime::Owner by,
                                     std::string_view owner) {
  WatchOrder order;
  order.filter.by = by;
  absl::Status status =
      CheckLength("process_type", request.process_type(), kMaxNameBytes);
  if (!status.ok()) return status;
  order.filter.process_type = request.process_type();
  if (!request.parent_pid().empty()) {
    const auto parent = ReadPid("parent_pid", request.parent_pid());
    if (!parent.ok()) return parent.status();
    order.filter.parent = *parent;
  }
  status = ReadLabelSelectors(request.labels(), order.filter.labels);
  if (!status.ok()) return status;
  order.skip_snapshot = request.skip_snapshot();
  order.scope = ScopeOf(order.filter, owner);
  if (!request.resume_token().empty()) {
    status = ReadResumeToken(request.resume_token(), incarnation, order);
    if (!status.ok()) return status;
  }
  return order;
}

std::string MakeResumeToken(uint32_t incarnation, uint32_t scope,
                            const WatchPlace& place) {
  std::string token = absl::StrFormat(
      "%08x%016x%08x", incarnation, place.cursor, place.slot.value_or(kNoSlot));
  absl::StrAppend(&token, absl::StrFormat("%08x", HashOn(scope, token)));
  return token;
}

void WriteEvent(const runtime::LifecycleEvent& event, v1::ProcessEvent* proto) {
  switch (event.kind) {
    case runtime::LifecycleEvent::Kind::kStarted:
      WriteStarted(event, proto->mutable_started());
      return;
    case runtime::LifecycleEvent::Kind::kEnded:
      WriteEndedEvent(event, proto->mutable_ended());
      return;
  }
}

}  // namespace actord::daemon
