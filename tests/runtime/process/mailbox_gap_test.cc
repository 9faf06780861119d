// Messages that are counted and cannot be reached yet (activity.h, (3)).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/interleaving.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MailboxGap : public Interleaving {
 protected:
  // The process has turns, and sees nothing in them.
  void ExpectToBeStuck(const Process& process) {
    const std::vector<std::string> before = seen_;
    core_->Wake(0);
    for (int turn = 0; turn < 5; ++turn) {
      EXPECT_EQ(core_->RunOne(0), Worker::Did::kRan);
    }
    EXPECT_EQ(seen_, before);
    EXPECT_TRUE(Activity::Runnable(process.activity));
  }
};

// The producer of "2" is between its exchange and its link, while "3" is there:
// a gap. The process looks again and again, sees nothing of what lies behind
// it, and gets everything in order when that producer goes on.
TEST_F(MailboxGap, MessagesBehindAGapArriveWhenTheGapIsClosed) {
  for (const bool blocks : {false, true}) {
    SCOPED_TRACE(blocks);
    Start();
    seen_.clear();
    const Pid pid = Recorder(blocks);
    Process& process = core_->process(pid);
    core_->Settle();
    Envelope* one = NewMessage(pid, "1");
    Envelope* two = NewMessage(pid, "2");
    Envelope* three = NewMessage(pid, "3");
    for (Envelope* envelope : {one, two, three}) {
      CountAndWake(process, *envelope);
      process.messages.Push(envelope);
    }
    one->SetNext(nullptr);
    if (blocks) {
      core_->Settle();
      Runtime::Core& core = *core_->core;
      EXPECT_EQ(core.tasks.Complete({{pid, 1}, 0}, {}),
                CompleteAnswer::kAccepted);
      core_->Wake(0);
      core_->RunOne(0);
      EXPECT_THAT(seen_, ElementsAre("c"));
      seen_.clear();
    }
    ExpectToBeStuck(process);
    one->SetNext(two);
    core_->Settle();
    EXPECT_THAT(seen_, ElementsAre("1", "2", "3"));
    EXPECT_EQ(process.activity, 0u) << "all counts are back to nothing";
    core_.reset();
  }
}

// "a" is counted and not pushed yet; what others send goes before it.
TEST_F(MailboxGap, CountedMessageIsAwaitedUntilItIsPushed) {
  Start();
  const Pid pid = Recorder();
  Process& process = core_->process(pid);
  core_->Settle();
  Envelope* a = NewMessage(pid, "a");
  CountAndWake(process, *a);
  ExpectToBeStuck(process);
  Runtime::Core& core = *core_->core;
  for (const char* topic : {"b1", "b2"}) {
    EXPECT_EQ(
        core.delivery.Send(Owner::kAny, pid, NewMessage(pid, topic), core.lane),
        Delivery::Result::kDelivered);
    EXPECT_EQ(process.in_hand, nullptr);
  }
  core_->RunOne(0);
  EXPECT_THAT(seen_, ElementsAre("b1", "b2"));
  ExpectToBeStuck(process);
  process.messages.Push(a);
  core_->Settle();
  EXPECT_THAT(seen_, ElementsAre("b1", "b2", "a"));
  EXPECT_EQ(process.activity, 0u) << "all counts are back to nothing";
}

// The sender counted the message while the process lived, and pushes it when
// the slot has its next process.
TEST_F(MailboxGap, MessagePushedAfterTheEndIsDropped) {
  RuntimeOptions options;
  options.max_processes = 1;
  Start(options);
  const Pid old_pid = core_->Submit([](Events events, StepOutput& out) {
    if (!events.empty()) out.Done();
  });
  Process& process = core_->process(old_pid);
  core_->Settle();
  Envelope* late = NewMessage(old_pid, "late");
  CountAndWake(process, *late);
  ExpectToBeStuck(process);
  Runtime::Core& core = *core_->core;
  EXPECT_EQ(core.delivery.Send(Owner::kAny, old_pid, NewMessage(old_pid, "end"),
                               core.lane),
            Delivery::Result::kDelivered);
  core_->Settle();
  EXPECT_EQ(core.processes.Find(old_pid), nullptr);
  const uint64_t dead = core.Stats().dead_letters;
  const actord::testing::Script next{
      .step = [this](Events events, StepOutput&) {
        for (const Event event : events) seen_.emplace_back(event.topic());
      }};
  Pid pid;
  core.admission.Submit(
      SubmitRequest{"script", "", {actord::testing::InputOf(next), ""}, {}},
      Pid{}, /*keep_result=*/true, [&pid](const absl::StatusOr<Pid>& got) {
        ASSERT_TRUE(got.ok()) << got.status();
        pid = *got;
      });
  ExpectToBeStuck(process);
  ASSERT_EQ(pid.slot, old_pid.slot);
  process.messages.Push(late);
  core_->Settle();
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_NE(core.processes.Find(pid), nullptr);
  EXPECT_EQ(core.Stats().dead_letters, dead + 1);
  EXPECT_EQ(process.activity, 0u) << "all counts are back to nothing";
}

}  // namespace
}  // namespace actord::runtime
