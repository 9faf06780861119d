// The streaming calls, and how they are closed.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/calls/actor_service.h"
#include "daemon/operations/find_process.h"
#include "runtime/process/errors.h"
#include "runtime/table/home_pid.h"

namespace actord::daemon {

std::shared_ptr<WorkStream> ActorService::Work(const Caller& caller) {
  return std::make_shared<WorkStream>(runtime_, streams_, caller.access());
}

std::shared_ptr<daemon::SendStream> ActorService::SendStream(
    const Caller& caller) {
  return std::make_shared<daemon::SendStream>(runtime_, context_.message_ids,
                                              streams_, caller.access(),
                                              caller.trace());
}

std::shared_ptr<daemon::SubmitStream> ActorService::SubmitStream(
    const Caller& caller) {
  return std::make_shared<daemon::SubmitStream>(
      runtime_, context_.catalog, context_.request_ids, streams_,
      caller.access(), caller.trace());
}

absl::StatusOr<std::shared_ptr<WatchStream>> ActorService::WatchProcesses(
    const Caller& caller, const v1::WatchProcessesRequest& request) {
  v1::WatchProcessesRequest resolved = request;
  absl::Status found = ResolveName(runtime_, caller.access(), "parent_pid",
                                   resolved.mutable_parent_pid());
  if (!found.ok()) return found;
  absl::StatusOr<WatchOrder> order =
      ReadWatch(resolved, runtime_.options().incarnation,
                caller.access().sees(), caller.access().sees_name());
  if (!order.ok()) return order.status();
  auto stream =
      std::make_shared<WatchStream>(runtime_, streams_, caller.access());
  const bool is_named = resolved.parent_pid() != request.parent_pid();
  absl::Status status = stream->Open(
      *std::move(order), is_named ? resolved.parent_pid() : std::string());
  if (!status.ok()) return status;
  return stream;
}

absl::StatusOr<std::shared_ptr<SubscribeStream>> ActorService::Subscribe(
    const Caller& caller, const v1::SubscribeRequest& request) {
  auto stream = std::make_shared<SubscribeStream>(runtime_.topics(), streams_,
                                                  caller.access());
  absl::Status status = stream->Open(request);
  if (!status.ok()) return status;
  return stream;
}

absl::StatusOr<std::shared_ptr<BackupStream>> ActorService::Backup(
    const Caller& caller, const v1::BackupRequest& request) {
  const AuditEntry audit = Audit(caller, request);
  if (context_.backups == nullptr) {
    const absl::Status off = runtime::Error(
        absl::StatusCode::kFailedPrecondition, runtime::reason::kDurabilityOff,
        "the daemon has no store: start it with --store DIR");
    audit.Done(off);
    return off;
  }
  auto stream = std::make_shared<BackupStream>(streams_, caller.access(),
                                               context_.clock, audit);
  absl::Status status = context_.backups->Begin(
      [stream](runtime::OpenedStore& store) { stream->Run(store); });
  if (!status.ok()) {
    audit.Done(status);
    return status;
  }
  return stream;
}

absl::Status ActorService::WhyNoHistory(const Access& access,
                                        const runtime::Pid& pid) const {
  absl::Status found = runtime_.Describe(pid, access.sees()).status();
  if (absl::IsNotFound(found)) return found;
  // For a caller that sees its own processes alone, every other PID has ended.
  const bool may_never_have_been =
      !found.ok() && access.sees() != runtime::Owner::kAny;
  return runtime::Error(
      absl::StatusCode::kFailedPrecondition, runtime::reason::kNotDurable,
      absl::StrCat("process ", runtime::FormatPid(pid),
                   may_never_have_been ? " is volatile, or there is none"
                                       : " is volatile",
                   ": only durable processes have a history; actorctl record "
                   "PID shows the next steps of a volatile one"));
}

absl::StatusOr<std::shared_ptr<HistoryStream>> ActorService::ReadHistory(
    const Caller& caller, const v1::ReadHistoryRequest& request) {
  constexpr uint32_t kDefaultPayloadBytes = 1024;
  constexpr uint32_t kMaxPayloadBytes = 65'536;
  if (context_.histories == nullptr) {
    return runtime::Error(
        absl::StatusCode::kFailedPrecondition, runtime::reason::kDurabilityOff,
        "only a daemon with a store (store.directory) keeps histories");
  }
  const absl::StatusOr<runtime::Pid> pid =
      FindProcess(runtime_, caller.access(), "pid", request.pid());
  if (!pid.ok()) return pid.status();
  if (!runtime::IsHomePid(*pid)) return WhyNoHistory(caller.access(), *pid);
  runtime::HistoryOrder order;
  order.pid = *pid;
  order.by = caller.access().sees();
  order.follow = request.follow();
  order.retention_ns = context_.histories->retention_ns();
  order.max_payload_bytes =
      request.max_payload_bytes() == 0
          ? kDefaultPayloadBytes
          : std::min(request.max_payload_bytes(), kMaxPayloadBytes);
  auto stream = std::make_shared<HistoryStream>(*context_.histories, order,
                                                streams_, caller.access());
  absl::Status status = stream->Open();
  if (!status.ok()) return status;
  return stream;
}

void ActorService::RecheckStreams() {
  streams_.Recheck([this](const Access& access) {
    return context_.access->Renew(access, AccessControl::Rights::kMustStay);
  });
}

void ActorService::CloseStreams() {
  streams_.CloseAll(runtime::Retryable(
      absl::StatusCode::kUnavailable, runtime::reason::kStopped,
      "the daemon has stopped", absl::Seconds(1)));
}

}  // namespace actord::daemon
