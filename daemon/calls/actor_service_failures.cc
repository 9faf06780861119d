// The newest failures of processes.
#include <actord/text.h>

#include <cstdint>
#include <string>

#include "absl/hash/hash.h"
#include "daemon/calls/actor_service.h"
#include "daemon/streams/history_stream.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/proto_time.h"
#include "runtime/actors/failures.h"

namespace actord::daemon {
namespace {

absl::Status ReadSince(const v1::ListFailuresRequest& request,
                       uint64_t& since_unix_ns) {
  if (!request.has_since()) return absl::OkStatus();
  constexpr int64_t kNsOfSecond = 1'000'000'000;
  const google::protobuf::Timestamp& since = request.since();
  if (since.seconds() < 0 || since.seconds() > INT64_MAX / kNsOfSecond - 1 ||
      since.nanos() < 0 || since.nanos() >= kNsOfSecond) {
    return Wrong("since", "is not a time from 1970 to 2262");
  }
  since_unix_ns =
      static_cast<uint64_t>(since.seconds() * kNsOfSecond + since.nanos());
  return absl::OkStatus();
}

absl::Status ReadQuery(const v1::ListFailuresRequest& request,
                       uint32_t incarnation, runtime::FailureQuery& query,
                       uint64_t& scope) {
  absl::Status status =
      CheckLength("process_type", request.process_type(), kMaxNameBytes);
  if (status.ok()) {
    status =
        ReadEntryId("after_id", request.after_id(), incarnation, query.after);
  }
  if (status.ok()) status = ReadSince(request, query.since_unix_ns);
  if (!status.ok()) return status;
  if (!request.pid().empty()) {
    const auto pid = ReadPid("pid", request.pid());
    if (!pid.ok()) return pid.status();
    query.pid = *pid;
  }
  query.process_type = request.process_type();
  query.newest_first = request.newest_first();
  scope = absl::HashOf(absl::string_view("failures"), incarnation,
                       query.process_type, query.pid, query.since_unix_ns,
                       query.after, query.newest_first, query.by);
  Paging paging;
  status = ReadPaging(request.page_size(), request.page_token(), scope, paging);
  query.first = paging.position;
  query.page_size = paging.page_size;
  return status;
}

void SetPid(const runtime::Pid& pid, std::string* text) {
  if (!pid.empty()) *text = runtime::FormatPid(pid);
}

void Write(const runtime::ProcessFailure& failure, uint32_t incarnation,
           v1::ProcessFailure* proto) {
  proto->set_id(FormatEntryId(incarnation, failure.id));
  SetPid(failure.pid, proto->mutable_pid());
  proto->set_process_type(ToUtf8(failure.process_type));
  proto->set_name(failure.name);
  SetPid(failure.parent, proto->mutable_parent_pid());
  WriteFailure(failure.kind, failure.code, failure.message,
               proto->mutable_failure());
  *proto->mutable_create_time() = ToProtoTimestamp(failure.started_unix_ns);
  *proto->mutable_end_time() = ToProtoTimestamp(failure.ended_unix_ns);
  proto->set_steps(failure.steps);
  SetPid(failure.linked, proto->mutable_linked_pid());
  SetPid(failure.first_cause, proto->mutable_first_cause_pid());
  proto->set_trace_id(failure.trace_id);
  WriteNotedSteps(failure.last_steps, proto->mutable_last_steps());
}

}  // namespace

absl::Status ActorService::ListFailures(const Caller& caller,
                                        v1::ListFailuresRequest& request,
                                        v1::ListFailuresResponse& response) {
  const uint32_t incarnation = runtime_.options().incarnation;
  runtime::FailureQuery query;
  query.by = caller.access().sees();
  uint64_t scope = 0;
  absl::Status status = ReadQuery(request, incarnation, query, scope);
  if (!status.ok()) return status;
  const runtime::FailurePage page = runtime_.failures().List(query);
  const OwnerLabels owner_labels = caller.access().owner_labels();
  for (const auto& failure : page.failures) {
    v1::ProcessFailure* const proto = response.add_failures();
    Write(*failure, incarnation, proto);
    owner_labels.Write(failure->owner, proto);
  }
  if (page.next != 0) {
    response.set_next_page_token(MakePageToken(page.next, scope));
  }
  return absl::OkStatus();
}

}  // namespace actord::daemon
