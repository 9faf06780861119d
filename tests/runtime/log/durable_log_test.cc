// Lines of the log that durable processes write: released when their step is
// durable, and never twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/actors/process_failure.h"
#include "runtime/process/listed/failed_step.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

// Counts its messages, and logs the count. Replay runs its steps again.
class LoggingNotebook : public actord::Process {
 public:
  static constexpr const char* kName = "logging";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (!event.is_message()) continue;
      out.Log(actord::LogLevel::kInfo, "count " + std::to_string(++count_));
    }
  }

 private:
  int count_ = 0;
};

class DurableLog : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.more_types = {&actord::kProcessType<LoggingNotebook>};
    ASSERT_TRUE(world_.Start(Options()).ok());
  }
  RuntimeOptions Options() {
    RuntimeOptions options;
    options.log = [this](LogLevel, std::string_view message) {
      lines_.emplace_back(message);
    };
    options.has_level = [this](LogLevel level) { return level >= least_; };
    options.failed = [this](const ProcessFailure&, const StepLines& lines) {
      for (const auto& line : lines.list) failed_.push_back(line.text);
    };
    return options;
  }
  std::vector<std::string> Take() { return std::exchange(lines_, {}); }

  std::vector<std::string> lines_;
  std::vector<std::string> failed_;  // lines of steps that have failed
  LogLevel least_ = LogLevel::kDebug;
  DurableWorld world_;
};

TEST_F(DurableLog, LineWaitsForTheDisk) {
  const Pid pid = world_.NewPuppet();
  ASSERT_TRUE(world_.Send(pid, "log", "a text").status.ok());
  world_.Turn();
  EXPECT_THAT(Take(), IsEmpty());
  world_.Settle();
  EXPECT_THAT(Take(), ElementsAre(absl::StrCat("process ", FormatPid(pid),
                                               " (puppet): a text")));
}

TEST_F(DurableLog, LineOfAStepThatIsLostIsLost) {
  const Pid pid = world_.NewPuppet();
  ASSERT_TRUE(world_.Send(pid, "log", "a text").status.ok());
  world_.Turn();
  world_.Restart(/*keep_cache=*/false, Options());
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(DurableLog, LinesOfAFailedStepComeOnceWithItsEnd) {
  const Pid pid = world_.NewPuppet();
  ASSERT_TRUE(world_.Send(pid, "log", "a text").status.ok());
  ASSERT_TRUE(world_.Send(pid, "fail", "why").status.ok());
  world_.Turn();
  EXPECT_THAT(failed_, IsEmpty());
  world_.Settle();
  EXPECT_THAT(failed_, ElementsAre("a text"));
  EXPECT_THAT(Take(), IsEmpty());
  world_.Restart(/*keep_cache=*/true, Options());
  EXPECT_FALSE(world_.runtime().processes.Find(pid));
  EXPECT_THAT(failed_, ElementsAre("a text"));
}

TEST_F(DurableLog, RecoveryLogsNothingAgain) {
  for (const char* type : {"puppet", "logging"}) {
    const Pid pid = world_.NewPuppet(type);
    world_.Tell(pid, "log", "count 1");
    EXPECT_THAT(Take(), ElementsAre(EndsWith(": count 1"))) << type;
    world_.Restart(/*keep_cache=*/true, Options());
    world_.Tell(pid, "log", "count 2");
    EXPECT_THAT(Take(), ElementsAre(EndsWith(": count 2"))) << type;
  }
}

// The level may be another one when the steps are run again.
TEST_F(DurableLog, LineBelowTheLevelIsAnEffectOfTheStep) {
  least_ = LogLevel::kError;
  const Pid pid = world_.NewPuppet("logging");
  world_.Tell(pid, "log");
  EXPECT_THAT(Take(), IsEmpty());
  least_ = LogLevel::kDebug;
  world_.Restart(/*keep_cache=*/true, Options());
  EXPECT_EQ(world_.runtime().Stats().processes_quarantined, 0u);
  EXPECT_THAT(Take(), IsEmpty());
  world_.Tell(pid, "log");
  EXPECT_THAT(Take(), ElementsAre(EndsWith(": count 2")));
}

}  // namespace
}  // namespace actord::runtime
