// Watches that are given up while the end that they are about is on its way:
// when the step that gives one up has committed, no end by it follows. And the
// text of a failure that passes along many links. Workers run by hand.
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/actors/ties.h"
#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Two workers: what happens on the second one, the first one's step lets happen
// while it lasts.
class GivenUp : public ToldTest {
 protected:
  void SetUp() override {
    RuntimeOptions options;
    options.external_commands = {"ext"};
    core_ = std::make_unique<SteppedCore>(2, options);
    core_->AddCommand("defer", ACTORD_HANDLER_INLINE,
                      [this](actord::testing::Call& call) {
                        deferred_.push_back(call.Defer());
                        return ACTORD_DEFERRED;
                      });
    Begin("watcher");
    Begin("trapper", "trapping");
    Begin("partner");
    core_->Settle();
  }
  void Link(const std::string& who, const std::string& whom) {
    Do(who, [&](StepOutput& out) { out.Link(PidOf(whom)); });
  }
  // In its next step, which the first worker runs.
  void DoOnFirst(const std::string& name, Act act) {
    DoLater(name, std::move(act));
    core_->Wake(0);
    core_->RunUntilSleep(0);
  }
  // Wholly, on the second worker, while the first one runs a step.
  void EndMeanwhile(const std::string& name) {
    ASSERT_TRUE(core()
                    .delivery
                    .Control(Owner::kAny, pids_[name], kEventTerminate,
                             "meanwhile", core().lane)
                    .ok());
    core_->Wake(1);
    core_->RunUntilSleep(1);
    ASSERT_FALSE(Lives(name));
  }
  static std::string Exit(const std::string& who, Tag tag,
                          const std::string& rest) {
    return "x:" + who + ":" + std::to_string(tag) + ":" + rest;
  }

  std::vector<actord_completion> deferred_;
};

TEST_F(GivenUp, AnUnlinkShieldsFromAFailureThatCameDuringItsStep) {
  Link("watcher", "partner");
  Tag ext = 0;
  DoOnFirst("watcher", [&](StepOutput& out) {
    EndMeanwhile("partner");
    EXPECT_EQ(Activity::Urgent(core_->process(pids_["watcher"]).activity), 1u)
        << "the failure is there already";
    out.Unlink(PidOf("partner"));
    ext = out.Yield("ext");
  });
  EXPECT_THAT(Told("watcher"), IsEmpty());
  EXPECT_TRUE(Lives("watcher"));
  EXPECT_EQ(core().ties.size(), 0u) << "its place has come back";
  // It goes on as if nothing had been.
  Do("watcher", [](StepOutput& out) { out.Done("well"); });
  EXPECT_EQ(OutcomeOf("watcher")->result.bytes, "well");
}

TEST_F(GivenUp, AnUnlinkShieldsAlsoIfTheFailureWasTakenBeforeItsStep) {
  // As many completions as one step is given; the failure comes behind them.
  constexpr size_t kBatch = 256;
  for (const bool blocks : {false, true}) {
    SCOPED_TRACE(blocks);
    deferred_.clear();
    Begin("partner");
    size_t seen = 0;
    pids_["busy"] = core_->Submit([&](Events events, StepOutput& out) {
      if (events.empty()) {
        out.Link(PidOf("partner"));
        for (size_t i = 0; i < kBatch; ++i) (void)out.Yield("defer");
        return out.Block();
      }
      seen += events.size();
      out.Unlink(PidOf("partner"));
      // Nothing could wake it but the end that is given up.
      if (blocks) out.Block();
    });
    ASSERT_EQ(deferred_.size(), kBatch);
    const actord_host* host = core().host.abi();
    for (const actord_completion deferred : deferred_) {
      ASSERT_EQ(host->complete(host, deferred, ACTORD_OK, nullptr), ACTORD_OK);
    }
    Outcome failed;
    failed.kind = EndKind::kFailed;
    const Pid partner = pids_["partner"];
    const FoundProcess process = core().processes.Find(partner);
    ASSERT_TRUE(process);
    core().ties.OnEnd({*process, partner, &failed}, core().lane);
    core_->Settle();
    EXPECT_EQ(seen, kBatch);
    EXPECT_EQ(Lives("busy"), !blocks);
    if (!blocks) continue;
    const auto outcome = OutcomeOf("busy");
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, EndKind::kThrew);
    EXPECT_THAT(outcome->message, HasSubstr("nothing could ever wake it"));
  }
}

TEST_F(GivenUp, ALinkThatIsMadeAgainIsANewOne) {
  Link("watcher", "partner");
  DoOnFirst("watcher", [&](StepOutput& out) {
    EndMeanwhile("partner");
    out.Unlink(PidOf("partner"));
    out.Link(PidOf("partner"));
  });
  core_->Settle();
  ASSERT_FALSE(Lives("watcher"));
  EXPECT_THAT(
      OutcomeOf("watcher")->message,
      EndsWith("could not be: there is no process " +
               FormatPid(pids_["partner"]) + ", or it had ended before"))
      << "it ends by the second link";
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(GivenUp, AnUnlinkLeavesTheOtherLinks) {
  Begin("other");
  Link("watcher", "partner");
  Link("watcher", "other");
  DoOnFirst("watcher", [&](StepOutput& out) {
    EndMeanwhile("partner");
    EndMeanwhile("other");
    out.Unlink(PidOf("partner"));
  });
  core_->Settle();
  ASSERT_FALSE(Lives("watcher"));
  EXPECT_THAT(OutcomeOf("watcher")->message,
              StartsWith("process " + FormatPid(pids_["other"])));
}

TEST_F(GivenUp, AnUnlinkHidesTheExitFromATrappingProcess) {
  Begin("other");
  Link("trapper", "partner");
  Link("trapper", "other");
  DoOnFirst("trapper", [&](StepOutput& out) {
    EndMeanwhile("partner");
    EndMeanwhile("other");
    out.Unlink(PidOf("partner"));
  });
  EXPECT_THAT(Told("trapper"), ElementsAre(Exit("other", 0, "6:10:meanwhile")));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(GivenUp, LinkThatIsMadeAgainGivesOneExit) {
  Link("trapper", "partner");
  DoOnFirst("trapper", [&](StepOutput& out) {
    EndMeanwhile("partner");
    out.Unlink(PidOf("partner"));
    out.Link(PidOf("partner"));
  });
  EXPECT_THAT(Told("trapper"),
              ElementsAre(StartsWith(Exit("partner", 0, "7:5:there is no"))));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(GivenUp, ADemonitorShieldsFromTheExitThatIsInTheMailbox) {
  Tag given_up = 0;
  Tag kept = 0;
  Do("watcher", [&](StepOutput& out) {
    given_up = out.Monitor(PidOf("partner"));
    kept = out.Monitor(PidOf("partner"));
  });
  DoOnFirst("watcher", [&](StepOutput& out) {
    EndMeanwhile("partner");
    EXPECT_EQ(Activity::Messages(core_->process(pids_["watcher"]).activity),
              1u + 2u)
        << "both exits are there already";
    out.Demonitor(given_up);
  });
  EXPECT_THAT(Told("watcher"),
              ElementsAre(Exit("partner", kept, "6:10:meanwhile")));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(GivenUp, ADemonitorInTheStepOfItsMonitorLeavesNothingToCome) {
  Do("partner", [](StepOutput& out) { out.Done(); });
  Do("watcher", [&](StepOutput& out) {
    out.Demonitor(out.Monitor(PidOf("partner")));
    out.Link(PidOf("partner"));
    out.Unlink(PidOf("partner"));
  });
  EXPECT_THAT(Told("watcher"), IsEmpty());
  EXPECT_TRUE(Lives("watcher"));
  EXPECT_EQ(core().ties.size(), 0u);
}

TEST_F(GivenUp, AStepThatFailsHasGivenNothingUp) {
  Begin("third");
  Tag monitor = 0;
  Do("watcher",
     [&](StepOutput& out) { monitor = out.Monitor(PidOf("partner")); });
  Link("watcher", "third");
  DoOnFirst("watcher", [&](StepOutput& out) {
    out.Demonitor(monitor);
    out.Unlink(PidOf("third"));
    out.Fail(Code::kAborted, "by intention");
  });
  core_->Settle();
  EXPECT_FALSE(Lives("third"));
}

// Each event holds a place until a turn finds it, whether it has an effect or
// not: so a process that links and unlinks for ever is bounded, too.
TEST_F(GivenUp, EventWithoutEffectHoldsItsPlaceUntilATurnFindsIt) {
  Do("partner", [](StepOutput& out) { out.Done(); });
  size_t places = 0;
  for (int round = 0; round < 3; ++round) {
    Do("watcher", [&](StepOutput& out) {
      for (int i = 0; i < 30'000; ++i) {
        out.Link(PidOf("partner"));
        out.Unlink(PidOf("partner"));
      }
    });
    ASSERT_TRUE(Lives("watcher"));
    places = std::max(places, core().ties.CountOf(pids_["watcher"]));
  }
  EXPECT_EQ(places, 0u);
  Do("watcher", [](StepOutput& out) { out.Done(); });
  EXPECT_TRUE(OutcomeOf("watcher")->message.empty());
}

TEST_F(GivenUp, AFailureThatPassesManyLinksKeepsItsCauseAndItsLength) {
  constexpr int kLinks = 100;
  const std::string text = "the first cause " + std::string(4000, 'x');
  for (int i = 0; i <= kLinks; ++i) {
    Begin(std::to_string(i));
    if (i > 0) Link(std::to_string(i), std::to_string(i - 1));
  }
  Do("0", [&](StepOutput& out) { out.Fail(Code::kDataLoss, text); });
  EXPECT_EQ(OutcomeOf("0")->message, text) << "the first keeps it whole";
  const std::string cause =
      "process " + FormatPid(pids_["0"]) + " has failed: the first cause xx";
  for (int i = 1; i <= kLinks; ++i) {
    const auto outcome = OutcomeOf(std::to_string(i));
    ASSERT_TRUE(outcome) << i;
    EXPECT_THAT(
        outcome->message,
        StartsWith("process " + FormatPid(pids_[std::to_string(i - 1)]) +
                   ", to which it is linked, has failed"));
    EXPECT_LT(outcome->message.size(), 700u) << i;
    if (i == 1) continue;
    EXPECT_THAT(outcome->message,
                HasSubstr("the cause is " + std::to_string(i) +
                          " links away: " + cause));
  }
}

TEST_F(GivenUp, ALinkThatCannotBeIsACauseToo) {
  Begin("third");
  Do("partner", [](StepOutput& out) { out.Done(); });
  Link("third", "watcher");
  Link("watcher", "partner");
  ASSERT_FALSE(Lives("third"));
  EXPECT_EQ(OutcomeOf("third")->message,
            "process " + FormatPid(pids_["watcher"]) +
                ", to which it is linked, has failed; the cause is 2 links "
                "away: process " +
                FormatPid(pids_["partner"]) +
                " could not be: there is no process " +
                FormatPid(pids_["partner"]) + ", or it had ended before");
}

TEST_F(GivenUp, ALongCauseIsCutBehindAWholeCharacter) {
  std::string text(400, 'x');
  while (text.size() < 2000) text += "\u20ac";
  for (int shift = 0; shift < 3; ++shift) {
    Begin("watcher");
    Begin("partner");
    Link("watcher", "partner");
    Do("partner", [&](StepOutput& out) { out.Fail(Code::kAborted, text); });
    const std::string message = OutcomeOf("watcher")->message;
    EXPECT_THAT(message, EndsWith("\u20ac..."));
    EXPECT_THAT(message, Not(HasSubstr("\u20ac\u20ac....")));
    text.insert(0, "x");
  }
}

}  // namespace
}  // namespace actord::runtime
