// Starting, addressing and looking at processes.
#include <string>

#include "daemon/calls/actor_service.h"
#include "daemon/calls/unary_call.h"
#include "daemon/operations/carry_out.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"

namespace actord::daemon {
namespace {

void FinishSubmit(const absl::StatusOr<runtime::Pid>& pid, bool duplicate,
                  bool delivered, grpc::ByteBuffer* out,
                  grpc::ServerUnaryReactor* reactor) {
  v1::SubmitResponse response;
  if (pid.ok()) response.set_pid(runtime::FormatPid(*pid));
  response.set_duplicate(duplicate);
  response.set_delivered(delivered);
  FinishCall(pid.status(), response, out, reactor);
}

void FinishSend(const absl::Status& status, bool duplicate,
                grpc::ByteBuffer* out, grpc::ServerUnaryReactor* reactor) {
  v1::SendResponse response;
  response.set_duplicate(duplicate);
  FinishCall(status, response, out, reactor);
}

}  // namespace

ActorService::ActorService(const ServiceContext& context)
    : context_(context),
      runtime_(context.runtime),
      started_ns_(context.clock.MonotonicNs()),
      started_unix_ns_(context.clock.UnixNs()) {}

// The runtime calls back exactly once, also when it shuts down, so a client
// that goes away needs no attention: its answer is dropped by gRPC.
ActorService::Reactor* ActorService::Submit(Context* call, const Bytes* in,
                                            Bytes* out) {
  Reactor* const reactor = call->DefaultReactor();
  v1::SubmitRequest request;
  const absl::Status status = ReadMessage(*in, &request);
  if (!status.ok()) {
    FinishSubmit(status, false, false, out, reactor);
    return reactor;
  }
  CarryOutSubmit(runtime_, context_.request_ids, &request,
                 [out, reactor](const absl::StatusOr<runtime::Pid>& pid,
                                bool duplicate, bool delivered) {
                   FinishSubmit(pid, duplicate, delivered, out, reactor);
                 });
  return reactor;
}

ActorService::Reactor* ActorService::Send(Context* call, const Bytes* in,
                                          Bytes* out) {
  Reactor* const reactor = call->DefaultReactor();
  v1::SendRequest request;
  const absl::Status status = ReadMessage(*in, &request);
  if (!status.ok()) {
    FinishSend(status, false, out, reactor);
    return reactor;
  }
  runtime::Message message;
  CarryOutSend(runtime_, runtime_, context_.message_ids, &request, message,
               [out, reactor](const absl::Status& sent, bool duplicate) {
                 FinishSend(sent, duplicate, out, reactor);
               });
  return reactor;
}

ActorService::Reactor* ActorService::Cancel(Context* call, const Bytes* in,
                                            Bytes* out) {
  return AnswerCall<v1::CancelRequest, v1::CancelResponse>(
      call, in, out, [this](v1::CancelRequest& request, v1::CancelResponse&) {
        const auto pid = FindProcess(runtime_, "pid", request.pid());
        if (!pid.ok()) return pid.status();
        absl::Status status = CheckReason(request.reason());
        return status.ok() ? runtime_.Cancel(*pid, request.reason()) : status;
      });
}

ActorService::Reactor* ActorService::Terminate(Context* call, const Bytes* in,
                                               Bytes* out) {
  return AnswerCall<v1::TerminateRequest, v1::TerminateResponse>(
      call, in, out,
      [this](v1::TerminateRequest& request, v1::TerminateResponse&) {
        const auto pid = FindProcess(runtime_, "pid", request.pid());
        if (!pid.ok()) return pid.status();
        absl::Status status = CheckReason(request.reason());
        return status.ok() ? runtime_.Terminate(*pid, request.reason())
                           : status;
      });
}

ActorService::Reactor* ActorService::GetProcess(Context* call, const Bytes* in,
                                                Bytes* out) {
  return AnswerCall<v1::GetProcessRequest, v1::GetProcessResponse>(
      call, in, out,
      [this](v1::GetProcessRequest& request, v1::GetProcessResponse& response) {
        const auto pid = FindProcess(runtime_, "pid", request.pid());
        if (!pid.ok()) return pid.status();
        const auto info = runtime_.Describe(*pid);
        if (info.ok()) WriteProcess(*info, response.mutable_process());
        return info.status();
      });
}

ActorService::Reactor* ActorService::ListProcesses(Context* call,
                                                   const Bytes* in,
                                                   Bytes* out) {
  return AnswerCall<v1::ListProcessesRequest, v1::ListProcessesResponse>(
      call, in, out,
      [this](v1::ListProcessesRequest& request,
             v1::ListProcessesResponse& response) {
        runtime::ProcessFilter filter;
        Paging paging;
        absl::Status status = ReadListProcesses(
            request, runtime_.options().incarnation, filter, paging);
        if (!status.ok()) return status;
        const runtime::ProcessPage page = runtime_.ListProcesses(
            filter, static_cast<uint32_t>(paging.position), paging.page_size);
        for (const runtime::ProcessInfo& info : page.processes) {
          WriteProcess(info, response.add_processes());
        }
        if (page.next_slot != 0) {
          response.set_next_page_token(
              MakePageToken(page.next_slot, paging.scope));
        }
        return absl::OkStatus();
      });
}

}  // namespace actord::daemon
