// Starting, messaging, awaiting, ending and listing processes.
#include <string>
#include <utility>

#include "daemon/calls/actor_service.h"
#include "daemon/operations/carry_out.h"
#include "daemon/operations/find_process.h"
#include "daemon/plugins/near_type.h"
#include "daemon/streams/history_stream.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/proto_time.h"
#include "runtime/recording/recordings.h"

namespace actord::daemon {

// The runtime calls back exactly once, also when it shuts down. If the client
// has gone, gRPC drops the answer.
void ActorService::Submit(const Caller& caller, v1::SubmitRequest& request,
                          UnaryAnswer<v1::SubmitResponse> answer) {
  CarryOutSubmit(runtime_, caller.access(), context_.request_ids, &request,
                 [answer, &catalog = context_.catalog](
                     const absl::StatusOr<runtime::Pid>& pid, bool duplicate,
                     bool delivered) {
                   v1::SubmitResponse response;
                   if (pid.ok()) {
                     WriteSubmitted(*pid, duplicate, delivered, &response);
                   }
                   answer.Finish(pid.ok() ? pid.status()
                                          : NameNearest(pid.status(), catalog),
                                 response);
                 });
}

void ActorService::Send(const Caller& caller, v1::SendRequest& request,
                        UnaryAnswer<v1::SendResponse> answer) {
  runtime::Message message;
  // `answer` has the refusal, too.
  CarryOutSend(runtime_, caller.access(), runtime_, context_.message_ids,
               &request, message,
               [answer](const absl::Status& status, const SendResult& sent) {
                 v1::SendResponse response;
                 response.set_duplicate(sent.is_duplicate);
                 response.set_receipt(ReceiptOf(sent.is_logged));
                 response.set_delivered(sent.delivered);
                 response.set_refused(sent.refused);
                 answer.Finish(status, response);
               })
      .IgnoreError();
}

absl::StatusOr<RunWait> ActorService::Run(const Caller& caller,
                                          v1::RunRequest& request) {
  if (!request.has_submit()) return Wrong("submit", "is required");
  return RunWait(
      {runtime_, context_.clock, context_.catalog, context_.request_ids},
      caller.access(), caller.deadline(), std::move(*request.mutable_submit()));
}

absl::StatusOr<OutcomeWait> ActorService::Await(const Caller& caller,
                                                v1::AwaitRequest& request) {
  const absl::StatusOr<runtime::Pid> pid =
      FindProcess(runtime_, caller.access(), "pid", request.pid());
  if (!pid.ok()) return pid.status();
  return OutcomeWait(runtime_, *pid, caller.access().sees());
}

absl::Status ActorService::Cancel(const Caller& caller,
                                  v1::CancelRequest& request,
                                  v1::CancelResponse& response) {
  const auto pid =
      FindControlled(runtime_, caller.access(), "pid", request.pid());
  if (!pid.ok()) return pid.status();
  absl::Status status = CheckReason(request.reason());
  if (!status.ok()) return status;
  const auto deadline = ReadCancelDeadline(request);
  if (!deadline.ok()) return deadline.status();
  response.set_receipt(ReceiptOf(*pid));
  return runtime_.Cancel(*pid, request.reason(), *deadline,
                         caller.access().controls());
}

absl::Status ActorService::Terminate(const Caller& caller,
                                     v1::TerminateRequest& request,
                                     v1::TerminateResponse& response) {
  const auto pid =
      FindControlled(runtime_, caller.access(), "pid", request.pid());
  if (!pid.ok()) return pid.status();
  absl::Status status = CheckReason(request.reason());
  response.set_receipt(ReceiptOf(*pid));
  return status.ok() ? runtime_.Terminate(*pid, request.reason(),
                                          caller.access().controls())
                     : status;
}

absl::Status ActorService::GetProcess(const Caller& caller,
                                      v1::GetProcessRequest& request,
                                      v1::GetProcessResponse& response) {
  const auto pid = FindProcess(runtime_, caller.access(), "pid", request.pid());
  if (!pid.ok()) return pid.status();
  const auto info = runtime_.Describe(*pid, caller.access().sees());
  if (!info.ok()) return info.status();
  WriteProcess(*info, response.mutable_process());
  caller.access().owner_labels().Write(info->owner, response.mutable_process());
  const auto recording = runtime_.recordings().Find(*pid);
  if (recording) {
    v1::Recording& proto = *response.mutable_recording();
    *proto.mutable_since() = ToProtoTimestamp(recording->since_unix_ns);
    WriteNotedSteps(recording->steps, proto.mutable_entries());
  }
  return absl::OkStatus();
}

absl::Status ActorService::RecordProcess(const Caller& caller,
                                         v1::RecordProcessRequest& request,
                                         v1::RecordProcessResponse& response) {
  const auto pid =
      FindControlled(runtime_, caller.access(), "pid", request.pid());
  if (!pid.ok()) return pid.status();
  response.set_pid(runtime::FormatPid(*pid));
  runtime::Recordings& recordings = runtime_.recordings();
  const runtime::Owner by = caller.access().controls();
  if (!request.stop()) {
    const auto begun = recordings.Begin(*pid, by);
    if (!begun.ok()) return begun.status();
    response.set_was_recorded(!*begun);
    return absl::OkStatus();
  }
  const auto described = runtime_.Describe(*pid, by);
  if (!described.ok()) return described.status();
  response.set_was_recorded(recordings.End(*pid));
  return absl::OkStatus();
}

absl::Status ActorService::ListEnded(const Access& access,
                                     const v1::ListProcessesRequest& request,
                                     v1::ListProcessesResponse& response) {
  runtime::EndedFilter filter;
  filter.by = access.sees();
  // An owner that the caller does not see, or that is not known, has no
  // processes.
  bool has_any = true;
  if (!request.owner().empty()) {
    filter.owner = access.FindOwner(request.owner());
    has_any = filter.owner.has_value();
  }
  Paging paging;
  absl::Status status =
      ReadListEnded(request, runtime_.options().incarnation, filter, paging);
  if (!status.ok() || !has_any) return status;
  const runtime::EndedPage page =
      runtime_.ListEnded(filter, paging.position, paging.page_size);
  const OwnerLabels owner_labels = access.owner_labels();
  for (const runtime::EndedInfo& info : page.processes) {
    v1::Process* const process = response.add_processes();
    WriteEnded(info, process);
    owner_labels.Write(info.owner, process);
  }
  if (page.next != 0) {
    response.set_next_page_token(MakePageToken(page.next, paging.scope));
  }
  return absl::OkStatus();
}

absl::Status ActorService::ListProcesses(const Caller& caller,
                                         v1::ListProcessesRequest& request,
                                         v1::ListProcessesResponse& response) {
  if (IsForEnded(request)) {
    return ListEnded(caller.access(), request, response);
  }
  runtime::ProcessFilter filter;
  filter.by = caller.access().sees();
  Paging paging;
  absl::Status status = ResolveName(runtime_, caller.access(), "parent_pid",
                                    request.mutable_parent_pid());
  if (status.ok()) {
    status = ReadListProcesses(request, runtime_.options().incarnation, filter,
                               paging);
  }
  if (!status.ok()) return status;
  const runtime::ProcessPage page = runtime_.ListProcesses(
      filter, static_cast<uint32_t>(paging.position), paging.page_size);
  const OwnerLabels owner_labels = caller.access().owner_labels();
  for (const runtime::ProcessInfo& info : page.processes) {
    v1::Process* const process = response.add_processes();
    WriteProcess(info, process);
    owner_labels.Write(info.owner, process);
  }
  if (page.next_slot != 0) {
    response.set_next_page_token(MakePageToken(page.next_slot, paging.scope));
  }
  return absl::OkStatus();
}

}  // namespace actord::daemon
