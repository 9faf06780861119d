// A runtime whose starts and ends are recorded.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "tests/runtime/actors/ties_fixture.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {

class LifecycleLogTest : public ::testing::Test {
 protected:
  void Start(const RuntimeOptions& options = {}) {
    core_ = std::make_unique<SteppedCore>(1, options);
    core_->Settle();
  }
  LifecycleLog& log() { return core_->core->lifecycle_log; }
  RuntimeStats Stats() { return core_->core->Stats(); }
  // Starts and ends `count` processes: two events each.
  void Run(int count) {
    for (int i = 0; i < count; ++i) {
      core_->Submit(
          [](actord::Events, actord::StepOutput& out) { out.Done(); });
    }
  }
  void Terminate(const Pid& pid) {
    ASSERT_TRUE(core_->core->delivery
                    .Control(Owner::kAny, pid, kEventTerminate, "enough",
                             core_->core->lane)
                    .ok());
    core_->Settle();
  }
  absl::Status SetLimits(size_t max_events, size_t max_bytes) {
    Limits limits = core_->core->limits.Get();
    limits.watch_max_events = max_events;
    limits.watch_max_bytes = max_bytes;
    return core_->core->SetLimits(limits);
  }

  std::unique_ptr<SteppedCore> core_;
};

}  // namespace actord::runtime
