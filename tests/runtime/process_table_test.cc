#include "runtime/process_table.h"

#include <gtest/gtest.h>

#include "runtime/errors.h"

namespace actord::runtime {
namespace {

class ProcessTableTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kNode = 3;
  static constexpr uint32_t kIncarnation = 77;

  Pid Reserve() {
    ProcessTable::NoRoom why;
    Process* process =
        processes_.Reserve(cache_, nullptr, 0, kDefaultPriority, Pid{}, 0, why);
    return processes_.PidOf(*process, process->generation);
  }
  // As the runner does at a process's end.
  void End(const Pid& pid) {
    Process& process = processes_.At(pid.slot);
    process.generation = pid.generation + 1;
    processes_.Release(cache_, process);
  }

  ProcessTable processes_{kNode, kIncarnation, 100, 1};
  ProcessTable::Cache cache_;
};

TEST_F(ProcessTableTest, FindsAProcessUntilItEnds) {
  const Pid pid = Reserve();
  EXPECT_EQ(processes_.Find(pid), &processes_.At(pid.slot));
  EXPECT_FALSE(processes_.HasEnded(pid));
  End(pid);
  EXPECT_EQ(processes_.Find(pid), nullptr);
  EXPECT_TRUE(processes_.HasEnded(pid));
  EXPECT_EQ(ReasonOf(processes_.WhyNotFound(pid)), reason::kProcessEnded);
}

TEST_F(ProcessTableTest, WhatHasEndedStaysSoWhenItsSlotIsUsedAgain) {
  const Pid old_pid = Reserve();
  End(old_pid);
  const Pid new_pid = Reserve();
  ASSERT_EQ(new_pid.slot, old_pid.slot);
  EXPECT_TRUE(processes_.HasEnded(old_pid));
  EXPECT_FALSE(processes_.HasEnded(new_pid));
}

TEST_F(ProcessTableTest, WhatHasNeverLivedHereHasNotEnded) {
  const Pid pid = Reserve();
  End(pid);
  ASSERT_TRUE(processes_.HasEnded(pid));
  const auto other = [&](auto change) {
    Pid changed = pid;
    change(changed);
    return changed;
  };
  const Pid never[] = {
      other([](Pid& p) { p.node = 4; }),
      other([](Pid& p) { p.incarnation = 78; }),
      other([](Pid& p) { p.slot = 1; }),         // not handed out yet
      other([](Pid& p) { p.generation += 2; }),  // of a process to come
      other([](Pid& p) { p.generation -= 1; }),  // even: of no process
  };
  for (const Pid& stranger : never) {
    EXPECT_FALSE(processes_.HasEnded(stranger)) << FormatPid(stranger);
    EXPECT_EQ(processes_.Find(stranger), nullptr);
    EXPECT_EQ(ReasonOf(processes_.WhyNotFound(stranger)),
              reason::kProcessNotFound);
  }
}

}  // namespace
}  // namespace actord::runtime
