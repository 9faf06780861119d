#include "client/tasks/held_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace actord::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using End = TaskReport::End;
using Answer = v1::CompleteYieldResponse;

class HeldTasksTest : public ::testing::Test {
 protected:
  HeldTasksTest()
      : tasks_([this](const TaskReport& report) {
          reports_.emplace_back(report.task.token(), report.end);
        }) {}

  // Starts a task with a lease of 30 s.
  HeldTasks::Handle Run(const std::string& token) {
    v1::Task task;
    task.set_token(token);
    task.mutable_lease()->set_seconds(30);
    tasks_.Add(std::move(task), now_);
    return tasks_.Start();
  }
  v1::WorkRequest Due() {
    v1::WorkRequest request;
    const bool any = tasks_.TakeDue(now_, request);
    EXPECT_EQ(any, request.ByteSizeLong() > 0);
    return request;
  }
  void Finish(const HeldTasks::Handle& held, TaskOutcome outcome) {
    tasks_.Finish(held, std::move(outcome), now_);
  }
  static TaskOutcome Result(const std::string& data) {
    v1::Payload payload;
    payload.set_data(data);
    return TaskOutcome::Result(std::move(payload));
  }
  void Answered(const std::string& token, Answer::Answer answer,
                v1::TaskAnswer::Kind kind = v1::TaskAnswer::KIND_COMPLETION) {
    v1::TaskAnswer proto;
    proto.set_kind(kind);
    proto.set_token(token);
    proto.set_answer(answer);
    tasks_.OnAnswer(proto, now_);
  }
  void Refused(const std::string& token, int retry_seconds) {
    v1::TaskAnswer proto;
    proto.set_kind(v1::TaskAnswer::KIND_COMPLETION);
    proto.set_token(token);
    proto.mutable_refusal()->set_code(8);
    proto.mutable_refusal()->set_message("too large");
    if (retry_seconds > 0) {
      proto.mutable_refusal()->mutable_retry_delay()->set_seconds(
          retry_seconds);
    }
    tasks_.OnAnswer(proto, now_);
  }
  void Cancelled(const std::string& token) {
    v1::TaskCancel cancel;
    cancel.set_token(token);
    tasks_.OnCancel(cancel);
  }

  absl::Time now_ = absl::UnixEpoch();
  std::vector<std::pair<std::string, End>> reports_;
  HeldTasks tasks_;
};

TEST_F(HeldTasksTest, ResultIsDroppedOnceItIsAnswered) {
  const auto held = Run("a");
  EXPECT_FALSE(Due().completions_size());
  Finish(held, Result("1"));
  const v1::WorkRequest request = Due();
  ASSERT_EQ(request.completions_size(), 1);
  EXPECT_EQ(request.completions(0).token(), "a");
  EXPECT_EQ(request.completions(0).result().data(), "1");
  EXPECT_FALSE(Due().completions_size()) << "once";
  EXPECT_EQ(tasks_.size(), 1u);
  Answered("a", Answer::ANSWER_ACCEPTED);
  EXPECT_EQ(tasks_.size(), 0u);
  EXPECT_EQ(tasks_.answered(), 1u);
  EXPECT_THAT(reports_, ElementsAre(std::pair("a", End::kAnswered)));
}

TEST_F(HeldTasksTest, FailuresCarryTheRetryDelay) {
  Finish(Run("a"), TaskOutcome::Retry(absl::StatusCode::kAborted, "no paper",
                                      absl::Milliseconds(1500)));
  Finish(Run("b"), TaskOutcome::Error(absl::StatusCode::kOk, "x\xff"));
  const v1::WorkRequest request = Due();
  ASSERT_EQ(request.failures_size(), 1);
  EXPECT_EQ(request.failures(0).error().message(), "no paper");
  EXPECT_EQ(request.failures(0).retry_delay().seconds(), 1);
  EXPECT_EQ(request.failures(0).retry_delay().nanos(), 500'000'000);
  ASSERT_EQ(request.completions_size(), 1);
  // An error is sent with a code other than OK and with valid UTF-8.
  EXPECT_EQ(request.completions(0).error().code(), 2);
  EXPECT_EQ(request.completions(0).error().message(), "x?");
}

TEST_F(HeldTasksTest, SendsThreeHeartbeatsALeaseUntilTheAnswer) {
  const auto held = Run("a");
  EXPECT_EQ(tasks_.NextDue(), now_ + absl::Seconds(10));
  now_ += absl::Seconds(10);
  held->progress = v1::Payload();
  held->progress->set_data("half");
  v1::WorkRequest request = Due();
  ASSERT_EQ(request.heartbeats_size(), 1);
  EXPECT_EQ(request.heartbeats(0).progress().data(), "half");
  EXPECT_EQ(tasks_.NextDue(), now_ + absl::Seconds(10));
  Finish(held, Result("1"));
  Due();
  now_ += absl::Seconds(10);
  request = Due();
  ASSERT_EQ(request.heartbeats_size(), 1);
  EXPECT_FALSE(request.heartbeats(0).has_progress()) << "sent already";
  Answered("a", Answer::ANSWER_ACCEPTED);
  EXPECT_EQ(tasks_.NextDue(), absl::InfiniteFuture());
}

TEST_F(HeldTasksTest, CancelledTaskIsNotAnswered) {
  const auto held = Run("a");
  Cancelled("a");
  Cancelled("a");
  EXPECT_TRUE(held->cancellation.cancelled());
  EXPECT_EQ(tasks_.size(), 1u) << "its thread is busy still";
  now_ += absl::Seconds(10);
  EXPECT_FALSE(Due().heartbeats_size());
  Finish(held, Result("1"));
  EXPECT_FALSE(Due().completions_size());
  EXPECT_EQ(tasks_.size(), 0u);
  EXPECT_THAT(reports_, ElementsAre(std::pair("a", End::kCancelled)));
}

TEST_F(HeldTasksTest, CancelDropsATaskThatHasNotBegun) {
  v1::Task task;
  task.set_token("a");
  tasks_.Add(task, now_);
  Cancelled("a");
  EXPECT_EQ(tasks_.Start(), nullptr);
  EXPECT_EQ(tasks_.size(), 0u);
}

TEST_F(HeldTasksTest, RefusedHeartbeatCancelsTheTask) {
  const auto held = Run("a");
  Answered("a", Answer::ANSWER_ACCEPTED, v1::TaskAnswer::KIND_HEARTBEAT);
  EXPECT_FALSE(held->cancellation.cancelled());
  Answered("a", Answer::ANSWER_SUPERSEDED, v1::TaskAnswer::KIND_HEARTBEAT);
  EXPECT_TRUE(held->cancellation.cancelled());
}

TEST_F(HeldTasksTest, ResultIsSentAgainAfterAFullMailbox) {
  Finish(Run("a"), Result("1"));
  Due();
  Refused("a", /*retry_seconds=*/2);
  EXPECT_FALSE(Due().completions_size());
  EXPECT_EQ(tasks_.NextDue(), now_ + absl::Seconds(2));
  now_ += absl::Seconds(2);
  EXPECT_EQ(Due().completions_size(), 1);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(HeldTasksTest, RefusedResultBecomesAnErrorForTheProcess) {
  Finish(Run("a"), Result("1"));
  Due();
  Refused("a", 0);
  const v1::WorkRequest request = Due();
  ASSERT_EQ(request.completions_size(), 1);
  EXPECT_EQ(request.completions(0).error().code(), 8);
  EXPECT_EQ(request.completions(0).error().message(),
            "the worker's result: too large");
  Refused("a", 0);
  EXPECT_EQ(tasks_.size(), 0u);
  EXPECT_THAT(reports_, ElementsAre(std::pair("a", End::kRefused),
                                    std::pair("a", End::kRefused)));
}

TEST_F(HeldTasksTest, BrokenStreamKeepsResultsOnly) {
  v1::Task queued;
  const auto running = Run("running");
  Finish(Run("result"), Result("1"));
  Finish(Run("failure"), TaskOutcome::Retry(absl::StatusCode::kAborted, ""));
  queued.set_token("queued");
  tasks_.Add(queued, now_);
  Due();
  tasks_.OnBroken(now_);
  EXPECT_EQ(tasks_.Start(), nullptr);
  EXPECT_TRUE(running->cancellation.cancelled());
  EXPECT_EQ(tasks_.size(), 2u);
  EXPECT_EQ(Due().completions_size(), 1);
  // The running function may still return a result.
  Finish(running, Result("2"));
  EXPECT_EQ(Due().completions_size(), 1);
  now_ += absl::Seconds(100);
  EXPECT_FALSE(Due().heartbeats_size());
  Answered("running", Answer::ANSWER_SUPERSEDED);
  Answered("result", Answer::ANSWER_ACCEPTED);
  EXPECT_EQ(tasks_.size(), 0u);
}

TEST_F(HeldTasksTest, IgnoresAnswersForUnknownTasks) {
  Answered("x", Answer::ANSWER_ACCEPTED);
  Cancelled("x");
  const auto held = Run("a");
  Answered("a", Answer::ANSWER_ACCEPTED);  // no result was sent
  EXPECT_EQ(tasks_.size(), 1u);
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_NE(held, nullptr);
}

}  // namespace
}  // namespace actord::client
