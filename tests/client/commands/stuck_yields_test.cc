// The lines of actorctl stuck for external commands.
#include "client/commands/failures/stuck_yields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace actord::client {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kNowSeconds = 1'800'000'000;
const absl::Time kNow = absl::FromUnixSeconds(kNowSeconds);

v1::Yield Waiting(const std::string& pid, const std::string& type,
                  int64_t age_s, int64_t deadline_s = 0) {
  v1::Yield yield;
  yield.set_pid(pid);
  yield.set_process_type(type);
  yield.set_command("payment.charge");
  yield.mutable_create_time()->set_seconds(kNowSeconds - age_s);
  if (deadline_s != 0) {
    yield.mutable_deadline()->set_seconds(kNowSeconds + deadline_s);
  }
  return yield;
}

std::vector<std::string> Lines(const StuckYields& yields) {
  std::vector<std::string> lines;
  yields.ForEach(kNow, [&lines](const StuckProcess& stuck) {
    lines.push_back(stuck.pid + ": " + stuck.why);
  });
  return lines;
}

TEST(StuckYields, OfOneKindShareALineWithTheOldest) {
  StuckYields yields(true);
  yields.Add(Waiting("a", "order", 90, 300));
  yields.Add(Waiting("x", "refund", 80));
  yields.Add(Waiting("b", "order", 70, 200));
  yields.Add(Waiting("c", "order", 60));
  EXPECT_THAT(
      Lines(yields),
      ElementsAre("a: 3 processes wait for payment.charge; no worker "
                  "subscribes to it; the first one times out in 3m20s",
                  "x: waits 1m20s for payment.charge; no worker subscribes to "
                  "it"));
}

TEST(StuckYields, WithAnotherReasonHaveALineOfTheirOwn) {
  StuckYields yields(true);
  v1::Yield tried = Waiting("b", "order", 80);
  tried.set_last_error("the bank is closed");
  v1::Yield held = Waiting("c", "order", 70);
  held.set_worker("till");
  held.set_attempts(2);
  held.mutable_lease_deadline()->set_seconds(kNowSeconds + 5);
  v1::Yield also_held = held;
  also_held.set_pid("d");
  for (const auto& yield :
       {Waiting("a", "order", 90), tried, held, also_held}) {
    yields.Add(yield);
  }
  EXPECT_THAT(
      Lines(yields),
      ElementsAre("a: waits 1m30s for payment.charge; no worker subscribes to "
                  "it",
                  "b: waits 1m20s for payment.charge; no worker subscribes to "
                  "it; the last error was: the bank is closed",
                  "c: waits 1m10s for payment.charge; worker till holds "
                  "attempt 2, and its lease ends in 5s",
                  "d: waits 1m10s for payment.charge; worker till holds "
                  "attempt 2, and its lease ends in 5s"));
}

TEST(StuckYields, AreAllListedForPrograms) {
  StuckYields yields(false);
  yields.Add(Waiting("a", "order", 90));
  yields.Add(Waiting("b", "order", 70));
  EXPECT_THAT(Lines(yields),
              ElementsAre("a: waits 1m30s for payment.charge; no worker "
                          "subscribes to it",
                          "b: waits 1m10s for payment.charge; no worker "
                          "subscribes to it"));
}

}  // namespace
}  // namespace actord::client
