// The remote workers that are connected.
#include <string_view>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "daemon/calls/actor_service.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_time.h"

namespace actord::daemon {
namespace {

absl::Status ReadListWorkers(const v1::ListWorkersRequest& request,
                             uint32_t incarnation,
                             runtime::RemoteWorkerFilter& filter,
                             Paging& paging) {
  absl::Status status =
      CheckLength("command", request.command(), kMaxNameBytes);
  if (!status.ok()) return status;
  filter.command = request.command();
  const uint64_t scope = absl::HashOf(absl::string_view("workers"), incarnation,
                                      filter.command, filter.by);
  return ReadPaging(request.page_size(), request.page_token(), scope, paging);
}

void Write(runtime::RemoteWorkerInfo worker, v1::RemoteWorker* proto) {
  proto->set_worker(worker.id);
  proto->set_name(std::move(worker.name));
  for (std::string& pattern : worker.patterns) {
    proto->add_commands(std::move(pattern));
  }
  *proto->mutable_connect_time() = ToProtoTimestamp(worker.opened_unix_ns);
  proto->set_tasks(static_cast<uint32_t>(worker.tasks));
  proto->set_credits(worker.credits);
  proto->set_silent(worker.is_silent);
  proto->set_stopping(worker.is_stopped);
}

}  // namespace

absl::Status ActorService::ListWorkers(const Caller& caller,
                                       v1::ListWorkersRequest& request,
                                       v1::ListWorkersResponse& response) {
  runtime::RemoteWorkerFilter filter;
  filter.by = caller.access().sees();
  Paging paging;
  absl::Status status =
      ReadListWorkers(request, runtime_.options().incarnation, filter, paging);
  if (!status.ok()) return status;
  // One more than the page, to learn whether another page follows.
  std::vector<runtime::RemoteWorkerInfo> workers =
      runtime_.remote_tasks().ListWorkers(filter, paging.position,
                                          paging.page_size + 1);
  if (workers.size() > paging.page_size) {
    workers.pop_back();
    response.set_next_page_token(
        MakePageToken(workers.back().id, paging.scope));
  }
  const OwnerLabels owner_labels = caller.access().owner_labels();
  for (runtime::RemoteWorkerInfo& worker : workers) {
    v1::RemoteWorker* const proto = response.add_workers();
    owner_labels.Write(worker.owner, proto);
    Write(std::move(worker), proto);
  }
  return absl::OkStatus();
}

}  // namespace actord::daemon
