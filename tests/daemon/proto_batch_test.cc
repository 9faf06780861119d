// What only streams ask of the readers of requests.
#include <gtest/gtest.h>

#include "daemon/proto_requests.h"
#include "tests/daemon/requests.h"

namespace actord::daemon {
namespace {

// A stream reads one after the other into the same.
TEST(ReadSend, LeavesNothingOfWhatWasInTheMessage) {
  v1::SendRequest request;
  request.set_pid("@name");
  request.set_topic("add");
  request.mutable_payload()->set_data("data");
  request.mutable_payload()->set_content_type("text/plain");
  Address to;
  runtime::Message message;
  ASSERT_TRUE(ReadSend(&request, kMaxPayload, to, message).ok());
  ASSERT_EQ(message.payload.bytes, "data");
  request.Clear();
  request.set_pid(kPid);
  ASSERT_TRUE(ReadSend(&request, kMaxPayload, to, message).ok());
  EXPECT_EQ(to.name, "");
  EXPECT_EQ(to.pid, kParsedPid);
  EXPECT_EQ(message.topic, "");
  EXPECT_EQ(message.payload.bytes, "");
  EXPECT_EQ(message.payload.content_type, "");
}

TEST(CheckBatch, KnowsItsLimit) {
  EXPECT_TRUE(CheckBatch("sends", 0).ok());
  EXPECT_TRUE(CheckBatch("sends", 1000).ok());
  ExpectWrong(CheckBatch("sends", 1001), "sends");
}

}  // namespace
}  // namespace actord::daemon
