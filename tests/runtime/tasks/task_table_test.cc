#include "runtime/tasks/task_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/system/manual_clock.h"

namespace actord::runtime {
namespace {

using enum CompleteAnswer;

class TaskTableTest : public ::testing::Test {
 protected:
  TaskTableTest() {
    given_.answered_yield_ttl = absl::Seconds(10);
    given_.answered_yield_max = 5;
    limits_.Set(given_);
  }
  static YieldToken TokenOf(uint64_t tag, uint32_t slot = 1) {
    return {{1, 1, slot, 1}, tag};
  }
  static void Add(TaskTable& yields, uint64_t tag,
                  std::string command = "pay.charge", uint32_t slot = 1) {
    ExternalYield yield;
    yield.token = TokenOf(tag, slot);
    yield.command = std::move(command);
    EXPECT_EQ(yields.Add(std::move(yield), /*completion=*/tag + 1000),
              TaskTable::Added::kAdded);
  }
  static YieldResult Ok(std::string bytes) {
    return {absl::StatusCode::kOk, {std::move(bytes), ""}};
  }
  // Answers; the yield at the broker is still waiting if `first`.
  CompleteAnswer Answer(TaskTable& yields, uint64_t tag,
                        const YieldResult& result, bool first = true) {
    broker_says_ = first ? kAccepted : kExpired;
    completion_expected_ = tag + 1000;
    return yields.Complete({TokenOf(tag), 0}, result);
  }
  // The completions that a broker would be told.
  TaskTable::Completer Broker() {
    return [this](actord_completion completion, const YieldResult& /*result*/,
                  bool /*is_answer*/) {
      EXPECT_EQ(completion, completion_expected_);
      ++completed_;
      return broker_says_;
    };
  }

  ManualClock clock_;
  Limits given_;
  LiveLimits limits_{given_};
  int completed_ = 0;
  actord_completion completion_expected_ = 0;
  CompleteAnswer broker_says_ = kAccepted;
};

TEST_F(TaskTableTest, PatternsSayWhatIsExternal) {
  const TaskTable yields({"pay.*", "exact"}, {}, limits_, clock_, Broker());
  EXPECT_TRUE(yields.IsExternal("pay.x"));
  EXPECT_TRUE(yields.IsExternal("exact"));
  EXPECT_FALSE(yields.IsExternal("exact2"));
  EXPECT_FALSE(yields.IsExternal("pa"));
}

TEST_F(TaskTableTest, EveryAnswerIsTold) {
  TaskTable yields({"pay.*", "exact"}, {}, limits_, clock_, Broker());
  EXPECT_EQ(Answer(yields, 1, Ok("x")), kUnknown);
  Add(yields, 1);
  EXPECT_EQ(yields.waiting(), 1u);
  EXPECT_EQ(Answer(yields, 1, Ok("x")), kAccepted);
  EXPECT_EQ(yields.waiting(), 0u);
  EXPECT_EQ(Answer(yields, 1, Ok("x")), kDuplicate);
  EXPECT_EQ(Answer(yields, 1, Ok("y")), kConflict);
  EXPECT_EQ(Answer(yields, 1, {absl::StatusCode::kAborted, {"x", ""}}),
            kConflict);
  EXPECT_EQ(Answer(yields, 1, {absl::StatusCode::kOk, {"x", "text/plain"}}),
            kConflict);
  EXPECT_EQ(completed_, 1);

  Add(yields, 2);
  yields.Expire(TokenOf(2));
  yields.Expire(TokenOf(2));
  EXPECT_EQ(yields.waiting(), 0u);
  EXPECT_EQ(Answer(yields, 2, Ok("x")), kExpired);

  // Something else was first and has not yet said so.
  Add(yields, 3);
  EXPECT_EQ(Answer(yields, 3, Ok("x"), /*first=*/false), kExpired);
  yields.Expire(TokenOf(3));
  EXPECT_EQ(Answer(yields, 3, Ok("x")), kExpired);
  EXPECT_EQ(yields.waiting(), 0u);
}

TEST_F(TaskTableTest, ChangedLimitsAreForRememberedAnswersToo) {
  TaskTable yields({"pay.*"}, {}, limits_, clock_, Broker());
  for (uint64_t tag = 1; tag <= 5; ++tag) {
    Add(yields, tag);
    Answer(yields, tag, Ok("x"));
  }
  given_.answered_yield_max = 3;
  given_.answered_yield_ttl = absl::Seconds(100);
  limits_.Set(given_);
  EXPECT_EQ(Answer(yields, 2, Ok("x")), kUnknown);
  EXPECT_EQ(Answer(yields, 3, Ok("x")), kDuplicate);
  clock_.AdvanceNs(99 * kSecond);
  EXPECT_EQ(Answer(yields, 3, Ok("x")), kDuplicate);
  given_.answered_yield_ttl = absl::Seconds(50);
  limits_.Set(given_);
  EXPECT_EQ(Answer(yields, 3, Ok("x")), kUnknown);
}

TEST_F(TaskTableTest, WaitingYieldsStayWithinTheLimitOfBytes) {
  given_.max_external_yield_bytes = 11'000;
  limits_.Set(given_);
  TaskTable yields({"pay.*"}, {}, limits_, clock_, Broker());
  const auto add = [&](uint64_t tag, size_t bytes) {
    ExternalYield yield;
    yield.token = TokenOf(tag);
    yield.payload.bytes = std::string(bytes, 'x');
    return yields.Add(std::move(yield), tag + 1000) == TaskTable::Added::kAdded;
  };
  EXPECT_TRUE(add(1, 4000));
  EXPECT_TRUE(add(2, 4000));
  EXPECT_FALSE(add(3, 4000));
  EXPECT_EQ(yields.waiting(), 2u);
  EXPECT_EQ(Answer(yields, 3, Ok("")), kUnknown);
  // Both ways in which one stops to wait make room.
  EXPECT_EQ(Answer(yields, 1, Ok("")), kAccepted);
  EXPECT_TRUE(add(3, 4000));
  EXPECT_FALSE(add(4, 4000));
  yields.Expire(TokenOf(2));
  EXPECT_TRUE(add(4, 4000));
  // Empty ones are no way around it.
  uint64_t tag = 5;
  while (tag < 100 && add(tag, 0)) ++tag;
  EXPECT_LT(tag, 10u);
}

TEST_F(TaskTableTest, AnAnswerWithoutRoomLeavesTheYieldWaiting) {
  TaskTable yields({"pay.*"}, {}, limits_, clock_, Broker());
  Add(yields, 1);
  broker_says_ = kMailboxFull;
  completion_expected_ = 1001;
  EXPECT_EQ(yields.Complete({TokenOf(1), 0}, Ok("x")), kMailboxFull);
  EXPECT_EQ(yields.waiting(), 1u);
  EXPECT_EQ(Answer(yields, 1, Ok("x")), kAccepted);
}

TEST_F(TaskTableTest, AnswersAreForgottenAfterTheirTime) {
  TaskTable yields({"pay.*", "exact"}, {}, limits_, clock_, Broker());
  Add(yields, 1);
  Answer(yields, 1, Ok("x"));
  clock_.AdvanceNs(10 * kSecond - 1);
  EXPECT_EQ(Answer(yields, 1, Ok("x")), kDuplicate);
  clock_.AdvanceNs(1);
  EXPECT_EQ(Answer(yields, 1, Ok("x")), kUnknown);
}

TEST_F(TaskTableTest, WaitingYieldIsNeverForgotten) {
  TaskTable yields({"pay.*", "exact"}, {}, limits_, clock_, Broker());
  for (uint64_t tag = 1; tag <= 100; ++tag) Add(yields, tag);
  clock_.AdvanceNs(1000 * kSecond);
  EXPECT_EQ(yields.waiting(), 100u);
  EXPECT_EQ(Answer(yields, 1, Ok("x")), kAccepted);
}

TEST_F(TaskTableTest, LimitedNumberOfAnswersIsRemembered) {
  TaskTable yields({"pay.*", "exact"}, {}, limits_, clock_, Broker());
  for (uint64_t tag = 1; tag <= 8; ++tag) {
    Add(yields, tag);
    EXPECT_EQ(Answer(yields, tag, Ok("x")), kAccepted);
  }
  for (uint64_t tag = 1; tag <= 8; ++tag) {
    EXPECT_EQ(Answer(yields, tag, Ok("x")), tag <= 3 ? kUnknown : kDuplicate)
        << tag;
  }
}

TEST_F(TaskTableTest, PagesListEachOnceOldestFirst) {
  TaskTable yields({"pay.*", "exact"}, {}, limits_, clock_, Broker());
  for (uint64_t tag = 1; tag <= 10; ++tag) {
    Add(yields, tag, tag % 2 ? "pay.a" : "exact", tag <= 6 ? 1 : 2);
  }
  const auto list = [&](const YieldFilter& filter, size_t page_size) {
    std::vector<uint64_t> tags;
    uint64_t next = 0;
    do {
      const YieldPage page = yields.List(filter, next, page_size, SIZE_MAX);
      EXPECT_LE(page.yields.size(), page_size);
      for (const ExternalYield& yield : page.yields) {
        tags.push_back(yield.token.tag);
      }
      next = page.next_sequence;
    } while (next != 0);
    return tags;
  };
  using Tags = std::vector<uint64_t>;
  for (const size_t page : {1u, 3u, 10u, 11u}) {
    EXPECT_EQ(list({}, page), (Tags{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_EQ(list({"pay.*", {}}, page), (Tags{1, 3, 5, 7, 9}));
    EXPECT_EQ(list({"exact", {1, 1, 2, 1}}, page), (Tags{8, 10}));
    EXPECT_EQ(list({"nothing", {}}, page), Tags{});
  }
}

TEST_F(TaskTableTest, APageEndsBeforeItsBytesAreTooMany) {
  TaskTable yields({"pay.*", "exact"}, {}, limits_, clock_, Broker());
  for (const size_t bytes : {500u, 400u, 300u, 5000u, 100u}) {
    static uint64_t tag = 0;
    ExternalYield yield;
    yield.token = TokenOf(++tag);
    yield.payload.bytes = std::string(bytes, 'x');
    ASSERT_EQ(yields.Add(std::move(yield), tag), TaskTable::Added::kAdded);
  }
  std::vector<size_t> sizes;
  uint64_t next = 0;
  do {
    const YieldPage page = yields.List({}, next, 10, 1000);
    sizes.push_back(page.yields.size());
    next = page.next_sequence;
  } while (next != 0);
  // A yield that is too large for any page has a page of its own.
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 1, 1, 1}));
}

}  // namespace
}  // namespace actord::runtime
