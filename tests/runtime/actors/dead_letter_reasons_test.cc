// The reasons for which a message becomes a dead letter. Workers run by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Reason = DeadLetterReason;

class DeadLetterReasonsTest : public ::testing::Test {
 protected:
  void Start(RuntimeOptions options = {}) {
    core_ = std::make_unique<SteppedCore>(1, std::move(options));
    core_->Settle();
  }
  // A process that waits until it is terminated.
  Pid Idle() {
    return core_->Submit([](Events, StepOutput&) {});
  }
  // Begins a process that takes no messages.
  Pid Deaf() {
    return core_->Submit([](Events, StepOutput& out) {
      out.Yield("sleep", "1000000000000");
      out.Block();
    });
  }
  void Terminate(const Pid& pid) {
    ASSERT_TRUE(core_->core->delivery
                    .Control(Owner::kAny, pid, kEventTerminate, "", lane())
                    .ok());
    core_->Settle();
  }
  // Runs one step in a process of its own, which then is done.
  Pid Do(std::function<void(StepOutput&)> act) {
    return core_->Submit([act = std::move(act)](Events, StepOutput& out) {
      act(out);
      out.Done();
    });
  }

  std::vector<DeadLetter> Letters() {
    return core_->core->dead_letters
        .List({.page_size = 1000, .max_payload_bytes = 1000})
        .letters;
  }
  // The only one.
  DeadLetter Letter() {
    const std::vector<DeadLetter> letters = Letters();
    EXPECT_THAT(letters, SizeIs(1));
    EXPECT_EQ(core_->core->Stats().dead_letters, letters.size());
    return letters.empty() ? DeadLetter{} : letters.front();
  }
  Lane& lane() { return core_->core->lane; }

  std::unique_ptr<SteppedCore> core_;
};

TEST_F(DeadLetterReasonsTest, AnUnknownProcess) {
  Start();
  const Pid nobody{1, 99, 4, 1};  // of another start
  const Pid from = Do([&](StepOutput& out) {
    out.Send(ToAbi(nobody), "topic", actord::Payload("text", "text/plain"));
  });
  const DeadLetter letter = Letter();
  EXPECT_EQ(letter.reason, Reason::kUnknownProcess);
  EXPECT_EQ(letter.to, nobody);
  EXPECT_EQ(letter.from, from);
  EXPECT_EQ(letter.message.topic, "topic");
  EXPECT_EQ(letter.message.payload, (Payload{"text", "text/plain"}));
}

TEST_F(DeadLetterReasonsTest, AProcessThatHasEnded) {
  Start();
  const Pid gone = Do([](StepOutput&) {});
  Do([&](StepOutput& out) { out.Send(ToAbi(gone), "x"); });
  EXPECT_EQ(Letter().reason, Reason::kEnded);
  EXPECT_EQ(Letter().to, gone);
}

TEST_F(DeadLetterReasonsTest, AFullMailboxTakesWhatItHasRoomFor) {
  RuntimeOptions options;
  options.max_mailbox_messages = 3;
  Start(options);
  const Pid deaf = Deaf();
  Do([&](StepOutput& out) {
    for (int i = 0; i < 5; ++i) out.Send(ToAbi(deaf), std::to_string(i));
  });
  const std::vector<DeadLetter> letters = Letters();
  ASSERT_THAT(letters, SizeIs(2));
  EXPECT_EQ(letters[0].reason, Reason::kMailboxFull);
  EXPECT_EQ(letters[0].message.topic, "3");
  EXPECT_EQ(letters[1].message.topic, "4");
  EXPECT_EQ(core_->core->Stats().refused_mailbox, 2u);
}

TEST_F(DeadLetterReasonsTest, UnreadMessagesBecomeLettersAtTheEnd) {
  Start();
  const Pid deaf = Deaf();
  const Pid from = Do([&](StepOutput& out) { out.Send(ToAbi(deaf), "step"); });
  core_->Send(deaf, -1, "outside");
  EXPECT_THAT(Letters(), IsEmpty());
  Terminate(deaf);
  const std::vector<DeadLetter> letters = Letters();
  ASSERT_THAT(letters, SizeIs(2));
  EXPECT_EQ(letters[0].message.topic, "step");
  EXPECT_EQ(letters[0].from, from);
  EXPECT_EQ(letters[0].reason, Reason::kDroppedAtEnd);
  EXPECT_EQ(letters[0].to, deaf);
  EXPECT_EQ(letters[1].message.topic, "outside");
  EXPECT_TRUE(letters[1].from.empty());
}

TEST_F(DeadLetterReasonsTest, MessageToItselfInTheLastStepBecomesALetter) {
  Start();
  const Pid pid = Do([](StepOutput& out) { out.Send(out.self(), "x"); });
  EXPECT_EQ(Letter().reason, Reason::kDroppedAtEnd);
  EXPECT_EQ(Letter().to, pid);
}

TEST_F(DeadLetterReasonsTest, ACallInTheMailboxIsOneAndItsCallerIsTold) {
  Start();
  const Pid deaf = Deaf();
  std::string told;
  const Pid caller = core_->Submit(
      [&, called = false](Events events, StepOutput& out) mutable {
        if (!std::exchange(called, true)) out.Call(ToAbi(deaf), "ask");
        for (const Event event : events)
          told = std::string(event.payload().bytes);
      });
  Terminate(deaf);
  EXPECT_THAT(told, ::testing::HasSubstr("ended"));
  const DeadLetter letter = Letter();
  EXPECT_TRUE(letter.call);
  EXPECT_EQ(letter.message.topic, "ask");
  EXPECT_EQ(letter.from, caller);
}

TEST_F(DeadLetterReasonsTest, RefusalThatTheSenderKnowsLeavesNoLetter) {
  RuntimeOptions options;
  options.max_mailbox_messages = 1;
  Start(options);
  const Pid deaf = Deaf();
  core_->Send(deaf, -1);
  Envelope* const envelope = lane().NewEnvelope(ACTORD_EVENT_MESSAGE, "x", {});
  const absl::Status refused =
      core_->core->delivery.SendOrExplain(Owner::kAny, deaf, envelope, lane());
  EXPECT_EQ(ReasonOf(refused), reason::kMailboxFull);
  // Nor is a call, nor what a step sends that fails.
  core_->Submit([&](Events events, StepOutput& out) {
    if (events.empty()) out.Call(ToAbi(deaf), "ask");
  });
  core_->Submit([&](Events, StepOutput& out) {
    out.Send(ToAbi(deaf), "x");
    out.Fail(Code::kAborted, "by intention");
  });
  EXPECT_THAT(Letters(), IsEmpty());
  EXPECT_EQ(core_->core->Stats().refused_mailbox, 2u);
}

TEST_F(DeadLetterReasonsTest, ProcessRunsForALetterThatIsSentAgain) {
  Start();
  std::vector<std::string> got;
  const Pid heir = core_->Submit([&](Events events, StepOutput&) {
    for (const Event event : events) {
      got.emplace_back(event.topic());
    }
  });
  const Pid gone = Do([](StepOutput&) {});
  Do([&](StepOutput& out) { out.Send(ToAbi(gone), "x"); });
  const DeadLetter letter = Letter();
  EXPECT_EQ(ReasonOf(core_->core->dead_letters.Resend(letter.id, {}).status()),
            reason::kProcessEnded);
  EXPECT_TRUE(core_->core->dead_letters.Resend(letter.id, heir).ok());
  core_->Settle();
  EXPECT_THAT(got, ::testing::ElementsAre("x"));
  EXPECT_THAT(Letters(), IsEmpty());
  // Sent again and not taken, it is another dead letter.
  const Pid deaf = Deaf();
  Do([&](StepOutput& out) { out.Send(ToAbi(gone), "y"); });
  const uint64_t first = Letters().front().id;
  EXPECT_TRUE(core_->core->dead_letters.Resend(first, deaf).ok());
  Terminate(deaf);
  ASSERT_THAT(Letters(), SizeIs(1));
  EXPECT_GT(Letters().front().id, first);
  EXPECT_EQ(Letters().front().reason, Reason::kDroppedAtEnd);
  const RuntimeStats stats = core_->core->Stats();
  EXPECT_EQ(stats.dead_letters, 3u);
  EXPECT_EQ(stats.dead_letters,
            stats.dead_letters_kept + stats.dead_letters_forgotten +
                stats.dead_letters_resent + stats.dead_letters_dropped);
}

}  // namespace
}  // namespace actord::runtime
