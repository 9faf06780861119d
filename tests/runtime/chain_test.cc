// What one step sends to one process goes there as a chain; a chain that is not
// short has a head, which says where its messages are.
#include "runtime/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

class Chain : public ::testing::Test {
 protected:
  void Start(const RuntimeOptions& options = {}) {
    core_ = std::make_unique<SteppedCore>(1, options);
    receiver_ = core_->Submit([this](Events events, StepOutput&) {
      for (const Event event : events) seen_.emplace_back(event.topic());
    });
    sender_ = core_->Submit([this](Events events, StepOutput& out) {
      if (events.empty()) return;
      for (const std::string& topic : topics_)
        out.Send(actord::Pid(ToAbi(receiver_)), topic);
    });
  }
  // The sender's step; the receiver has not run yet. Behind another message the
  // chain goes into the queue, and else it is handed over.
  void SendFromAStep(size_t count, bool behind_another = false) {
    for (size_t i = 0; i < count; ++i) {
      topics_.push_back(std::to_string(topics_.size()));
    }
    core_->Send(sender_, -1, "go");
    if (behind_another) core_->Send(receiver_, -1, "another");
    core_->WakeAll();
    EXPECT_EQ(core_->RunOne(0), Worker::Did::kRan);
  }
  Process& receiver() { return core_->process(receiver_); }

  std::vector<std::string> topics_;
  std::vector<std::string> seen_;
  std::unique_ptr<SteppedCore> core_;
  Pid receiver_;
  Pid sender_;
};

TEST_F(Chain, HasAHeadIfItIsNotShort) {
  for (size_t count = 1; count <= 2 * kShortestToFetch; ++count) {
    SCOPED_TRACE(count);
    topics_.clear();
    Start();
    SendFromAStep(count);
    ASSERT_NE(receiver().in_hand, nullptr);
    const bool has_head = receiver().in_hand->type == kEventChain;
    EXPECT_EQ(has_head, count >= kShortestToFetch);
    // The head is no message and takes none of the mailbox's room.
    EXPECT_EQ(Activity::Messages(receiver().activity), count);
    EXPECT_EQ(Activity::Units(receiver().activity), count);
  }
}

TEST_F(Chain, ComesInOrderAndLeavesNothingCounted) {
  for (const size_t count : {3, 4, 5, 63, 64, 65, 68, 300}) {
    for (const bool behind_another : {false, true}) {
      SCOPED_TRACE(::testing::Message() << count << " " << behind_another);
      topics_.clear();
      seen_.clear();
      Start();
      std::vector<std::string> expected;
      if (behind_another) expected.emplace_back("another");
      SendFromAStep(count, behind_another);
      core_->Settle();
      expected.insert(expected.end(), topics_.begin(), topics_.end());
      EXPECT_THAT(seen_, ElementsAreArray(expected));
      EXPECT_EQ(receiver().activity, 0u);
      EXPECT_EQ(receiver().in_hand, nullptr);
    }
  }
}

// "one" was counted before the chain and is pushed behind it, and the turn saw
// no more than that count: it takes the chain's first message in its place.
TEST_F(Chain, MayBeOpenedForOneOfItsMessages) {
  Start();
  Runtime::Core& core = *core_->core;
  const auto new_message = [&](const std::string& topic) {
    Envelope* envelope = core.lane.NewEnvelope(ACTORD_EVENT_MESSAGE, topic, {});
    envelope->generation = receiver_.generation;
    return envelope;
  };
  const auto count_and_wake = [&](uint64_t count, uint64_t units) {
    if (Activity::Add(receiver().activity,
                      Activity::ForMessages(count, units))) {
      core.scheduler.Enqueue(&receiver(), nullptr);
    }
  };
  std::vector<Envelope*> chain;
  uint64_t units = 0;
  for (const char* topic : {"1", "2", "3", "4", "5"}) {
    chain.push_back(new_message(topic));
    units += chain.back()->units();
    if (chain.size() > 1) chain[chain.size() - 2]->SetNext(chain.back());
  }
  Envelope* const head =
      core.lane.WithMemory([&](BufferCache& buffers, ProcessTable::Cache&) {
        return NewChainHead(buffers, chain[0], chain.size());
      });
  receiver().messages.PushChain(head, chain.back());
  Envelope* const one = new_message("one");
  receiver().messages.Push(one);
  count_and_wake(1, one->units());
  core_->Settle();
  EXPECT_THAT(seen_, ElementsAre("1"));
  count_and_wake(chain.size(), units);
  core_->Settle();
  EXPECT_THAT(seen_, ElementsAre("1", "2", "3", "4", "5", "one"));
  EXPECT_EQ(receiver().activity, 0u);
}

TEST_F(Chain, OfWhichThereIsRoomForAPartIsDeliveredInPart) {
  RuntimeOptions options;
  options.max_mailbox_messages = 10;
  Start(options);
  SendFromAStep(16);
  core_->Settle();
  topics_.resize(10);
  EXPECT_THAT(seen_, ElementsAreArray(topics_));
  EXPECT_EQ(core_->core->Stats().dead_letters, 6u);
  EXPECT_EQ(receiver().activity, 0u);
}

TEST_F(Chain, WhoseReceiverEndsBecomesDeadLetters) {
  for (const bool behind_another : {false, true}) {
    SCOPED_TRACE(behind_another);
    topics_.clear();
    seen_.clear();
    Start();
    SendFromAStep(8, behind_another);
    Runtime::Core& core = *core_->core;
    EXPECT_TRUE(
        core.delivery.Control(receiver_, kEventTerminate, "", core.lane).ok());
    core_->Settle();
    EXPECT_TRUE(seen_.empty());
    EXPECT_EQ(core.Stats().dead_letters, behind_another ? 9u : 8u);
    EXPECT_EQ(receiver().activity, Activity::kEnded);
  }
}

}  // namespace
}  // namespace actord::runtime
