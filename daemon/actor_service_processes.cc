// Starting, addressing and looking at processes.
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/actor_service.h"
#include "daemon/page_token.h"
#include "daemon/proto_requests.h"
#include "daemon/proto_responses.h"
#include "daemon/unary_call.h"
#include "runtime/errors.h"

namespace actord::daemon {
namespace {

void FinishSubmit(const absl::StatusOr<runtime::Pid>& pid, bool duplicate,
                  grpc::ByteBuffer* out, grpc::ServerUnaryReactor* reactor,
                  bool delivered = false) {
  v1::SubmitResponse response;
  if (pid.ok()) response.set_pid(runtime::FormatPid(*pid));
  response.set_duplicate(duplicate);
  response.set_delivered(delivered);
  FinishCall(pid.status(), response, out, reactor);
}

absl::Status IdReused(const char* field, const std::string& id) {
  return runtime::InvalidField(
      field, runtime::reason::kRequestIdReused,
      absl::StrCat(field, " '", id, "' belongs to another request"));
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
  absl::StatusOr<runtime::SubmitRequest> submit =
      status.ok() ? ReadSubmit(&request, max_payload_bytes()) : status;
  const absl::StatusOr<bool> delivers =
      submit.ok() ? ReadNameConflict(request) : submit.status();
  if (!delivers.ok()) {
    FinishSubmit(delivers.status(), false, out, reactor);
    return reactor;
  }
  const std::string& id = request.request_id();
  if (!id.empty()) {
    const RequestIds::Role role = context_.request_ids.Begin(
        id, Fingerprint(*submit),
        [out, reactor](const absl::StatusOr<runtime::Pid>& pid) {
          FinishSubmit(pid, true, out, reactor);
        });
    if (role == RequestIds::Role::kReused) {
      FinishSubmit(IdReused("request_id", id), false, out, reactor);
    }
    if (role != RequestIds::Role::kFirst) return reactor;
  }
  auto finish = [this, id, out, reactor](
                    const absl::StatusOr<runtime::Pid>& pid, bool delivered) {
    // Before the answer, so that whoever has it finds the id remembered.
    if (!id.empty()) context_.request_ids.End(id, pid);
    FinishSubmit(pid, false, out, reactor, delivered);
  };
  if (*delivers && !submit->name.empty()) {
    runtime_.SubmitOrDeliver(
        *std::move(submit),
        [finish](const absl::StatusOr<runtime::Submitted>& answer) {
          if (answer.ok()) {
            finish(answer->pid, answer->delivered);
          } else {
            finish(answer.status(), false);
          }
        });
  } else {
    runtime_.Submit(*submit, [finish](const absl::StatusOr<runtime::Pid>& pid) {
      finish(pid, false);
    });
  }
  return reactor;
}

ActorService::Reactor* ActorService::Send(Context* call, const Bytes* in,
                                          Bytes* out) {
  Reactor* const reactor = call->DefaultReactor();
  v1::SendRequest request;
  Address to;
  runtime::Message message;
  absl::Status status = ReadMessage(*in, &request);
  if (status.ok()) {
    status = ReadSend(&request, max_payload_bytes(), to, message);
  }
  const std::string& id = request.message_id();
  const auto send = [this, &to, &message]() -> absl::StatusOr<runtime::Pid> {
    const absl::StatusOr<runtime::Pid> pid = Resolve(runtime_, to);
    if (!pid.ok()) return pid.status();
    absl::Status sent = runtime_.Send(*pid, message);
    if (!sent.ok()) return sent;
    return *pid;
  };
  if (!status.ok() || id.empty()) {
    if (status.ok()) status = send().status();
    FinishSend(status, false, out, reactor);
    return reactor;
  }
  const RequestIds::Role role = context_.message_ids.Begin(
      id, Fingerprint(to, message),
      [out, reactor](const absl::StatusOr<runtime::Pid>& sent) {
        FinishSend(sent.status(), true, out, reactor);
      });
  if (role == RequestIds::Role::kReused) {
    FinishSend(IdReused("message_id", id), false, out, reactor);
  } else if (role == RequestIds::Role::kFirst) {
    const absl::StatusOr<runtime::Pid> sent = send();
    // Before the answer, so that whoever has it finds the id remembered.
    context_.message_ids.End(id, sent);
    FinishSend(sent.status(), false, out, reactor);
  }
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
