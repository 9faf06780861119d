// Processes of replay types that leave the memory, and come back by their
// histories.
#include <actord/commands.h>
#include <actord/coroutine.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/passivator.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLookNs = uint64_t{60} * 1'000'000'000;

// Writes the topics of its messages down. The call `get` is answered with them
// and is not written down.
class Logbook : public actord::Process {
 public:
  static constexpr const char* kName = "logbook";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  ~Logbook() {
    if (closed) std::exchange(closed, nullptr)();
  }

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    ++inits;
    lines_ = input.bytes;
    return actord::Status::Ok();
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    ++steps;
    for (const actord::Event event : events) {
      if (event.call() != 0) {
        out.Reply(event.call(), lines_);
      } else if (event.is_message()) {
        lines_ += std::string(event.topic()) + ",";
        if (echoes && event.topic() == "b") out.Send(out.self(), "echo");
        if (event.topic() == "tick") {
          out.Yield(actord::commands::Sleep(std::chrono::milliseconds(1)));
        }
        if (event.topic() == "new") out.ContinueAs(lines_ + "/");
      }
    }
  }

  static inline uint64_t inits = 0;
  static inline uint64_t steps = 0;
  // The author has changed the code: it sends a message.
  static inline bool echoes = false;
  // Called once, when an object of this class is destroyed.
  static inline std::function<void()> closed;

 protected:
  std::string lines_;
};

// A logbook that can also be kept as an image.
class Almanac : public Logbook {
 public:
  static constexpr const char* kName = "almanac";

  actord::SnapshotResult Snapshot() const { return lines_; }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    lines_ = from.snapshot.bytes;
    return actord::Status::Ok();
  }
};

// Leaves its callers without an answer.
class Listener : public actord::Process {
 public:
  static constexpr const char* kName = "listener";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  void Step(actord::Events /*events*/, actord::StepOutput& /*out*/) {}
};

// Begins a new page after three messages.
class Pages : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "pages";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    text_ = input.bytes;
    return actord::Status::Ok();
  }
  actord::Task<> Main(actord::Context& ctx) {
    for (int i = 0; i < 3; ++i) {
      const actord::Message message = co_await ctx.Receive();
      ++received;
      if (message.call() != 0) {
        ctx.Reply(message, text_);
      } else {
        text_ += std::string(message.topic()) + ",";
      }
    }
    co_return ctx.ContinueAs(text_ + "/");
  }

  static inline uint64_t received = 0;

 private:
  std::string text_;
};

class DormantReplay : public ::testing::Test {
 protected:
  DormantReplay() {
    Logbook::echoes = false;
    world_.more_types = {
        &actord::kProcessType<Logbook>, &actord::kProcessType<Almanac>,
        &actord::kProcessType<Listener>, &actord::kProcessType<Pages>};
    EXPECT_EQ(world_.Start(Options()), absl::OkStatus());
  }
  RuntimeOptions Options() {
    RuntimeOptions options;
    options.log = [this](LogLevel level, std::string_view text) {
      if (level == LogLevel::kError) errors_.emplace_back(text);
    };
    return options;
  }
  Pid New(const std::string& type, std::string input = "") {
    auto told = world_.Submit(std::move(input), "", true, type);
    world_.Settle();
    EXPECT_TRUE(told->has_value() && (*told)->ok());
    return told->has_value() && (*told)->ok() ? ***told : Pid{};
  }
  // Lets the store catch up, time pass, and the passivator look.
  void Look() {
    world_.Settle();
    EXPECT_EQ(world_.store->CatchUp(), absl::OkStatus());
    world_.runtime().passivator->LookIfDue();
    world_.Elapse(kLookNs);
  }
  void Wait() {
    for (int looks = 0; looks < 20; ++looks) Look();
  }
  bool IsDormant(const Pid& pid) {
    return world_.runtime().processes.IsDormant(pid);
  }
  std::string LinesOf(const Pid& pid) { return world_.BalanceOf(pid); }
  void Restart(bool keep_cache) { world_.Restart(keep_cache, Options()); }

  DurableWorld world_;
  std::vector<std::string> errors_;
};

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

TEST_F(DormantReplay, OtherRefusalsDoNotDoubleTheIdleTime) {
  const Pid pid = New("listener");
  const Calls::Id waits = world_.runtime().calls.Begin(
      Owner::kAny, pid, {"get", {}}, [](const absl::StatusOr<Payload>&) {});
  for (int i = 0; i < 200; ++i) Look();
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_TRUE(world_.runtime().calls.Cancel(waits));
  Wait();
  EXPECT_TRUE(IsDormant(pid));
}

// The daemon goes on without a process whose part of the store is damaged.
TEST_F(DormantReplay, DamagedHistoryPutsTheProcessAloneIntoQuarantine) {
  const Pid pid = New("logbook", "in,");
  const Pid other = New("logbook", "other,");
  world_.Tell(pid, "a");
  Wait();
  ASSERT_TRUE(IsDormant(pid));
  const std::string prefix = KeyOf(KeyKind::kHistory, pid);
  std::string key;
  ASSERT_TRUE(world_.state
                  .Scan(prefix, BehindPrefix(prefix),
                        [&](std::string_view found, std::string_view) {
                          key = found;
                          return true;
                        })
                  .ok());
  ASSERT_FALSE(key.empty());
  const StateWrite damage{.key = key, .value = "no entry"};
  ASSERT_TRUE(world_.state.Write({&damage, 1}).ok());

  EXPECT_TRUE(world_.Send(pid, "b", "").status.ok());
  world_.Settle();
  EXPECT_EQ(world_.failed, absl::OkStatus());
  EXPECT_TRUE(world_.runtime().durable->quarantine().Has(pid));
  ASSERT_EQ(errors_.size(), 1u);
  EXPECT_THAT(errors_[0], HasSubstr(FormatPid(pid)));
  EXPECT_THAT(errors_[0], HasSubstr("the store is damaged"));
  EXPECT_THAT(LinesOf(pid), HasSubstr("the store is damaged"));
  EXPECT_EQ(LinesOf(other), "other,");
  // Code that is loaded later does not help.
  absl::Status retried;
  world_.runtime().RetryQuarantine(
      pid, [&](const absl::Status& status) { retried = status; }, Owner::kAny);
  world_.Settle();
  EXPECT_FALSE(retried.ok());
  EXPECT_TRUE(world_.runtime().durable->quarantine().Has(pid));
  EXPECT_TRUE(world_.runtime()
                  .Control(Owner::kAny, pid, kEventTerminate, "enough")
                  .status.ok());
  world_.Settle();
  EXPECT_TRUE(world_.runtime().processes.HasEnded(pid, Owner::kAny));
}

TEST_F(DormantReplay, MissingImagePutsTheProcessIntoQuarantine) {
  const Pid pid = world_.NewAccount(5);
  Wait();
  ASSERT_TRUE(IsDormant(pid));
  const StateWrite lost{.key = KeyOf(KeyKind::kImage, pid), .value = {}};
  ASSERT_TRUE(world_.state.Write({&lost, 1}).ok());
  EXPECT_THAT(LinesOf(pid), HasSubstr("it has no image"));
  EXPECT_EQ(world_.failed, absl::OkStatus());
  EXPECT_TRUE(world_.runtime().durable->quarantine().Has(pid));
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
