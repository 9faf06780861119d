// Reads the requests for lists, page by page.
#include <actord/text.h>

#include <algorithm>
#include <optional>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_requests.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

// The comments of the wire contract state these limits.
constexpr int kDefaultPageSize = 100;
constexpr int kMaxPageSize = 1000;

absl::Status OnlyForEnded(std::string_view field) {
  return Wrong(field, "can only be combined with the state ENDED");
}

absl::StatusOr<std::optional<runtime::ProcessState>> ReadState(
    v1::ProcessState state) {
  switch (state) {
    case v1::PROCESS_STATE_UNSPECIFIED:
      return std::nullopt;
    case v1::PROCESS_STATE_READY:
      return runtime::ProcessState::kReady;
    case v1::PROCESS_STATE_RUNNING:
      return runtime::ProcessState::kRunning;
    case v1::PROCESS_STATE_BLOCKED:
      return runtime::ProcessState::kBlocked;
    case v1::PROCESS_STATE_IDLE:
      return runtime::ProcessState::kIdle;
    case v1::PROCESS_STATE_DORMANT:
      return runtime::ProcessState::kDormant;
    case v1::PROCESS_STATE_QUARANTINED:
      return runtime::ProcessState::kQuarantined;
    // (ENDED is for ReadListEnded.)
    default:
      return Wrong("state", "is not a state that this daemon knows");
  }
}

absl::StatusOr<std::optional<runtime::EndKind>> ReadEnd(v1::ProcessEnd end) {
  switch (end) {
    case v1::PROCESS_END_UNSPECIFIED:
      return std::nullopt;
    case v1::PROCESS_END_DONE:
      return runtime::EndKind::kResult;
    case v1::PROCESS_END_FAILED:
      return runtime::EndKind::kFailed;
    case v1::PROCESS_END_EXCEPTION:
      return runtime::EndKind::kThrew;
    case v1::PROCESS_END_CANCELLED:
      return runtime::EndKind::kCancelled;
    case v1::PROCESS_END_TERMINATED:
      return runtime::EndKind::kTerminated;
    case v1::PROCESS_END_INIT_REFUSED:
      return runtime::EndKind::kInitRefused;
    case v1::PROCESS_END_LIMIT_REACHED:
      return runtime::EndKind::kLimit;
    default:
      return Wrong("end", "is not an end that this daemon knows");
  }
}

}  // namespace

absl::Status ReadLabelSelectors(
    const google::protobuf::RepeatedPtrField<std::string>& labels,
    std::vector<runtime::LabelSelector>& selectors) {
  if (static_cast<size_t>(labels.size()) > runtime::kMaxLabels) {
    return Wrong("labels",
                 absl::StrCat("has ", labels.size(), " items; the limit is ",
                              runtime::kMaxLabels));
  }
  for (const std::string& text : labels) {
    absl::StatusOr<runtime::LabelSelector> selector =
        runtime::ReadLabelSelector("labels", text);
    if (!selector.ok()) return selector.status();
    selectors.push_back(*std::move(selector));
  }
  return absl::OkStatus();
}

absl::Status ReadPaging(int32_t page_size, const std::string& page_token,
                        uint64_t scope, Paging& paging) {
  if (page_size < 0) return Wrong("page_size", "must not be negative");
  const int size = page_size == 0 ? kDefaultPageSize : page_size;
  const absl::StatusOr<uint64_t> position = ReadPageToken(page_token, scope);
  if (!position.ok()) return position.status();
  paging.position = *position;
  paging.page_size = static_cast<size_t>(std::min(size, kMaxPageSize));
  paging.scope = scope;
  return absl::OkStatus();
}

absl::Status ReadListProcesses(const v1::ListProcessesRequest& request,
                               uint32_t incarnation,
                               runtime::ProcessFilter& filter, Paging& paging) {
  absl::Status status =
      CheckLength("process_type", request.process_type(), kMaxNameBytes);
  if (!status.ok()) return status;
  filter.process_type = request.process_type();
  const auto state = ReadState(request.state());
  if (!state.ok()) return state.status();
  filter.state = *state;
  if (!request.parent_pid().empty()) {
    const auto parent = ReadPid("parent_pid", request.parent_pid());
    if (!parent.ok()) return parent.status();
    filter.parent = *parent;
  }
  status = ReadLabelSelectors(request.labels(), filter.labels);
  if (!status.ok()) return status;
  if (!request.owner().empty()) return OnlyForEnded("owner");
  if (request.end() != v1::PROCESS_END_UNSPECIFIED) return OnlyForEnded("end");
  const uint64_t scope = absl::HashOf(
      absl::string_view("processes"), incarnation, filter.process_type,
      filter.state, filter.parent, filter.labels, filter.by);
  return ReadPaging(request.page_size(), request.page_token(), scope, paging);
}

absl::Status ReadListEnded(const v1::ListProcessesRequest& request,
                           uint32_t incarnation, runtime::EndedFilter& filter,
                           Paging& paging) {
  absl::Status status =
      CheckLength("process_type", request.process_type(), kMaxNameBytes);
  if (!status.ok()) return status;
  filter.process_type = request.process_type();
  if (!request.parent_pid().empty()) {
    return Wrong("parent_pid",
                 "cannot be combined with the state ENDED: the parents of "
                 "ended processes are not known");
  }
  const auto kind = ReadEnd(request.end());
  if (!kind.ok()) return kind.status();
  filter.kind = *kind;
  status = ReadLabelSelectors(request.labels(), filter.labels);
  if (!status.ok()) return status;
  const uint64_t scope =
      absl::HashOf(absl::string_view("ended"), incarnation, filter.process_type,
                   filter.kind, filter.owner, filter.labels, filter.by);
  return ReadPaging(request.page_size(), request.page_token(), scope, paging);
}

absl::Status ReadListYields(const v1::ListYieldsRequest& request,
                            uint32_t incarnation, runtime::YieldFilter& filter,
                            Paging& paging) {
  const std::string& command = request.command();
  absl::Status status = CheckLength("command", command, kMaxNameBytes);
  if (!status.ok()) return status;
  if (const size_t star = command.find('*');
      star != std::string::npos && star + 1 != command.size()) {
    return Wrong("command", "may have a * at its end only");
  }
  filter.command = command;
  if (!request.pid().empty()) {
    const auto pid = ReadPid("pid", request.pid());
    if (!pid.ok()) return pid.status();
    filter.pid = *pid;
  }
  const uint64_t scope = absl::HashOf(absl::string_view("yields"), incarnation,
                                      filter.command, filter.pid, filter.by);
  return ReadPaging(request.page_size(), request.page_token(), scope, paging);
}

absl::Status ReadListNames(const v1::ListNamesRequest& request,
                           uint32_t incarnation, runtime::Owner by,
                           Paging& paging) {
  absl::Status status = CheckLength("prefix", request.prefix(), kMaxNameBytes);
  if (!status.ok()) return status;
  const uint64_t scope = absl::HashOf(absl::string_view("names"), incarnation,
                                      request.prefix(), by);
  return ReadPaging(request.page_size(), request.page_token(), scope, paging);
}

}  // namespace actord::daemon
