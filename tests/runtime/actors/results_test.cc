#include "runtime/actors/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/system/manual_clock.h"
#include "tests/support/heap_bytes.h"

namespace actord::runtime {
namespace {

Pid PidOf(uint32_t slot) { return {1, 1, slot, 1}; }
Outcome OutcomeOf(std::string bytes) {
  Outcome outcome;
  outcome.result.bytes = std::move(bytes);
  return outcome;
}
constexpr auto kNothing = [](const Outcome&) {};
constexpr auto kLive = [] { return true; };
constexpr auto kHasEnded = [] { return false; };
const auto kNotFound = [] { return absl::NotFoundError("gone"); };

class ResultsTest : public ::testing::Test {
 protected:
  ResultsTest() {
    given_.result_ttl = absl::Seconds(10);
    given_.result_max_bytes = 16 * 10'000;
    limits_.Set(given_);
  }
  // The answer of an Await that does not wait.
  absl::StatusOr<Outcome> Ask(Results& results, const Pid& pid) {
    std::optional<absl::StatusOr<Outcome>> answer;
    EXPECT_EQ(results.Await(
                  Owner::kAny, pid,
                  [&](absl::StatusOr<Outcome> outcome) {
                    answer = std::move(outcome);
                  },
                  kHasEnded, kNotFound),
              0u);
    EXPECT_TRUE(answer.has_value());
    return answer ? *answer : absl::InternalError("no answer");
  }

  ManualClock clock_;
  Limits given_;
  LiveLimits limits_{given_};
};

TEST_F(ResultsTest, AreKeptAndGivenAgain) {
  Results results(limits_, clock_);
  int ended = 0;
  results.Put(PidOf(1), OutcomeOf("x"), true, [&](const Outcome&) { ++ended; });
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(results.kept(), 1u);
  EXPECT_GT(results.bytes(), 0u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Ask(results, PidOf(1))->result.bytes, "x");
  }
  EXPECT_EQ(Ask(results, PidOf(2)).status().message(), "gone");
}

TEST_F(ResultsTest, AreForgottenAfterTheirTime) {
  Results results(limits_, clock_);
  results.Put(PidOf(1), OutcomeOf("x"), true, kNothing);
  clock_.AdvanceNs(10 * kSecond - 1);
  EXPECT_TRUE(Ask(results, PidOf(1)).ok());
  clock_.AdvanceNs(1);
  EXPECT_FALSE(Ask(results, PidOf(1)).ok());
  EXPECT_EQ(results.kept(), 0u);
  EXPECT_EQ(results.bytes(), 0u);
}

TEST_F(ResultsTest, AreForgottenAlsoIfNobodyComes) {
  Results results(limits_, clock_);
  EXPECT_EQ(results.NextExpiryNs(), Results::kNever);
  results.Put(PidOf(1), OutcomeOf("x"), true, kNothing);
  EXPECT_EQ(results.NextExpiryNs(), clock_.MonotonicNs() + 10 * kSecond);
  clock_.AdvanceNs(4 * kSecond);
  results.Put(PidOf(2), OutcomeOf("x"), true, kNothing);
  clock_.AdvanceNs(6 * kSecond - 1);
  results.Trim();
  EXPECT_EQ(results.kept(), 2u);
  EXPECT_EQ(results.NextExpiryNs(), clock_.MonotonicNs() + 1);
  clock_.AdvanceNs(1);
  results.Trim();
  EXPECT_EQ(results.kept(), 1u);
  EXPECT_EQ(results.NextExpiryNs(), clock_.MonotonicNs() + 4 * kSecond);
  given_.result_ttl = absl::Seconds(7);
  limits_.Set(given_);
  EXPECT_EQ(results.NextExpiryNs(), clock_.MonotonicNs() + kSecond);
  given_.result_ttl = absl::InfiniteDuration();
  limits_.Set(given_);
  EXPECT_EQ(results.NextExpiryNs(), Results::kNever);
  given_.result_max_bytes = 10;
  limits_.Set(given_);
  results.Trim();
  EXPECT_EQ(results.kept(), 0u);
  EXPECT_EQ(results.bytes(), 0u);
  EXPECT_EQ(results.NextExpiryNs(), Results::kNever);
}

TEST_F(ResultsTest, ManyThatAreForgottenLeaveNoMemory) {
  given_.result_max_bytes = size_t{1} << 30;
  limits_.Set(given_);
  Results results(limits_, clock_);
  const size_t before = actord::testing::HeapBytes();
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 50'000; ++i) {
      results.Put(PidOf(i + round), OutcomeOf(std::string(100, 'x')), true,
                  kNothing);
    }
    EXPECT_GT(actord::testing::HeapBytes(), before + (size_t{8} << 20));
    clock_.AdvanceNs(10 * kSecond);
    results.Trim();
    EXPECT_LT(actord::testing::HeapBytes(), before + (size_t{64} << 10));
    EXPECT_FALSE(Ask(results, PidOf(7 + round)).ok());
  }
  results.Put(PidOf(3), OutcomeOf("x"), true, kNothing);
  EXPECT_TRUE(Ask(results, PidOf(3)).ok());
}

TEST_F(ResultsTest, TheFirstToBeKeptIsTold) {
  int told = 0;
  std::optional<uint64_t> expires;
  Results* asked = nullptr;
  Results results(limits_, clock_, [&] {
    ++told;
    expires = asked->NextExpiryNs();
  });
  asked = &results;
  results.Put(PidOf(1), OutcomeOf("x"), false, kNothing);
  EXPECT_EQ(told, 0) << "it is not kept";
  results.Put(PidOf(2), OutcomeOf("x"), true, kNothing);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(expires, clock_.MonotonicNs() + 10 * kSecond);
  results.Put(PidOf(3), OutcomeOf("x"), true, kNothing);
  EXPECT_EQ(told, 1);
  // It displaces the two, which are too old.
  clock_.AdvanceNs(10 * kSecond);
  results.Put(PidOf(4), OutcomeOf("x"), true, kNothing);
  EXPECT_EQ(told, 2);
}

TEST_F(ResultsTest, AChangedTimeHoldsForKeptResultsToo) {
  Results results(limits_, clock_);
  results.Put(PidOf(1), OutcomeOf("x"), true, kNothing);
  given_.result_ttl = absl::InfiniteDuration();
  limits_.Set(given_);
  clock_.AdvanceNs(3600 * kSecond);
  EXPECT_TRUE(Ask(results, PidOf(1)).ok());
  results.Put(PidOf(2), OutcomeOf("x"), true, kNothing);
  given_.result_ttl = absl::Seconds(1);
  limits_.Set(given_);
  EXPECT_FALSE(Ask(results, PidOf(1)).ok());
  EXPECT_TRUE(Ask(results, PidOf(2)).ok());
  clock_.AdvanceNs(kSecond);
  EXPECT_FALSE(Ask(results, PidOf(2)).ok());
}

TEST_F(ResultsTest, AChangedLimitOfBytesCountsAtOnce) {
  Results results(limits_, clock_);
  for (uint32_t i = 0; i < 10; ++i) {
    results.Put(PidOf(i), OutcomeOf(std::string(1000, 'x')), true, kNothing);
  }
  EXPECT_EQ(results.kept(), 10u);
  given_.result_max_bytes = 5000;
  limits_.Set(given_);
  EXPECT_FALSE(Ask(results, PidOf(0)).ok());
  EXPECT_TRUE(Ask(results, PidOf(9)).ok());
  EXPECT_LE(results.bytes(), 5000u);
  given_.result_max_bytes = 1'000'000;
  limits_.Set(given_);
  for (uint32_t i = 10; i < 100; ++i) {
    results.Put(PidOf(i), OutcomeOf(std::string(1000, 'x')), true, kNothing);
  }
  EXPECT_GT(results.kept(), 90u);
}

TEST_F(ResultsTest, StayWithinTheLimitOfBytesTheOldestGoingFirst) {
  Results results(limits_, clock_);
  for (uint32_t i = 0; i < 10'000; ++i) {
    results.Put(PidOf(i), OutcomeOf(std::string(100, 'x')), true, kNothing);
    ASSERT_LE(results.bytes(), given_.result_max_bytes);
  }
  EXPECT_GT(results.kept(), 100u);
  EXPECT_TRUE(Ask(results, PidOf(9999)).ok());
  EXPECT_FALSE(Ask(results, PidOf(0)).ok());
}

// Many chains, long ones among them (slots that come again and again), while
// the table grows and the oldest are forgotten.
TEST_F(ResultsTest, OnlyKeptResultsAreFoundAmongMany) {
  constexpr uint32_t kEnds = 40'000;
  given_.result_max_bytes = 256 * 10'000 + 255;
  limits_.Set(given_);
  Results results(limits_, clock_);
  const auto pid_of = [](uint32_t end) -> Pid {
    const uint32_t slots = end % 3 == 0 ? 7 : 1000;
    return {1, 1, end % slots, 2 * (end / slots) + (slots == 7 ? 100'001 : 1)};
  };
  for (uint32_t end = 0; end < kEnds; ++end) {
    Outcome outcome;
    outcome.steps = end;
    results.Put(pid_of(end), std::move(outcome), true, kNothing);
  }
  ASSERT_EQ(results.kept(), 10'000u);
  for (uint32_t end = 0; end < kEnds; ++end) {
    const absl::StatusOr<Outcome> outcome = Ask(results, pid_of(end));
    ASSERT_EQ(outcome.ok(), end >= kEnds - 10'000) << end;
    if (outcome.ok()) {
      ASSERT_EQ(outcome->steps, end);
    }
  }
}

// An Await finds the newest result, no matter how many have come since the last
// Await.
TEST_F(ResultsTest, TheNewestIsFoundAtOnce) {
  given_.result_max_bytes = 256 * 100'000;
  limits_.Set(given_);
  Results results(limits_, clock_);
  uint32_t end = 0;
  for (uint32_t since = 1; since <= 100; ++since) {
    for (uint32_t i = 0; i < since; ++i) {
      Outcome outcome;
      outcome.steps = ++end;
      results.Put(PidOf(end), std::move(outcome), true, kNothing);
    }
    for (const uint32_t asked : {end, end - since + 1, uint32_t{1}}) {
      const absl::StatusOr<Outcome> outcome = Ask(results, PidOf(asked));
      ASSERT_TRUE(outcome.ok()) << asked << " of " << end;
      ASSERT_EQ(outcome->steps, asked);
    }
    ASSERT_FALSE(Ask(results, PidOf(end + 1)).ok());
  }
}

// A few that nobody has asked for are forgotten, and others come.
TEST_F(ResultsTest, AfterAllWereForgottenOthersAreKept) {
  Results results(limits_, clock_);
  for (uint32_t round = 0; round < 100; ++round) {
    const uint32_t ends = round % 7 + 1;
    for (uint32_t i = 0; i < ends; ++i) {
      Outcome outcome;
      outcome.steps = round;
      results.Put({1, 1, i, 2 * round + 1}, std::move(outcome), true, kNothing);
    }
    ASSERT_EQ(results.kept(), ends);
    if (round % 3 == 0) {
      ASSERT_EQ(Ask(results, {1, 1, 0, 2 * round + 1})->steps, round);
    }
    clock_.AdvanceNs(10 * kSecond);
    if (round % 2 == 0) {
      ASSERT_FALSE(Ask(results, {1, 1, 0, 2 * round + 1}).ok());
    }
  }
}

TEST_F(ResultsTest, AllOfAnOutcomeIsKept) {
  Results results(limits_, clock_);
  const Outcome given{.kind = EndKind::kFailed,
                      .result = {},
                      .code = absl::StatusCode::kDataLoss,
                      .message = "why",
                      .steps = 3,
                      .started_unix_ns = 4,
                      .ended_unix_ns = 5};
  results.Put(PidOf(1), Outcome(given), true, kNothing);
  const absl::StatusOr<Outcome> outcome = Ask(results, PidOf(1));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->kind, given.kind);
  EXPECT_EQ(outcome->code, given.code);
  EXPECT_EQ(outcome->message, "why");
  EXPECT_EQ(outcome->steps, 3u);
  EXPECT_EQ(outcome->started_unix_ns, 4u);
  EXPECT_EQ(outcome->ended_unix_ns, 5u);
  Outcome result;
  result.result = {"bytes", "type"};
  results.Put(PidOf(2), Outcome(result), true, kNothing);
  const absl::StatusOr<Outcome> second = Ask(results, PidOf(2));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->result.bytes, "bytes");
  EXPECT_EQ(second->result.content_type, "type");
}

TEST_F(ResultsTest, TooLargeResultIsNotKeptAndDisplacesNoOther) {
  Results results(limits_, clock_);
  for (uint32_t i = 0; i < 64; ++i) {
    results.Put(PidOf(i), OutcomeOf("small"), true, kNothing);
  }
  const size_t before = results.kept();
  for (uint32_t i = 100; i < 200; ++i) {
    results.Put(PidOf(i), OutcomeOf(std::string(200'000, 'x')), true, kNothing);
  }
  EXPECT_EQ(results.kept(), before);
  EXPECT_FALSE(Ask(results, PidOf(150)).ok());
}

TEST_F(ResultsTest, TooLargeResultStillReachesTheWaitingCaller) {
  Results results(limits_, clock_);
  size_t got = 0;
  results.Await(
      Owner::kAny, PidOf(1),
      [&](absl::StatusOr<Outcome> outcome) {
        got = outcome->result.bytes.size();
      },
      kLive, kNotFound);
  results.Put(PidOf(1), OutcomeOf(std::string(200'000, 'x')), true, kNothing);
  EXPECT_EQ(got, 200'000u);
}

TEST_F(ResultsTest, EveryWaiterIsCalledOnceAndTheCancelledNot) {
  Results results(limits_, clock_);
  std::vector<int> called(3, 0);
  std::vector<Results::Id> ids;
  for (size_t i = 0; i < 3; ++i) {
    ids.push_back(results.Await(
        Owner::kAny, PidOf(1),
        [&called, i](const absl::StatusOr<Outcome>&) { ++called[i]; }, kLive,
        kNotFound));
    EXPECT_NE(ids.back(), 0u);
  }
  EXPECT_TRUE(results.Cancel(PidOf(1), ids[1]));
  EXPECT_FALSE(results.Cancel(PidOf(1), ids[1]));
  EXPECT_FALSE(results.Cancel(PidOf(2), ids[0]));
  results.Put(PidOf(1), OutcomeOf("x"), false, kNothing);
  EXPECT_EQ(called, (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(results.kept(), 0u);
  EXPECT_FALSE(results.Cancel(PidOf(1), ids[0]));
  EXPECT_FALSE(Ask(results, PidOf(1)).ok());
}

TEST_F(ResultsTest, AbandonedWaitersAreToldWhy) {
  Results results(limits_, clock_);
  int told = 0;
  for (uint32_t i = 0; i < 50; ++i) {
    results.Await(
        Owner::kAny, PidOf(i),
        [&](const absl::StatusOr<Outcome>& outcome) {
          told += outcome.status().code() == absl::StatusCode::kUnavailable;
        },
        kLive, kNotFound);
  }
  results.AbandonAll(absl::UnavailableError("bye"));
  EXPECT_EQ(told, 50);
  results.AbandonAll(absl::UnavailableError("bye"));
  EXPECT_EQ(told, 50);
}

TEST_F(ResultsTest, ACallbackMayAskAgain) {
  Results results(limits_, clock_);
  int calls = 0;
  results.Await(
      Owner::kAny, PidOf(1),
      [&](const absl::StatusOr<Outcome>&) {
        ++calls;
        calls += Ask(results, PidOf(1)).ok();
      },
      kLive, kNotFound);
  results.Put(PidOf(1), OutcomeOf("x"), true, kNothing);
  EXPECT_EQ(calls, 2);
}

TEST_F(ResultsTest, ACancelThatSaysYesMeansNoCall) {
  Results results(limits_, clock_);
  for (uint32_t round = 0; round < 3000; ++round) {
    std::atomic<int> called{0};
    const Results::Id id = results.Await(
        Owner::kAny, PidOf(round),
        [&](const absl::StatusOr<Outcome>&) { ++called; }, kLive, kNotFound);
    std::thread ending(
        [&] { results.Put(PidOf(round), OutcomeOf("x"), false, kNothing); });
    const bool cancelled = results.Cancel(PidOf(round), id);
    ending.join();
    ASSERT_EQ(called, cancelled ? 0 : 1);
    if (round >= 300 && std::thread::hardware_concurrency() < 2) break;
  }
}

}  // namespace
}  // namespace actord::runtime
