// What the tests of the queues share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/process/process.h"
#include "tests/runtime/system/manual_clock.h"

namespace actord::runtime {

// Processes as the queues see them: something with an address.
class QueueTest : public ::testing::Test {
 protected:
  Process* operator[](size_t i) {
    while (processes_.size() <= i) {
      processes_.push_back(std::make_unique<Process>());
    }
    return processes_[i].get();
  }
  size_t IndexOf(const Process* process) {
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].get() == process) return i;
    }
    ADD_FAILURE() << "not one of these";
    return SIZE_MAX;
  }

  ManualClock clock_;

 private:
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace actord::runtime
