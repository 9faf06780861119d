// A runtime that is shut down by a test.
#pragma once

#include <future>
#include <mutex>
#include <string>

#include "tests/runtime/runtime_fixture.h"

namespace actord::runtime {

// Something that a step or a handler waits for, and that says that it does.
class Gate {
 public:
  void Pass() {
    entered_.set_value();
    opened_.wait();
  }
  void AwaitEntered() { entered_.get_future().wait(); }
  void Open() { open_.set_value(); }

 private:
  std::promise<void> entered_;
  std::promise<void> open_;
  std::shared_future<void> opened_{open_.get_future()};
};

class ShutdownTest : public RuntimeTest {
 protected:
  void StartWith(int workers) {
    RuntimeOptions options;
    options.workers = workers;
    options.external_commands = {"ext"};
    options.log = [this](LogLevel, std::string_view message) {
      const std::lock_guard lock(mutex_);
      log_ += std::string(message) + "\n";
    };
    Start(options);
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  void ExpectNothingLeft() {
    const RuntimeStats stats = runtime_->Stats();
    EXPECT_EQ(stats.state, RunState::kStopped);
    EXPECT_EQ(stats.processes_live, 0u);
    EXPECT_EQ(stats.processes_started, stats.processes_ended);
    EXPECT_TRUE(runtime_->ListProcesses({}, 0, 10).processes.empty());
  }

  std::mutex mutex_;
  std::string log_;  // guarded by mutex_
};

}  // namespace actord::runtime
