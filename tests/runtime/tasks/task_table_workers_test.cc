// Tests tasks of external yields as remote workers see them: which answer
// counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tasks/task_table.h"
#include "tests/runtime/system/manual_clock.h"

namespace actord::runtime {
namespace {

using enum CompleteAnswer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Listener final : public TaskListener {
 public:
  void Wake() override { ++wakes; }
  int wakes = 0;
};

class ExternalTasks : public ::testing::Test {
 protected:
  ExternalTasks()
      : yields_({"pay.*"}, Policies(), limits_, clock_,
                [this](actord_completion completion, const YieldResult& result,
                       bool /*is_answer*/) {
                  if (broker_says_ == kAccepted) {
                    completed_.push_back({completion, result.payload.bytes});
                  }
                  return broker_says_;
                }) {}
  static std::vector<WorkPolicy> Policies() {
    WorkPolicy policy;
    policy.max_attempts = 2;
    policy.lease = absl::Seconds(10);
    policy.backoff = absl::Seconds(5);
    policy.attempt_timeout = absl::Hours(1);
    return {policy};
  }
  static YieldToken TokenOf(uint64_t tag) { return {{1, 1, 1, 1}, tag}; }
  void Add(uint64_t tag) {
    ExternalYield yield;
    yield.token = TokenOf(tag);
    yield.command = "pay.charge";
    yield.payload.bytes = "42";
    ASSERT_EQ(yields_.Add(std::move(yield), tag), TaskTable::Added::kAdded);
  }
  RemoteWorkerId Open(uint32_t credits = 10) {
    const auto id =
        yields_.Open({"pay.*"}, "till 1", Owner::kNobody, listener_);
    EXPECT_TRUE(yields_.AddCredits(id, credits));
    return id;
  }
  std::vector<TaskAttempt> Take(RemoteWorkerId worker) {
    return yields_.Take(worker, /*busy=*/false, {}).tasks;
  }
  static YieldResult Ok(std::string bytes) {
    return {absl::StatusCode::kOk, {std::move(bytes), ""}};
  }
  void Advance(uint64_t seconds) {
    clock_.AdvanceNs(seconds * kSecond);
    yields_.HandleDue();
  }

  ManualClock clock_;
  LiveLimits limits_{Limits()};
  CompleteAnswer broker_says_ = kAccepted;
  std::vector<std::pair<actord_completion, std::string>> completed_;
  std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
  TaskTable yields_;
};

TEST_F(ExternalTasks, ATaskSaysWhatAWorkerNeeds) {
  Add(7);
  const auto tasks = Take(Open());
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].token, (TaskToken{TokenOf(7), 1}));
  EXPECT_EQ(tasks[0].yield.command, "pay.charge");
  EXPECT_EQ(tasks[0].yield.payload.bytes, "42");
  EXPECT_EQ(tasks[0].max_attempts, 2u);
  EXPECT_EQ(tasks[0].lease, absl::Seconds(10));
  EXPECT_EQ(tasks[0].attempt_deadline_unix_ns,
            clock_.UnixNs() + 3600 * kSecond);
  EXPECT_FALSE(tasks[0].progress);
  const auto page = yields_.List({}, 0, 10, SIZE_MAX);
  ASSERT_EQ(page.yields.size(), 1u);
  EXPECT_EQ(page.yields[0].attempts, 1u);
  EXPECT_EQ(page.yields[0].worker, "till 1");
  EXPECT_EQ(page.yields[0].lease_unix_ns, clock_.UnixNs() + 10 * kSecond);
}

TEST_F(ExternalTasks, TheAnswerOfTheLastAttemptCounts) {
  Add(1);
  const auto first = Take(Open()).at(0).token;
  Advance(10);
  const auto second = Take(Open()).at(0).token;
  EXPECT_EQ(second.attempt, 2u);
  EXPECT_EQ(yields_.Complete({TokenOf(1), 3}, Ok("x")), kUnknown);
  EXPECT_EQ(yields_.Complete(first, Ok("x")), kSuperseded);
  EXPECT_EQ(yields_.Fail(first, {}), kSuperseded);
  EXPECT_EQ(yields_.Heartbeat(first, std::nullopt), kSuperseded);
  EXPECT_THAT(completed_, IsEmpty());
  EXPECT_EQ(yields_.Complete(second, Ok("x")), kAccepted);
  EXPECT_THAT(completed_, ElementsAre(std::pair(uint64_t{1}, "x")));
  // And later.
  EXPECT_EQ(yields_.Complete(second, Ok("x")), kDuplicate);
  EXPECT_EQ(yields_.Complete(second, Ok("y")), kConflict);
  EXPECT_EQ(yields_.Complete(first, Ok("x")), kSuperseded);
  EXPECT_EQ(yields_.Complete({TokenOf(1), 0}, Ok("x")), kDuplicate);
  EXPECT_EQ(yields_.Complete({TokenOf(1), 3}, Ok("x")), kUnknown);
  EXPECT_EQ(yields_.Fail(second, {}), kConflict);
  EXPECT_EQ(yields_.Heartbeat(second, std::nullopt), kConflict);
  EXPECT_EQ(completed_.size(), 1u);
}

TEST_F(ExternalTasks, ALateCompletionIsGoodWhileNobodyElseHasTheTask) {
  Add(1);
  const auto task = Take(Open()).at(0).token;
  Advance(10);
  EXPECT_EQ(yields_.Heartbeat(task, std::nullopt), kExpired);
  EXPECT_EQ(yields_.Fail(task, {}), kExpired);
  EXPECT_EQ(yields_.Complete(task, Ok("x")), kAccepted);
  EXPECT_THAT(Take(Open()), IsEmpty());
}

TEST_F(ExternalTasks, TheYieldsOwnTokenSpeaksForEveryAttempt) {
  Add(1);
  const auto worker = Open();
  const auto task = Take(worker).at(0).token;
  EXPECT_EQ(yields_.Complete({TokenOf(1), 0}, Ok("by hand")), kAccepted);
  const auto batch = yields_.Take(worker, false, {});
  ASSERT_EQ(batch.cancels.size(), 1u);
  EXPECT_EQ(batch.cancels[0].token, task);
  EXPECT_EQ(batch.cancels[0].reason, TaskCancel::Reason::kYieldEnded);
  EXPECT_EQ(yields_.Complete(task, Ok("by worker")), kConflict);
}

TEST_F(ExternalTasks, AttemptsThatRunOutCompleteTheYield) {
  Add(1);
  const auto worker = Open();
  const TaskFailure failure{absl::StatusCode::kAborted, "no paper",
                            std::nullopt};
  EXPECT_EQ(yields_.Fail(Take(worker).at(0).token, failure), kAccepted);
  EXPECT_EQ(yields_.List({}, 0, 10, SIZE_MAX).yields.at(0).last_error,
            "no paper");
  Advance(5);
  const auto second = Take(worker).at(0).token;
  EXPECT_EQ(yields_.Fail(second, failure), kAccepted);
  EXPECT_THAT(completed_, ElementsAre(std::pair(
                              uint64_t{1},
                              "pay.charge failed after 2 attempts: no paper")));
  EXPECT_EQ(yields_.waiting(), 0u);
  EXPECT_EQ(yields_.Complete(second, Ok("late")), kExpired);
}

TEST_F(ExternalTasks, AnEndThatIsUnderWayIsNotOvertaken) {
  Add(1);
  const auto worker = Open();
  EXPECT_EQ(Take(worker).size(), 1u);
  yields_.Close(worker);
  const auto other = Open();
  EXPECT_EQ(Take(other).size(), 1u);
  // The timeout has completed it at the broker, and is about to say so.
  broker_says_ = kExpired;
  yields_.Close(other);
  EXPECT_EQ(yields_.waiting(), 1u);
  EXPECT_THAT(Take(Open()), IsEmpty());
  yields_.Expire(TokenOf(1));
  EXPECT_EQ(yields_.waiting(), 0u);
  EXPECT_THAT(completed_, IsEmpty());
}

TEST_F(ExternalTasks, ACompletionWithoutRoomLeavesTheLease) {
  Add(1);
  const auto task = Take(Open()).at(0).token;
  broker_says_ = kMailboxFull;
  EXPECT_EQ(yields_.Complete(task, Ok("x")), kMailboxFull);
  EXPECT_EQ(yields_.Heartbeat(task, std::nullopt), kAccepted);
  broker_says_ = kAccepted;
  EXPECT_EQ(yields_.Complete(task, Ok("x")), kAccepted);
}

TEST_F(ExternalTasks, ProgressIsHandedToTheNextAttempt) {
  Add(1);
  const auto worker = Open();
  const auto task = Take(worker).at(0).token;
  EXPECT_EQ(yields_.Heartbeat(task, Payload{"half", ""}), kAccepted);
  EXPECT_EQ(yields_.Heartbeat(task, std::nullopt), kAccepted);
  yields_.Close(worker);
  const auto again = Take(Open());
  ASSERT_EQ(again.size(), 1u);
  ASSERT_TRUE(again[0].progress);
  EXPECT_EQ(again[0].progress->bytes, "half");
}

TEST_F(ExternalTasks, ProgressThatHasNoRoomIsNotKept) {
  Limits tight;
  tight.max_external_yield_bytes = 1024 + 12 + 100;
  limits_.Set(tight);
  Add(1);
  const auto worker = Open();
  const auto task = Take(worker).at(0).token;
  EXPECT_EQ(yields_.Heartbeat(task, Payload{std::string(50, 'a'), ""}),
            kAccepted);
  EXPECT_EQ(yields_.Heartbeat(task, Payload{std::string(200, 'b'), ""}),
            kAccepted);
  EXPECT_EQ(yields_.Heartbeat(task, Payload{std::string(80, 'c'), ""}),
            kAccepted);
  yields_.Close(worker);
  const auto again = Take(Open());
  EXPECT_EQ(again.at(0).progress->bytes, std::string(80, 'c'));
  // All of it is given back: there is room for just one without any.
  EXPECT_EQ(yields_.Complete(again[0].token, Ok("x")), kAccepted);
  tight.max_external_yield_bytes = 1024 + 12;
  limits_.Set(tight);
  Add(2);
}

TEST_F(ExternalTasks, ProgressCountsForTheOwnerThatIsCharged) {
  constexpr Owner kTenant{5};
  const auto add = [&](uint64_t tag) {
    ExternalYield yield;
    yield.token = TokenOf(tag);
    yield.command = "pay.charge";
    yield.payload.bytes = "42";
    yield.owner = kTenant;
    return yields_.Add(std::move(yield), tag);
  };
  // Before there is a quota, nothing is charged.
  EXPECT_EQ(add(1), TaskTable::Added::kAdded);
  yields_.bytes_of().Set(1024 + 12 + 100, {});
  EXPECT_EQ(add(2), TaskTable::Added::kAdded);
  EXPECT_EQ(add(3), TaskTable::Added::kOverQuota);
  const auto worker = Open();
  const auto tasks = Take(worker);
  ASSERT_EQ(tasks.size(), 2u);
  const uint64_t before = yields_.bytes_of().UsedBy(kTenant);
  for (const auto& [bytes, counted] : std::vector<std::pair<size_t, size_t>>{
           {50, 50}, {200, 50}, {80, 80}, {10, 10}}) {
    for (const TaskAttempt& task : tasks) {
      EXPECT_EQ(
          yields_.Heartbeat(task.token, Payload{std::string(bytes, 'a'), ""}),
          kAccepted);
    }
    EXPECT_EQ(yields_.bytes_of().UsedBy(kTenant), before + counted);
  }
  EXPECT_EQ(yields_.Complete(tasks[0].token, Ok("x")), kAccepted);
  EXPECT_EQ(yields_.bytes_of().UsedBy(kTenant), before + 10);
  EXPECT_EQ(yields_.Complete(tasks[1].token, Ok("x")), kAccepted);
  EXPECT_EQ(yields_.bytes_of().UsedBy(kTenant), 0u);
  EXPECT_EQ(add(3), TaskTable::Added::kAdded);
  yields_.Expire(TokenOf(3));
  EXPECT_EQ(yields_.bytes_of().UsedBy(kTenant), 0u);
}

TEST_F(ExternalTasks, ABatchEndsWithItsTasksOrItsBytes) {
  for (uint64_t tag = 1; tag <= 9; ++tag) Add(tag);
  const auto worker = Open(100);
  EXPECT_EQ(
      yields_.Take(worker, false, {.tasks = 4, .bytes = 1000}).tasks.size(),
      4u);
  EXPECT_EQ(yields_.Take(worker, false, {.tasks = 4, .bytes = 3}).tasks.size(),
            2u);
}

TEST_F(ExternalTasks, RestingWorkerIsWokenByHandleDue) {
  const auto worker = Open();
  EXPECT_THAT(Take(worker), IsEmpty());
  EXPECT_EQ(yields_.HandleDue(), Parker::kForever);
  EXPECT_EQ(listener_->wakes, 0);
  Add(1);
  yields_.HandleDue();
  EXPECT_EQ(listener_->wakes, 1);
  EXPECT_EQ(Take(worker).size(), 1u);
  // The lease is the next thing to look at.
  EXPECT_EQ(yields_.HandleDue(), 10 * kSecond);
  yields_.Close(worker);
  EXPECT_EQ(listener_.use_count(), 1);
}

TEST_F(ExternalTasks, OnlyWhatMayBeExternalCanBeSubscribedTo) {
  EXPECT_TRUE(yields_.MayBeExternal("pay.charge"));
  EXPECT_TRUE(yields_.MayBeExternal("*"));
  EXPECT_FALSE(yields_.MayBeExternal("pya.*"));
}

TEST_F(ExternalTasks, ListsSayWhetherAWorkerIsSubscribed) {
  Add(1);
  const auto has_worker = [this] {
    return yields_.List({}, 0, 10, SIZE_MAX).yields.at(0).has_worker;
  };
  EXPECT_FALSE(has_worker());
  const RemoteWorkerId worker = Open(/*credits=*/0);
  EXPECT_TRUE(has_worker());
  const RemoteWorkerId other =
      yields_.Open({"pay.refund"}, "till 2", Owner::kNobody, listener_);
  yields_.Close(worker);
  EXPECT_FALSE(has_worker()) << "the other one is for another command";
  yields_.Close(other);
}

}  // namespace
}  // namespace actord::runtime
