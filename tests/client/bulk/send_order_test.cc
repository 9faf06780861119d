#include "client/bulk/send_order.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/calls/error.h"

namespace actord::client {
namespace {

class SendOrderTest : public testing::Test {
 protected:
  void Add(const std::string& pid, const std::string& topic) {
    auto send = std::make_unique<PendingSend>();
    send->request.set_pid(pid);
    send->request.set_topic(topic);
    order_.Add(std::move(send));
  }
  // The topics of the next batch.
  std::string Batch() {
    batch_.Clear();
    order_.Fill(batch_);
    std::string topics;
    for (const v1::SendRequest& send : batch_.sends()) topics += send.topic();
    return topics;
  }
  static void Refuse(v1::SendStreamResponse& response, uint64_t index,
                     int code = 8) {
    v1::SendRefusal& refusal = *response.add_refusals();
    refusal.set_index(index);
    refusal.mutable_refusal()->set_code(code);
    refusal.mutable_refusal()->set_reason("MAILBOX_FULL");
    refusal.mutable_refusal()->mutable_retry_delay()->set_nanos(100'000'000);
  }
  // The topics of the messages that are over, refused ones in parentheses.
  std::string Take(const v1::SendStreamResponse& response) {
    std::string topics;
    for (const SendOrder::Answered& one : order_.Take(response)) {
      const std::string& topic = one.send->request.topic();
      topics += one.answer.ok() ? topic : "(" + topic + ")";
    }
    return topics;
  }
  static v1::SendStreamResponse AckOf(uint64_t count) {
    v1::SendStreamResponse response;
    response.set_acked_count(count);
    return response;
  }

  SendOrder order_{{.window = 4, .max_retries = 2}};
  v1::SendStreamRequest batch_;
};

TEST_F(SendOrderTest, FillsTheWindowInOrder) {
  for (const char* topic : {"1", "2", "3", "4", "5", "6"}) Add("p", topic);
  EXPECT_EQ(Batch(), "1234");
  EXPECT_EQ(batch_.seen_count(), 0U);
  EXPECT_EQ(Batch(), "");
  EXPECT_EQ(Take(AckOf(3)), "123");
  EXPECT_EQ(Batch(), "56");
  EXPECT_EQ(batch_.seen_count(), 3U);
  EXPECT_EQ(Take(AckOf(6)), "456");
  EXPECT_FALSE(order_.has_sent());
  EXPECT_FALSE(order_.NextQuiet());
}

TEST_F(SendOrderTest, RefusedMessagesAreSentAgainBeforeTheLaterOnes) {
  Add("p", "1");
  Add("q", "a");
  Add("p", "2");
  EXPECT_EQ(Batch(), "1a2");
  Add("p", "3");
  Add("q", "b");
  v1::SendStreamResponse first = AckOf(2);
  Refuse(first, 0);
  EXPECT_EQ(Take(first), "a");
  // The receiver has another message that is not answered.
  EXPECT_FALSE(order_.NextQuiet());
  EXPECT_EQ(Batch(), "b") << "others go on";
  v1::SendStreamResponse second = AckOf(4);
  Refuse(second, 2);
  EXPECT_EQ(Take(second), "b");
  const auto quiet = order_.NextQuiet();
  ASSERT_TRUE(quiet);
  EXPECT_EQ(quiet->receiver, "p");
  EXPECT_EQ(quiet->away, nullptr);
  EXPECT_EQ(quiet->delay, absl::Milliseconds(100));
  EXPECT_FALSE(order_.NextQuiet());
  EXPECT_EQ(Batch(), "") << "until the delay has passed";
  Add("p", "4");
  order_.Release("p");
  EXPECT_EQ(Batch(), "1234");
  EXPECT_EQ(batch_.seen_count(), 4U);
  EXPECT_EQ(Take(AckOf(8)), "1234");
}

TEST_F(SendOrderTest, DelayDoublesAndTheRetriesEnd) {
  Add("p", "1");
  Add("p", "2");
  uint64_t count = 0;
  for (const int delay_ms : {100, 200}) {
    EXPECT_EQ(Batch(), "12");
    v1::SendStreamResponse response = AckOf(count + 2);
    Refuse(response, count);
    Refuse(response, count + 1);
    count += 2;
    EXPECT_EQ(Take(response), "");
    const auto quiet = order_.NextQuiet();
    ASSERT_TRUE(quiet);
    EXPECT_EQ(quiet->delay, absl::Milliseconds(delay_ms));
    order_.Release("p");
  }
  EXPECT_EQ(Batch(), "12");
  v1::SendStreamResponse last = AckOf(count + 2);
  Refuse(last, count);
  Refuse(last, count + 1);
  EXPECT_EQ(Take(last), "(1)");
  ASSERT_TRUE(order_.NextQuiet());
  order_.Release("p");
  EXPECT_EQ(Batch(), "2") << "it was not tried before";
}

TEST_F(SendOrderTest, RefusalForGoodHoldsNothing) {
  Add("p", "1");
  Add("p", "2");
  EXPECT_EQ(Batch(), "12");
  v1::SendStreamResponse response = AckOf(2);
  Refuse(response, 0, /*code=*/5);
  EXPECT_EQ(Take(response), "(1)2");
  EXPECT_FALSE(order_.NextQuiet());
}

TEST_F(SendOrderTest, MessageForTheOtherWayKeepsItsPlace) {
  Add("p", "1");
  auto large = std::make_unique<PendingSend>();
  large->request.set_pid("p");
  large->request.set_topic("L");
  large->request.mutable_payload()->set_data(std::string(4 << 20, 'x'));
  order_.Add(std::move(large));
  Add("p", "2");
  Add("#g", "g");
  EXPECT_EQ(Batch(), "1");
  const auto group = order_.NextQuiet();
  ASSERT_TRUE(group && group->away != nullptr);
  EXPECT_EQ(group->away->request.topic(), "g");
  EXPECT_FALSE(order_.NextQuiet()) << "the message before it is not answered";
  EXPECT_EQ(Take(AckOf(1)), "1");
  const auto away = order_.NextQuiet();
  ASSERT_TRUE(away && away->away != nullptr);
  EXPECT_EQ(away->away->request.topic(), "L");
  EXPECT_EQ(Batch(), "");
  order_.Release("p");
  EXPECT_EQ(Batch(), "2");
}

TEST_F(SendOrderTest, EachMessageHasItsOwnReceipt) {
  Add("d", "1");
  Add("v", "2");
  EXPECT_EQ(Batch(), "12");
  v1::SendStreamResponse response = AckOf(2);
  response.set_receipt(v1::RECEIPT_MEMORY);
  response.add_volatile_items(1);
  response.add_duplicates(0);
  const std::vector<SendOrder::Answered> answered = order_.Take(response);
  ASSERT_EQ(answered.size(), 2U);
  EXPECT_EQ(answered[0].answer->receipt(), v1::RECEIPT_LOGGED);
  EXPECT_TRUE(answered[0].answer->duplicate());
  EXPECT_EQ(answered[1].answer->receipt(), v1::RECEIPT_MEMORY);
  EXPECT_FALSE(answered[1].answer->duplicate());
}

TEST_F(SendOrderTest, RestOfABrokenStreamIsInOrder) {
  for (const char* topic : {"1", "2", "3", "4", "5"}) Add("p", topic);
  Add("q", "6");
  EXPECT_EQ(Batch(), "1234");
  v1::SendStreamResponse response = AckOf(2);
  Refuse(response, 0);
  Refuse(response, 1);
  EXPECT_EQ(Take(response), "");
  EXPECT_EQ(Batch(), "6");
  Add("q", "7");
  std::string sent;
  for (const PendingSendPtr& send : order_.TakeSent()) {
    sent += send->request.topic();
  }
  EXPECT_EQ(sent, "346");
  std::string rest;
  for (const PendingSendPtr& send : order_.TakeRest()) {
    rest += send->request.topic();
  }
  EXPECT_EQ(rest, "1257");
}

}  // namespace
}  // namespace actord::client
