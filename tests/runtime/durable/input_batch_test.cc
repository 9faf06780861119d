// Messages that are appended to the journal together.
#include "runtime/durable/input_batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class InputBatchTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(world_.Start(options_), absl::OkStatus()); }
  absl::Status Add(InputBatch& batch, const Pid& to, const std::string& text,
                   uint64_t item = 0) {
    return batch.Add(Owner::kAny, to, {"add", {text, ""}}, item);
  }
  uint64_t Send(InputBatch& batch) {
    return world_.Send(batch, [this](uint64_t item, const absl::Status& why) {
      refused_.emplace_back(item, why);
    });
  }
  void CrashAndStart() {
    world_.Crash(/*keep_cache=*/false);
    ASSERT_EQ(world_.Start(options_), absl::OkStatus());
  }

  RuntimeOptions options_;
  DurableWorld world_;
  std::vector<std::pair<uint64_t, absl::Status>> refused_;
};

TEST_F(InputBatchTest, WholeBatchIsDurableWithItsPosition) {
  const Pid one = world_.NewAccount(0);
  const Pid two = world_.NewAccount(0);
  // Several groups.
  const std::string text = std::string(3000, '0') + "1";
  auto batch = world_.NewBatch();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(Add(*batch, i % 2 == 0 ? one : two, text).ok());
  }
  const uint64_t position = Send(*batch);
  EXPECT_TRUE(refused_.empty());
  EXPECT_GE(position, world_.store->journal().DurableLsn());
  while (world_.store->journal().DurableLsn() <= position) {
    // One group.
    ASSERT_TRUE(world_.store->journal().Work());
  }
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(one), "25");
  EXPECT_EQ(world_.BalanceOf(two), "25");
}

TEST_F(InputBatchTest, MessagesKeepTheirOrder) {
  const Pid pid = world_.NewAccount(0);
  auto batch = world_.NewBatch();
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(
        batch->Add(Owner::kAny, pid, {"set", {std::to_string(i), ""}}, 0).ok());
  }
  Send(*batch);
  EXPECT_EQ(world_.BalanceOf(pid), "8");
}

TEST_F(InputBatchTest, StepNamesTheMessageThatItTakes) {
  // A step that named the position of another message would leave the message
  // that it took in the mailbox of the journal.
  const Pid pid = world_.NewAccount(0);
  auto batch = world_.NewBatch();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Add(*batch, pid, "1").ok());
  Send(*batch);
  world_.Settle();
  CrashAndStart();
  EXPECT_EQ(world_.BalanceOf(pid), "5") << "each message once";
}

class SmallMailbox : public InputBatchTest {
 protected:
  SmallMailbox() { options_.max_mailbox_messages = 3; }
};

TEST_F(SmallMailbox, MessagesWithoutRoomAreRefusedForGood) {
  const Pid pid = world_.NewAccount(0);
  auto batch = world_.NewBatch();
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(Add(*batch, pid, "1", i).ok());
  }
  EXPECT_EQ(ReasonOf(Add(*batch, pid, "1", 3)), reason::kMailboxFull)
      << "the batch fills the mailbox";
  // Another sender is faster.
  for (int i = 0; i < 2; ++i) world_.Send(pid, "add", "10");
  const uint64_t position = Send(*batch);
  ASSERT_EQ(refused_.size(), 2u);
  EXPECT_EQ(refused_[0].first, 1u);
  EXPECT_EQ(refused_[1].first, 2u);
  EXPECT_EQ(ReasonOf(refused_[0].second), reason::kMailboxFull);
  while (world_.store->journal().DurableLsn() <= position) {
    ASSERT_TRUE(world_.store->Work());
  }
  CrashAndStart();
  world_.Settle();
  EXPECT_EQ(world_.BalanceOf(pid), "21")
      << "the sender was told of two refusals";
}

TEST_F(SmallMailbox, AfterARefusalTheLaterMessagesAreRefusedAsWell) {
  const Pid pid = world_.NewAccount(0);
  auto batch = world_.NewBatch();
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(Add(*batch, pid, "1", i).ok());
  }
  // Another sender is faster.
  for (int i = 0; i < 2; ++i) world_.Send(pid, "add", "10");
  std::vector<uint64_t> refused;
  world_.Send(*batch, [&](uint64_t item, const absl::Status& /*why*/) {
    refused.push_back(item);
    // The mailbox has room for the next message.
    world_.Settle();
  });
  EXPECT_EQ(refused, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(world_.BalanceOf(pid), "21");
}

TEST_F(SmallMailbox, FullOneIsRefusedBeforeAnythingIsAppended) {
  const Pid pid = world_.NewAccount(0);
  for (int i = 0; i < 3; ++i) world_.Send(pid, "add", "1");
  auto batch = world_.NewBatch();
  const uint64_t tail = world_.store->journal().Tail();
  EXPECT_EQ(ReasonOf(Add(*batch, pid, "1")), reason::kMailboxFull);
  EXPECT_EQ(Send(*batch), 0u);
  EXPECT_EQ(world_.store->journal().Tail(), tail);
}

TEST_F(InputBatchTest, ProcessThatHasEndedMeanwhileRefuses) {
  const Pid ended = world_.NewAccount(0);
  const Pid other = world_.NewAccount(0);
  auto batch = world_.NewBatch();
  ASSERT_TRUE(Add(*batch, ended, "1", 7).ok());
  ASSERT_TRUE(Add(*batch, other, "1", 8).ok());
  world_.Send(ended, "end", "");
  world_.Settle();
  Send(*batch);
  ASSERT_EQ(refused_.size(), 1u);
  EXPECT_EQ(refused_[0].first, 7u);
  EXPECT_EQ(ReasonOf(refused_[0].second), reason::kProcessEnded);
  EXPECT_EQ(world_.BalanceOf(other), "1");
}

TEST_F(InputBatchTest, TooLargeMessageIsRefusedAlone) {
  const Pid pid = world_.NewAccount(0);
  auto batch = world_.NewBatch();
  ASSERT_TRUE(Add(*batch, pid, "1").ok());
  const std::string large(300 << 10, '0');
  EXPECT_EQ(ReasonOf(Add(*batch, pid, large)), reason::kPayloadTooLarge);
  ASSERT_TRUE(Add(*batch, pid, "1").ok());
  Send(*batch);
  EXPECT_EQ(world_.BalanceOf(pid), "2");
}

TEST_F(InputBatchTest, DroppedBatchHasNeverBeen) {
  const Pid pid = world_.NewAccount(0);
  const uint64_t tail = world_.store->journal().Tail();
  {
    auto batch = world_.NewBatch();
    ASSERT_TRUE(Add(*batch, pid, "1").ok());
  }
  EXPECT_EQ(world_.store->journal().Tail(), tail);
  EXPECT_EQ(world_.BalanceOf(pid), "0");
}

}  // namespace
}  // namespace actord::runtime
