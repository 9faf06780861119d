// SendStream to durable processes: batches wait for the disk while the next
// ones are read, up to a limit, and are acknowledged in their order.
#include "daemon/streams/send_stream.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/daemon/streams/stream_world.h"

namespace actord::daemon {
namespace {

// Sends to a volatile process on a stream of its own until that is
// acknowledged. By then the other streams have done all that they can.
void GoRound(StreamWorld& world) {
  const std::string pid = world.NewProcess(/*durable=*/false);
  StreamClient client(world);
  client.Write(pid, {"x"});
  EXPECT_TRUE(Eventually([&] { return client.acked() == 1; }));
  client.HalfClose();
  EXPECT_TRUE(client.End().ok());
}

void ExpectAscending(const std::vector<v1::SendStreamResponse>& responses) {
  uint64_t before = 0;
  for (const v1::SendStreamResponse& response : responses) {
    EXPECT_GE(response.acked_count(), before);
    before = response.acked_count();
  }
}

TEST(SendStream, ReadsOnWhileBatchesWaitForTheDisk) {
  StreamWorld world;
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  world.disk.CloseGate();
  for (const char* text : {"a", "b", "c"}) client.Write(pid, {text, text});
  EXPECT_TRUE(Eventually([&] { return world.Sent() == 6; }));
  GoRound(world);
  EXPECT_EQ(client.acked(), 0u) << "nothing is durable";
  world.disk.OpenGate();
  client.HalfClose();
  EXPECT_TRUE(client.End().ok());
  EXPECT_EQ(client.acked(), 6u);
  ExpectAscending(client.responses());
  EXPECT_EQ(world.TextOf(pid), "a,a,b,b,c,c");
}

TEST(SendStream, OneResponseAcknowledgesAllThatOneSyncMadeDurable) {
  StreamWorld world;
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  world.disk.CloseGate();
  client.Write(pid, {"first"});
  // One sync has the first batch, and the next one has all others.
  EXPECT_TRUE(Eventually([&] { return world.Sent() == 1; }));
  world.disk.AwaitSync();
  for (int i = 0; i < 20; ++i) client.Write(pid, {"more"});
  EXPECT_TRUE(Eventually([&] { return world.Sent() == 21; }));
  world.disk.OpenGate();
  EXPECT_TRUE(Eventually([&] { return client.acked() == 21; }));
  EXPECT_LE(client.responses().size(), 3u);
}

TEST(SendStream, ReadsAtMostSixtyFourBatchesAhead) {
  StreamWorld world;
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  world.disk.CloseGate();
  for (int i = 0; i < 100; ++i) client.Write(pid, {"x"});
  EXPECT_TRUE(
      Eventually([&] { return world.Sent() >= SendStream::kMaxBatches; }));
  GoRound(world);
  EXPECT_EQ(world.Sent(), SendStream::kMaxBatches + 1) << "one of GoRound";
  world.disk.OpenGate();
  EXPECT_TRUE(Eventually([&] { return client.acked() == 100; }));
}

TEST(SendStream, ReadsAtMostAMebibyteAhead) {
  StreamWorld world;
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  world.disk.CloseGate();
  const std::string third(SendStream::kMaxBytes / 3, 'x');
  std::thread writer([&] {
    for (int i = 0; i < 9; ++i) client.Write(pid, {third});
  });
  EXPECT_TRUE(Eventually([&] { return world.Sent() >= 3; }));
  GoRound(world);
  EXPECT_EQ(world.Sent(), 4u) << "three, and one of GoRound";
  world.disk.OpenGate();
  EXPECT_TRUE(Eventually([&] { return client.acked() == 9; }));
  writer.join();
}

TEST(SendStream, VolatileBatchWaitsForTheDurableOneBeforeIt) {
  StreamWorld world;
  const std::string durable = world.NewProcess(/*durable=*/true);
  const std::string other = world.NewProcess(/*durable=*/false);
  StreamClient client(world);
  world.disk.CloseGate();
  client.Write(durable, {"a"});
  client.Write(other, {"b"});
  EXPECT_TRUE(Eventually([&] { return world.Sent() == 2; }));
  EXPECT_EQ(world.TextOf(other), "b") << "its process has it at once";
  GoRound(world);
  EXPECT_EQ(client.acked(), 0u);
  world.disk.OpenGate();
  EXPECT_TRUE(Eventually([&] { return client.acked() == 2; }));
}

TEST(SendStream, MessagesKeepTheirOrderWithAndWithoutIds) {
  StreamWorld world;
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  v1::SendStreamRequest request;
  for (int i = 0; i < 9; ++i) {
    v1::SendRequest& item = *request.add_sends();
    item.set_pid(pid);
    item.mutable_payload()->set_data(std::to_string(i));
    if (i % 3 == 1) item.set_message_id("id" + std::to_string(i));
  }
  client.Write(request);
  client.HalfClose();
  EXPECT_TRUE(client.End().ok());
  EXPECT_EQ(client.acked(), 9u);
  EXPECT_EQ(world.TextOf(pid), "0,1,2,3,4,5,6,7,8");
}

TEST(SendStream, RefusalsComeWithTheAcknowledgementOfTheirBatch) {
  StreamWorld world;
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  world.disk.CloseGate();
  client.Write(pid, {"a"});
  v1::SendStreamRequest request;
  request.add_sends()->set_pid("nonsense");
  request.add_sends()->set_pid(pid);
  client.Write(request);
  EXPECT_TRUE(Eventually([&] { return world.Sent() == 2; }));
  GoRound(world);
  EXPECT_TRUE(client.responses().empty());
  world.disk.OpenGate();
  client.HalfClose();
  EXPECT_TRUE(client.End().ok());
  EXPECT_EQ(client.acked(), 3u);
  const auto refusals = client.refusals();
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].index(), 1u);
  EXPECT_EQ(refusals[0].refusal().reason(), "INVALID_PID");
}

TEST(SendStream, ErrorInTheMiddleComesAfterTheAcknowledgementsBeforeIt) {
  StreamWorld world;
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  world.disk.CloseGate();
  client.Write(pid, {"a"});
  client.Write(pid, std::vector<std::string>(1001, "x"));
  client.Write(pid, {"never read"});
  EXPECT_TRUE(Eventually([&] { return world.Sent() == 1; }));
  GoRound(world);
  // The stream of GoRound goes, and this one waits for its first batch.
  EXPECT_TRUE(Eventually([&] { return world.streams.size() == 1; }));
  world.disk.OpenGate();
  EXPECT_EQ(client.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(client.acked(), 1u);
  EXPECT_EQ(world.TextOf(pid), "a");
}

TEST(SendStream, CancelledStreamEndsWhileItsBatchesWait) {
  StreamWorld world;
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  world.disk.CloseGate();
  client.Write(pid, {"a"});
  EXPECT_TRUE(Eventually([&] { return world.Sent() == 1; }));
  client.Cancel();
  EXPECT_EQ(client.End().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return world.streams.size() == 0; }));
  world.disk.OpenGate();
  EXPECT_EQ(world.TextOf(pid), "a") << "the batch had arrived";
}

TEST(SendStream, EndOfTheDaemonComesAfterTheAcknowledgements) {
  StreamWorld world;
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  world.disk.CloseGate();
  client.Write(pid, {"a", "b"});
  EXPECT_TRUE(Eventually([&] { return world.Sent() == 2; }));
  world.streams.CloseAll(absl::UnavailableError("the daemon ends"));
  EXPECT_EQ(world.streams.size(), 1u) << "it waits for its batch";
  world.disk.OpenGate();
  EXPECT_EQ(client.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(client.acked(), 2u);
}

TEST(SendStream, WaitsInsteadOfRefusingWhileTheJournalIsBehind) {
  StreamWorld world(/*max_unsynced_bytes=*/64 << 10);
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient client(world);
  client.Write(pid, {"first"});
  EXPECT_TRUE(Eventually([&] { return client.acked() == 1; }));
  world.disk.CloseGate();
  const std::string large(48 << 10, 'l');
  for (int i = 0; i < 6; ++i) client.Write(pid, {large});
  EXPECT_TRUE(Eventually([&] { return world.runtime->IsJournalBehind(); }));
  GoRound(world);
  // The first one, two that brought the journal behind, and one of GoRound.
  EXPECT_LE(world.Sent(), 4u);
  world.disk.OpenGate();
  EXPECT_TRUE(Eventually([&] { return client.acked() == 7; }));
  EXPECT_TRUE(client.refusals().empty());
}

TEST(SendStream, RefusesTheFirstBatchOfAStreamWhileTheJournalIsBehind) {
  StreamWorld world(/*max_unsynced_bytes=*/64 << 10);
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient busy(world);
  world.disk.CloseGate();
  busy.Write(pid, {std::string(100 << 10, 'l')});
  EXPECT_TRUE(Eventually([&] { return world.runtime->IsJournalBehind(); }));
  StreamClient client(world);
  client.Write(pid, {"a"});
  EXPECT_TRUE(Eventually([&] { return client.acked() == 1; }));
  world.disk.OpenGate();
  const auto refusals = client.refusals();
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].refusal().reason(), "JOURNAL_BEHIND");
}

v1::SendStreamRequest OrderedRequest(
    uint64_t seen_count,
    const std::vector<std::pair<std::string, std::string>>& sends) {
  v1::SendStreamRequest request;
  request.set_seen_count(seen_count);
  for (const auto& [pid, payload] : sends) {
    v1::SendRequest& item = *request.add_sends();
    item.set_pid(pid);
    item.mutable_payload()->set_data(payload);
  }
  return request;
}

TEST(SendStream, HeldReceiverGetsNothingUntilTheClientHasSeenTheRefusals) {
  StreamWorld world(/*max_unsynced_bytes=*/64 << 10);
  const std::string pid = world.NewProcess(/*durable=*/true);
  const std::string other = world.NewProcess(/*durable=*/false);
  StreamClient busy(world);
  world.disk.CloseGate();
  busy.Write(pid, {std::string(100 << 10, 'l')});
  EXPECT_TRUE(Eventually([&] { return world.runtime->IsJournalBehind(); }));
  StreamClient client(world);
  client.Write(OrderedRequest(0, {{pid, "a"}, {other, "x"}, {pid, "b"}}));
  EXPECT_TRUE(Eventually([&] { return client.acked() == 3; }));
  world.disk.OpenGate();
  EXPECT_TRUE(Eventually([&] { return !world.runtime->IsJournalBehind(); }));
  client.Write(OrderedRequest(0, {{pid, "c"}}));
  EXPECT_TRUE(Eventually([&] { return client.acked() == 4; }));
  // It has not seen that c was refused.
  client.Write(OrderedRequest(3, {{pid, "d"}, {other, "y"}}));
  EXPECT_TRUE(Eventually([&] { return client.acked() == 6; }));
  client.Write(
      OrderedRequest(6, {{pid, "a"}, {pid, "b"}, {pid, "c"}, {pid, "d"}}));
  client.HalfClose();
  EXPECT_TRUE(client.End().ok());
  EXPECT_EQ(client.acked(), 10u);
  std::vector<uint64_t> refused;
  for (const v1::SendRefusal& refusal : client.refusals()) {
    refused.push_back(refusal.index());
    EXPECT_EQ(refusal.refusal().reason(), "JOURNAL_BEHIND");
    EXPECT_TRUE(refusal.refusal().has_retry_delay());
  }
  EXPECT_EQ(refused, (std::vector<uint64_t>{0, 2, 3, 4}));
  EXPECT_TRUE(world.TextOf(pid).ends_with(",a,b,c,d")) << world.TextOf(pid);
  EXPECT_EQ(world.TextOf(other), "x,y");
}

TEST(SendStream, TellsWhichItemsAreVolatileInAMixedResponse) {
  StreamWorld world;
  const std::string durable = world.NewProcess(/*durable=*/true);
  const std::string other = world.NewProcess(/*durable=*/false);
  StreamClient client(world);
  client.Write(
      OrderedRequest(0, {{durable, "a"}, {other, "b"}, {"nonsense", "c"}}));
  EXPECT_TRUE(Eventually([&] { return client.acked() == 3; }));
  client.Write(OrderedRequest(3, {{other, "d"}}));
  client.Write(OrderedRequest(3, {}));
  client.HalfClose();
  EXPECT_TRUE(client.End().ok());
  const auto responses = client.responses();
  EXPECT_EQ(responses.at(0).receipt(), v1::RECEIPT_MEMORY);
  ASSERT_EQ(responses.at(0).volatile_items_size(), 1);
  EXPECT_EQ(responses.at(0).volatile_items(0), 1u);
  EXPECT_TRUE(responses.at(0).keeps_order());
  EXPECT_EQ(responses.at(1).receipt(), v1::RECEIPT_MEMORY);
  EXPECT_EQ(responses.at(1).volatile_items_size(), 0) << "all of them";
}

TEST(SendStream, WithoutSeenCountNoReceiverIsHeld) {
  StreamWorld world(/*max_unsynced_bytes=*/64 << 10);
  const std::string pid = world.NewProcess(/*durable=*/true);
  StreamClient busy(world);
  world.disk.CloseGate();
  busy.Write(pid, {std::string(100 << 10, 'l')});
  EXPECT_TRUE(Eventually([&] { return world.runtime->IsJournalBehind(); }));
  StreamClient client(world);
  client.Write(pid, {"a"});
  EXPECT_TRUE(Eventually([&] { return client.acked() == 1; }));
  world.disk.OpenGate();
  EXPECT_TRUE(Eventually([&] { return !world.runtime->IsJournalBehind(); }));
  client.Write(pid, {"b"});
  client.HalfClose();
  EXPECT_TRUE(client.End().ok());
  ASSERT_EQ(client.refusals().size(), 1u);
  EXPECT_EQ(client.refusals()[0].index(), 0u);
  EXPECT_TRUE(world.TextOf(pid).ends_with(",b")) << world.TextOf(pid);
  EXPECT_FALSE(client.responses().at(0).keeps_order());
}

}  // namespace
}  // namespace actord::daemon
