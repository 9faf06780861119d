#include "runtime/actors/request_ids.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/table/home_pid.h"
#include "tests/runtime/system/manual_clock.h"

namespace actord::runtime {
namespace {

using Role = RequestIds::Role;
using Answer = absl::StatusOr<Pid>;

Pid PidAt(uint32_t slot) { return {1, 2, slot, 1}; }

void MustNotRun(const Answer&) { FAIL() << "callback of a first call"; }

constexpr uint64_t kMinute = 60 * kSecond;
constexpr uint64_t kHour = 60 * kMinute;

// RequestIds of one owner, whose contents are numbers.
class Ids {
 public:
  Ids(const RequestIdBounds& bounds, const Clock& clock,
      const RequestIdBounds& durable = {kHour, 1000})
      : ids_({.bounds = bounds, .durable = durable, .ids = {1, 2}}, clock) {}

  Role Begin(const std::string& id, uint64_t content,
             RequestIds::Callback callback) {
    return ids_.Begin(KeyOf(id), {0, content}, std::move(callback));
  }
  void End(const std::string& id, const Answer& answer) {
    ids_.End(KeyOf(id), answer);
  }
  void Restore(const std::string& id, uint64_t content, const Pid& pid,
               uint64_t left_ns) {
    ids_.Restore(KeyOf(id), {{0, content}, pid}, left_ns);
  }
  [[nodiscard]] size_t size() const { return ids_.size(); }
  [[nodiscard]] RequestIds::Key KeyOf(const std::string& id,
                                      Owner owner = Owner{1}) const {
    return ids_.KeyOf(owner, id);
  }

 private:
  RequestIds ids_;
};

class RequestIdsTest : public ::testing::Test {
 protected:
  // Calls Ids::Begin. `answer` gets the answer of a repeat.
  Role Begin(Ids& ids, const std::string& id, uint64_t fingerprint,
             Answer* answer = nullptr) {
    return ids.Begin(id, fingerprint, [answer](const Answer& given) {
      if (answer != nullptr) *answer = given;
    });
  }

  ManualClock clock_;
};

TEST_F(RequestIdsTest, RepeatGetsTheFirstAnswer) {
  Ids ids({kMinute, 10}, clock_);
  EXPECT_EQ(ids.Begin("a", 1, MustNotRun), Role::kFirst);
  ids.End("a", PidAt(7));
  Answer answer = absl::UnknownError("no answer");
  EXPECT_EQ(Begin(ids, "a", 1, &answer), Role::kRepeat);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, PidAt(7));
}

TEST_F(RequestIdsTest, RepeatDuringTheFirstWaitsForIt) {
  Ids ids({kMinute, 10}, clock_);
  ASSERT_EQ(ids.Begin("a", 1, MustNotRun), Role::kFirst);
  std::vector<Answer> answers;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ids.Begin("a", 1,
                        [&](const Answer& given) { answers.push_back(given); }),
              Role::kRepeat);
  }
  EXPECT_TRUE(answers.empty());
  ids.End("a", PidAt(3));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(*answers[0], PidAt(3));
  EXPECT_EQ(*answers[1], PidAt(3));
}

TEST_F(RequestIdsTest, AnotherBodyIsRefusedInFlightAndAfterwards) {
  Ids ids({kMinute, 10}, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  EXPECT_EQ(ids.Begin("a", 2, MustNotRun), Role::kReused);
  ids.End("a", PidAt(3));
  EXPECT_EQ(ids.Begin("a", 2, MustNotRun), Role::kReused);
  EXPECT_EQ(Begin(ids, "b", 2), Role::kFirst) << "another id is free";
}

TEST_F(RequestIdsTest, FailureReachesWaitingRepeatsAndIsForgotten) {
  Ids ids({kMinute, 10}, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  Answer answer = PidAt(1);
  ASSERT_EQ(Begin(ids, "a", 1, &answer), Role::kRepeat);
  ids.End("a", absl::ResourceExhaustedError("full"));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ids.size(), 0u);
  EXPECT_EQ(Begin(ids, "a", 2), Role::kFirst) << "even with another body";
}

TEST_F(RequestIdsTest, ForgetsAfterItsTime) {
  Ids ids({kMinute, 10}, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  clock_.AdvanceNs(100 * kSecond);  // the time counts from the answer on
  ids.End("a", PidAt(1));
  clock_.AdvanceNs(59 * kSecond);
  EXPECT_EQ(Begin(ids, "a", 1), Role::kRepeat);
  clock_.AdvanceNs(kSecond);
  EXPECT_EQ(Begin(ids, "a", 1), Role::kFirst);
}

TEST_F(RequestIdsTest, InfiniteTimeNeverForgets) {
  Ids ids({UINT64_MAX, 10}, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  ids.End("a", PidAt(1));
  clock_.AdvanceNs(24 * 365 * kHour);
  EXPECT_EQ(Begin(ids, "a", 1), Role::kRepeat);
}

TEST_F(RequestIdsTest, ForgetsTheOldestWhenThereAreTooMany) {
  Ids ids({kMinute, 3}, clock_);
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string id = absl::StrCat("id", i);
    ASSERT_EQ(Begin(ids, id, 1), Role::kFirst);
    ids.End(id, PidAt(i));
    EXPECT_LE(ids.size(), 3u);
  }
  EXPECT_EQ(Begin(ids, "id1", 1), Role::kRepeat);
  EXPECT_EQ(Begin(ids, "id3", 1), Role::kRepeat);
  EXPECT_EQ(Begin(ids, "id0", 1), Role::kFirst);
}

TEST_F(RequestIdsTest, RemembersNothingWithoutRoom) {
  Ids ids({kMinute, 0}, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  Answer answer = absl::UnknownError("no answer");
  EXPECT_EQ(Begin(ids, "a", 1, &answer), Role::kRepeat) << "in flight";
  ids.End("a", PidAt(1));
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(ids.size(), 0u);
}

TEST_F(RequestIdsTest, KeepsAnOldIdInFlight) {
  Ids ids({kMinute, 2}, clock_);
  ASSERT_EQ(Begin(ids, "slow", 1), Role::kFirst);
  for (uint32_t i = 0; i < 5; ++i) {
    const std::string id = absl::StrCat("id", i);
    ASSERT_EQ(Begin(ids, id, 1), Role::kFirst);
    ids.End(id, PidAt(i));
  }
  clock_.AdvanceNs(kHour);
  EXPECT_EQ(Begin(ids, "slow", 1), Role::kRepeat);
  ids.End("slow", PidAt(9));
}

TEST_F(RequestIdsTest, CallbackMayCallBack) {
  Ids ids({kMinute, 10}, clock_);
  ASSERT_EQ(Begin(ids, "a", 1), Role::kFirst);
  bool called = false;
  ASSERT_EQ(ids.Begin("a", 1,
                      [&](const Answer&) {
                        called = true;
                        EXPECT_EQ(Begin(ids, "a", 1), Role::kRepeat);
                      }),
            Role::kRepeat);
  ids.End("a", PidAt(1));
  EXPECT_TRUE(called);
}

TEST_F(RequestIdsTest, OneOfManyConcurrentCallsIsFirst) {
  constexpr int kThreads = 8;
  constexpr int kIds = 500;
  Ids ids({kMinute, kIds}, clock_);
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
          if (!given.ok() || *given != PidAt(i)) wrong.fetch_add(1);
        });
        if (role != Role::kFirst) continue;
        firsts.fetch_add(1);
        ids.End(id, PidAt(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(firsts.load(), kIds);
  EXPECT_EQ(answers.load(), (kThreads - 1) * kIds);
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(ids.size(), static_cast<size_t>(kIds));
}

TEST_F(RequestIdsTest, EachOwnerHasIdsOfItsOwn) {
  const Ids ids({kMinute, 10}, clock_);
  EXPECT_EQ(ids.KeyOf("a"), ids.KeyOf("a"));
  EXPECT_FALSE(ids.KeyOf("a") == ids.KeyOf("a", Owner{2}));
  EXPECT_FALSE(ids.KeyOf("a") == ids.KeyOf("a", Owner{257}));
  EXPECT_FALSE(ids.KeyOf("a") == ids.KeyOf("b"));
}

// Many ids of volatile processes do not displace the ids of the store.
TEST_F(RequestIdsTest, DurableIdsHaveBoundsOfTheirOwn) {
  Ids ids({kMinute, 1}, clock_, {kHour, 2});
  const Pid durable = HomePid(3, 1, 1, 1);
  const auto act = [&](const std::string& id, const Pid& pid) {
    ASSERT_EQ(Begin(ids, id, 1), Role::kFirst);
    ids.End(id, pid);
  };
  act("d1", durable);
  for (uint32_t i = 0; i < 5; ++i) act(absl::StrCat("v", i), PidAt(i));
  clock_.AdvanceNs(kHour - 1);
  Answer answer = absl::UnknownError("no answer");
  EXPECT_EQ(Begin(ids, "d1", 1, &answer), Role::kRepeat);
  EXPECT_EQ(answer.value(), durable);
  EXPECT_EQ(ids.Begin("d1", 2, MustNotRun), Role::kReused);
  EXPECT_EQ(ids.size(), 1u) << "the volatile ids are older than a minute";
  act("d2", durable);
  act("d3", durable);
  EXPECT_EQ(Begin(ids, "d2", 1), Role::kRepeat);
  EXPECT_EQ(Begin(ids, "d1", 1), Role::kFirst) << "three are too many";
}

TEST_F(RequestIdsTest, RestoredIdIsRememberedForTheTimeThatIsLeft) {
  Ids ids({kMinute, 10}, clock_, {kHour, 2});
  const Pid durable = HomePid(3, 1, 1, 1);
  ids.Restore("over", 1, durable, 0);
  ids.Restore("old", 1, durable, 1);
  ids.Restore("young", 1, durable, 2 * kHour);
  EXPECT_EQ(Begin(ids, "over", 1), Role::kFirst);
  EXPECT_EQ(Begin(ids, "old", 1), Role::kRepeat);
  EXPECT_EQ(ids.Begin("young", 2, MustNotRun), Role::kReused);
  clock_.AdvanceNs(1);
  EXPECT_EQ(Begin(ids, "old", 1), Role::kFirst);
  clock_.AdvanceNs(kHour - 2);
  EXPECT_EQ(Begin(ids, "young", 1), Role::kRepeat);
  clock_.AdvanceNs(1);
  EXPECT_EQ(Begin(ids, "young", 1), Role::kFirst) << "the bound of today";
}

}  // namespace
}  // namespace actord::runtime
