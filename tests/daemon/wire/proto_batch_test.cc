// Tests how streams use the readers of requests.
#include <gtest/gtest.h>

#include "daemon/streams/stream.h"
#include "daemon/wire/proto_requests.h"
#include "tests/daemon/wire/requests.h"

namespace actord::daemon {
namespace {

// A stream reads all its messages into the same object.
TEST(ReadSend, EmptiesTheMessage) {
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
  Address to_pid;
  ASSERT_TRUE(ReadSend(&request, kMaxPayload, to_pid, message).ok());
  EXPECT_EQ(to_pid.pid, kParsedPid);
  EXPECT_EQ(message.topic, "");
  EXPECT_EQ(message.payload.bytes, "");
  EXPECT_EQ(message.payload.content_type, "");
}

TEST(CheckBatch, EnforcesItsLimit) {
  EXPECT_TRUE(CheckBatch("sends", 0).ok());
  EXPECT_TRUE(CheckBatch("sends", 1000).ok());
  ExpectWrong(CheckBatch("sends", 1001), "sends");
}

// Empty messages, which take two bytes each on the wire.
void AddEmpty(v1::SubmitStreamRequest& request, int count) {
  v1::SubmitRequest& item = *request.add_submissions();
  for (int i = 0; i < count; ++i) item.add_messages();
}

TEST(ReusedMessage, KeepsSmallBuffersAndFreesLargeOnes) {
  ReusedMessage<v1::SubmitStreamRequest> reused;
  AddEmpty(reused.get(), 1000);
  const size_t small = reused.get().SpaceUsedLong();
  for (int i = 0; i < 10; ++i) {
    reused.get().Clear();
    AddEmpty(reused.get(), 1000);
    reused.Used(100 << 10);
    EXPECT_GE(reused.get().SpaceUsedLong(), small);
  }
  // The message is far below a megabyte on the wire and far above it in memory.
  AddEmpty(reused.get(), 100'000);
  ASSERT_GT(reused.get().SpaceUsedLong(), size_t{4} << 20);
  reused.Used(200'000);
  EXPECT_LT(reused.get().SpaceUsedLong(), small);
  AddEmpty(reused.get(), 1000);
  reused.Drop();
  EXPECT_LT(reused.get().SpaceUsedLong(), small);
}

}  // namespace
}  // namespace actord::daemon
