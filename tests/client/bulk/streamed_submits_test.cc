#include "client/bulk/streamed_submits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "client/bulk/bulk.h"
#include "client/calls/error.h"
#include "tests/client/fake_daemon.h"

namespace actord::client {
namespace {

using testing::Each;
using testing::Le;

class StreamedSubmitsTest : public testing::Test {
 protected:
  StreamedSubmitsTest() : client_(daemon_.address()) {}

  // Submits processes whose inputs are the numbers below `count`.
  void Submit(Bulk& bulk, int count, const std::string& type = "echo") {
    for (int i = 0; i < count; ++i) {
      v1::SubmitRequest request;
      request.set_process_type(type);
      request.mutable_input()->set_data(std::to_string(i));
      bulk.Submit(std::move(request), [this, i](const auto& response) {
        const std::lock_guard lock(mutex_);
        EXPECT_TRUE(answers_.emplace(i, response).second);
      });
    }
  }

  // The inputs that the daemon has got; each of them once.
  [[nodiscard]] std::set<std::string> Arrived() const {
    std::set<std::string> inputs;
    for (const v1::SubmitRequest& request : daemon_.log().submits) {
      EXPECT_TRUE(inputs.insert(request.input().data()).second)
          << request.input().data() << " came twice";
    }
    return inputs;
  }

  FakeDaemon daemon_;
  Client client_;
  std::mutex mutex_;
  std::map<int, absl::StatusOr<v1::SubmitResponse>> answers_;
};

TEST_F(StreamedSubmitsTest, GoInBatches) {
  {
    Bulk bulk(client_, {});
    Submit(bulk, 5000);
    ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  }
  ASSERT_EQ(answers_.size(), 5000U);
  std::set<std::string> pids;
  for (const auto& [number, answer] : answers_) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_TRUE(pids.insert(answer->pid()).second);
  }
  EXPECT_EQ(Arrived().size(), 5000U);
  const FakeDaemon::Log log = daemon_.log();
  EXPECT_EQ(log.submit_streams, 1U);
  EXPECT_EQ(std::accumulate(log.batch_items.begin(), log.batch_items.end(), 0),
            5000);
  EXPECT_LT(log.batch_items.size(), 2500U);
  EXPECT_THAT(log.batch_items, Each(Le(256)));
}

TEST_F(StreamedSubmitsTest, DaemonWithoutStreamsGetsCalls) {
  daemon_.refuses_submit_streams = true;
  Bulk bulk(client_, {});
  Submit(bulk, 1000);
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  for (const auto& [number, answer] : answers_) {
    ASSERT_TRUE(answer.ok()) << answer.status();
  }
  EXPECT_EQ(answers_.size(), 1000U);
  EXPECT_EQ(Arrived().size(), 1000U);
  EXPECT_EQ(daemon_.log().submit_streams, 1U);
}

TEST_F(StreamedSubmitsTest, CanBeCallsFromTheBeginning) {
  Bulk bulk(client_, {.streams_submits = false});
  Submit(bulk, 10);
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  EXPECT_EQ(Arrived().size(), 10U);
  EXPECT_EQ(daemon_.log().submit_streams, 0U);
}

TEST_F(StreamedSubmitsTest, RefusalIsOfOneSubmission) {
  Bulk bulk(client_, {});
  Submit(bulk, 1, "refuse");
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  const absl::Status refused = answers_.at(0).status();
  EXPECT_EQ(DetailsOf(refused).reason, "INIT_REFUSED");
  EXPECT_FALSE(IsUnanswered(refused));
  answers_.clear();
  Submit(bulk, 1);
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  EXPECT_TRUE(answers_.at(0).ok());
  EXPECT_EQ(daemon_.log().submit_streams, 1U);
}

TEST_F(StreamedSubmitsTest, BrokenStreamSubmitsNothingTwiceAndTheRestByCalls) {
  daemon_.stream_batches = 2;
  {
    Bulk bulk(client_, {.window = 10});
    Submit(bulk, 100);
    ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  }
  ASSERT_EQ(answers_.size(), 100U);
  const std::set<std::string> arrived = Arrived();
  int unanswered = 0;
  for (const auto& [number, answer] : answers_) {
    if (answer.ok()) {
      EXPECT_EQ(arrived.count(std::to_string(number)), 1U);
      continue;
    }
    EXPECT_TRUE(IsUnanswered(answer.status())) << answer.status();
    EXPECT_EQ(DetailsOf(answer.status()).reason, "DRAINING");
    ++unanswered;
  }
  EXPECT_LE(unanswered, 10);
}

TEST_F(StreamedSubmitsTest, StreamThatAnswersNothingIsBrokenOff) {
  daemon_.stream_answers = 0;
  Bulk bulk(client_, {.window = 4, .call_timeout = absl::Milliseconds(300)});
  Submit(bulk, 6);
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  ASSERT_EQ(answers_.size(), 6U);
  int unanswered = 0;
  for (const auto& [number, answer] : answers_) {
    if (answer.ok()) continue;
    EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
    EXPECT_TRUE(IsUnanswered(answer.status()));
    ++unanswered;
  }
  // The submissions that were not written go alone.
  EXPECT_GE(unanswered, 1);
  EXPECT_LE(unanswered, 4);
  EXPECT_EQ(Arrived().size(), 6U);
}

TEST_F(StreamedSubmitsTest, SlowCallbackDoesNotBreakTheStream) {
  Bulk bulk(client_, {.window = 4, .call_timeout = absl::Seconds(2)});
  std::atomic<int> answered = 0;
  for (int i = 0; i < 4; ++i) {
    v1::SubmitRequest request;
    request.set_process_type("echo");
    // A batch for each, so that later ones are sent while the callback runs.
    request.mutable_input()->set_data(std::string(200'000, 'x'));
    bulk.Submit(std::move(request), [&](const auto& response) {
      EXPECT_TRUE(response.ok()) << response.status();
      if (answered++ == 0) absl::SleepFor(absl::Milliseconds(4500));
    });
  }
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  EXPECT_EQ(answered, 4);
}

TEST_F(StreamedSubmitsTest, CancelOfACallbackReachesThoseThatGoAlone) {
  daemon_.stream_batches = 1;
  daemon_.submits_hang = true;
  Bulk bulk(client_, {.window = 4, .call_timeout = absl::Minutes(10)});
  std::atomic<bool> has_cancelled = false;
  for (int i = 0; i < 8; ++i) {
    v1::SubmitRequest request;
    request.set_process_type("echo");
    // A batch for each: one is unanswered at the end of the stream, and others
    // wait behind it.
    request.mutable_input()->set_data(std::string(200'000, 'x'));
    bulk.Submit(std::move(request), [&](const auto& response) {
      if (!IsUnanswered(response.status())) return;
      has_cancelled = true;
      bulk.CancelAll();
    });
  }
  if (bulk.WaitUntilIdle(absl::Seconds(10))) return;
  // The stream may have ended before it had a second batch.
  EXPECT_FALSE(has_cancelled) << "calls go on after the cancel";
  bulk.CancelAll();
  EXPECT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
}

TEST_F(StreamedSubmitsTest, LargeOneGoesAlone) {
  v1::SubmitRequest request;
  request.set_process_type("echo");
  request.mutable_input()->set_data(std::string(size_t{7} << 19, 'x'));
  absl::StatusOr<v1::SubmitResponse> answer;
  Bulk bulk(client_, {});
  bulk.Submit(std::move(request),
              [&](const auto& response) { answer = response; });
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(daemon_.log().batch_items.empty());
}

TEST_F(StreamedSubmitsTest, CancelEndsAllOfThem) {
  daemon_.stream_answers = 0;
  Bulk bulk(client_, {.window = 4});
  Submit(bulk, 20);
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (daemon_.log().batch_items.empty()) {
    ASSERT_LT(absl::Now(), end) << "no batch comes";
    absl::SleepFor(absl::Milliseconds(1));
  }
  bulk.CancelAll();
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  ASSERT_EQ(answers_.size(), 20U);
  const std::set<std::string> arrived = Arrived();
  int unanswered = 0;
  for (const auto& [number, answer] : answers_) {
    EXPECT_TRUE(absl::IsCancelled(answer.status())) << answer.status();
    if (IsUnanswered(answer.status())) {
      ++unanswered;
    } else {
      EXPECT_EQ(arrived.count(std::to_string(number)), 0U) << number;
    }
  }
  EXPECT_LE(unanswered, 4);
  answers_.clear();
  Submit(bulk, 1);
  ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  EXPECT_TRUE(absl::IsCancelled(answers_.at(0).status()));
}

}  // namespace
}  // namespace actord::client
