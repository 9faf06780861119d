#include <gtest/gtest.h>

#include <future>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "client/bulk/bulk.h"
#include "client/calls/error.h"
#include "tests/client/fake_daemon.h"

namespace actord::client {
namespace {

// Much less than the time after which a stream without answers is broken off.
constexpr absl::Duration kAtOnce = absl::Seconds(10);

class BulkSends : public testing::Test {
 protected:
  BulkSends() : client_(daemon_.address()) {
    daemon_.streams_keep_order = true;
    pid_ = NewProcess();
  }

  std::string NewProcess() {
    v1::SubmitRequest request;
    request.set_process_type("never");
    return client_.Submit(request)->pid();
  }

  // Sends messages whose topics are the numbers below `count`.
  void Send(Bulk& bulk, int count, const std::string& pid) {
    for (int i = 0; i < count; ++i) {
      v1::SendRequest request;
      request.set_pid(pid);
      request.set_topic(std::to_string(i));
      bulk.Send(std::move(request), [this, i](const auto& response) {
        const std::lock_guard lock(mutex_);
        EXPECT_TRUE(answers_.emplace(i, response).second);
      });
    }
  }

  FakeDaemon daemon_;
  Client client_;
  std::string pid_;
  std::mutex mutex_;
  std::map<int, absl::StatusOr<v1::SendResponse>> answers_;
};

TEST_F(BulkSends, MessagesGoOverOneStreamInOrder) {
  {
    Bulk bulk(client_, {});
    Send(bulk, 2000, pid_);
    ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  }
  ASSERT_EQ(answers_.size(), 2000U);
  for (const auto& [number, answer] : answers_) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->receipt(), v1::RECEIPT_LOGGED);
  }
  const FakeDaemon::Log log = daemon_.log();
  ASSERT_EQ(log.sends.size(), 2000U);
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(log.sends[i].topic(), std::to_string(i));
  }
  EXPECT_EQ(log.most_sends_to_one, 0U) << "no message was a call of its own";
  EXPECT_LT(log.batch_items.size(), 1000U) << "batches have several messages";
}

TEST_F(BulkSends, RefusedMessageFailsAlone) {
  Bulk bulk(client_, {});
  Send(bulk, 1, "p-9");
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  EXPECT_EQ(DetailsOf(answers_.at(0).status()).reason, "PROCESS_NOT_FOUND");
  EXPECT_FALSE(IsUnanswered(answers_.at(0).status()));
}

TEST_F(BulkSends, GroupIsSentToByCalls) {
  Bulk bulk(client_, {});
  Send(bulk, 3, "#group");
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  EXPECT_EQ(daemon_.log().most_sends_to_one, 1U);
  EXPECT_EQ(daemon_.log().batch_items, std::vector<int>{0});
}

TEST_F(BulkSends, BrokenStreamLeavesUnansweredMessagesAndTheRestIsSent) {
  // The request that asks, and two batches.
  daemon_.stream_batches = 3;
  {
    Bulk bulk(client_, {.window = 10});
    Send(bulk, 100, pid_);
    ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  }
  ASSERT_EQ(answers_.size(), 100U);
  int unanswered = 0;
  for (const auto& [number, answer] : answers_) {
    if (answer.ok()) continue;
    EXPECT_TRUE(IsUnanswered(answer.status())) << answer.status();
    EXPECT_EQ(DetailsOf(answer.status()).reason, "DRAINING");
    ++unanswered;
  }
  EXPECT_LE(unanswered, 10);
  EXPECT_GE(daemon_.log().sends.size(), 90U);
}

TEST_F(BulkSends, StreamThatAnswersNothingIsBrokenOff) {
  daemon_.stream_answers = 1;  // the request that asks
  Bulk bulk(client_, {.window = 4, .call_timeout = absl::Milliseconds(300)});
  Send(bulk, 6, pid_);
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  ASSERT_EQ(answers_.size(), 6U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(answers_.at(i).status()));
    EXPECT_TRUE(IsUnanswered(answers_.at(i).status()));
  }
  // The calls of the rest are answered.
  EXPECT_TRUE(answers_.at(4).ok()) << answers_.at(4).status();
  EXPECT_TRUE(answers_.at(5).ok()) << answers_.at(5).status();
}

TEST_F(BulkSends, HeldReceiverGetsItsMessagesInOrderAfterTheDelays) {
  // The first message of each of three batches is refused, and so are those
  // behind it.
  daemon_.full_answers[pid_] = 3;
  Bulk bulk(client_, {.window = 8});
  Send(bulk, 40, pid_);
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  const FakeDaemon::Log log = daemon_.log();
  EXPECT_GE(log.full, 3U);
  EXPECT_EQ(log.most_sends_to_one, 0U) << "no message was a call of its own";
  ASSERT_EQ(log.sends.size(), 40U);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(log.sends[i].topic(), std::to_string(i));
    EXPECT_TRUE(answers_.at(i).ok()) << answers_.at(i).status();
  }
}

TEST_F(BulkSends, CancelledSendsEndAtOnce) {
  const absl::Time start = absl::Now();
  {
    Bulk bulk(client_, {.window = 2});
    Send(bulk, 1000, pid_);
    bulk.CancelAll();
    ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
    EXPECT_EQ(answers_.size(), 1000U);
    EXPECT_TRUE(absl::IsCancelled(answers_.at(999).status()));
  }
  EXPECT_LT(absl::Now() - start, kAtOnce);
}

TEST_F(BulkSends, CancelledHeldMessagesAreKnownNotToHaveArrived) {
  daemon_.full_answers[pid_] = -1;
  daemon_.full_retry_ms = 60'000;
  const std::string other = NewProcess();
  std::promise<void> answered;
  const absl::Time start = absl::Now();
  {
    Bulk bulk(client_, {.window = 4});
    Send(bulk, 6, pid_);
    // Its answer comes after the refusals.
    v1::SendRequest request;
    request.set_pid(other);
    bulk.Send(request, [&](const auto& /*response*/) { answered.set_value(); });
    answered.get_future().wait();
    bulk.CancelAll();
    ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  }
  EXPECT_LT(absl::Now() - start, kAtOnce);
  ASSERT_EQ(answers_.size(), 6U);
  for (const auto& [number, answer] : answers_) {
    EXPECT_TRUE(absl::IsCancelled(answer.status())) << answer.status();
    EXPECT_FALSE(IsUnanswered(answer.status())) << answer.status();
  }
}

TEST_F(BulkSends, IdleMeansThatTheSendOfADoneIsOverToo) {
  Bulk bulk(client_, {});
  v1::SubmitRequest request;
  request.set_process_type("never");
  bulk.Submit(request, [&](const auto& /*response*/) { Send(bulk, 1, pid_); });
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_.at(0).ok()) << answers_.at(0).status();
}

TEST_F(BulkSends, DoneMaySendWhileTheBulkIsDestroyed) {
  std::promise<void> cancelled;
  {
    Bulk bulk(client_, {});
    v1::AwaitRequest request;
    request.set_pid(pid_);
    bulk.Await(request, [&](const auto& response) {
      EXPECT_TRUE(absl::IsCancelled(response.status()));
      cancelled.get_future().wait();
      Send(bulk, 1000, pid_);
    });
    EXPECT_TRUE(daemon_.WaitForOpenAwaits(1));
    bulk.CancelAll();
    cancelled.set_value();
  }
  EXPECT_EQ(answers_.size(), 1000U);
  for (const auto& [number, answer] : answers_) {
    EXPECT_TRUE(absl::IsCancelled(answer.status())) << answer.status();
  }
}

}  // namespace
}  // namespace actord::client
