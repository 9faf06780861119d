// Processes of replay types that leave the memory, and come back by their
// histories.
#include "tests/runtime/dormant/dormant_replay_fixture.h"

namespace actord::runtime {
namespace {

TEST_F(DormantReplay, ComesBackByItsHistory) {
  const Pid pid = New("logbook", "in,");
  world_.Tell(pid, "a");
  world_.Tell(pid, "b");
  Wait();
  ASSERT_TRUE(IsDormant(pid));
  EXPECT_EQ(world_.runtime().Stats().processes_dormant, 1u);
  Logbook::inits = Logbook::steps = 0;
  world_.Tell(pid, "c");
  EXPECT_FALSE(IsDormant(pid));
  // The step after Init, two messages again, and the new one.
  EXPECT_EQ(Logbook::inits, 1u);
  EXPECT_EQ(Logbook::steps, 4u);
  EXPECT_EQ(LinesOf(pid), "in,a,b,c,");
  EXPECT_TRUE(errors_.empty()) << errors_.front();
}

TEST_F(DormantReplay, SleepsAndWakesAgainAndAgain) {
  const Pid pid = New("logbook");
  std::string expected;
  for (int i = 0; i < 5; ++i) {
    Wait();
    ASSERT_TRUE(IsDormant(pid)) << i;
    world_.Tell(pid, "x");
    expected += "x,";
    ASSERT_EQ(LinesOf(pid), expected);
    if (i % 2 == 0) continue;
    // Now dormant, now in memory.
    Restart(/*keep_cache=*/false);
    ASSERT_EQ(LinesOf(pid), expected);
  }
  EXPECT_TRUE(errors_.empty()) << errors_.front();
}

TEST_F(DormantReplay, IsDormantAfterAStartAndTakesNoStep) {
  const Pid pid = New("logbook", "in,");
  world_.Tell(pid, "a");
  Logbook::inits = Logbook::steps = 0;
  Restart(/*keep_cache=*/false);
  EXPECT_TRUE(IsDormant(pid));
  EXPECT_EQ(Logbook::inits + Logbook::steps, 0u);
  EXPECT_EQ(world_.runtime().Describe(pid, Owner::kAny)->state,
            ProcessState::kDormant);
  EXPECT_EQ(LinesOf(pid), "in,a,");
}

TEST_F(DormantReplay, StartWithoutPassivationBringsItIntoMemory) {
  const Pid pid = New("logbook", "in,");
  world_.Tell(pid, "a");
  world_.Stop();
  RuntimeOptions options = Options();
  options.durable.passivate_after = absl::InfiniteDuration();
  ASSERT_EQ(world_.Start(options), absl::OkStatus());
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(LinesOf(pid), "in,a,");
}

TEST_F(DormantReplay, BodiesComeFromTheStateStoreToo) {
  const Pid pid = New("logbook");
  world_.Tell(pid, "a", "the body");
  Wait();
  // Each start ends a round. Two rounds move the bodies.
  world_.round_bytes = 16;
  for (int i = 0; i < 4; ++i) {
    Restart(/*keep_cache=*/true);
    world_.Tell(New("account", "1"), "end");
  }
  const auto stored =
      world_.store->ReadProcess(pid, DurableStore::WithoutState);
  ASSERT_TRUE(stored.ok());
  EXPECT_FALSE(stored->has_state);
  EXPECT_TRUE(stored->history.empty());
  ASSERT_TRUE(IsDormant(pid));
  EXPECT_EQ(LinesOf(pid), "a,");
}

TEST_F(DormantReplay, MessageThatComesWhileItsStateIsClosedIsTaken) {
  for (const char* type : {"logbook", "almanac"}) {
    const Pid pid = New(type, "in,");
    world_.Tell(pid, "a");
    bool came = false;
    Logbook::closed = [&] {
      came = true;
      EXPECT_TRUE(world_.Send(pid, "b", "").status.ok());
    };
    for (int looks = 0; looks < 30 && !came; ++looks) Look();
    ASSERT_TRUE(came);
    EXPECT_FALSE(IsDormant(pid));
    EXPECT_EQ(LinesOf(pid), "in,a,b,");
    Wait();
    EXPECT_TRUE(IsDormant(pid));
    EXPECT_EQ(LinesOf(pid), "in,a,b,");
  }
  EXPECT_TRUE(errors_.empty()) << errors_.front();
}

TEST_F(DormantReplay, LaterLifeIsTakenBackWhileItsStateIsClosed) {
  const Pid pid = New("logbook", "in,");
  const auto tick = [&] {
    world_.Tell(pid, "tick");
    world_.Elapse(2 * kMs);
  };
  tick();
  world_.Tell(pid, "new");
  tick();
  bool came = false;
  Logbook::closed = [&] {
    came = true;
    EXPECT_TRUE(world_.Send(pid, "b", "").status.ok());
  };
  for (int looks = 0; looks < 30 && !came; ++looks) Look();
  ASSERT_TRUE(came);
  EXPECT_EQ(LinesOf(pid), "in,tick,new,/tick,b,");
  // Its next tag is that of no earlier life.
  tick();
  Wait();
  EXPECT_TRUE(IsDormant(pid));
  EXPECT_EQ(LinesOf(pid), "in,tick,new,/tick,b,tick,");
  EXPECT_TRUE(errors_.empty()) << errors_.front();
}

TEST_F(DormantReplay, LongHistoryStaysInMemory) {
  const Pid book = New("logbook");
  const Pid almanac = New("almanac");
  const Pid text = New("logbook");
  for (int i = 0; i < 1'001; ++i) {
    world_.Tell(book, "x");
    world_.Tell(almanac, "x");
  }
  for (int i = 0; i < 9; ++i) {
    world_.Tell(text, "x", std::string(8'000, 'x'));
  }
  const FoundProcess process = world_.runtime().processes.FindAwake(book);
  int orders = 0;
  for (int i = 0; i < 200; ++i) {
    world_.Settle();
    EXPECT_EQ(world_.store->CatchUp(), absl::OkStatus());
    world_.runtime().passivator->LookIfDue();
    orders += Activity::Urgent(process->activity.load()) != 0 ? 1 : 0;
    world_.Elapse(kLookNs);
  }
  EXPECT_FALSE(IsDormant(book));
  EXPECT_FALSE(IsDormant(text));
  // It has an image, and a short history since.
  EXPECT_TRUE(IsDormant(almanac));
  EXPECT_EQ(orders, 4) << "in 200 minutes: after 10, 30, 70 and 150";
  // A start needs no history, however long it is.
  Restart(/*keep_cache=*/false);
  EXPECT_TRUE(IsDormant(book));
  world_.Tell(book, "y");
  Wait();
  EXPECT_FALSE(IsDormant(book));
  EXPECT_EQ(LinesOf(book).size(), 2 * 1'002u);
}

TEST_F(DormantReplay, HistoryBeginsWithTheLastContinueAs) {
  const Pid pid = New("pages");
  for (const char* topic : {"a", "b", "c", "d"}) world_.Tell(pid, topic);
  Wait();
  ASSERT_TRUE(IsDormant(pid));
  Pages::received = 0;
  world_.Tell(pid, "e");
  EXPECT_EQ(Pages::received, 2u);
  Wait();
  ASSERT_TRUE(IsDormant(pid));
  EXPECT_EQ(LinesOf(pid), "a,b,c,/d,e,");
  EXPECT_TRUE(errors_.empty()) << errors_.front();
}

TEST_F(DormantReplay, ProcessThatDiffersIsInQuarantineWhenItComesBack) {
  const Pid pid = New("logbook");
  world_.Tell(pid, "a");
  world_.Tell(pid, "b");
  Wait();
  ASSERT_TRUE(IsDormant(pid));
  Logbook::echoes = true;
  EXPECT_TRUE(world_.Send(pid, "c", "").status.ok());
  world_.Settle();
  ASSERT_EQ(errors_.size(), 1u);
  EXPECT_THAT(errors_[0], HasSubstr("step 3 differs from its record"));
  EXPECT_TRUE(world_.runtime().durable->quarantine().Has(pid));
  Wait();
  EXPECT_FALSE(IsDormant(pid)) << "it keeps its message in memory";
  // With the code that took the steps it goes on, and has the message.
  Logbook::echoes = false;
  Restart(/*keep_cache=*/false);
  EXPECT_EQ(LinesOf(pid), "a,b,c,");
}

TEST_F(DormantReplay, CallKeepsItAndItsAnswerIsNotGivenTwice) {
  const Pid pid = New("logbook");
  EXPECT_EQ(LinesOf(pid), "");
  world_.Tell(pid, "a");
  EXPECT_EQ(LinesOf(pid), "a,");
  const Pid asker = world_.NewPuppet();
  world_.Tell(asker, "call", FormatPid(pid) + " get");
  EXPECT_EQ(world_.NotesOf(asker), "c1=a,");
  const uint64_t late = world_.runtime().Stats().late_replies;
  Wait();
  ASSERT_TRUE(IsDormant(pid));
  EXPECT_EQ(LinesOf(pid), "a,");
  EXPECT_EQ(world_.NotesOf(asker), "c1=a,");
  EXPECT_EQ(world_.runtime().Stats().late_replies, late);
}

}  // namespace
}  // namespace actord::runtime
