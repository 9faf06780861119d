// Logs the failures of processes, each after the lines of the step that has
// failed. A type of process may fail at any rate, so each type has a token
// bucket: kBurst failures at once, and one more each kSpaceNs. The line of a
// failure says how many failures of its type were left out before it.
//
// Thread-safety: any thread. Ownership: borrows the logger and the clock.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/log/line_spacing.h"
#include "daemon/log/logging.h"
#include "runtime/actors/process_failure.h"
#include "runtime/process/listed/failed_step.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class FailureLines {
 public:
  static constexpr uint32_t kBurst = 10;
  static constexpr uint64_t kSpaceNs = 1'000'000'000;

  FailureLines(Logger& logger, const runtime::Clock& clock)
      : logger_(logger), clock_(clock), spacing_(kSpaceNs, kBurst) {}

  // Logs the lines and the failure, or counts it for the next line of its type.
  void Add(const runtime::ProcessFailure& failure,
           const runtime::StepLines& lines);

 private:
  void LogStep(const runtime::ProcessFailure& failure, const std::string& pid,
               const runtime::StepLines& lines);

  Logger& logger_;
  const runtime::Clock& clock_;
  LineSpacing spacing_;
};

// "process 1.2b.7.1 (order @acme, parent 1.2b.3.1) failed: EXCEPTION, INTERNAL:
// Step threw ..."
std::string FailureText(const runtime::ProcessFailure& failure);

// "process 1.2b.7.1 (order @acme), in the step that failed: ..."
std::string FailedStepText(const runtime::ProcessFailure& failure,
                           const std::string& line);

}  // namespace actord::daemon
