// External commands: completing and listing their yields.
#include <utility>

#include "daemon/calls/actor_service.h"
#include "daemon/operations/carry_out.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"

namespace actord::daemon {
namespace {

// The size at which a page of yields ends, though each page has at least one
// yield. Yields carry payloads, and a client accepts responses of 4 MiB by
// default.
constexpr size_t kMaxPageBytes = 1 << 20;

}  // namespace

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

absl::Status ActorService::ListYields(const Caller& caller,
                                      v1::ListYieldsRequest& request,
                                      v1::ListYieldsResponse& response) {
  runtime::YieldFilter filter;
  filter.by = caller.access().sees();
  Paging paging;
  absl::Status status =
      ReadListYields(request, runtime_.options().incarnation, filter, paging);
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
