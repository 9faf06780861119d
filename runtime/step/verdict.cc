#include "runtime/step/verdict.h"

#include "absl/strings/str_cat.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

const char* VerdictName(int32_t verdict) {
  switch (verdict) {
    case ACTORD_STEP_IDLE:
      return "idle";
    case ACTORD_STEP_BLOCK:
      return "block";
    case ACTORD_STEP_CONTINUE:
      return "continue";
    case ACTORD_STEP_DONE:
      return "done";
    case ACTORD_STEP_CONTINUE_AS:
      return "continue as";
    case ACTORD_STEP_FAIL:
      return "fail";
    default:
      return "threw";
  }
}

bool HasFailed(const TurnInput& input, const StepRecord& record) {
  if (!record.thrown.empty() || !record.misuse.ok()) return true;
  if (record.verdict == ACTORD_STEP_CONTINUE_AS) {
    return record.continuation == nullptr;
  }
  const bool can_wake =
      input.yields != 0 || record.yields != 0 || input.more_events;
  return !rules::Succeeds(record.verdict, can_wake);
}

std::optional<EndCause> FailureOf(const TurnInput& input, StepRecord& record) {
  if (!HasFailed(input, record)) return std::nullopt;
  if (!record.thrown.empty()) {
    return EndCause{EndKind::kThrew, absl::StatusCode::kInternal,
                    absl::StrCat("Step ", record.thrown)};
  }
  if (!record.misuse.ok()) {
    return EndCause{EndKind::kThrew, record.misuse.code(),
                    std::string(record.misuse.message())};
  }
  if (record.verdict == ACTORD_STEP_CONTINUE_AS) {
    return EndCause{EndKind::kThrew, absl::StatusCode::kFailedPrecondition,
                    std::string(rules::kNotContinuedText)};
  }
  const auto said = [&record](EndKind kind) {
    return EndCause{kind, record.failure_code, record.TakeFailure()};
  };
  switch (rules::FailureOf(record.verdict, input.cancel_requested,
                           static_cast<int32_t>(record.failure_code))) {
    case rules::StepFailure::kFailed:
      return said(EndKind::kFailed);
    case rules::StepFailure::kCancelled:
      return said(EndKind::kCancelled);
    case rules::StepFailure::kThrew:
      return said(EndKind::kThrew);
    case rules::StepFailure::kBlockedForEver:
      return EndCause{EndKind::kThrew, absl::StatusCode::kFailedPrecondition,
                      std::string(rules::kBlockedForEverText)};
    case rules::StepFailure::kUnknownVerdict:
      break;
  }
  return EndCause{EndKind::kThrew, absl::StatusCode::kInternal,
                  absl::StrCat("Step returned ", record.verdict,
                               ", which is none of ACTORD_STEP_*")};
}

EndCause WhyNotDone(const TurnInput& input, const StepRecord& record) {
  if (record.verdict == ACTORD_STEP_CONTINUE_AS && input.cancel_requested) {
    return {EndKind::kCancelled, absl::StatusCode::kCancelled,
            std::string(rules::kCancelledInsteadText)};
  }
  ACTORD_ASSERT(input.step >= input.max_steps,
                "verdict.h: the process neither goes on nor begins again");
  return {EndKind::kLimit, absl::StatusCode::kResourceExhausted,
          absl::StrCat("the process has taken ", input.step,
                       " steps and is not done; the limit is ", input.max_steps,
                       " steps")};
}

}  // namespace actord::runtime
