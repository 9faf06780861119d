// The remote workers that are connected.
#include <cstddef>
#include <cstdint>
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
  const OwnerLabels owner_labels = caller.access().owner_labels();
  size_t bytes = 0;
  uint64_t last_id = 0;
  for (runtime::RemoteWorkerInfo& worker : workers) {
    v1::RemoteWorker proto;
    owner_labels.Write(worker.owner, &proto);
    const uint64_t id = worker.id;
    Write(std::move(worker), &proto);
    bytes += proto.ByteSizeLong();
    const auto count = static_cast<size_t>(response.workers_size());
    if (count == paging.page_size || (count != 0 && bytes > kMaxPageBytes)) {
      response.set_next_page_token(MakePageToken(last_id, paging.scope));
      break;
    }
    *response.add_workers() = std::move(proto);
    last_id = id;
  }
  return absl::OkStatus();
}

}  // namespace actord::daemon
