#include "daemon/wire/proto_dead_letters.h"

#include <actord/text.h>

#include <charconv>
#include <optional>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/proto_time.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

// The comments of the wire contract state these limits.
constexpr size_t kListedPayloadBytes = 256;
constexpr int kMaxDroppedAtOnce = 1000;

v1::DeadLetterReason ToProto(runtime::DeadLetterReason reason) {
  switch (reason) {
    case runtime::DeadLetterReason::kUnknownProcess:
      return v1::DEAD_LETTER_REASON_UNKNOWN_PROCESS;
    case runtime::DeadLetterReason::kEnded:
      return v1::DEAD_LETTER_REASON_ENDED;
    case runtime::DeadLetterReason::kMailboxFull:
      return v1::DEAD_LETTER_REASON_MAILBOX_FULL;
    case runtime::DeadLetterReason::kDroppedAtEnd:
      return v1::DEAD_LETTER_REASON_DROPPED_AT_END;
  }
  return v1::DEAD_LETTER_REASON_UNSPECIFIED;
}

absl::Status ReadDeadLetterReason(
    v1::DeadLetterReason proto,
    std::optional<runtime::DeadLetterReason>& reason) {
  switch (proto) {
    case v1::DEAD_LETTER_REASON_UNSPECIFIED:
      reason.reset();
      return absl::OkStatus();
    case v1::DEAD_LETTER_REASON_UNKNOWN_PROCESS:
      reason = runtime::DeadLetterReason::kUnknownProcess;
      return absl::OkStatus();
    case v1::DEAD_LETTER_REASON_ENDED:
      reason = runtime::DeadLetterReason::kEnded;
      return absl::OkStatus();
    case v1::DEAD_LETTER_REASON_MAILBOX_FULL:
      reason = runtime::DeadLetterReason::kMailboxFull;
      return absl::OkStatus();
    case v1::DEAD_LETTER_REASON_DROPPED_AT_END:
      reason = runtime::DeadLetterReason::kDroppedAtEnd;
      return absl::OkStatus();
    default:
      return Wrong("reason", "is not a reason that this daemon knows");
  }
}

// Reads all of `text` as a number; 0: the text is not a number, or is 0.
template <typename Number>
Number ReadNumber(std::string_view text, int base) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && rest == end ? number : 0;
}

}  // namespace

std::string FormatDeadLetterId(uint32_t incarnation, uint64_t number) {
  using runtime::DeadLetter;
  // A letter of the store belongs to no start of the daemon.
  const bool is_logged = (number & DeadLetter::kLogged) != 0;
  return absl::StrFormat("%x.%d", is_logged ? 0 : incarnation,
                         number & ~DeadLetter::kLogged);
}

absl::StatusOr<uint64_t> ReadDeadLetterId(std::string_view field,
                                          const std::string& text,
                                          uint32_t incarnation) {
  const std::string_view id = text;
  const size_t dot = id.find('.');
  const auto run = ReadNumber<uint32_t>(id.substr(0, dot), 16);
  auto number = dot == std::string_view::npos
                    ? 0
                    : ReadNumber<uint64_t>(id.substr(dot + 1), 10);
  if ((number & runtime::DeadLetter::kLogged) != 0) number = 0;
  // Each id has exactly one valid text.
  if (number == 0 || FormatDeadLetterId(run, number) != text) {
    return Wrong(field,
                 "is not the id of a dead letter; the list of dead letters has "
                 "the ids");
  }
  if (run == 0) return number | runtime::DeadLetter::kLogged;
  if (run != incarnation) {
    return runtime::Error(
        absl::StatusCode::kNotFound, runtime::reason::kDeadLetterNotFound,
        absl::StrCat("there is no dead letter ", text,
                     ": the id is from another start of this daemon"));
  }
  return number;
}

absl::Status ReadListDeadLetters(const v1::ListDeadLettersRequest& request,
                                 uint32_t incarnation,
                                 runtime::DeadLetterQuery& query,
                                 uint64_t& scope) {
  absl::Status status = ReadDeadLetterReason(request.reason(), query.reason);
  if (!status.ok()) return status;
  if (!request.to_pid().empty()) {
    const auto pid = ReadPid("to_pid", request.to_pid());
    if (!pid.ok()) return pid.status();
    query.to = *pid;
  }
  query.newest_first = request.newest_first();
  query.max_payload_bytes = kListedPayloadBytes;
  scope = absl::HashOf(absl::string_view("dead letters"), incarnation, query.to,
                       request.reason(), query.newest_first, query.by);
  Paging paging;
  status = ReadPaging(request.page_size(), request.page_token(), scope, paging);
  query.first = paging.position;
  query.page_size = paging.page_size;
  return status;
}

absl::StatusOr<std::vector<uint64_t>> ReadDropDeadLetters(
    const v1::DropDeadLettersRequest& request, uint32_t incarnation) {
  if (request.ids().empty()) return Wrong("ids", "needs at least one id");
  if (request.ids_size() > kMaxDroppedAtOnce) {
    return Wrong(
        "ids", absl::StrCat("has ", request.ids_size(), " items; the limit is ",
                            kMaxDroppedAtOnce));
  }
  std::vector<uint64_t> numbers;
  for (int i = 0; i < request.ids_size(); ++i) {
    const auto number = ReadDeadLetterId(absl::StrCat("ids[", i, "]"),
                                         request.ids(i), incarnation);
    if (number.ok()) {
      numbers.push_back(*number);
    } else if (!absl::IsNotFound(number.status())) {
      return number.status();
    }
  }
  return numbers;
}

void WriteDeadLetter(runtime::DeadLetter letter, uint32_t incarnation,
                     v1::DeadLetter* proto) {
  proto->set_id(FormatDeadLetterId(incarnation, letter.id));
  *proto->mutable_create_time() = ToProtoTimestamp(letter.unix_ns);
  if (!letter.from.empty()) {
    proto->set_from_pid(runtime::FormatPid(letter.from));
  }
  proto->set_to_pid(runtime::FormatPid(letter.to));
  proto->set_topic(ToUtf8(letter.message.topic));
  WritePayload(std::move(letter.message.payload), proto->mutable_payload());
  proto->set_payload_bytes(letter.payload_bytes);
  proto->set_reason(ToProto(letter.reason));
  proto->set_is_call(letter.call);
}

}  // namespace actord::daemon
