// timer.sleep: completes after a duration.
//
//   {"duration_ms": number}   0 to 315,360,000,000 (ten years), with fractions
//
// Completes with an empty result.
//
// Thread-safety: stateless.
#pragma once

#include <actord/handler.h>

#include <optional>

namespace actord::handlers {

class TimerSleep : public Handler {
 public:
  static constexpr const char* kCommand = "timer.sleep";
  static constexpr const char* kDoc = "Completes after duration_ms.";

  static void Handle(const Command& command, Completion done);
  // nullopt: the payload is wrong, and `status` says why.
  static std::optional<Duration> DurationOf(const Payload& payload,
                                            Status& status);
};

}  // namespace actord::handlers
