// A harness shields from ends as the daemon does: none follows the step that
// gave its watch up. And its texts of failures that pass along links are the
// daemon's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/handlers/testing/harness_fixture.h"

namespace actord::harness_test {
namespace {

using ::testing::IsEmpty;
using ::testing::StartsWith;

class HarnessUnlinkTest : public HarnessTest {
 protected:
  // A process that fails when it is told to.
  Pid StartPartner(Harness& harness) {
    const Pid partner = harness.Submit("scripted");
    partners_.push_back(partner);
    return partner;
  }
  // The script of partners; false: another process runs.
  bool ActAsPartner(Events events, StepOutput& out) {
    if (std::find(partners_.begin(), partners_.end(), out.self()) ==
        partners_.end()) {
      return false;
    }
    for (const Event event : events) {
      if (event.topic() == "fail") out.Fail(Code::kDataLoss, "broken");
    }
    return true;
  }
  void NoteExits(Events events) {
    for (const Event event : events) {
      if (!event.is_exit()) continue;
      exits_.push_back(std::to_string(event.tag()) + " " +
                       std::string(event.payload().bytes));
    }
  }

  std::vector<Pid> partners_;
  std::vector<std::string> exits_;
};

TEST_F(HarnessUnlinkTest, TiesMadeAndGivenUpInOneStepLeaveNothing) {
  const Pid nobody(actord_pid{1, 1, 99, 1});
  for (const char* type : {"scripted", "scripted.trapping"}) {
    Harness harness(kPlugin);
    script = [&](Events events, StepOutput& out) {
      NoteExits(events);
      if (!events.empty()) return;
      out.Link(nobody);
      out.Unlink(nobody);
      out.Demonitor(out.Monitor(nobody));
    };
    const Pid pid = harness.Submit(type);
    harness.Run();
    EXPECT_TRUE(harness.IsLive(pid)) << type;
    EXPECT_THAT(exits_, IsEmpty()) << type;
  }
}

TEST_F(HarnessUnlinkTest, NoExitFollowsTheStepThatGaveItsWatchUp) {
  Harness harness(kPlugin);
  harness.Hold("go");
  const Pid partner = StartPartner(harness);
  Tag given_up = 0;
  script = [&](Events events, StepOutput& out) {
    if (ActAsPartner(events, out)) return;
    NoteExits(events);
    if (events.empty()) {
      out.Link(partner);
      given_up = out.Monitor(partner);
      EXPECT_EQ(out.Monitor(partner), 2u);
      out.Yield("go");
      return out.Block();
    }
    for (const Event event : events) {
      if (!event.is_completion()) continue;
      out.Unlink(partner);
      out.Demonitor(given_up);
      // A new one, of a process that has ended.
      out.Link(partner);
    }
  };
  harness.Submit("scripted.trapping");
  harness.Run();
  harness.Deliver(partner, "fail");
  harness.Run();
  EXPECT_THAT(exits_, IsEmpty()) << "it blocks, so they are in its mailbox";
  ASSERT_TRUE(harness.Complete(harness.ExpectHeld("go")));
  harness.Run();
  EXPECT_THAT(exits_, ElementsAre("2 broken", StartsWith("0 there is no")));
}

// The seed decides whether the failure is taken before the step that unlinks.
TEST_F(HarnessUnlinkTest, NoEndFollowsTheStepThatUnlinked) {
  for (const bool blocks : {false, true}) {
    SCOPED_TRACE(blocks);
    int shielded = 0;
    int ended = 0;
    ForEachSeed(200, [&](uint64_t seed) {
      Harness harness(kPlugin, {.seed = seed});
      harness.Hold("go");
      partners_.clear();
      const Pid partner = StartPartner(harness);
      bool has_unlinked = false;
      script = [&](Events events, StepOutput& out) {
        if (ActAsPartner(events, out)) return;
        if (events.empty()) {
          out.Link(partner);
          out.Yield("go");
          return;
        }
        out.Unlink(partner);
        has_unlinked = true;
        // Nothing could wake it but the end that is given up.
        if (blocks) out.Block();
      };
      const Pid linked = harness.Submit("scripted");
      harness.Run();
      const HeldYield go = harness.ExpectHeld("go");
      harness.Deliver(partner, "fail");
      ASSERT_TRUE(harness.Complete(go));
      harness.Run();
      EXPECT_FALSE(harness.IsLive(partner));
      EXPECT_EQ(harness.IsLive(linked), has_unlinked && !blocks);
      ++(has_unlinked ? shielded : ended);
      if (!has_unlinked || !blocks) return;
      EXPECT_THAT(harness.ExpectFailed(linked, Code::kFailedPrecondition),
                  HasSubstr("nothing could ever wake it"));
    });
    EXPECT_GT(shielded, 0);
    EXPECT_GT(ended, 0);
  }
}

TEST_F(HarnessUnlinkTest, AFailureThatPassesManyLinksKeepsItsCause) {
  constexpr size_t kLinks = 100;
  Harness harness(kPlugin);
  std::vector<Pid> chain;
  const std::string text = "the first cause " + std::string(4000, 'x');
  script = [&](Events events, StepOutput& out) {
    if (events.empty() && !chain.empty()) out.Link(chain.back());
    for (const Event event : events) {
      if (event.topic() == "fail") out.Fail(Code::kDataLoss, text);
    }
  };
  for (size_t i = 0; i <= kLinks; ++i) {
    const Pid next = harness.Submit("scripted");
    harness.Run();
    chain.push_back(next);
  }
  harness.Deliver(chain[0], "fail");
  EXPECT_EQ(harness.ExpectFailed(chain[0], Code::kDataLoss), text);
  std::string first;
  for (size_t i = 1; i <= kLinks; ++i) {
    const std::string why = harness.ExpectFailed(chain[i], Code::kAborted);
    EXPECT_LT(why.size(), 700u) << i;
    if (i == 1) {
      EXPECT_THAT(why, HasSubstr(", to which it is linked, has failed: the "
                                 "first cause xx"));
      first = why.substr(0, why.find(','));
      continue;
    }
    EXPECT_THAT(why, HasSubstr(", to which it is linked, has failed; the cause "
                               "is " +
                               std::to_string(i) + " links away: " + first +
                               " has failed: the first cause xx"));
  }
}

}  // namespace
}  // namespace actord::harness_test
