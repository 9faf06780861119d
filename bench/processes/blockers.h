// Processes that block their thread, with and without kBlocksThread.
#pragma once

#include <actord/plugin.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "bench/processes/wire.h"

namespace actord::bench {

// Input: how many nanoseconds to sleep. Ends after the sleep.
class UndeclaredBlocker : public Process {
 public:
  static constexpr const char* kName = "bench.undeclared_blocker";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    sleep_ns_ = ReadAs<int64_t>(input.bytes);
  }

  void Step(Events /*events*/, StepOutput& out) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(sleep_ns_));
    out.Done();
  }

 private:
  int64_t sleep_ns_ = 0;
};

class Blocker : public UndeclaredBlocker {
 public:
  static constexpr const char* kName = "bench.blocker";
  static constexpr bool kBlocksThread = true;
};

// A process with kBlocksThread that does not block. Input: how often it
// continues.
class BlockerInName : public Process {
 public:
  static constexpr const char* kName = "bench.blocker_in_name";
  static constexpr bool kBlocksThread = true;
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    left_ = ReadAs<int64_t>(input.bytes);
  }

  void Step(Events /*events*/, StepOutput& out) {
    if (--left_ > 0) {
      out.Continue();
    } else {
      out.Done();
    }
  }

 private:
  int64_t left_ = 0;
};

}  // namespace actord::bench
