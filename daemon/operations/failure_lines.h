// Logs the failures of processes. A type of process may fail at any rate, so
// each type has a token bucket: kBurst lines at once, and one more each
// kSpaceNs. A line says how many failures of its type were left out before it.
//
// Thread-safety: any thread. Ownership: borrows the logger and the clock.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/log/line_spacing.h"
#include "daemon/log/logging.h"
#include "runtime/actors/process_failure.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class FailureLines {
 public:
  static constexpr uint32_t kBurst = 10;
  static constexpr uint64_t kSpaceNs = 1'000'000'000;

  FailureLines(Logger& logger, const runtime::Clock& clock)
      : logger_(logger), clock_(clock), spacing_(kSpaceNs, kBurst) {}

  // Logs the failure, or counts it for the next line of its type.
  void Add(const runtime::ProcessFailure& failure);

 private:
  Logger& logger_;
  const runtime::Clock& clock_;
  LineSpacing spacing_;
};

// "process 1.2b.7.1 (order @acme, parent 1.2b.3.1) failed: EXCEPTION, INTERNAL:
// Step threw ..."
std::string FailureText(const runtime::ProcessFailure& failure);

}  // namespace actord::daemon
