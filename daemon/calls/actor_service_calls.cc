// Calls to processes, the list of calls without an answer, and the list of
// names.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/time/time.h"
#include "daemon/calls/actor_service.h"
#include "daemon/operations/carry_out.h"
#include "daemon/operations/find_process.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/proto_time.h"

namespace actord::daemon {
namespace {

absl::Status ReadCallPids(const v1::ListCallsRequest& request,
                          runtime::CallFilter& filter) {
  if (!request.pid().empty()) {
    const auto pid = ReadPid("pid", request.pid());
    if (!pid.ok()) return pid.status();
    filter.caller = *pid;
  }
  if (!request.callee_pid().empty()) {
    const auto pid = ReadPid("callee_pid", request.callee_pid());
    if (!pid.ok()) return pid.status();
    filter.callee = *pid;
  }
  return absl::OkStatus();
}

// The age is not a part of the scope, because it is counted from each page on.
absl::Status ReadListCalls(const v1::ListCallsRequest& request,
                           uint32_t incarnation, uint64_t now_unix_ns,
                           runtime::CallFilter& filter, Paging& paging) {
  absl::Status status = ReadCallPids(request, filter);
  if (!status.ok()) return status;
  if (request.has_older_than()) {
    const std::optional<absl::Duration> age =
        FromProtoDuration(request.older_than());
    if (!age.has_value() || *age < absl::ZeroDuration()) {
      return Wrong("older_than", "is not a duration of at least 0 s");
    }
    const absl::Time until =
        absl::FromUnixNanos(static_cast<int64_t>(now_unix_ns)) - *age;
    filter.begun_until_unix_ns =
        until < absl::UnixEpoch()
            ? 0
            : static_cast<uint64_t>(absl::ToUnixNanos(until));
  }
  filter.with_commands = request.with_commands();
  const uint64_t scope =
      absl::HashOf(absl::string_view("calls"), incarnation, filter.caller,
                   filter.callee, filter.with_commands, filter.by);
  return ReadPaging(request.page_size(), request.page_token(), scope, paging);
}

void WritePendingCall(const runtime::PendingCall& call, bool hides_clients,
                      v1::PendingCall* proto) {
  if (!call.caller.empty()) {
    proto->set_pid(runtime::FormatPid(call.caller));
    proto->set_process_type(call.caller_type);
    proto->set_name(call.caller_name);
    proto->set_state(ToProto(call.caller_state));
    proto->set_yields_outstanding(call.caller_yields);
  }
  if (call.outside.has_value() && !hides_clients) {
    v1::OutsideCaller* const outside = proto->mutable_outside();
    outside->set_name(call.outside->name);
    outside->set_address(call.outside->address);
    outside->set_connection(call.outside->connection);
  }
  if (!call.callee.empty()) {
    proto->set_callee_pid(runtime::FormatPid(call.callee));
  }
  proto->set_command(call.command);
  proto->set_plugin(call.plugin);
  proto->set_callee_type(call.callee_type);
  proto->set_callee_name(call.callee_name);
  if (call.callee_state.has_value()) {
    proto->set_callee_state(ToProto(*call.callee_state));
  }
  *proto->mutable_create_time() = ToProtoTimestamp(call.begun_unix_ns);
  if (call.deadline_unix_ns != 0) {
    *proto->mutable_deadline() = ToProtoTimestamp(call.deadline_unix_ns);
  }
}

}  // namespace

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
      return ReplyWait(runtime_, caller, to.pid, std::move(message),
                       std::move(id));
    }
  }
  if (request.has_start_if_absent()) {
    auto start =
        ReadStartIfAbsent(&request, payload_limit(), to, !id.id.empty());
    if (!start.ok()) return start.status();
    return StartOrCallWait(caller, {*std::move(start), std::move(message),
                                    std::move(id), caller.trace()});
  }
  const absl::StatusOr<runtime::Pid> pid =
      ResolveOrSuggest(runtime_, caller.access(), to);
  if (!pid.ok()) return pid.status();
  status = CheckReceiver(runtime_, caller.access(), *pid);
  if (!status.ok()) return status;
  return ReplyWait(runtime_, caller, *pid, std::move(message), std::move(id));
}

// Whatever process holds the name, the caller needs the rights to start its own
// and to send to it.
absl::StatusOr<ReplyWait> ActorService::StartOrCallWait(
    const Caller& caller, StartOrCall::Order order) {
  const Access& access = caller.access();
  absl::Status status = access.MaySubmit(order.start.process_type);
  if (status.ok()) status = access.MaySend(order.start.process_type);
  if (!status.ok()) return status;
  order.start.owner = access.owner();
  return ReplyWait(std::make_shared<StartOrCall>(runtime_, context_.catalog,
                                                 caller, std::move(order)));
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

absl::Status ActorService::ListCalls(const Caller& caller,
                                     v1::ListCallsRequest& request,
                                     v1::ListCallsResponse& response) {
  runtime::CallFilter filter;
  filter.by = caller.access().sees();
  Paging paging;
  absl::Status status =
      ResolveName(runtime_, caller.access(), "pid", request.mutable_pid());
  if (status.ok()) {
    status = ResolveName(runtime_, caller.access(), "callee_pid",
                         request.mutable_callee_pid());
  }
  if (status.ok()) {
    status = ReadListCalls(request, runtime_.options().incarnation,
                           context_.clock.UnixNs(), filter, paging);
  }
  if (!status.ok()) return status;
  const runtime::CallPage page =
      runtime_.ListCalls(filter, paging.position, paging.page_size);
  const OwnerLabels owner_labels = caller.access().owner_labels();
  for (const runtime::PendingCall& call : page.calls) {
    v1::PendingCall* const proto = response.add_calls();
    WritePendingCall(call, caller.access().HidesClients(), proto);
    if (!call.caller.empty()) owner_labels.Write(call.owner, proto);
    if (call.outside.has_value()) {
      owner_labels.Write(call.outside->owner, proto);
    }
  }
  if (page.next_place != 0) {
    response.set_next_page_token(MakePageToken(page.next_place, paging.scope));
  }
  return absl::OkStatus();
}

}  // namespace actord::daemon
