#include "client/calls/older_daemon.h"

#include "absl/strings/str_cat.h"
#include "client/calls/error.h"

namespace actord::client {
namespace {

using Labels = google::protobuf::Map<std::string, std::string>;
using LabelTexts = google::protobuf::RepeatedPtrField<std::string>;

absl::Status Ignored(const std::string& what, const std::string& consequence) {
  return absl::UnimplementedError(
      absl::StrCat("the daemon is too old for ", what,
                   " and has ignored it: ", consequence));
}

// Whether they have what the text, KEY or KEY=VALUE, selects.
bool HaveLabel(const Labels& labels, const std::string& text) {
  const size_t equals = text.find('=');
  const auto found = labels.find(text.substr(0, equals));
  return found != labels.end() && (equals == std::string::npos ||
                                   found->second == text.substr(equals + 1));
}

absl::Status CheckLabels(const Labels& labels, const LabelTexts& wanted) {
  for (const std::string& text : wanted) {
    if (!HaveLabel(labels, text)) {
      return Ignored("labels", "it does not select by them");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEvent(const v1::ProcessEvent& event,
                        const LabelTexts& wanted) {
  switch (event.event_case()) {
    case v1::ProcessEvent::kStarted:
      return CheckLabels(event.started().labels(), wanted);
    case v1::ProcessEvent::kEnded:
      return CheckLabels(event.ended().labels(), wanted);
    case v1::ProcessEvent::EVENT_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSubmitted(const v1::SubmitRequest& request,
                            const v1::SubmitResponse& response) {
  // Each daemon that knows durability or labels answers with a receipt. A
  // process that has got the messages keeps its own.
  if (response.receipt() != v1::RECEIPT_UNSPECIFIED || response.delivered()) {
    return absl::OkStatus();
  }
  if (request.durability() == v1::DURABILITY_DURABLE) {
    return Ignored("durability", absl::StrCat("process ", response.pid(),
                                              " ends with the daemon"));
  }
  if (!request.labels().empty()) {
    return Ignored("labels",
                   absl::StrCat("process ", response.pid(), " has none"));
  }
  return absl::OkStatus();
}

absl::Status ExplainUnstarted(const v1::CallRequest& request,
                              const absl::Status& error) {
  if (!request.has_start_if_absent() ||
      DetailsOf(error).reason != "NAME_NOT_FOUND") {
    return error;
  }
  return Ignored("a start by a call", std::string(error.message()));
}

absl::Status CheckCancelled(const v1::CancelRequest& request,
                            const v1::CancelResponse& response) {
  if (!request.has_deadline() ||
      response.receipt() != v1::RECEIPT_UNSPECIFIED) {
    return absl::OkStatus();
  }
  return Ignored("the deadline",
                 absl::StrCat("it has asked process ", request.pid(),
                              " to end and will not terminate it"));
}

absl::Status CheckSelected(const v1::ListProcessesRequest& request,
                           const v1::ListProcessesResponse& response) {
  for (const v1::Process& process : response.processes()) {
    absl::Status status = CheckLabels(process.labels(), request.labels());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckWatched(const v1::WatchProcessesRequest& request,
                          const v1::WatchProcessesResponse& response) {
  for (const v1::Process& process : response.snapshot().processes()) {
    absl::Status status = CheckLabels(process.labels(), request.labels());
    if (!status.ok()) return status;
  }
  for (const v1::ProcessEvent& event : response.events().events()) {
    absl::Status status = CheckEvent(event, request.labels());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace actord::client
