// The result of a step or an Init.
//
// Thread-safety: belongs to one thread. Ownership: owns the contents of its
// effects until they are applied. The code that drops a record frees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/process/payload.h"
#include "runtime/step/effect.h"
#include "runtime/step/world.h"

namespace actord::runtime {

struct TurnInput;

// How the process begins again: the arguments of continue_as.
struct Continuation {
  std::string method = {};  // empty: the method stays the same
  Payload input = {};
  // The events that the next life gets first, as a turn of record_format.h.
  std::string unseen = {};
  friend bool operator==(const Continuation&, const Continuation&) = default;
};

struct StepRecord {
  static constexpr int32_t kThrown = -2;

  // The return value of the call: ACTORD_STEP_* for a step, ACTORD_OK or an
  // error for an Init. kThrown if the call threw; then `thrown` is the text of
  // the exception.
  int32_t verdict = 0;
  // In the order in which the step requested them.
  std::vector<Effect> effects;
  size_t yields = 0;  // number of yields and calls among the effects
  uint64_t next_tag = 1;
  bool keeps_answers = false;
  // False: the record keeps no answers, and all fields below have their initial
  // values.
  bool has_said = false;
  // Written if `keeps_answers`, in the order of the questions.
  std::vector<WorldAnswer> answers;
  // Number of payloads above the limit.
  uint32_t refused_payloads = 0;
  // A misuse that makes the call fail, with any return value.
  absl::Status misuse;
  Payload result;
  absl::StatusCode failure_code = absl::StatusCode::kUnknown;
  std::string failure;
  // Empty: the call did not throw.
  std::string thrown;
  // Null: continue_as was not called.
  std::unique_ptr<Continuation> continuation;

  Payload TakeResult() {
    Payload taken = std::move(result);
    // A moved-from string need not be empty.
    result.bytes.clear();
    result.content_type.clear();
    return taken;
  }
  // Drops the result and frees its memory, which a clear or an assignment would
  // keep.
  void DropResult() {
    if (result.bytes.empty() && result.content_type.empty()) return;
    static_cast<void>(TakeResult());
  }
  std::string TakeFailure() { return std::exchange(failure, {}); }
};

// Receives each record when its call has returned, before its effects are
// applied: the interface for a journal.
//
// Thread-safety: called from all threads that run workers.
class StepSink {
 public:
  // `process_type`: the type of the process that was called.
  virtual void Keep(const char* process_type, const TurnInput& input,
                    const StepRecord& record) = 0;

 protected:
  ~StepSink() = default;
};

}  // namespace actord::runtime
