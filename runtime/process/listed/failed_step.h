// The step that has failed, for the failure of its process: the notes about it,
// and the lines that it would have written into the log.
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/listed/noted_step.h"

namespace actord::runtime {

// The lines that the log has at its present level, oldest first.
struct StepLines {
  struct Line {
    int32_t level = 0;  // ACTORD_LOG_*
    std::string text = {};
  };
  std::vector<Line> list = {};  // at most rules::kMaxFailedStepLines
  uint64_t left_out = 0;        // older lines of the step
};

struct FailedStep {
  // nullopt: the step returned well, and its process failed because the effects
  // of the step could not be applied.
  std::optional<NotedStep> notes = {};
  StepLines lines = {};
};

}  // namespace actord::runtime
