#include "daemon/operations/failure_lines.h"

#include "absl/strings/str_cat.h"
#include "runtime/process/outcome.h"
#include "runtime/process/pid.h"

namespace actord::daemon {

namespace {

std::string NameOfProcess(const runtime::ProcessFailure& failure) {
  std::string name = failure.process_type.empty() ? "of an unknown type"
                                                  : failure.process_type;
  if (!failure.name.empty()) absl::StrAppend(&name, " @", failure.name);
  return name;
}

}  // namespace

std::string FailedStepText(const runtime::ProcessFailure& failure,
                           const std::string& line) {
  return absl::StrCat("process ", runtime::FormatPid(failure.pid), " (",
                      NameOfProcess(failure),
                      "), in the step that failed: ", line);
}

std::string FailureText(const runtime::ProcessFailure& failure) {
  std::string who = NameOfProcess(failure);
  if (!failure.parent.empty()) {
    absl::StrAppend(&who, ", parent ", runtime::FormatPid(failure.parent));
  }
  if (!failure.trace_id.empty()) {
    absl::StrAppend(&who, ", trace ", failure.trace_id);
  }
  return absl::StrCat("process ", runtime::FormatPid(failure.pid), " (", who,
                      ") failed: ", std::string(runtime::NameOf(failure.kind)),
                      ", ", absl::StatusCodeToString(failure.code), ": ",
                      failure.message);
}

void FailureLines::LogStep(const runtime::ProcessFailure& failure,
                           const std::string& pid,
                           const runtime::StepLines& lines) {
  const LogFields fields = {
      .pid = pid, .type = failure.process_type, .name = failure.name};
  if (lines.left_out > 0) {
    logger_.Warning(
        FailedStepText(failure, absl::StrCat("(", lines.left_out,
                                             " older lines are left out)")),
        fields);
  }
  for (const auto& [level, text] : lines.list) {
    logger_.Log(static_cast<runtime::LogLevel>(level),
                FailedStepText(failure, text), fields);
  }
}

void FailureLines::Add(const runtime::ProcessFailure& failure,
                       const runtime::StepLines& lines) {
  const auto left_out =
      spacing_.Admit(failure.process_type, clock_.MonotonicNs());
  if (!left_out.has_value()) return;
  std::string text = FailureText(failure);
  if (*left_out > 0) {
    absl::StrAppend(&text, " (and ", *left_out, " more failures of ",
                    failure.process_type,
                    " since the last such line; see "
                    "actorctl failures)");
  }
  const std::string pid = runtime::FormatPid(failure.pid);
  LogStep(failure, pid, lines);
  const std::string code = absl::StatusCodeToString(failure.code);
  logger_.Warning(text, {.pid = pid,
                         .type = failure.process_type,
                         .name = failure.name,
                         .code = code,
                         .trace_id = failure.trace_id,
                         .repeated = *left_out});
}

}  // namespace actord::daemon
