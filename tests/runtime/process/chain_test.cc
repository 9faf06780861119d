// The messages of one step to one process go there together; many of them
// go as a chain, which says where its messages are.
#include "runtime/process/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
      steps_.push_back(events.size());
      for (const Event event : events) seen_.emplace_back(event.topic());
    });
    sender_ = core_->Submit([this](Events events, StepOutput& out) {
      if (events.empty()) return;
      for (const std::string& topic : topics_)
        out.Send(actord::Pid(ToAbi(receiver_)), topic);
    });
  }
  // A message to the receiver that is not sent yet.
  Envelope* NewMessage(const std::string& topic) {
    Envelope* envelope =
        core_->core->lane.NewEnvelope(ACTORD_EVENT_MESSAGE, topic, {});
    envelope->generation = receiver_.generation;
    return envelope;
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
  std::vector<size_t> steps_;  // how many events each has seen
  std::unique_ptr<SteppedCore> core_;
  Pid receiver_;
  Pid sender_;
};

TEST_F(Chain, IsForWhatIsNotLittle) {
  for (size_t count = 1; count <= 2 * kShortestChain; ++count) {
    SCOPED_TRACE(count);
    topics_.clear();
    Start();
    SendFromAStep(count);
    ASSERT_NE(receiver().in_hand, nullptr);
    const bool is_chain = receiver().in_hand->type == kEventChain;
    EXPECT_EQ(is_chain, count >= kShortestChain);
    // It is no message itself and takes none of the mailbox's room.
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

// A step that has 256 events takes no more.
TEST_F(Chain, IsTakenWholeUnlessTheStepHasEnough) {
  for (const bool behind_another : {false, true}) {
    SCOPED_TRACE(behind_another);
    topics_.clear();
    Start();
    steps_.clear();
    SendFromAStep(300, behind_another);
    core_->Settle();
    if (behind_another) {
      EXPECT_THAT(steps_, ElementsAre(1 + 4 * 64, 44));
    } else {
      EXPECT_THAT(steps_, ElementsAre(4 * 64, 44));
    }
  }
}

TEST_F(Chain, ComesBesideManyCompletions) {
  Start();
  core_->AddCommand("now", ACTORD_HANDLER_INLINE,
                    [](actord::testing::Call& call) {
                      call.Reply(ACTORD_OK, "");
                      return ACTORD_HANDLED;
                    });
  const auto yield_often = [](StepOutput& out) {
    for (int i = 0; i < 200; ++i) out.Yield("now");
  };
  bool goes_on = true;
  receiver_ = core_->Submit([&](Events events, StepOutput& out) {
    if (events.empty()) return;
    for (const Event event : events) {
      if (!event.is_completion()) seen_.emplace_back(event.topic());
    }
    if (goes_on) yield_often(out);
  });
  core_->Send(receiver_, -1, "begin");
  for (int i = 0; i < 64; ++i) topics_.push_back(std::to_string(i));
  core_->Send(sender_, -1, "go");
  core_->Wake(0);
  // In one of 61 the global queue goes first.
  for (int turn = 0; turn < 100; ++turn) core_->RunOne(0);
  std::vector<std::string> expected = {"begin"};
  expected.insert(expected.end(), topics_.begin(), topics_.end());
  EXPECT_THAT(seen_, ElementsAreArray(expected));
  goes_on = false;
  core_->Settle();
}

// A message that was counted before the chain may be pushed after it.
TEST_F(Chain, IsTakenThoughWhatWasCountedBeforeItIsNotThereYet) {
  Start();
  Envelope* const late = NewMessage("late");
  ASSERT_TRUE(Activity::Add(receiver().activity,
                            Activity::ForMessages(1, late->units())));
  core_->core->scheduler.Enqueue(&receiver(), nullptr);
  topics_ = {"1", "2", "3", "4", "5"};
  core_->Send(sender_, -1, "go");
  core_->Wake(0);
  for (int turn = 0; turn < 10; ++turn) core_->RunOne(0);
  EXPECT_THAT(seen_, ElementsAreArray(topics_));
  receiver().messages.Push(late);
  core_->Settle();
  topics_.emplace_back("late");
  EXPECT_THAT(seen_, ElementsAreArray(topics_));
  EXPECT_EQ(receiver().activity, 0u);
}

// The sender found the process while it lived. It counts and pushes the chain
// when the slot has its next process.
TEST_F(Chain, ChainOfAnEndedProcessIsNotSeenByTheNext) {
  RuntimeOptions options;
  options.max_processes = 2;
  Start(options);
  const Pid old_pid = receiver_;
  Process& process = receiver();
  Runtime::Core& core = *core_->core;
  std::vector<Envelope*> messages;
  for (const char* topic : {"1", "2", "3", "4"}) {
    messages.push_back(NewMessage(topic));
    messages.back()->generation = 0;
  }
  Envelope* const chain =
      core.lane.WithMemory([&](BufferCache& buffers, ProcessTable::Cache&) {
        return NewChain(buffers, messages.size(), messages.size());
      });
  std::copy(messages.begin(), messages.end(), MessagesOf(*chain).begin());
  chain->generation = old_pid.generation;
  EXPECT_TRUE(core.delivery
                  .Control(Owner::kAny, old_pid, kEventTerminate, "", core.lane)
                  .ok());
  core_->Settle();
  receiver_ = core_->Submit([this](Events events, StepOutput&) {
    for (const Event event : events) seen_.emplace_back(event.topic());
  });
  ASSERT_EQ(receiver_.slot, old_pid.slot);
  seen_.clear();
  if (Activity::Add(process.activity,
                    Activity::ForMessages(messages.size(), messages.size()))) {
    core.scheduler.Enqueue(&process, nullptr);
  }
  process.messages.Push(chain);
  core_->WakeAll();
  core_->Settle();
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(process.activity, 0u);
  const DeadLetterPage page = core.dead_letters.List({.page_size = 100});
  ASSERT_EQ(page.letters.size(), messages.size());
  for (const DeadLetter& letter : page.letters) {
    EXPECT_EQ(letter.to, old_pid);
    EXPECT_EQ(letter.reason, DeadLetterReason::kDroppedAtEnd);
  }
}

TEST_F(Chain, ChainIsDeliveredAsFarAsThereIsRoom) {
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

TEST_F(Chain, ChainBecomesDeadLettersIfItsReceiverEnds) {
  for (const bool behind_another : {false, true}) {
    SCOPED_TRACE(behind_another);
    topics_.clear();
    seen_.clear();
    Start();
    SendFromAStep(8, behind_another);
    Runtime::Core& core = *core_->core;
    EXPECT_TRUE(
        core.delivery
            .Control(Owner::kAny, receiver_, kEventTerminate, "", core.lane)
            .ok());
    core_->Settle();
    EXPECT_TRUE(seen_.empty());
    EXPECT_EQ(core.Stats().dead_letters, behind_another ? 9u : 8u);
    EXPECT_EQ(receiver().activity, Activity::kEnded);
  }
}

}  // namespace
}  // namespace actord::runtime
