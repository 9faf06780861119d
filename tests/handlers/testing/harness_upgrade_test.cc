// Upgrades of processes in a harness to another version of their type.
#include <stdexcept>

#include "tests/handlers/testing/harness_fixture.h"

namespace actord::harness_test {
namespace {

using namespace std::chrono_literals;

class Old : public actord::Process {
 public:
  static constexpr const char* kName = "timer";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  SnapshotResult Snapshot() const {
    if (busy_) return SnapshotResult::NotNow();
    return std::to_string(tag_);
  }
  void Step(Events events, StepOutput& out) {
    if (events.empty()) tag_ = out.Yield(commands::Sleep(5s));
    for (const Event event : events) {
      if (event.is_completion()) out.Done("old");
      busy_ = event.topic() == "busy";
    }
  }

 private:
  Tag tag_ = 0;
  bool busy_ = false;
};

template <bool kAdopts>
class New : public actord::Process {
 public:
  static constexpr const char* kName = "timer";
  static constexpr actord::Method kMethods[] = {{"other", nullptr},
                                                {"run", nullptr}};

  Status Restore(std::string_view method, const RestoreFrom& from,
                 RestoreContext& context) {
    EXPECT_EQ(method, "run");
    if (from.version == "bad") return {Code::kInvalidArgument, "is bad"};
    if (from.version == "early") return {Code::kUnavailable, "not now"};
    close_throws_ = from.version == "yielding";
    if (close_throws_) {
      // Breaks the rules.
      StepOutput(context.*(&Forced::step_)).Yield("ext");
      return {};
    }
    if (kAdopts) {
      EXPECT_TRUE(
          context.AdoptYield(std::stoull(std::string(from.snapshot.bytes))));
    }
    return {};
  }
  void Close() {
    if (close_throws_) throw std::runtime_error("cannot close");
  }
  void Step(Events events, StepOutput& out) {
    if (events.empty()) ++begun_;
    for (const Event event : events) {
      if (event.is_completion() || event.topic() == "end") {
        out.Done("new " + std::to_string(begun_) +
                 (event.is_completion() ? " woken" : ""));
      }
    }
  }

 private:
  // Gives Restore access to effects that RestoreContext does not have.
  struct Forced : actord::StepContext {
    using actord::StepContext::step_;
  };
  int begun_ = 0;
  bool close_throws_ = false;
};

constexpr actord_plugin_info kTimers =
    MakePlugin<ProcessTypes<Old>>("timers", "1");

TEST(HarnessUpgrade, TheNewVersionGetsWhatItTakesOver) {
  ForEachSeed(20, [](uint64_t seed) {
    Harness harness(kTimers, {.seed = seed});
    const Pid pid = harness.Submit("timer");
    harness.Run();
    ASSERT_TRUE(harness.Upgrade<New<true>>(pid).ok());
    harness.Advance(10s);
    EXPECT_EQ(harness.ExpectResult(pid).bytes, "new 1 woken");
  });
}

TEST(HarnessUpgrade, AndNothingElse) {
  Harness harness(kTimers);
  const Pid pid = harness.Submit("timer");
  harness.Run();
  ASSERT_TRUE(harness.Upgrade<New<false>>(pid).ok());
  harness.Advance(10s);
  EXPECT_TRUE(harness.IsLive(pid));
  harness.Deliver(pid, "end");
  EXPECT_EQ(harness.ExpectResult(pid).bytes, "new 1");
}

TEST(HarnessUpgrade, ARefusalLeavesTheProcessAsItWas) {
  Harness harness(kTimers);
  const Pid pid = harness.Submit("timer");
  harness.Run();
  harness.Deliver(pid, "busy");
  harness.Run();
  EXPECT_EQ(harness.Upgrade<New<true>>(pid).code(), Code::kUnavailable);
  harness.Deliver(pid, "idle");
  harness.Run();
  const Status bad = harness.Upgrade<New<true>>(pid, "bad");
  EXPECT_EQ(bad.code(), Code::kInvalidArgument);
  EXPECT_EQ(bad.message(), "is bad");
  harness.Advance(10s);
  EXPECT_EQ(harness.ExpectResult(pid).bytes, "old");
  EXPECT_THROW(static_cast<void>(harness.Upgrade<New<true>>(pid)),
               ExpectationFailed);
}

// As in a daemon, only a Snapshot can postpone an upgrade.
TEST(HarnessUpgrade, ARestoreThatIsNotReadyHasDeclined) {
  Harness harness(kTimers);
  const Pid pid = harness.Submit("timer");
  harness.Run();
  const Status early = harness.Upgrade<New<true>>(pid, "early");
  EXPECT_EQ(early.code(), Code::kFailedPrecondition);
  EXPECT_EQ(early.message(), "Restore refused with UNAVAILABLE: not now");
}

TEST(HarnessUpgrade, ACloseThatThrowsAfterABrokenRuleIsLogged) {
  Harness harness(kTimers);
  const Pid pid = harness.Submit("timer");
  harness.Run();
  EXPECT_FALSE(harness.Upgrade<New<true>>(pid, "yielding").ok());
  ASSERT_EQ(harness.log().size(), 1u);
  EXPECT_NE(harness.log()[0].text.find("cannot close"), std::string::npos);
}

TEST(HarnessUpgrade, UpgradeWithoutTheFunctionsIsAMistakeOfTheTest) {
  Harness harness(kTimers);
  const Pid pid = harness.Submit("timer");
  EXPECT_THROW(static_cast<void>(harness.Upgrade<Old>(pid)), ExpectationFailed);
}

}  // namespace
}  // namespace actord::harness_test
