// A warning that strangers can cause at any rate, but that is logged at most
// once in ten seconds. The next line says how many events were not logged.
//
// Thread-safety: one thread. Ownership: borrows the logger.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/log/logging.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class SpacedWarning {
 public:
  SpacedWarning(Logger& logger, const runtime::Clock& clock)
      : logger_(logger), clock_(clock) {}

  void Say(std::string_view text);

 private:
  Logger& logger_;
  const runtime::Clock& clock_;
  uint64_t next_ns_ = 0;
  uint64_t unsaid_ = 0;
};

}  // namespace actord::daemon
