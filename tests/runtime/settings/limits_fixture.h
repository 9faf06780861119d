// A runtime whose limits a test changes.
#pragma once

#include "tests/runtime/yields/yields_fixture.h"

namespace actord::runtime {

class LiveLimitsTest : public YieldsTest {
 protected:
  void SetUp() override { StartWith(Two()); }
  static RuntimeOptions Two() {
    RuntimeOptions options;
    options.workers = 2;
    return options;
  }

  // Changes one limit of those in force.
  template <typename Change>
  void Set(Change change) {
    Limits limits = runtime_->limits().Get();
    change(limits);
    const absl::Status status = runtime_->SetLimits(limits);
    ASSERT_TRUE(status.ok()) << status;
  }

  const Script idle_{.step = [](Events, StepOutput&) {}};
};

}  // namespace actord::runtime
