#include "daemon/operations/carry_out.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

absl::Status IdReused(const char* field, const std::string& id) {
  return runtime::InvalidField(
      field, runtime::reason::kRequestIdReused,
      absl::StrCat(field, " '", id, "' belongs to another request"));
}

absl::StatusOr<runtime::CompleteAnswer> CarryOutCompletion(
    runtime::Runtime& runtime, const Completion& completion) {
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
