// Tests SendStream and SubmitStream of the client library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/calls/error.h"
#include "client/streams/send_stream.h"
#include "client/streams/submit_stream.h"
#include "tests/client/fake_daemon.h"

namespace actord::client {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;

v1::SendRequest ItemTo(const std::string& pid, const std::string& data) {
  v1::SendRequest request;
  request.set_pid(pid);
  request.mutable_payload()->set_data(data);
  return request;
}

v1::SubmitRequest ItemOf(const std::string& type, const std::string& data) {
  v1::SubmitRequest request;
  request.set_process_type(type);
  request.mutable_input()->set_data(data);
  return request;
}

class ClientStreams : public ::testing::Test {
 protected:
  FakeDaemon daemon_;
  Client client_{daemon_.address()};

  std::string Process() {
    const auto submitted = client_.Submit(ItemOf("never", ""));
    EXPECT_TRUE(submitted.ok()) << submitted.status();
    return submitted.ok() ? submitted->pid() : "";
  }
};

TEST_F(ClientStreams, SendsItemsInOrderAndReportsRefusals) {
  constexpr int kItems = 20'000;
  const std::string pid = Process();
  std::vector<uint64_t> refused;
  std::string reason;
  SendStream stream(
      client_, {.window = 500,
                .on_refused = [&](uint64_t index, const absl::Status& why) {
                  refused.push_back(index);
                  reason = DetailsOf(why).reason;
                }});
  for (int i = 0; i < kItems; ++i) {
    const auto index =
        stream.Send(ItemTo(i % 5000 == 7 ? "nobody" : pid, std::to_string(i)));
    ASSERT_TRUE(index.ok()) << index.status();
    ASSERT_EQ(*index, static_cast<uint64_t>(i));
  }
  const absl::Status flushed = stream.Flush();
  EXPECT_TRUE(flushed.ok()) << flushed;
  EXPECT_EQ(stream.acked(), uint64_t{kItems});
  const absl::Status finished = stream.Finish();
  EXPECT_TRUE(finished.ok()) << finished;
  EXPECT_THAT(refused, ElementsAre(7, 5007, 10007, 15007));
  EXPECT_EQ(stream.refused(), 4u);
  EXPECT_EQ(reason, "PROCESS_NOT_FOUND");
  const FakeDaemon::Log log = daemon_.log();
  ASSERT_EQ(log.sends.size(), size_t{kItems});
  for (int i = 0; i < kItems; ++i) {
    ASSERT_EQ(log.sends[i].payload().data(), std::to_string(i));
  }
  EXPECT_THAT(log.batch_items, Each(Le(500)));
  EXPECT_EQ(stream.Send(ItemTo(pid, "")).status().code(),
            absl::StatusCode::kFailedPrecondition)
      << "it has been finished";
}

TEST_F(ClientStreams, KeepBatchesWithinTheLimits) {
  const std::string pid = Process();
  SendStream stream(client_, {.window = 100'000});
  std::vector<std::thread> senders;
  for (int thread = 0; thread < 4; ++thread) {
    senders.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        ASSERT_TRUE(stream.Send(ItemTo(pid, "x")).ok());
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  // An item that is larger than the limit of a batch is sent alone.
  ASSERT_TRUE(stream.Send(ItemTo(pid, std::string(1 << 20, 'x'))).ok());
  const absl::Status finished = stream.Finish();
  EXPECT_TRUE(finished.ok()) << finished;
  const FakeDaemon::Log log = daemon_.log();
  EXPECT_EQ(log.sends.size(), 20'001u);
  EXPECT_THAT(log.batch_items, Each(Le(1000)));
  EXPECT_EQ(log.batch_items.back(), 1);
}

TEST_F(ClientStreams, ReportTheStatusOfTheirEnd) {
  daemon_.stream_batches = 3;
  const std::string pid = Process();
  SendStream stream(client_);
  absl::Status sent;
  while (sent.ok()) sent = stream.Send(ItemTo(pid, "")).status();
  for (const absl::Status& status : {sent, stream.Finish()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_EQ(DetailsOf(status).reason, "DRAINING");
  }
  EXPECT_EQ(stream.acked(), daemon_.log().sends.size());
}

TEST_F(ClientStreams, ReportAnEndWithUnansweredItems) {
  daemon_.stream_batches = 1;
  daemon_.streams_end_well = true;
  SubmitStream stream(client_);
  ASSERT_TRUE(stream.Submit(ItemOf("never", "")).ok());
  for (const absl::Status& status : {stream.Flush(), stream.Finish()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("1 items"));
  }
}

TEST_F(ClientStreams, ReportAnUnreachableDaemon) {
  const Client client("127.0.0.1:1");  // nothing listens on that port
  SendStream stream(client);
  absl::Status sent;
  while (sent.ok()) sent = stream.Send(ItemTo("p", "")).status();
  EXPECT_EQ(stream.Finish().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ClientStreams, SubmitAndDeliverOutcomes) {
  constexpr int kItems = 5000;
  std::map<uint64_t, std::string> results;
  std::map<uint64_t, absl::Status> refused;
  SubmitStream stream(
      client_, {.window = 300, .on_news = [&](const v1::SubmissionNews& news) {
                  if (news.has_refusal()) {
                    refused[news.index()] = FromRefusal(news.refusal());
                  } else {
                    results[news.index()] = news.outcome().result().data();
                  }
                }});
  for (int i = 0; i < kItems; ++i) {
    const auto index =
        stream.Submit(ItemOf(i == 3 ? "refuse" : "echo", std::to_string(i)));
    ASSERT_TRUE(index.ok()) << index.status();
  }
  const absl::Status finished = stream.Finish();
  EXPECT_TRUE(finished.ok()) << finished;
  EXPECT_EQ(stream.through(), uint64_t{kItems});
  ASSERT_EQ(results.size(), size_t{kItems - 1});
  for (const auto& [i, result] : results) EXPECT_EQ(result, std::to_string(i));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[3].code(), absl::StatusCode::kInvalidArgument);
  const ErrorDetails details = DetailsOf(refused[3]);
  EXPECT_EQ(details.reason, "INIT_REFUSED");
  ASSERT_EQ(details.field_violations.size(), 1u);
  EXPECT_EQ(details.field_violations[0].field, "input.data");
}

TEST_F(ClientStreams, CompleteAnItemAtItsAnswerWithoutOutcomes) {
  SubmitStream stream(client_, {.await_outcomes = false});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(stream.Submit(ItemOf("never", "")).ok());
  }
  const absl::Status finished = stream.Finish();
  EXPECT_TRUE(finished.ok()) << finished;
  EXPECT_EQ(stream.through(), 10u);
}

TEST_F(ClientStreams, WaitWhileTheWindowIsFull) {
  SubmitStream stream(client_, {.window = 3});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream.Submit(ItemOf("never", "")).ok());
  }
  absl::Status fourth;
  std::thread waiting(
      [&] { fourth = stream.Submit(ItemOf("never", "")).status(); });
  absl::Status flushed;
  std::thread flushing([&] { flushed = stream.Flush(); });
  while (daemon_.log().submits.size() < 3) std::this_thread::yield();
  stream.Cancel();
  waiting.join();
  flushing.join();
  EXPECT_FALSE(fourth.ok()) << "it should have waited for the window";
  EXPECT_EQ(flushed.code(), absl::StatusCode::kCancelled) << flushed;
  EXPECT_EQ(daemon_.log().submits.size(), 3u);
}

TEST_F(ClientStreams, WindowOfZeroIsAWindowOfOne) {
  const std::string pid = Process();
  SendStream stream(client_, {.window = 0});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream.Send(ItemTo(pid, "")).ok());
  const absl::Status finished = stream.Finish();
  EXPECT_TRUE(finished.ok()) << finished;
  EXPECT_THAT(daemon_.log().batch_items, Each(1));
}

TEST_F(ClientStreams, FlushDoesNotWaitForLaterItems) {
  // At no time is the stream empty: before an item is answered, its callback
  // submits the next one.
  std::atomic<bool> flushed{false};
  SubmitStream* later = nullptr;
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  SubmitStream stream(client_, {.on_news = [&](const v1::SubmissionNews&) {
                        if (flushed || absl::Now() > limit) return;
                        EXPECT_TRUE(later->Submit(ItemOf("echo", "")).ok());
                      }});
  later = &stream;
  ASSERT_TRUE(stream.Submit(ItemOf("echo", "")).ok());
  const absl::Status status = stream.Flush();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_LT(absl::Now(), limit) << "it waited until there was nothing more";
  flushed = true;
  const absl::Status all = stream.Flush();
  EXPECT_TRUE(all.ok()) << all;
}

TEST_F(ClientStreams, FlushWaitsAlthoughLaterItemsEndFirst) {
  SubmitStream stream(client_);
  ASSERT_TRUE(stream.Submit(ItemOf("never", "")).ok());
  std::atomic<bool> flushes{false};
  absl::Status flushed;
  std::thread flushing([&] {
    flushes = true;
    flushed = stream.Flush();
  });
  while (!flushes) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(stream.Submit(ItemOf("echo", "")).ok());
  }
  while (stream.through() < 5) std::this_thread::yield();
  stream.Cancel();
  flushing.join();
  EXPECT_EQ(flushed.code(), absl::StatusCode::kCancelled) << flushed;
}

TEST_F(ClientStreams, MayBeDestroyedInTheMiddle) {
  const std::string pid = Process();
  for (int round = 0; round < 50; ++round) {
    SendStream stream(client_);
    for (int i = 0; i < round * 10; ++i) {
      ASSERT_TRUE(stream.Send(ItemTo(pid, "")).ok());
    }
  }
}

TEST(FromRefusal, KeepsTheDetailsOfAnError) {
  v1::Refusal refusal;
  refusal.set_code(8);
  refusal.set_reason("MAILBOX_FULL");
  refusal.set_message("full");
  refusal.mutable_retry_delay()->set_nanos(100'000'000);
  absl::Status status = FromRefusal(refusal);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "full");
  EXPECT_EQ(DetailsOf(status).reason, "MAILBOX_FULL");
  EXPECT_EQ(DetailsOf(status).retry_delay, absl::Milliseconds(100));
  EXPECT_TRUE(DetailsOf(status).metadata.empty());

  refusal.Clear();
  refusal.set_code(6);
  refusal.set_pid("1.5.2a.1");
  EXPECT_EQ(DetailsOf(FromRefusal(refusal)).metadata.at("pid"), "1.5.2a.1");

  EXPECT_FALSE(FromRefusal(v1::Refusal()).ok()) << "a refusal is none";
}

}  // namespace
}  // namespace actord::client
