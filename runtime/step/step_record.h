// What a step, or an Init, has come to.
//
// Thread-safety: belongs to one thread. Ownership: owns the contents of its
// effects until they are applied, or freed by whoever drops the record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/process/payload.h"
#include "runtime/step/effect.h"
#include "runtime/step/world.h"

namespace actord::runtime {

struct TurnInput;

struct StepRecord {
  static constexpr int32_t kThrown = -2;

  // What the call returned: ACTORD_STEP_* of a step, ACTORD_OK or an error of
  // an Init. kThrown if it has thrown, and then `thrown` says what.
  int32_t verdict = 0;
  // In the order in which the step asked for them.
  std::vector<Effect> effects;
  size_t yields = 0;  // among the effects, calls included
  uint64_t next_tag = 1;
  // Written if `keeps_answers`, in the order of the questions.
  bool keeps_answers = false;
  std::vector<Answer> answers;

  // Whether anything of what follows may be other than at first.
  bool has_said = false;
  // Payloads above the limit.
  uint32_t refused_payloads = 0;
  // A misuse that makes the call fail, whatever it returned.
  absl::Status misuse;
  Payload result;
  absl::StatusCode failure_code = absl::StatusCode::kUnknown;
  std::string failure;
  // Empty: it has not.
  std::string thrown;

  Payload TakeResult() {
    Payload taken = std::move(result);
    // Moved from, they need not be empty.
    result.bytes.clear();
    result.content_type.clear();
    return taken;
  }
  // With its memory, which clearing or assigning would keep.
  void DropResult() {
    if (result.bytes.empty() && result.content_type.empty()) return;
    static_cast<void>(TakeResult());
  }
  std::string TakeFailure() { return std::exchange(failure, {}); }
};

// Is given each record when its call has returned, before anything of it is
// applied: the place of a journal.
//
// Thread-safety: called from all threads that run workers.
class StepSink {
 public:
  // `process_type`: whose call it was.
  virtual void Keep(const char* process_type, const TurnInput& input,
                    const StepRecord& record) = 0;

 protected:
  ~StepSink() = default;
};

}  // namespace actord::runtime
