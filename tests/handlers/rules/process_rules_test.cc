#include "handlers/rules/process_rules.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace actord::rules {
namespace {

actord_bytes Of(const std::string& text) { return {text.data(), text.size()}; }

TEST(Rules, APayloadFitsUpToEachOfItsLimits) {
  const std::string most(100, 'p'), longer(101, 'p');
  const std::string label(kMaxLabelBytes, 'l'), long_label = label + "l";
  EXPECT_TRUE(Fits({Of(most), Of(label)}, Of(label), 100));
  EXPECT_FALSE(Fits({Of(longer), Of(label)}, Of(label), 100));
  EXPECT_FALSE(Fits({Of(most), Of(long_label)}, Of(label), 100));
  EXPECT_FALSE(Fits({Of(most), Of(label)}, Of(long_label), 100));
  EXPECT_TRUE(Fits({}, {}, 0));
}

// Expects that a field of `bytes` bytes at `offset` is read exactly if the size
// that the struct states covers the whole field.
template <typename Struct, typename IsRead>
void ExpectReadIfCovered(Struct of, size_t offset, size_t bytes,
                         const IsRead& is_read) {
  const size_t end = offset + bytes;
  for (const size_t size : {offset, offset + 1, end - 1}) {
    of.struct_size = static_cast<uint32_t>(size);
    EXPECT_FALSE(is_read(of)) << size << " bytes; the field ends at " << end;
  }
  // The last size is that of a newer plugin.
  for (const size_t size : {end, sizeof(Struct), sizeof(Struct) + 64}) {
    of.struct_size = static_cast<uint32_t>(size);
    EXPECT_TRUE(is_read(of)) << size << " bytes; the field ends at " << end;
  }
}

TEST(Rules, AFieldOfASpawnIsReadIfTheStructHasAllOfIt) {
  uint64_t tag = 0;
  const std::string name = "n";
  actord_spawn whole{};
  whole.flags = ACTORD_SPAWN_PRIORITY | ACTORD_SPAWN_NAME;
  whole.priority = 7;
  whole.monitor_tag = &tag;
  whole.name = Of(name);
  ExpectReadIfCovered(whole, offsetof(actord_spawn, priority),
                      sizeof(whole.priority), [](const actord_spawn& spawn) {
                        const int priority = PriorityOf(spawn);
                        if (priority == 7) return true;
                        EXPECT_EQ(priority, ACTORD_PRIORITY_DEFAULT);
                        return false;
                      });
  ExpectReadIfCovered(whole, offsetof(actord_spawn, monitor_tag),
                      sizeof(whole.monitor_tag),
                      [&tag](const actord_spawn& spawn) {
                        return MonitorTagOf(spawn) == &tag;
                      });
  ExpectReadIfCovered(
      whole, offsetof(actord_spawn, name), sizeof(whole.name),
      [](const actord_spawn& spawn) { return NameOf(spawn) == "n"; });
}

TEST(Rules, AFieldOfAYieldOrATypeIsReadIfTheStructHasAllOfIt) {
  const actord_work_policy policy{};
  actord_yield whole{};
  whole.policy = &policy;
  ExpectReadIfCovered(
      whole, offsetof(actord_yield, policy), sizeof(whole.policy),
      [&policy](const actord_yield& of) { return PolicyOf(of) == &policy; });
  ExpectReadIfCovered(
      actord_process_type{}, offsetof(actord_process_type, restore),
      sizeof(actord_process_type::restore),
      [](const actord_process_type& type) { return HasUpgrades(type); });
}

TEST(Rules, WithoutItsFlagAFieldIsNotRead) {
  const std::string name = "n";
  actord_spawn spawn{};
  spawn.struct_size = sizeof(spawn);
  spawn.priority = 7;
  spawn.name = Of(name);
  EXPECT_EQ(PriorityOf(spawn), ACTORD_PRIORITY_DEFAULT);
  EXPECT_EQ(NameOf(spawn), "");
}

TEST(Rules, APriorityIsFrom0To31) {
  EXPECT_TRUE(IsPriority(0));
  EXPECT_TRUE(IsPriority(31));
  EXPECT_FALSE(IsPriority(-1));
  EXPECT_FALSE(IsPriority(32));
  actord_spawn spawn{};
  spawn.struct_size = sizeof(spawn);
  spawn.flags = ACTORD_SPAWN_PRIORITY;
  spawn.priority = UINT32_MAX;
  EXPECT_FALSE(IsPriority(PriorityOf(spawn)));
}

TEST(Rules, TheFieldsThatAPolicyDoesNotHaveAreZero) {
  actord_work_policy policy{};
  policy.max_attempts = 3;
  policy.lease_ns = 5;
  constexpr size_t kLease = offsetof(actord_work_policy, lease_ns);
  policy.struct_size = static_cast<uint32_t>(kLease);
  EXPECT_EQ(WholePolicy(policy).max_attempts, 3u);
  EXPECT_EQ(WholePolicy(policy).lease_ns, 0u);
  policy.struct_size = static_cast<uint32_t>(kLease + sizeof(policy.lease_ns));
  EXPECT_EQ(WholePolicy(policy).lease_ns, 5u);
  policy.struct_size = sizeof(policy) + 64;  // of a newer plugin
  EXPECT_EQ(WholePolicy(policy).lease_ns, 5u);
}

TEST(Rules, AMethodIsFoundByItsName) {
  const actord_method methods[] = {{"first", nullptr}, {"second", nullptr}};
  actord_process_type type{};
  type.methods = methods;
  type.method_count = 2;
  EXPECT_EQ(FindMethod(type, ""), 0u);
  EXPECT_EQ(FindMethod(type, "second"), 1u);
  EXPECT_EQ(FindMethod(type, "secon"), kNoSuchMethod);
}

TEST(Rules, AFailureHasTheCodeOfAnError) {
  EXPECT_EQ(ErrorCodeOf(ACTORD_ABORTED), ACTORD_ABORTED);
  for (const int32_t none : {0, -1, 17, std::numeric_limits<int32_t>::min()}) {
    EXPECT_EQ(ErrorCodeOf(none), ACTORD_UNKNOWN) << none;
  }
}

TEST(Rules, AnExceptionGoesBeforeABrokenRuleAndThatBeforeAStatus) {
  EXPECT_EQ(PluginCallEndOf(true, true, ACTORD_OK), PluginCallEnd::kThrew);
  EXPECT_EQ(PluginCallEndOf(false, true, ACTORD_ABORTED),
            PluginCallEnd::kBrokeRule);
  EXPECT_EQ(PluginCallEndOf(false, false, ACTORD_ABORTED),
            PluginCallEnd::kRefused);
  EXPECT_EQ(PluginCallEndOf(false, false, ACTORD_OK), PluginCallEnd::kOk);
  EXPECT_EQ(CodeOfFailedInit(PluginCallEnd::kThrew, ACTORD_ABORTED),
            ACTORD_INTERNAL);
  EXPECT_EQ(CodeOfFailedInit(PluginCallEnd::kBrokeRule, ACTORD_OK),
            ACTORD_INTERNAL);
  EXPECT_EQ(CodeOfFailedInit(PluginCallEnd::kRefused, ACTORD_ABORTED),
            ACTORD_ABORTED);
  EXPECT_TRUE(MadeObject(false, ACTORD_OK));
  EXPECT_FALSE(MadeObject(true, ACTORD_OK));
  EXPECT_FALSE(MadeObject(false, ACTORD_ABORTED));
}

TEST(Rules, AHandlerAnswersOrDefers) {
  EXPECT_EQ(HandledAs(ACTORD_HANDLED, false), Handled::kAnswered);
  EXPECT_EQ(HandledAs(ACTORD_HANDLED, true), Handled::kAnswered);
  EXPECT_EQ(HandledAs(ACTORD_DEFERRED, true), Handled::kDeferred);
  EXPECT_EQ(HandledAs(ACTORD_DEFERRED, false), Handled::kWrongly);
  EXPECT_EQ(HandledAs(99, true), Handled::kWrongly);
}

TEST(Rules, AVerdictTakesEffectOrSaysWhyNot) {
  for (const bool can_wake : {false, true}) {
    EXPECT_TRUE(Succeeds(ACTORD_STEP_IDLE, can_wake));
    EXPECT_TRUE(Succeeds(ACTORD_STEP_CONTINUE, can_wake));
    EXPECT_TRUE(Succeeds(ACTORD_STEP_DONE, can_wake));
    // The callers of Succeeds check for this verdict first.
    EXPECT_FALSE(Succeeds(ACTORD_STEP_CONTINUE_AS, can_wake));
    EXPECT_EQ(Succeeds(ACTORD_STEP_BLOCK, can_wake), can_wake);
    EXPECT_FALSE(Succeeds(ACTORD_STEP_FAIL, can_wake));
    EXPECT_FALSE(Succeeds(ACTORD_STEP_THREW, can_wake));
    EXPECT_FALSE(Succeeds(77, can_wake));
  }
  const auto why = [](int32_t verdict) {
    return FailureOf(verdict, true, ACTORD_ABORTED);
  };
  EXPECT_EQ(why(ACTORD_STEP_BLOCK), StepFailure::kBlockedForEver);
  EXPECT_EQ(why(ACTORD_STEP_THREW), StepFailure::kThrew);
  EXPECT_EQ(why(ACTORD_STEP_FAIL), StepFailure::kFailed);
  EXPECT_EQ(why(77), StepFailure::kUnknownVerdict);
}

TEST(Rules, OnlyAfterACancelDoesAFailureEndAsCancelled) {
  EXPECT_EQ(FailureOf(ACTORD_STEP_FAIL, true, ACTORD_CANCELLED),
            StepFailure::kCancelled);
  EXPECT_EQ(FailureOf(ACTORD_STEP_FAIL, false, ACTORD_CANCELLED),
            StepFailure::kFailed);
}

TEST(Rules, TheFirstCancelEndsAProcessThatDoesNotHandleIt) {
  actord_process_type type{};
  EXPECT_EQ(CancelOf(type, false), Cancel::kEnds);
  EXPECT_EQ(CancelOf(type, true), Cancel::kIgnored);
  type.flags = ACTORD_TYPE_HANDLES_CANCEL;
  EXPECT_EQ(CancelOf(type, false), Cancel::kIsSeen);
  EXPECT_EQ(CancelOf(type, true), Cancel::kIgnored);
}

// As in the runtime; the harness has no kLimit.
enum class Kind : uint8_t {
  kResult,
  kFailed,
  kThrew,
  kInitRefused,
  kCancelled,
  kTerminated,
  kLimit,
};

TEST(Rules, EachKindOfEndHasItsReason) {
  EXPECT_EQ(ExitReasonOf(Kind::kResult), ACTORD_EXIT_DONE);
  EXPECT_EQ(ExitReasonOf(Kind::kFailed), ACTORD_EXIT_FAILED);
  EXPECT_EQ(ExitReasonOf(Kind::kThrew), ACTORD_EXIT_THREW);
  EXPECT_EQ(ExitReasonOf(Kind::kInitRefused), ACTORD_EXIT_INIT_REFUSED);
  EXPECT_EQ(ExitReasonOf(Kind::kCancelled), ACTORD_EXIT_CANCELLED);
  EXPECT_EQ(ExitReasonOf(Kind::kTerminated), ACTORD_EXIT_TERMINATED);
  EXPECT_EQ(ExitReasonOf(Kind::kLimit), ACTORD_EXIT_FAILED);
}

TEST(Rules, AFailureEndsLinkedProcessesThatDoNotTrapExits) {
  for (uint32_t reason = ACTORD_EXIT_DONE; reason <= ACTORD_EXIT_RESTARTED;
       ++reason) {
    const bool is_done = reason == ACTORD_EXIT_DONE;
    const bool is_failure = !is_done && reason != ACTORD_EXIT_RESTARTED;
    EXPECT_EQ(TieEndOf(true, false, reason), TieEnd::kTells);
    EXPECT_EQ(TieEndOf(true, true, reason), TieEnd::kTells);
    EXPECT_EQ(TieEndOf(false, true, reason), TieEnd::kTells);
    EXPECT_EQ(TieEndOf(false, false, reason),
              is_failure ? TieEnd::kEnds : TieEnd::kForgets);
    EXPECT_EQ(CarriesResult(reason), is_done);
  }
}

TEST(Rules, AnOrderToEndGoesBeforeAnUpgrade) {
  EXPECT_EQ(MayUpgrade(false, false, true), Upgrade::kGoesOn);
  EXPECT_EQ(MayUpgrade(false, false, false), Upgrade::kIsDeclined);
  EXPECT_EQ(MayUpgrade(false, true, true), Upgrade::kIsPutOff);
  EXPECT_EQ(MayUpgrade(false, true, false), Upgrade::kIsPutOff);
  EXPECT_EQ(MayUpgrade(true, true, true), Upgrade::kIsDeclined);
}

TEST(Rules, OnlyASnapshotPutsAnUpgradeOff) {
  EXPECT_EQ(AfterSnapshot(PluginCallEnd::kOk, ACTORD_OK), Upgrade::kGoesOn);
  EXPECT_EQ(AfterSnapshot(PluginCallEnd::kRefused, ACTORD_UNAVAILABLE),
            Upgrade::kIsPutOff);
  EXPECT_EQ(AfterSnapshot(PluginCallEnd::kRefused, ACTORD_ABORTED),
            Upgrade::kIsDeclined);
  EXPECT_EQ(AfterSnapshot(PluginCallEnd::kBrokeRule, ACTORD_UNAVAILABLE),
            Upgrade::kIsDeclined);
  EXPECT_EQ(AfterSnapshot(PluginCallEnd::kThrew, ACTORD_OK),
            Upgrade::kIsDeclined);
  EXPECT_EQ(AfterRestore(PluginCallEnd::kOk), Upgrade::kGoesOn);
  EXPECT_EQ(AfterRestore(PluginCallEnd::kRefused), Upgrade::kIsDeclined);
}

TEST(Rules, ATimeoutOf0IsTheDefault) {
  EXPECT_EQ(TimeoutOf(0, 5), 5u);
  EXPECT_EQ(TimeoutOf(3, 5), 3u);
}

}  // namespace
}  // namespace actord::rules
