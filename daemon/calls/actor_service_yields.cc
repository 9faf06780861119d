// External commands: completing and listing their yields, and links to them.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/calls/actor_service.h"
#include "daemon/links/link_request.h"
#include "daemon/operations/carry_out.h"
#include "daemon/operations/find_process.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

absl::Status ActorService::CompleteYield(const Caller& caller,
                                         v1::CompleteYieldRequest& request,
                                         v1::CompleteYieldResponse& response) {
  absl::StatusOr<Completion> completion =
      ReadCompleteYield(&request, payload_limit());
  if (!completion.ok()) return completion.status();
  const absl::StatusOr<runtime::CompleteAnswer> answer =
      CarryOutCompletion(runtime_, caller.access(), *completion);
  if (!answer.ok()) return answer.status();
  response.set_answer(ToProto(*answer));
  response.set_receipt(ReceiptOf(completion->token.yield.pid, *answer));
  return absl::OkStatus();
}

void ActorService::CreateYieldLink(
    const Caller& caller, v1::CreateYieldLinkRequest& request,
    UnaryAnswer<v1::CreateYieldLinkResponse> answer) {
  v1::CreateYieldLinkResponse response;
  if (context_.links == nullptr) {
    return answer.Finish(
        runtime::Error(absl::StatusCode::kFailedPrecondition,
                       runtime::reason::kLinksOff,
                       "the daemon makes no links: admin.link_key is not set"),
        response);
  }
  absl::StatusOr<YieldLink> link =
      ReadCreateYieldLink(request, context_.links->Now());
  if (!link.ok()) return answer.Finish(link.status(), response);
  // The token of a yield is a permission, and the log is not the place for it.
  request.set_token(
      absl::StrCat("of process ", runtime::FormatPid(link->yield.pid)));
  const AuditEntry audit = Audit(caller, request);
  link->maker =
      caller.access().is_checked() ? caller.access().Who() : caller.address();
  const absl::Status status =
      MakeLink(caller.access(), *link, *context_.links, response);
  audit.Done(status);
  answer.Finish(status, response);
}

absl::Status ActorService::MakeLink(const Access& access, const YieldLink& link,
                                    const YieldLinks& links,
                                    v1::CreateYieldLinkResponse& response) {
  const auto refused = CheckYield(runtime_, access, link.yield);
  if (refused && !refused->ok()) return refused->status();
  // A yield that the caller may not see is one that does not wait.
  if (refused || links.Fate(link) != runtime::YieldFate::kWaiting) {
    return runtime::Error(absl::StatusCode::kNotFound,
                          runtime::reason::kYieldNotWaiting,
                          "no yield with this token waits to be completed");
  }
  std::optional<std::string> url = links.UrlOf(link);
  if (!url.has_value()) {
    return runtime::Retryable(absl::StatusCode::kUnavailable, "",
                              "the admin port has not been opened yet",
                              absl::Milliseconds(100));
  }
  response.set_url(*std::move(url));
  response.mutable_expire_time()->set_seconds(
      static_cast<int64_t>(link.expires_unix_s));
  return absl::OkStatus();
}

absl::Status ActorService::ListYields(const Caller& caller,
                                      v1::ListYieldsRequest& request,
                                      v1::ListYieldsResponse& response) {
  runtime::YieldFilter filter;
  filter.by = caller.access().sees();
  Paging paging;
  absl::Status status =
      ResolveName(runtime_, caller.access(), "pid", request.mutable_pid());
  if (status.ok()) {
    status =
        ReadListYields(request, runtime_.options().incarnation, filter, paging);
  }
  if (!status.ok()) return status;
  runtime::YieldPage page = runtime_.ListYields(
      filter, paging.position, paging.page_size, kMaxPageBytes);
  const bool hides_payloads = caller.access().HidesPayloads();
  const OwnerLabels owner_labels = caller.access().owner_labels();
  for (runtime::ExternalYield& yield : page.yields) {
    if (hides_payloads) yield.payload = {};
    v1::Yield* const proto = response.add_yields();
    owner_labels.Write(yield.owner, proto);
    WriteYield(std::move(yield), proto);
  }
  if (page.next_sequence != 0) {
    response.set_next_page_token(
        MakePageToken(page.next_sequence, paging.scope));
  }
  return absl::OkStatus();
}

}  // namespace actord::daemon
