#include "daemon/operations/idempotency.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/daemon/operations/fake_clock.h"

namespace actord::daemon {
namespace {

using Role = RequestIds::Role;
using Answer = absl::StatusOr<runtime::Pid>;

runtime::Pid PidOf(uint32_t slot) { return {1, 2, slot, 1}; }

void MustNotRun(const Answer&) { FAIL() << "callback of a first call"; }

class RequestIdsTest : public testing::Test {
 protected:
  // Calls RequestIds::Begin. `answer` gets the answer of a repeat.
  Role Begin(RequestIds& ids, const std::string& id, uint64_t fingerprint,
             Answer* answer = nullptr) {
    return ids.Begin(id, fingerprint, [answer](const Answer& given) {
      if (answer != nullptr) *answer = given;
    });
  }

  FakeClock clock_;
};

TEST_F(RequestIdsTest, RepeatGetsTheFirstAnswer) {
  RequestIds ids(absl::Minutes(1), 10, clock_);
  EXPECT_EQ(ids.Begin("a", 1, MustNotRun), Role::kFirst);
  ids.End("a", PidOf(7));
  Answer answer = absl::UnknownError("no answer");
  EXPECT_EQ(Begin(ids, "a", 1, &answer), Role::kRepeat);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, PidOf(7));
}

TEST_F(RequestIdsTest, RepeatDuringTheFirstWaitsForIt) {
  RequestIds ids(absl::Minutes(1), 10, clock_);
  ASSERT_EQ(ids.Begin("a", 1, MustNotRun), Role::kFirst);
  std::vector<Answer> answers;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ids.Begin("a", 1,
                        [&](const Answer& given) { answers.push_back(given); }),
              Role::kRepeat);
  }
  EXPECT_TRUE(answers.empty());
  ids.End("a", PidOf(3));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(*answers[0], PidOf(3));
  EXPECT_EQ(*answers[1], PidOf(3));
}

TEST_F(RequestIdsTest, AnotherBodyIsRefusedInFlightAndAfterwards) {
  RequestIds ids(absl::Minutes(1), 10, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  EXPECT_EQ(ids.Begin("a", 2, MustNotRun), Role::kReused);
  ids.End("a", PidOf(3));
  EXPECT_EQ(ids.Begin("a", 2, MustNotRun), Role::kReused);
  EXPECT_EQ(Begin(ids, "b", 2), Role::kFirst) << "another id is free";
}

TEST_F(RequestIdsTest, FailureReachesWaitingRepeatsAndIsForgotten) {
  RequestIds ids(absl::Minutes(1), 10, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  Answer answer = PidOf(1);
  ASSERT_EQ(Begin(ids, "a", 1, &answer), Role::kRepeat);
  ids.End("a", absl::ResourceExhaustedError("full"));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ids.size(), 0u);
  EXPECT_EQ(Begin(ids, "a", 2), Role::kFirst) << "even with another body";
}

TEST_F(RequestIdsTest, ForgetsAfterItsTime) {
  RequestIds ids(absl::Seconds(60), 10, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  clock_.Advance(absl::Seconds(100));  // the time counts from the answer on
  ids.End("a", PidOf(1));
  clock_.Advance(absl::Seconds(59));
  EXPECT_EQ(Begin(ids, "a", 1), Role::kRepeat);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Begin(ids, "a", 1), Role::kFirst);
}

TEST_F(RequestIdsTest, InfiniteTimeNeverForgets) {
  RequestIds ids(absl::InfiniteDuration(), 10, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  ids.End("a", PidOf(1));
  clock_.Advance(absl::Hours(24 * 365));
  EXPECT_EQ(Begin(ids, "a", 1), Role::kRepeat);
}

TEST_F(RequestIdsTest, ForgetsTheOldestWhenThereAreTooMany) {
  RequestIds ids(absl::Minutes(1), 3, clock_);
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string id = absl::StrCat("id", i);
    ASSERT_EQ(Begin(ids, id, 1), Role::kFirst);
    ids.End(id, PidOf(i));
    EXPECT_LE(ids.size(), 3u);
  }
  EXPECT_EQ(Begin(ids, "id1", 1), Role::kRepeat);
  EXPECT_EQ(Begin(ids, "id3", 1), Role::kRepeat);
  EXPECT_EQ(Begin(ids, "id0", 1), Role::kFirst);
}

TEST_F(RequestIdsTest, RemembersNothingWithoutRoom) {
  RequestIds ids(absl::Minutes(1), 0, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  Answer answer = absl::UnknownError("no answer");
  EXPECT_EQ(Begin(ids, "a", 1, &answer), Role::kRepeat) << "in flight";
  ids.End("a", PidOf(1));
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(ids.size(), 0u);
}

TEST_F(RequestIdsTest, KeepsAnOldIdInFlight) {
  RequestIds ids(absl::Minutes(1), 2, clock_);
  ASSERT_EQ(Begin(ids, "slow", 1), Role::kFirst);
  for (uint32_t i = 0; i < 5; ++i) {
    const std::string id = absl::StrCat("id", i);
    ASSERT_EQ(Begin(ids, id, 1), Role::kFirst);
    ids.End(id, PidOf(i));
  }
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(Begin(ids, "slow", 1), Role::kRepeat);
  ids.End("slow", PidOf(9));
}

TEST_F(RequestIdsTest, CallbackMayCallBack) {
  RequestIds ids(absl::Minutes(1), 10, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  bool called = false;
  ASSERT_EQ(ids.Begin("a", 1,
                      [&](const Answer&) {
                        called = true;
                        EXPECT_EQ(Begin(ids, "a", 1), Role::kRepeat);
                      }),
            Role::kRepeat);
  ids.End("a", PidOf(1));
  EXPECT_TRUE(called);
}

TEST_F(RequestIdsTest, OneOfManyConcurrentCallsIsFirst) {
  constexpr int kThreads = 8;
  constexpr int kIds = 500;
  RequestIds ids(absl::Minutes(1), kIds, clock_);
  std::atomic<int> firsts{0};
  std::atomic<int> answers{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint32_t i = 0; i < kIds; ++i) {
        const std::string id = absl::StrCat(i);
        const Role role = ids.Begin(id, i, [&, i](const Answer& given) {
          answers.fetch_add(1);
          if (!given.ok() || *given != PidOf(i)) wrong.fetch_add(1);
        });
        if (role != Role::kFirst) continue;
        firsts.fetch_add(1);
        ids.End(id, PidOf(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(firsts.load(), kIds);
  EXPECT_EQ(answers.load(), (kThreads - 1) * kIds);
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(ids.size(), static_cast<size_t>(kIds));
}

}  // namespace
}  // namespace actord::daemon
