#include "daemon/operations/carry_out.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

absl::Status IdReused(const char* field, const std::string& id) {
  return runtime::InvalidField(
      field, runtime::reason::kRequestIdReused,
      absl::StrCat(field, " '", id, "' belongs to another request"));
}

absl::Status CheckReceiver(const runtime::Runtime& runtime,
                           const Access& access, const runtime::Pid& pid) {
  if (!access.ChecksReceivers()) return absl::OkStatus();
  const absl::StatusOr<runtime::ProcessInfo> info = runtime.Describe(pid);
  if (info.ok()) return access.MaySend(info->process_type);
  return access.is_enforced() ? info.status() : absl::OkStatus();
}

absl::Status CheckHolder(const runtime::Runtime& runtime, const Access& access,
                         const std::string& name) {
  if (!access.ChecksReceivers()) return absl::OkStatus();
  const absl::StatusOr<runtime::Pid> holder = runtime.FindName(name);
  return holder.ok() ? CheckReceiver(runtime, access, *holder)
                     : absl::OkStatus();
}

absl::Status CheckYield(runtime::Runtime& runtime, const Access& access,
                        const runtime::YieldToken& token) {
  if (!access.ChecksCommands()) return absl::OkStatus();
  const std::optional<std::string> command =
      runtime.remote_tasks().CommandOf(token);
  return command ? access.MayWork(*command) : absl::OkStatus();
}

absl::StatusOr<runtime::CompleteAnswer> CarryOutCompletion(
    runtime::Runtime& runtime, const Access& access,
    const Completion& completion) {
  absl::Status allowed = CheckYield(runtime, access, completion.token.yield);
  if (!allowed.ok()) return allowed;
  const runtime::CompleteAnswer answer =
      runtime.remote_tasks().Complete(completion.token, completion.result);
  if (answer != runtime::CompleteAnswer::kMailboxFull) return answer;
  return runtime::Retryable(
      absl::StatusCode::kResourceExhausted, runtime::reason::kMailboxFull,
      absl::StrCat("process ", runtime::FormatPid(completion.token.yield.pid),
                   " has not taken earlier completions yet: its limit for "
                   "them is ",
                   runtime.limits().max_mailbox_bytes(), " bytes"),
      absl::Milliseconds(100));
}

}  // namespace actord::daemon
