// The harness shows the lines of the log that processes write, in steps and in
// coroutines.
#include <gmock/gmock.h>

#include "tests/handlers/testing/durable_fixture.h"

namespace actord::durable_test {
namespace {

using actord::testing::LogLine;
using ::testing::HasSubstr;

class Diarist : public actord::Process {
 public:
  static constexpr const char* kName = "diarist";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      out.Log(LogLevel::kWarning, event.payload().bytes);
      if (event.topic() == "fail") out.Fail(Code::kAborted, "as told");
    }
  }
};

class CoroutineDiarist : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "diarist.coroutine";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;

  actord::Task<> Main(Context& ctx, OwnedPayload /*input*/) {
    for (;;) {
      const Message message = co_await ctx.Receive();
      ctx.Log(LogLevel::kInfo, message.payload().bytes);
    }
  }
};

// Writes another line each time that its step is run.
class Wobbler : public actord::Process {
 public:
  static constexpr const char* kName = "wobbler";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;
  static inline int runs = 0;

  void Step(Events events, StepOutput& out) {
    if (events.empty()) return;
    out.Log(++runs % 2 == 0 ? LogLevel::kInfo : LogLevel::kDebug, "line");
  }
};

const actord_plugin_info kDiarists = actord::MakePlugin<
    actord::ProcessTypes<Diarist, CoroutineDiarist, Wobbler>>("diarists", "1");

std::string TextOf(const LogLine& line) {
  return std::to_string(static_cast<int>(line.level)) + " " + line.text;
}

TEST(HarnessLog, ShowsTheLinesOfProcesses) {
  Harness harness(kDiarists);
  const Pid diarist = harness.Submit("diarist");
  const Pid coroutine = harness.Submit("diarist.coroutine");
  harness.Deliver(diarist, "m", OwnedPayload::Text("one"));
  harness.Deliver(coroutine, "m", OwnedPayload::Text("two"));
  harness.Run();
  ASSERT_EQ(harness.log().size(), 2u);
  EXPECT_EQ(TextOf(harness.log()[0]), "3 one");
  EXPECT_EQ(harness.log()[0].from, diarist);
  EXPECT_EQ(TextOf(harness.log()[1]), "2 two");
  EXPECT_EQ(harness.log()[1].from, coroutine);
}

TEST(HarnessLog, MarksTheLinesOfAStepThatFails) {
  Harness harness(kDiarists);
  const Pid pid = harness.Submit("diarist");
  harness.Deliver(pid, "m", OwnedPayload::Text("well"));
  harness.Run();
  harness.Deliver(pid, "fail", OwnedPayload::Text("ill"));
  harness.Run();
  ASSERT_EQ(harness.log().size(), 2u);
  EXPECT_FALSE(harness.log()[0].step_failed);
  EXPECT_EQ(TextOf(harness.log()[1]), "3 ill");
  EXPECT_EQ(harness.log()[1].from, pid);
  EXPECT_TRUE(harness.log()[1].step_failed);
}

TEST(HarnessLog, LogsOnceWhereProcessesCrashEverywhere) {
  Harness harness(kDiarists);
  harness.CrashEverywhere();
  for (const char* type : {"diarist", "diarist.coroutine"}) {
    const Pid pid = harness.Submit(type);
    for (const char* text : {"1", "2", "3"}) {
      harness.Deliver(pid, "m", OwnedPayload::Text(text));
      harness.Run();
    }
  }
  EXPECT_EQ(harness.log().size(), 6u);
}

TEST(HarnessLog, FindsALineThatIsAnotherOneWhenTheStepIsRunAgain) {
  Harness harness(kDiarists);
  const Pid pid = harness.Submit("wobbler");
  harness.Run();
  harness.Deliver(pid, "m");
  try {
    harness.Run();
    FAIL() << "the step was not checked";
  } catch (const actord::testing::ExpectationFailed& failed) {
    EXPECT_THAT(failed.what(), HasSubstr("logs "));
    EXPECT_THAT(failed.what(), HasSubstr(" as debug"));
    EXPECT_THAT(failed.what(), HasSubstr(" as info"));
  }
}

}  // namespace
}  // namespace actord::durable_test
