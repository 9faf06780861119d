// A process that measures the time from send to step.
#pragma once

#include <actord/plugin.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "bench/processes/wire.h"

namespace actord::bench {

// A clock that all threads of this program share. A real process must not use
// it.
inline int64_t SteadyNowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Each message holds its send time. Ends at the topic "end". Result: the
// latency of each message in nanoseconds, as consecutive int64_t.
class Latency : public Process {
 public:
  static constexpr const char* kName = "bench.latency";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Step(Events events, StepOutput& out) {
    const int64_t now = SteadyNowNs();
    for (const Event event : events) {
      if (event.topic() == "end") return out.Done(samples_);
      const int64_t took = now - ReadAs<int64_t>(event.payload().bytes);
      samples_ += BytesOf(took);
    }
  }

 private:
  std::string samples_;
};

}  // namespace actord::bench
