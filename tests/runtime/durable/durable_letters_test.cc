// Dead letters of durable processes: they are listed, sent again and forgotten
// over a restart.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/turn/inbox.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class DurableLetters : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(world_.Start(), absl::OkStatus());
    a_ = world_.NewPuppet();
    b_ = world_.NewPuppet();
  }

  DeadLetters& letters() { return world_.runtime().dead_letters; }
  std::vector<DeadLetter> List() {
    return letters()
        .List({.page_size = 1000, .max_payload_bytes = 1000})
        .letters;
  }
  // Each letter as "TOPIC PAYLOAD".
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (const DeadLetter& letter : List()) {
      texts.push_back(absl::StrCat(letter.message.topic, " ",
                                   letter.message.payload.bytes));
    }
    return texts;
  }
  // `a_` has sent `count` notes to `b_`, which has ended.
  void MakeLetters(int count) {
    world_.Tell(b_, "done");
    for (int i = 0; i < count; ++i) {
      world_.Tell(a_, "send", absl::StrCat(FormatPid(b_), " note ", i));
    }
    ASSERT_EQ(List().size(), static_cast<size_t>(count));
  }

  DurableWorld world_;
  Pid a_;
  Pid b_;
};

TEST_F(DurableLetters, AreListedAfterARestartAsBefore) {
  MakeLetters(3);
  const std::vector<DeadLetter> before = List();
  for (const bool keep_cache : {true, false}) {
    world_.Restart(keep_cache);
    const std::vector<DeadLetter> after = List();
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(after[i].id, before[i].id);
      EXPECT_NE(after[i].id & DeadLetter::kLogged, 0u);
      EXPECT_EQ(after[i].from, a_);
      EXPECT_EQ(after[i].to, b_);
      EXPECT_EQ(after[i].message.topic, "note");
      EXPECT_EQ(after[i].message.payload.bytes, std::to_string(i));
      EXPECT_EQ(after[i].reason, DeadLetterReason::kEnded);
      EXPECT_EQ(after[i].owner, before[i].owner);
      EXPECT_EQ(letters().Get(after[i].id)->message.payload.bytes,
                std::to_string(i));
    }
    EXPECT_EQ(world_.runtime().Stats().dead_letters_kept, 3u);
  }
}

TEST_F(DurableLetters, MailboxOfAnEndedProcessIsListed) {
  world_.runtime().processes.Find(b_)->activity.fetch_add(
      Activity::kBlocked);  // it takes no messages
  world_.Tell(b_, "note", "one");
  world_.Tell(a_, "send", FormatPid(b_) + " note two");
  ASSERT_TRUE(world_.runtime()
                  .Control(Owner::kAny, b_, kEventTerminate, "that is all")
                  .status.ok());
  world_.Settle();
  const std::vector<std::string> both = {"note one", "note two"};
  EXPECT_EQ(Texts(), both);
  EXPECT_EQ(List()[0].reason, DeadLetterReason::kDroppedAtEnd);
  world_.Restart();
  EXPECT_EQ(Texts(), both);
  EXPECT_EQ(List()[0].reason, DeadLetterReason::kDroppedAtEnd);
}

TEST_F(DurableLetters, LetterIsSentAgainToADurableProcessOnce) {
  MakeLetters(2);
  const uint64_t id = List()[0].id;
  const absl::StatusOr<Pid> sent = letters().Resend(id, a_);
  ASSERT_TRUE(sent.ok()) << sent.status();
  EXPECT_EQ(ReasonOf(letters().Resend(id, a_).status()),
            reason::kDeadLetterNotFound);
  world_.Settle();
  EXPECT_EQ(world_.NotesOf(a_), "m:0");
  for (int i = 0; i < 2; ++i) {
    world_.Restart(/*keep_cache=*/i == 0);
    EXPECT_EQ(world_.NotesOf(a_), "m:0");
    EXPECT_EQ(Texts(), std::vector<std::string>{"note 1"});
  }
  EXPECT_EQ(world_.runtime().Stats().dead_letters_kept, 1u);
}

// Wherever the program ends, the letter is in the list or in the mailbox, and
// never in both.
TEST_F(DurableLetters, LetterIsInOnePlaceWhereverTheProgramEnds) {
  for (const bool keep_cache : {true, false}) {
    for (int synced = 0; synced < 2; ++synced) {
      MakeLetters(1);
      const Pid heir = world_.NewPuppet();
      ASSERT_TRUE(letters().Resend(List()[0].id, heir).ok());
      if (synced != 0) world_.Settle();
      world_.Restart(keep_cache);
      const bool has_it = world_.NotesOf(heir) == "m:0";
      EXPECT_EQ(List().size(), has_it ? 0u : 1u);
      if (synced != 0) EXPECT_TRUE(has_it);
      if (!has_it) ASSERT_TRUE(letters().Resend(List()[0].id, heir).ok());
      world_.Settle();
      EXPECT_EQ(world_.NotesOf(heir), "m:0");
      EXPECT_TRUE(List().empty());
      b_ = world_.NewPuppet();
    }
  }
}

TEST_F(DurableLetters, LetterOfAVolatileSenderIsSentToADurableProcessOnce) {
  const Pid sender = world_.NewPuppet("volatile", /*durable=*/false);
  const Pid gone = world_.NewPuppet("volatile", /*durable=*/false);
  world_.Tell(gone, "done");
  world_.Tell(sender, "send", FormatPid(gone) + " note x");
  ASSERT_EQ(List().size(), 1u);
  EXPECT_EQ(List()[0].id & DeadLetter::kLogged, 0u);
  ASSERT_TRUE(letters().Resend(List()[0].id, a_).ok());
  world_.Settle();
  world_.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world_.NotesOf(a_), "m:x");
  EXPECT_TRUE(List().empty());
}

TEST_F(DurableLetters, LetterIsSentAgainToAVolatileProcess) {
  MakeLetters(1);
  const Pid heir = world_.NewPuppet("volatile", /*durable=*/false);
  ASSERT_TRUE(letters().Resend(List()[0].id, heir).ok());
  world_.Settle();
  EXPECT_EQ(world_.NotesOf(heir), "m:0");
  world_.Restart();
  EXPECT_TRUE(List().empty());
}

TEST_F(DurableLetters, RefusedOneStaysInItsPlace) {
  MakeLetters(2);
  const uint64_t id = List()[0].id;
  EXPECT_EQ(ReasonOf(letters().Resend(id, Pid{}).status()),
            reason::kProcessEnded);
  EXPECT_EQ(List()[0].id, id);
  EXPECT_EQ(Texts(), (std::vector<std::string>{"note 0", "note 1"}));
  world_.Restart();
  EXPECT_EQ(Texts(), (std::vector<std::string>{"note 0", "note 1"}));
}

TEST_F(DurableLetters, DroppedOneIsGoneForEver) {
  MakeLetters(3);
  ASSERT_TRUE(letters().Drop(List()[1].id).ok());
  world_.Settle();
  world_.Restart();
  EXPECT_EQ(Texts(), (std::vector<std::string>{"note 0", "note 2"}));
}

TEST_F(DurableLetters, OneThatTheJournalCannotForgetStays) {
  MakeLetters(2);
  world_.disk.FailNext(SimulatedDisk::Call::kSync, "", EIO);
  EXPECT_TRUE(world_.Send(a_, "note", "x").status.ok());
  world_.Settle();
  ASSERT_FALSE(world_.failed.ok());
  const uint64_t id = List()[0].id;
  EXPECT_EQ(letters().Drop(id).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(List()[0].id, id);
  world_.Restart();
  EXPECT_EQ(Texts(), (std::vector<std::string>{"note 0", "note 1"}));
}

TEST_F(DurableLetters, LimitsBoundTheStoreToo) {
  RuntimeOptions options;
  options.dead_letter_max_count = 3;
  world_.Restart(true, options);
  world_.Tell(b_, "done");
  for (int i = 0; i < 10; ++i) {
    world_.Tell(a_, "send", absl::StrCat(FormatPid(b_), " note ", i));
  }
  const std::vector<std::string> newest = {"note 7", "note 8", "note 9"};
  EXPECT_EQ(Texts(), newest);
  // With other limits: the store has no more.
  world_.Restart();
  EXPECT_EQ(Texts(), newest);
  options.dead_letter_max_count = 2;
  world_.Restart(true, options);
  world_.Restart();
  EXPECT_EQ(Texts(), (std::vector<std::string>{"note 8", "note 9"}));
  options.dead_letter_max_count = 0;
  world_.Restart(true, options);
  world_.Restart();
  EXPECT_TRUE(List().empty());
}

// The sender of a refused message still has it.
TEST_F(DurableLetters, RefusedMessageIsNone) {
  world_.Tell(b_, "done");
  // The process has ended, and nobody has noticed yet.
  const Pid c = world_.NewPuppet();
  world_.Send(c, "done", "");
  world_.Turn();
  const Sent sent = world_.Send(c, "note", "late");
  world_.Settle();
  if (!sent.status.ok()) {
    EXPECT_TRUE(List().empty());
  } else {
    EXPECT_EQ(Texts(), std::vector<std::string>{"note late"});
  }
  const size_t count = List().size();
  world_.Restart();
  EXPECT_EQ(List().size(), count);
}

// What a step has taken that has failed is no dead letter.
TEST_F(DurableLetters, EventsOfAFailedStepAreNone) {
  world_.runtime().processes.Find(b_)->activity.fetch_add(
      Activity::kBlocked);  // until all are in the mailbox
  for (const char* topic : {"note", "throw", "note"}) {
    world_.Send(b_, topic, "x");
  }
  // An event that also a blocked process gets.
  world_.runtime().Control(Owner::kAny, b_, kEventUpgrade, "");
  world_.runtime().processes.Find(b_)->activity.fetch_sub(Activity::kBlocked);
  world_.Settle();
  EXPECT_FALSE(world_.runtime().processes.Lives(b_));
  EXPECT_TRUE(Texts().empty());
  world_.Restart();
  EXPECT_TRUE(Texts().empty());
}

// Messages of volatile processes are not in the journal before.
TEST_F(DurableLetters, FullMailboxOfAnEndIsWrittenInFewRecordsAndSurvives) {
  constexpr int kMessages = 400;
  for (const bool is_released : {false, true}) {
    SCOPED_TRACE(is_released);
    const Pid pid = world_.NewPuppet();
    world_.core->core->processes.Find(pid)->activity.fetch_add(
        Activity::kBlocked);  // it takes no messages
    Lane& lane = world_.runtime().lane;
    for (int i = 0; i < kMessages; ++i) {
      Envelope* const message = lane.NewEnvelope(
          ACTORD_EVENT_MESSAGE, "note",
          {ToAbi(std::to_string(i)), ToAbi(std::string_view())});
      ASSERT_TRUE(world_.runtime()
                      .delivery.SendOrExplain(Owner::kAny, pid, message, lane)
                      .ok());
    }
    const size_t before = List().size();
    const uint64_t from = world_.store->journal().Tail();
    world_.runtime().Control(Owner::kAny, pid, kEventTerminate, "now");
    world_.Turn();
    // Each message takes some 30 bytes, and each record some 60.
    EXPECT_LT(world_.store->journal().Tail() - from, kMessages * 40u);
    while (world_.store->Work()) {
    }
    if (is_released) {
      world_.Settle();
      EXPECT_EQ(List().size(), before + kMessages);
    }
    world_.Restart(/*keep_cache=*/false);
    const std::vector<DeadLetter> letters = List();
    ASSERT_EQ(letters.size(), before + kMessages);
    for (int i = 0; i < kMessages; ++i) {
      const DeadLetter& letter = letters[before + static_cast<size_t>(i)];
      EXPECT_EQ(letter.message.payload.bytes, std::to_string(i));
      EXPECT_EQ(letter.to, pid);
      EXPECT_EQ(letter.reason, DeadLetterReason::kDroppedAtEnd);
    }
  }
}

// The step ends its process, but its record is too large for the journal. So it
// fails, and the process ends a second time.
TEST_F(DurableLetters, MailboxIsWrittenOnceIfTheLastStepIsTooLarge) {
  constexpr size_t kLeft = 50;
  const Pid pid = world_.NewPuppet();
  Lane& lane = world_.runtime().lane;
  auto& activity = world_.runtime().processes.Find(pid)->activity;
  activity.fetch_add(Activity::kBlocked);  // until all are in the mailbox
  const auto send = [&](std::string_view topic, const std::string& text) {
    Envelope* const message = lane.NewEnvelope(
        ACTORD_EVENT_MESSAGE, topic, {ToAbi(text), ToAbi(std::string_view())});
    ASSERT_TRUE(world_.runtime()
                    .delivery.SendOrExplain(Owner::kAny, pid, message, lane)
                    .ok());
  };
  const std::string large(100 << 10, 'x');
  for (int i = 0; i < 3; ++i) {
    send("send", absl::StrCat(FormatPid(a_), " note ", large));
  }
  send("done", "");
  for (size_t i = 4; i < Inbox::kBatch + kLeft; ++i) send("note", "x");
  // An event that also a blocked process gets.
  world_.runtime().Control(Owner::kAny, pid, kEventUpgrade, "");
  activity.fetch_sub(Activity::kBlocked);
  world_.Settle();
  EXPECT_EQ(List().size(), kLeft);
  world_.Restart(/*keep_cache=*/false);
  EXPECT_EQ(List().size(), kLeft);
}

}  // namespace
}  // namespace actord::runtime
