// A process that notes how long messages took to come to its step.
#pragma once

#include <actord/plugin.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "bench/processes/wire.h"

namespace actord::bench {

// Of the clock that all threads of this program share. A process proper would
// not ask it.
inline int64_t SteadyNowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A message holds the time at which it was sent. Ends at the topic "end" with
// the times that they took: int64_t, in nanoseconds, one after the other.
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
