#include "runtime/step/verdict.h"

#include "absl/strings/str_cat.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

std::optional<EndCause> FailureOf(const TurnInput& input, StepRecord& record) {
  if (!record.thrown.empty()) {
    return EndCause{EndKind::kThrew, absl::StatusCode::kInternal,
                    absl::StrCat("Step ", record.thrown)};
  }
  if (!record.misuse.ok()) {
    return EndCause{EndKind::kThrew, record.misuse.code(),
                    std::string(record.misuse.message())};
  }
  switch (record.verdict) {
    case ACTORD_STEP_IDLE:
    case ACTORD_STEP_CONTINUE:
    case ACTORD_STEP_DONE:
      return std::nullopt;
    case ACTORD_STEP_BLOCK:
      if (input.yields != 0 || record.yields != 0 || input.more_events) {
        return std::nullopt;
      }
      return EndCause{EndKind::kThrew, absl::StatusCode::kFailedPrecondition,
                      "Step blocked without an outstanding yield: nothing "
                      "could ever wake it"};
    case ACTORD_STEP_FAIL: {
      // The process was asked to end, and fails with kCancelled for that
      // reason.
      const bool obeyed = input.cancel_requested &&
                          record.failure_code == absl::StatusCode::kCancelled;
      return EndCause{obeyed ? EndKind::kCancelled : EndKind::kFailed,
                      record.failure_code, record.TakeFailure()};
    }
    case ACTORD_STEP_THREW:
      return EndCause{EndKind::kThrew, record.failure_code,
                      record.TakeFailure()};
    default:
      return EndCause{EndKind::kThrew, absl::StatusCode::kInternal,
                      absl::StrCat("Step returned ", record.verdict,
                                   ", which is none of ACTORD_STEP_*")};
  }
}

EndCause EndOfLife(const TurnInput& input, const StepRecord& record) {
  ACTORD_ASSERT(EndsLife(input, record), "verdict.h: the life ends");
  if (record.verdict == ACTORD_STEP_DONE) return {};
  return {EndKind::kLimit, absl::StatusCode::kResourceExhausted,
          absl::StrCat("the process has taken ", input.step,
                       " steps and is not done; the limit is ", input.max_steps,
                       " steps")};
}

}  // namespace actord::runtime
