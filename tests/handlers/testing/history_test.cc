// Differences that count between a step and the same step run again.
#include "handlers/testing/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace actord::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Difference(const StepEnd& a, const StepEnd& b) {
  return DifferenceOf(a, "before", b, "after").value_or("none");
}

StepEnd EndWith(Effect effect) {
  StepEnd end;
  end.effects.push_back({});
  end.effects.push_back(std::move(effect));
  return end;
}

TEST(History, EqualEndsDoNotDiffer) {
  Effect effect;
  effect.name = "topic";
  effect.payload = OwnedPayload(std::string("x"));
  EXPECT_EQ(Difference(EndWith(effect), EndWith(effect)), "none");
  EXPECT_EQ(Difference({}, {}), "none");
}

TEST(History, EachPartOfAnEffectCounts) {
  using Kind = Effect::Kind;
  struct Case {
    Kind kind;
    std::function<void(Effect&)> change;
    const char* before;
    const char* after;
  };
  const Case cases[] = {
      {Kind::kSend, [](Effect& e) { e.kind = Kind::kLink; }, "sends 'n'",
       "links to"},
      {Kind::kSend,
       [](Effect& e) {
         e.to = actord_pid{1, 1, 5, 1};
       },
       "to 1.1.2.1", "to 1.1.5.1"},
      {Kind::kSend, [](Effect& e) { e.name = "m"; }, "sends 'n'", "sends 'm'"},
      {Kind::kSend, [](Effect& e) { e.payload.bytes = "y"; }, "'x'", "'y'"},
      {Kind::kSend, [](Effect& e) { e.payload.content_type = "image/png"; },
       "(text/plain)", "(image/png)"},
      {Kind::kYield, [](Effect& e) { e.tag = 4; }, "with tag 3", "with tag 4"},
      {Kind::kYield, [](Effect& e) { e.timeout_ns = 8; }, "timeout 7 ns",
       "timeout 8 ns"},
      {Kind::kYield, [](Effect& e) { e.policy.max_attempts = 2; },
       "another policy", "another policy"},
      {Kind::kCall, [](Effect& e) { e.to = {}; }, "calls 1.1.2.1",
       "calls 'holder'"},
      {Kind::kSpawn, [](Effect& e) { e.priority = 9; }, "priority 8",
       "priority 9"},
      {Kind::kSpawn, [](Effect& e) { e.holder = "other"; }, "method 'holder'",
       "method 'other'"},
      {Kind::kReply, [](Effect& e) { e.status = Code::kAborted; }, "with OK",
       "with ABORTED"},
      {Kind::kMonitor, [](Effect& e) { e.tag = 9; },
       "monitors 1.1.2.1 with tag 3", "tag 9"},
      {Kind::kDemonitor, [](Effect& e) { e.tag = 9; }, "the monitor 3",
       "the monitor 9"},
      {Kind::kUnlink,
       [](Effect& e) {
         e.to = actord_pid{1, 1, 5, 1};
       },
       "unlinks from 1.1.2.1", "unlinks from 1.1.5.1"},
      {Kind::kCancelYield, [](Effect& e) { e.tag = 9; }, "the yield 3",
       "the yield 9"},
  };
  for (const Case& c : cases) {
    Effect effect;
    effect.kind = c.kind;
    effect.to = actord_pid{1, 1, 2, 1};
    effect.tag = 3;
    effect.name = "n";
    effect.holder = "holder";
    effect.payload = OwnedPayload(std::string("x"));
    effect.timeout_ns = 7;
    effect.priority = 8;
    Effect changed = effect;
    c.change(changed);
    const std::string text = Difference(EndWith(effect), EndWith(changed));
    EXPECT_THAT(text, AllOf(HasSubstr("effect 2 before: "), HasSubstr(c.before),
                            HasSubstr("effect 2 after: "), HasSubstr(c.after)));
  }
}

TEST(History, AMissingEffectIsNamed) {
  StepEnd none;
  none.effects.push_back({});
  EXPECT_THAT(Difference(EndWith({}), none), HasSubstr("effect 2 after: none"));
  EXPECT_THAT(Difference(none, EndWith({})),
              HasSubstr("effect 2 before: none"));
}

TEST(History, TheVerdictTheResultAndTheFailureCount) {
  StepEnd idle;
  StepEnd done;
  done.verdict = ACTORD_STEP_DONE;
  StepEnd other = done;
  other.result = OwnedPayload(std::string("r"));
  StepEnd failed;
  failed.failure = Status(Code::kAborted, "why");
  EXPECT_THAT(Difference(idle, done),
              HasSubstr("verdict after: ends with Done"));
  EXPECT_THAT(Difference(done, other), HasSubstr("result after: 'r'"));
  EXPECT_THAT(Difference(idle, failed), HasSubstr("ABORTED: why"));
}

TEST(History, TheDifferenceOfLongPayloadsIsShown) {
  StepEnd a;
  StepEnd b;
  a.result =
      OwnedPayload(std::string(5000, 'x') + "one" + std::string(500, 'y'));
  b.result =
      OwnedPayload(std::string(5000, 'x') + "two" + std::string(500, 'y'));
  const std::string text = Difference(a, b);
  EXPECT_THAT(text, AllOf(HasSubstr("xxxone"), HasSubstr("xxxtwo")));
  EXPECT_LT(text.size(), 500u);
}

}  // namespace
}  // namespace actord::testing
