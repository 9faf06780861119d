// The history of a durable process, read from the store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/history/history_reader.h"
#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

const char* NameOf(HistoryKind kind) {
  static constexpr const char* kNames[] = {
      "begins",       "gap",        "submitted", "spawned",   "started",
      "daemon",       "step",       "message",   "call",      "completion",
      "exit",         "cancelled?", "send",      "spawn",     "yield",
      "call out",     "reply",      "monitor",   "demonitor", "link",
      "unlink",       "cancel",     "done",      "attempt",   "dropped",
      "cancelled",    "terminated", "upgraded",  "ended",     "pending yield",
      "pending call", "owed",       "waiting",   "more",      "up to here",
      "publish",      "log"};
  return kNames[static_cast<size_t>(kind)];
}

// Keeps its messages as steps, and has no image.
class Notebook : public actord::Process {
 public:
  static constexpr const char* kName = "notebook";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.is_message() && event.topic() == "charge") {
        out.Yield("payment.charge", event.payload());
      } else if (event.is_message() && event.topic() == "ask") {
        const auto other = ParsePid(event.payload().bytes);
        out.Call(actord::Pid(ToAbi(*other)), "get", {});
      } else if (event.is_message() && event.topic() == "again") {
        out.ContinueAs(event.payload());
      }
    }
  }
};

class ProcessHistory : public ::testing::Test {
 protected:
  void SetUp() override {
    world.more_types = {&actord::kProcessType<Notebook>};
    ASSERT_TRUE(world.Start(Options()).ok());
  }
  static RuntimeOptions Options() {
    RuntimeOptions options;
    options.external_commands = {"payment.*"};
    return options;
  }
  Pid New(const std::string& type) {
    auto told = world.Submit("", "", true, type);
    world.Settle();
    return ***told;
  }
  HistoryReader ReaderOf(const Pid& pid, bool follow = false) {
    return HistoryReader(*world.store, {.pid = pid,
                                        .by = by,
                                        .follow = follow,
                                        .retention_ns = 100 * kSecond,
                                        .max_payload_bytes = 16});
  }
  // A line for each item: the kind, the step, name, detail, payload, failure.
  std::vector<std::string> Read(HistoryReader& reader, absl::Status& status) {
    std::vector<std::string> lines;
    for (;;) {
      std::vector<HistoryItem> items;
      const auto progress = reader.Next(items);
      status = progress.status();
      for (const HistoryItem& item : items) {
        std::string line = NameOf(item.kind);
        const auto add = [&line](const std::string& text) {
          if (!text.empty()) absl::StrAppend(&line, " ", text);
        };
        if (item.step != 0) add(absl::StrCat("#", item.step));
        add(item.name);
        add(item.detail);
        add(item.payload.bytes);
        if (item.code != 0) add(absl::StrCat("failed ", item.code));
        lines.push_back(std::move(line));
      }
      if (!progress.ok() || *progress != HistoryReader::Progress::kGoesOn) {
        return lines;
      }
    }
  }
  std::vector<std::string> LinesOf(const Pid& pid) {
    HistoryReader reader = ReaderOf(pid);
    absl::Status status;
    std::vector<std::string> lines = Read(reader, status);
    EXPECT_TRUE(status.ok()) << status;
    return lines;
  }
  std::string ReasonFor(const Pid& pid) {
    HistoryReader reader = ReaderOf(pid);
    absl::Status status;
    EXPECT_THAT(Read(reader, status), ElementsAre());
    return ReasonOf(status);
  }
  // Makes the journal give up its old segments.
  void Trim() {
    const Pid other = world.NewAccount(0);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 12; ++i) {
        world.Tell(other, "set", std::string(200 << 10, '0'));
      }
      world.round_bytes = 16;
      world.Restart(true, Options());
    }
  }

  DurableWorld world;
  Owner by = Owner::kAny;
};

TEST_F(ProcessHistory, ShowsHowAProcessBeginsAgain) {
  const Pid pid = New("notebook");
  world.Tell(pid, "charge", "7");
  world.Tell(pid, "again", "next");
  world.Tell(pid, "x", "1");
  const std::vector<std::string> lines = LinesOf(pid);
  const auto at = [&](std::string_view line) {
    return std::find(lines.begin(), lines.end(), line) - lines.begin();
  };
  const auto end = static_cast<ptrdiff_t>(lines.size());
  ASSERT_LT(at("step #3 continue as run next") + 2, end);
  EXPECT_EQ(lines[static_cast<size_t>(at("step #3 continue as run next")) + 2],
            "started");
  EXPECT_LT(at("step #5 idle"), end);
  // The payment belongs to the former life.
  EXPECT_THAT(lines, ::testing::Not(Contains(StartsWith("pending"))));
}

TEST_F(ProcessHistory, ShowsStepsWithTheirEventsAndEffects) {
  const Pid other = world.NewAccount(1);
  const Pid pid = world.NewAccount(5);
  world.Tell(pid, "add", "7");
  world.Tell(pid, "pay", absl::StrCat(FormatPid(other), " 3"));
  EXPECT_THAT(LinesOf(pid),
              ElementsAre("submitted account run 5", "started", "step #1 idle",
                          "step #2 idle", "message #2 add 7", "step #3 idle",
                          StartsWith("message #3 pay "), "send #3 add 3",
                          "up to here #3"));
  EXPECT_THAT(LinesOf(other),
              ElementsAre("submitted account run 1", "started", "step #1 idle",
                          "step #2 idle", "message #2 add 3", "up to here #2"));
}

TEST_F(ProcessHistory, ShowsLinesOfTheLog) {
  const Pid pid = world.NewPuppet();
  world.Tell(pid, "log", "a line");
  EXPECT_THAT(LinesOf(pid), Contains("log #2 info a line"));
}

TEST_F(ProcessHistory, GoesOnOverRestartsToTheEnd) {
  const Pid pid = world.NewAccount(5);
  world.Tell(pid, "add", "7");
  world.Restart(true, Options());
  world.Tell(pid, "end");
  world.Restart(true, Options());
  EXPECT_THAT(
      LinesOf(pid),
      ElementsAre("submitted account run 5", "started", "step #1 idle",
                  "step #2 idle", "message #2 add 7", "daemon 2",
                  "step #3 done", "message #3 end", "ended #3 result 12"));
}

TEST_F(ProcessHistory, MarksFailures) {
  const Pid pid = world.NewAccount(5);
  world.Tell(pid, "throw");
  EXPECT_THAT(LinesOf(pid),
              Contains(AllOf(StartsWith("ended"), HasSubstr("threw"),
                             HasSubstr("failed"))));
}

TEST_F(ProcessHistory, ShowsWhatIsPending) {
  const Pid pid = New("notebook");
  world.Tell(pid, "charge", "a payload that is cut");
  const Sent sent = world.Send(pid, "later", "x");
  ASSERT_TRUE(sent.status.ok());
  while (world.store->Work()) {
  }
  EXPECT_THAT(LinesOf(pid),
              ElementsAre("submitted notebook run", "started", "step #1 idle",
                          "step #2 idle", "message #2 charge a payload that i",
                          "yield #2 payment.charge a payload that i",
                          "pending yield payment.charge a payload that i",
                          "waiting later message x", "up to here #2"));
}

TEST_F(ProcessHistory, FindsTheAnswersOfCalls) {
  const Pid other = world.NewAccount(42);
  const Pid pid = New("notebook");
  world.Tell(pid, "ask", FormatPid(other));
  EXPECT_THAT(LinesOf(pid),
              IsSupersetOf({"call out #2 get", "completion #3 42"}));
  EXPECT_THAT(LinesOf(other), IsSupersetOf({"call #2 get", "reply #2 42"}));
}

// The history of the callee says why it has not got the call.
TEST_F(ProcessHistory, SaysWhyACallWasRefused) {
  const Pid other = world.NewAccount(42);
  const Pid pid = New("notebook");
  RuntimeOptions options = Options();
  options.max_yields = 1;
  world.Restart(true, options);
  world.Tell(pid, "charge", "1");
  world.Tell(pid, "ask", FormatPid(other));
  EXPECT_THAT(LinesOf(other),
              Contains(HasSubstr("sender has too many outstanding yields")));

  world.no_account_type = true;
  world.Restart(true, Options());
  ASSERT_TRUE(world.runtime().durable->quarantine().Has(other));
  world.Tell(pid, "ask", FormatPid(other));
  EXPECT_THAT(LinesOf(other),
              Contains(HasSubstr("the process is in quarantine")));
  EXPECT_THAT(LinesOf(other), Not(Contains(HasSubstr("the mailbox is full"))));
}

TEST_F(ProcessHistory, FollowGoesOnUntilTheEnd) {
  const Pid pid = world.NewAccount(5);
  HistoryReader reader = ReaderOf(pid, /*follow=*/true);
  absl::Status status;
  EXPECT_THAT(Read(reader, status),
              ElementsAre("submitted account run 5", "started", "step #1 idle",
                          "up to here #1"));
  world.Tell(pid, "add", "1");
  EXPECT_THAT(Read(reader, status),
              ElementsAre("step #2 idle", "message #2 add 1"));
  EXPECT_THAT(Read(reader, status), ElementsAre());
  world.Tell(pid, "end");
  EXPECT_THAT(
      Read(reader, status),
      ElementsAre("step #3 done", "message #3 end", "ended #3 result 6"));
  ASSERT_TRUE(status.ok()) << status;
}

TEST_F(ProcessHistory, SaysWhereTheJournalBegins) {
  const Pid pid = world.NewAccount(5);
  const Pid notes = New("notebook");
  world.Tell(pid, "add", "7");
  world.Tell(notes, "note", "old");
  Trim();
  world.Tell(pid, "add", "8");
  world.Tell(notes, "note", "new");
  ASSERT_GT(world.store->journal().FirstLsn(), kFirstLsn);
  EXPECT_THAT(LinesOf(pid), ElementsAre("begins #2 account run", "step #3 idle",
                                        "message #3 add 8", "up to here #3"));
  // The state store has the whole history of a replay type.
  EXPECT_THAT(LinesOf(notes),
              AllOf(IsSupersetOf({"step #2 idle", "message #2 note old",
                                  "step #3 idle", "message #3 note new"}),
                    Contains("begins notebook run")));
}

TEST_F(ProcessHistory, FollowerThatIsOvertakenByTheTrimSaysSo) {
  const Pid pid = world.NewAccount(5);
  HistoryReader reader = ReaderOf(pid, /*follow=*/true);
  std::vector<HistoryItem> items;
  ASSERT_TRUE(reader.Next(items).ok());
  const Pid other = world.NewAccount(0);
  for (int i = 0; i < 36; ++i) {
    world.Tell(other, "set", std::string(200 << 10, '0'));
  }
  ASSERT_TRUE(world.store->journal().Trim(world.store->journal().Tail()).ok());
  ASSERT_GT(world.store->journal().FirstLsn(), kFirstLsn);
  absl::Status status;
  const std::vector<std::string> lines = Read(reader, status);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(lines, AllOf(Contains("gap"), Contains("up to here #1")));
}

TEST_F(ProcessHistory, IsRefusedToOthersAndAfterItsTime) {
  const Pid pid = world.NewAccount(5);
  by = Owner{7};
  EXPECT_EQ(ReasonFor(pid), reason::kProcessNotFound);
  by = Owner::kNobody;
  EXPECT_THAT(LinesOf(pid), Contains("started"));
  Pid unknown = pid;
  unknown.slot += 1000;
  EXPECT_EQ(ReasonFor(unknown), reason::kProcessNotFound);
  world.Tell(pid, "end");
  world.Pass(99 * kSecond);
  EXPECT_THAT(LinesOf(pid), Contains("ended #2 result 5"));
  by = Owner{7};
  EXPECT_EQ(ReasonFor(pid), reason::kProcessNotFound);
  by = Owner::kNobody;
  world.Pass(2 * kSecond);
  EXPECT_EQ(ReasonFor(pid), reason::kProcessNotFound);
}

}  // namespace
}  // namespace actord::runtime
