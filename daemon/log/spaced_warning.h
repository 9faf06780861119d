// A warning that strangers can cause at any rate, but that is logged at most
// once in ten seconds. The next line says how many events were not logged.
//
// Thread-safety: one thread. Ownership: borrows the logger.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "daemon/log/logging.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class SpacedWarning {
 public:
  SpacedWarning(Logger& logger, const runtime::Clock& clock)
      : logger_(logger), clock_(clock) {}

  void Say(std::string_view text) {
    const uint64_t now_ns = clock_.MonotonicNs();
    if (now_ns < next_ns_) {
      ++unsaid_;
      return;
    }
    next_ns_ = now_ns + kSpaceNs;
    logger_.Warning(
        unsaid_ == 0
            ? std::string(text)
            : absl::StrCat(std::string(text), " (and ", unsaid_,
                           " more of this kind since the last such line)"));
    unsaid_ = 0;
  }

 private:
  static constexpr uint64_t kSpaceNs = 10'000'000'000;

  Logger& logger_;
  const runtime::Clock& clock_;
  uint64_t next_ns_ = 0;
  uint64_t unsaid_ = 0;
};

}  // namespace actord::daemon
