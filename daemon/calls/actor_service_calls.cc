// Calls to processes, and the list of names.
#include <utility>

#include "daemon/calls/actor_service.h"
#include "daemon/operations/carry_out.h"
#include "daemon/operations/find_process.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_requests.h"

namespace actord::daemon {
absl::StatusOr<ReplyWait> ActorService::Call(const Caller& caller,
                                             v1::CallRequest& request) {
  Address to;
  runtime::Message message;
  absl::Status status = ReadCall(&request, payload_limit(), to, message);
  if (!status.ok()) return status;
  runtime::RequestId id;
  if (!request.message_id().empty()) {
    id = {std::move(*request.mutable_message_id()),
          Fingerprint(context_.message_ids.content_key(), to, message),
          caller.access().owner()};
    // A repeat gets the answer of the process that the first call has reached,
    // even if another process holds the name now.
    if (runtime_.KnowsCall(id)) {
      return ReplyWait(runtime_, to.pid, std::move(message), std::move(id),
                       caller.access().sees());
    }
  }
  const absl::StatusOr<runtime::Pid> pid =
      Resolve(runtime_, caller.access(), to);
  if (!pid.ok()) return pid.status();
  status = CheckReceiver(runtime_, caller.access(), *pid);
  if (!status.ok()) return status;
  return ReplyWait(runtime_, *pid, std::move(message), std::move(id),
                   caller.access().sees());
}

absl::Status ActorService::ListNames(const Caller& caller,
                                     v1::ListNamesRequest& request,
                                     v1::ListNamesResponse& response) {
  Paging paging;
  absl::Status status = ReadListNames(request, runtime_.options().incarnation,
                                      caller.access().sees(), paging);
  if (!status.ok()) return status;
  const runtime::NamePage page =
      runtime_.ListNames(request.prefix(), paging.position, paging.page_size,
                         caller.access().sees());
  const OwnerLabels owner_labels = caller.access().owner_labels();
  for (const runtime::NamePage::Entry& entry : page.names) {
    v1::Name* const name = response.add_names();
    name->set_name(entry.name);
    name->set_pid(runtime::FormatPid(entry.pid));
    owner_labels.Write(entry.owner, name);
  }
  if (page.next_sequence != 0) {
    response.set_next_page_token(
        MakePageToken(page.next_sequence, paging.scope));
  }
  return absl::OkStatus();
}

}  // namespace actord::daemon
