#include "client/bulk/ordered_sends.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/calls/client.h"
#include "client/calls/connection.h"
#include "tests/client/fake_daemon.h"

namespace actord::client {
namespace {

v1::SendRequest Message(const std::string& pid, const std::string& topic) {
  v1::SendRequest request;
  request.set_pid(pid);
  request.set_topic(topic);
  return request;
}

// The stream ends while a thread is about to give `other_way` a message.
TEST(OrderedSendsTest, EndOfTheStreamLetsNoMessagePassOneOnItsWay) {
  FakeDaemon daemon;
  daemon.streams_keep_order = true;
  daemon.stream_batches = 3;
  v1::SubmitRequest submission;
  submission.set_process_type("never");
  const std::string pid = Client(daemon.address()).Submit(submission)->pid();
  const Endpoint endpoint(daemon.address());
  const auto stub = v1::ActorService::NewStub(OpenChannel(endpoint));

  std::mutex mutex;
  std::vector<std::string> others;  // the topics, in their order
  std::promise<void> second_came;
  std::function<void()> before_first;
  OrderedSends sends(
      endpoint, *stub, {},
      [&](const v1::SendRequest& request, const OrderedSends::Done& done) {
        if (request.topic() == "first") before_first();
        {
          const std::lock_guard lock(mutex);
          others.push_back(request.topic());
        }
        if (request.topic() == "second") second_came.set_value();
        done(v1::SendResponse());
      });
  const auto ignore = [](const auto& /*response*/) {};
  // The second batch, after the one that asks. Now this thread has the lock
  // whenever it sends, and no callback of the stream runs below it.
  sends.Send(Message(pid, "opens"), ignore);
  ASSERT_TRUE(sends.WaitUntilIdle(absl::Seconds(60)));
  before_first = [&] {
    sends.Send(Message("#group", "second"), ignore);
    // The third batch, after which the stream ends.
    sends.Send(Message(pid, "ends"), ignore);
    // Only a failing test has it in this time.
    EXPECT_EQ(second_came.get_future().wait_for(std::chrono::milliseconds(300)),
              std::future_status::timeout);
  };
  sends.Send(Message("#group", "first"), ignore);
  ASSERT_TRUE(sends.WaitUntilIdle(absl::Seconds(60)));
  EXPECT_EQ(others, (std::vector<std::string>{"first", "second"}));
}

}  // namespace
}  // namespace actord::client
