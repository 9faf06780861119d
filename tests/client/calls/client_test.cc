#include "client/calls/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "client/bulk/bulk.h"
#include "client/calls/error.h"
#include "tests/client/fake_daemon.h"

namespace actord::client {
namespace {

// Nothing listens on port 1. A port that was free a moment ago may be in use
// by another program.
constexpr char kNobody[] = "127.0.0.1:1";

v1::SubmitRequest SubmitOf(const std::string& type,
                           const std::string& input = "") {
  v1::SubmitRequest request;
  request.set_process_type(type);
  request.mutable_input()->set_data(input);
  return request;
}

v1::AwaitRequest AwaitOf(const std::string& pid) {
  v1::AwaitRequest request;
  request.set_pid(pid);
  return request;
}

TEST(Client, SubmitsAndAwaits) {
  const FakeDaemon daemon;
  Client client(daemon.address());
  const auto submitted = client.Submit(SubmitOf("echo", "hello"));
  ASSERT_TRUE(submitted.ok()) << submitted.status();
  const auto awaited = client.Await(AwaitOf(submitted->pid()));
  ASSERT_TRUE(awaited.ok()) << awaited.status();
  EXPECT_EQ(awaited->outcome().result().data(), "hello");
}

TEST(Client, Runs) {
  const FakeDaemon daemon;
  Client client(daemon.address());
  v1::RunRequest request;
  *request.mutable_submit() = SubmitOf("echo", "hello");
  const auto ran = client.Run(request);
  ASSERT_TRUE(ran.ok()) << ran.status();
  EXPECT_EQ(ran->outcome().result().data(), "hello");
  EXPECT_EQ(ran->submitted().pid(), ran->outcome().pid());
  *request.mutable_submit() = SubmitOf("refuse");
  EXPECT_EQ(DetailsOf(client.Run(request).status()).reason, "INIT_REFUSED");
}

TEST(Client, DecodesErrorDetails) {
  const FakeDaemon daemon;
  Client client(daemon.address());
  const auto refused = client.Submit(SubmitOf("refuse"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.status().message(), "not to its taste");
  const ErrorDetails details = DetailsOf(refused.status());
  EXPECT_EQ(details.reason, "INIT_REFUSED");
  ASSERT_EQ(details.field_violations.size(), 1U);
  EXPECT_EQ(details.field_violations[0].field, "input.data");
  EXPECT_EQ(details.field_violations[0].description, "this field");
  EXPECT_FALSE(details.retry_delay);

  const auto draining = client.Submit(SubmitOf("drain"));
  EXPECT_EQ(draining.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(DetailsOf(draining.status()).retry_delay, absl::Seconds(2));
}

TEST(Client, ReportsAnUnreachableDaemon) {
  Client client(kNobody);
  const auto status = client.GetStatus({});
  EXPECT_EQ(status.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(DetailsOf(status.status()).reason, "");
}

TEST(Client, EndsACallAtItsDeadline) {
  const FakeDaemon daemon;
  Client client(daemon.address());
  const auto submitted = client.Submit(SubmitOf("never"));
  ASSERT_TRUE(submitted.ok());
  const auto awaited =
      client.Await(AwaitOf(submitted->pid()),
                   {.deadline = absl::Now() + absl::Milliseconds(50)});
  EXPECT_EQ(awaited.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(Client, EndsACallWhenItIsCancelled) {
  const FakeDaemon daemon;
  Client client(daemon.address());
  const auto submitted = client.Submit(SubmitOf("never"));
  ASSERT_TRUE(submitted.ok());
  Cancellation cancellation;
  std::thread canceller([&] {
    EXPECT_TRUE(daemon.WaitForOpenAwaits(1));
    cancellation.Cancel();
  });
  const auto awaited =
      client.Await(AwaitOf(submitted->pid()), {.cancellation = &cancellation});
  canceller.join();
  EXPECT_EQ(awaited.status().code(), absl::StatusCode::kCancelled);
}

TEST(Bulk, SubmitsAndAwaitsMany) {
  constexpr int kItems = 2000;
  const FakeDaemon daemon;
  const Client client(daemon.address());
  std::vector<std::string> results(kItems);
  {
    Bulk bulk(client, {.window = 64, .await_window = 16});
    for (int i = 0; i < kItems; ++i) {
      ASSERT_TRUE(bulk.WaitForRoom(absl::Seconds(10)));
      bulk.Submit(SubmitOf("echo", std::to_string(i)), [&, i](auto submitted) {
        ASSERT_TRUE(submitted.ok()) << submitted.status();
        bulk.Await(AwaitOf(submitted->pid()), [&, i](auto awaited) {
          ASSERT_TRUE(awaited.ok()) << awaited.status();
          results[i] = awaited->outcome().result().data();
        });
      });
    }
    ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  }
  for (int i = 0; i < kItems; ++i) EXPECT_EQ(results[i], std::to_string(i));
}

TEST(Bulk, SendsToOneProcessInOrder) {
  constexpr int kMessages = 200;
  const FakeDaemon daemon;
  Client client(daemon.address());
  const std::string pid = client.Submit(SubmitOf("never"))->pid();
  std::atomic<int> accepted = 0;
  {
    Bulk bulk(client, {});
    for (int i = 0; i < kMessages; ++i) {
      v1::SendRequest request;
      request.set_pid(pid);
      request.set_topic(std::to_string(i));
      bulk.Send(std::move(request), [&accepted](const auto& response) {
        if (response.ok()) ++accepted;
      });
    }
    ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(60)));
  }
  EXPECT_EQ(accepted, kMessages);
  const FakeDaemon::Log log = daemon.log();
  EXPECT_EQ(log.most_sends_to_one, 1U);
  ASSERT_EQ(log.sends.size(), static_cast<size_t>(kMessages));
  for (int i = 0; i < kMessages; ++i) {
    EXPECT_EQ(log.sends[i].topic(), std::to_string(i));
  }
}

TEST(Bulk, RetriesWhenTheDaemonIsFull) {
  FakeDaemon daemon;
  daemon.busy_answers = 3;
  const Client client(daemon.address());
  absl::StatusOr<v1::SubmitResponse> submitted;
  {
    Bulk bulk(client, {});
    bulk.Submit(SubmitOf("busy"), [&](auto response) { submitted = response; });
    ASSERT_TRUE(bulk.WaitUntilIdle(absl::Seconds(10)));
  }
  EXPECT_TRUE(submitted.ok()) << submitted.status();
  EXPECT_EQ(daemon.log().submits.size(), 4U);
}

TEST(Bulk, LongAwaitsDoNotDelaySubmissions) {
  constexpr int kProcesses = 50;
  const FakeDaemon daemon;
  const Client client(daemon.address());
  std::atomic<int> cancelled = 0;
  {
    Bulk bulk(client, {.window = 4, .await_window = 8});
    std::atomic<int> submitted = 0;
    for (int i = 0; i < kProcesses; ++i) {
      ASSERT_TRUE(bulk.WaitForRoom(absl::Seconds(10)));
      bulk.Submit(SubmitOf("never"), [&](const auto& response) {
        ASSERT_TRUE(response.ok());
        ++submitted;
        bulk.Await(AwaitOf(response->pid()), [&](const auto& outcome) {
          if (absl::IsCancelled(outcome.status())) ++cancelled;
        });
      });
    }
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (submitted != kProcesses && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(submitted, kProcesses);
    EXPECT_TRUE(daemon.WaitForOpenAwaits(8));
    EXPECT_FALSE(bulk.WaitUntilIdle(absl::Milliseconds(200)));
    EXPECT_EQ(daemon.log().awaits_open, 8U);
  }
  // The end of a Bulk leaves no call and no callback behind.
  EXPECT_EQ(cancelled, kProcesses);
}

}  // namespace
}  // namespace actord::client
