// A process that spawns many idle processes.
#pragma once

#include <actord/plugin.h>

#include <algorithm>
#include <cstdint>

#include "bench/processes/wire.h"

namespace actord::bench {

// Has a little state, like a real process, and waits for messages.
class Idler : public Process {
 public:
  static constexpr const char* kName = "bench.idler";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Step(Events events, StepOutput& /*out*/) {
    received_ += static_cast<int64_t>(events.size());
  }

 private:
  int64_t received_ = 0;
};

// Input: the number of processes. Stays idle itself.
class Crowd : public Process {
 public:
  static constexpr const char* kName = "bench.crowd";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    left_ = ReadAs<int64_t>(input.bytes);
  }

  void Step(Events /*events*/, StepOutput& out) {
    constexpr int64_t kAtOnce = 256;
    const int64_t count = std::min(left_, kAtOnce);
    for (int64_t i = 0; i < count; ++i) {
      // If a spawn fails, the count of live processes shows it.
      static_cast<void>(out.Spawn(Idler::kName));
    }
    left_ -= count;
    if (left_ > 0) out.Continue();
  }

 private:
  int64_t left_ = 0;
};

}  // namespace actord::bench
