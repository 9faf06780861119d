#include "daemon/operations/carry_out.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"

namespace actord::daemon {

absl::Status IdReused(const char* field, const std::string& id) {
  return runtime::InvalidField(
      field, runtime::reason::kRequestIdReused,
      absl::StrCat(field, " '", id, "' belongs to another request"));
}

absl::Status CheckReceiver(const runtime::Runtime& runtime,
                           const Access& access, const runtime::Pid& pid) {
  if (!access.ChecksReceivers()) return absl::OkStatus();
  const absl::StatusOr<std::string> type =
      runtime.TypeNameOf(pid, access.sees());
  if (type.ok()) return access.MaySend(*type);
  return access.is_enforced() ? type.status() : absl::OkStatus();
}

absl::StatusOr<std::vector<runtime::Pid>> FindReceivers(
    const runtime::Runtime& runtime, const Access& access, const Address& to) {
  absl::StatusOr<std::vector<runtime::Pid>> members =
      ResolveGroup(runtime, access, to);
  if (!members.ok()) return members;
  for (const runtime::Pid& pid : *members) {
    absl::Status allowed = CheckReceiver(runtime, access, pid);
    // A member may have ended.
    if (absl::IsPermissionDenied(allowed)) return allowed;
  }
  return members;
}

absl::Status CheckHolder(const runtime::Runtime& runtime, const Access& access,
                         const std::string& name) {
  if (!access.ChecksReceivers()) return absl::OkStatus();
  const absl::StatusOr<runtime::Pid> holder =
      runtime.FindName(name, access.owner());
  return holder.ok() ? CheckReceiver(runtime, access, *holder)
                     : absl::OkStatus();
}

absl::StatusOr<runtime::Pid> ReadMessageTo(const runtime::Runtime& runtime,
                                           const Access& access,
                                           v1::SendRequest* request,
                                           runtime::Message& message) {
  Address to;
  const absl::Status status =
      ReadSend(request, runtime::PayloadLimit(runtime.limits()), to, message);
  if (!status.ok()) return status;
  ACTORD_ASSERT(!to.is_group, "carry_out.h: the message goes to one process");
  absl::StatusOr<runtime::Pid> pid = Resolve(runtime, access, to);
  if (!pid.ok()) return pid;
  absl::Status allowed = CheckReceiver(runtime, access, *pid);
  if (!allowed.ok()) return allowed;
  return pid;
}

std::optional<absl::StatusOr<runtime::CompleteAnswer>> CheckYield(
    runtime::Runtime& runtime, const Access& access,
    const runtime::YieldToken& token) {
  if (!runtime.remote_tasks().MayAnswer(token, access.sees())) {
    return runtime::CompleteAnswer::kUnknown;
  }
  if (!access.ChecksCommands()) return std::nullopt;
  const std::optional<std::string> command =
      runtime.remote_tasks().CommandOf(token);
  absl::Status allowed = command ? access.MayWork(*command) : absl::OkStatus();
  if (allowed.ok()) return std::nullopt;
  return allowed;
}

absl::StatusOr<runtime::CompleteAnswer> AnswerOrError(
    const runtime::Runtime& runtime, const runtime::YieldToken& token,
    runtime::CompleteAnswer answer) {
  if (answer == runtime::CompleteAnswer::kNotRestored) {
    return runtime.NotRestored(token.pid);
  }
  if (answer != runtime::CompleteAnswer::kMailboxFull) return answer;
  return runtime::Retryable(
      absl::StatusCode::kResourceExhausted, runtime::reason::kMailboxFull,
      absl::StrCat("process ", runtime::FormatPid(token.pid),
                   " has not taken earlier completions yet: its limit for "
                   "them is ",
                   runtime.limits().max_mailbox_bytes(), " bytes"),
      absl::Milliseconds(100));
}

absl::StatusOr<runtime::CompleteAnswer> CarryOutCompletion(
    runtime::Runtime& runtime, const Access& access,
    const Completion& completion) {
  if (auto refused = CheckYield(runtime, access, completion.token.yield)) {
    return *std::move(refused);
  }
  absl::Status taken = runtime.CheckFilling(completion.token.yield.pid);
  if (!taken.ok()) return taken;
  return AnswerOrError(
      runtime, completion.token.yield,
      runtime.remote_tasks().Complete(completion.token, completion.result));
}

}  // namespace actord::daemon
