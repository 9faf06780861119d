// Snapshot and Restore of C++ classes, called as the daemon calls them.
#include <actord/coroutine.h>
#include <actord/plugin.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/support/fake_process.h"

namespace actord {
namespace {

using testing::FakeProcess;

class Movable : public Process {
 public:
  static constexpr const char* kName = "movable";
  static constexpr Method kMethods[] = {{"run", nullptr}, {"other", nullptr}};
  static inline int objects = 0;

  Movable() { ++objects; }
  Movable(const Movable&) = delete;
  Movable& operator=(const Movable&) = delete;
  ~Movable() { --objects; }

  Status Init(std::string_view, const Payload& input) {
    state_ = input.bytes;
    return {};
  }
  SnapshotResult Snapshot() const {
    if (state_ == "busy") return SnapshotResult::NotNow();
    if (state_ == "secret") return Status(Code::kAborted, "is secret");
    if (state_ == "ok") return Status();
    if (state_ == "broken") throw std::runtime_error("broke");
    if (state_ == "typed") return {state_, "text/x"};
    return state_;
  }
  Status Restore(std::string_view method, const RestoreFrom& from,
                 RestoreContext& context) {
    if (from.snapshot.bytes == "bad") {
      return {Code::kInvalidArgument, "is bad"};
    }
    if (from.snapshot.bytes == "broken") throw std::runtime_error("broke");
    state_ = std::string(method) + " " + std::string(from.version) + " " +
             std::string(from.snapshot.bytes) + " " +
             std::string(from.snapshot.content_type);
    for (const Tag tag : {Tag{1}, Tag{2}}) {
      state_ += context.AdoptYield(tag) ? " yes" : " no";
    }
    return {};
  }
  void Step(Events, StepOutput& out) { out.Done(state_); }

 private:
  std::string state_;
};

class Unmoved : public Process {
 public:
  static constexpr const char* kName = "unmoved";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  void Step(Events, StepOutput&) {}
};

TEST(SdkUpgrade, TypesWithoutTheFunctionsHaveNone) {
  EXPECT_EQ(kProcessType<Unmoved>.snapshot, nullptr);
  EXPECT_EQ(kProcessType<Unmoved>.restore, nullptr);
  EXPECT_NE(kProcessType<Movable>.snapshot, nullptr);
  EXPECT_NE(kProcessType<Movable>.restore, nullptr);
  EXPECT_EQ(kProcessType<Movable>.struct_size, sizeof(actord_process_type));
}

TEST(SdkUpgrade, SnapshotHandsItsBytesOver) {
  FakeProcess process(kProcessType<Movable>);
  ASSERT_EQ(process.Init({}, "some bytes"), ACTORD_OK);
  EXPECT_EQ(process.Snapshot(), ACTORD_OK);
  EXPECT_EQ(process.result.bytes, "some bytes");
  EXPECT_EQ(process.result.content_type, "");
  FakeProcess typed(kProcessType<Movable>);
  ASSERT_EQ(typed.Init({}, "typed"), ACTORD_OK);
  EXPECT_EQ(typed.Snapshot(), ACTORD_OK);
  EXPECT_EQ(typed.result.content_type, "text/x");
}

TEST(SdkUpgrade, SnapshotSaysWhyItHasNone) {
  struct Case {
    const char* state;
    int32_t status;
    const char* says;
  };
  for (const Case& c : {Case{"busy", ACTORD_UNAVAILABLE, "not now"},
                        Case{"secret", ACTORD_ABORTED, "is secret"},
                        Case{"ok", ACTORD_UNKNOWN, "no reason"},
                        Case{"broken", ACTORD_INTERNAL, "broke"}}) {
    FakeProcess process(kProcessType<Movable>);
    ASSERT_EQ(process.Init({}, c.state), ACTORD_OK);
    EXPECT_EQ(process.Snapshot(), c.status) << c.state;
    EXPECT_EQ(static_cast<int32_t>(process.failure), c.status) << c.state;
    EXPECT_NE(process.failure_text.find(c.says), std::string::npos) << c.state;
  }
}

TEST(SdkUpgrade, RestoreBeginsAnObject) {
  {
    FakeProcess process(kProcessType<Movable>);
    process.outstanding = {2};
    ASSERT_EQ(process.Restore("other", {"bytes", "text/x"}, "1.2"), ACTORD_OK);
    EXPECT_EQ(Movable::objects, 1);
    EXPECT_EQ(process.Step(), ACTORD_STEP_DONE);
    EXPECT_EQ(process.result.bytes, "other 1.2 bytes text/x no yes");
  }
  EXPECT_EQ(Movable::objects, 0);
}

TEST(SdkUpgrade, ARestoreThatFailsLeavesNoObject) {
  FakeProcess process(kProcessType<Movable>);
  EXPECT_EQ(process.Restore("run", "bad", "1"), ACTORD_INVALID_ARGUMENT);
  EXPECT_EQ(process.failure_text, "is bad");
  EXPECT_EQ(process.Restore("run", "broken", "1"), ACTORD_INTERNAL);
  EXPECT_EQ(process.failure_text, "Restore threw: broke");
  EXPECT_EQ(Movable::objects, 0);
}

class Waiting : public CoroutineProcess {
 public:
  static constexpr const char* kName = "waiting";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  Task<std::string> Main(Context& ctx, OwnedPayload input) {
    co_await ctx.Receive("go");
    co_return state_ + "/" + input.bytes;
  }
  SnapshotResult Snapshot() const { return "state"; }
  void Restore(std::string_view, const RestoreFrom& from, RestoreContext&) {
    state_ = from.snapshot.bytes;
  }

 private:
  std::string state_;
};

TEST(SdkUpgrade, MainBeginsAnewWithTheMembers) {
  FakeProcess process(kProcessType<Waiting>);
  ASSERT_EQ(process.Restore("run", "members", "1"), ACTORD_OK);
  EXPECT_EQ(process.Step(), ACTORD_STEP_IDLE);
  process.Message("go");
  EXPECT_EQ(process.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(process.result.bytes, "members/");
}

TEST(SdkUpgrade, ACoroutineThatHasNotSeenItsInputSaysNotNow) {
  FakeProcess process(kProcessType<Waiting>);
  ASSERT_EQ(process.Init({}, "input"), ACTORD_OK);
  EXPECT_EQ(process.Snapshot(), ACTORD_UNAVAILABLE);
  EXPECT_EQ(process.Step(), ACTORD_STEP_IDLE);
  EXPECT_EQ(process.Snapshot(), ACTORD_OK);
}

TEST(SdkUpgrade, ACoroutineOfARestoreCanGoOnBeforeItsFirstStep) {
  FakeProcess process(kProcessType<Waiting>);
  ASSERT_EQ(process.Restore("run", "members", "1"), ACTORD_OK);
  EXPECT_EQ(process.Snapshot(), ACTORD_OK);
}

TEST(SdkUpgrade, ACoroutineWithMessagesInItsHandsSaysNotNow) {
  FakeProcess process(kProcessType<Waiting>);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  EXPECT_EQ(process.Step(), ACTORD_STEP_IDLE);
  EXPECT_EQ(process.Snapshot(), ACTORD_OK);
  EXPECT_EQ(process.result.bytes, "state");
  process.Message("other");
  EXPECT_EQ(process.Step(), ACTORD_STEP_IDLE);
  EXPECT_EQ(process.Snapshot(), ACTORD_UNAVAILABLE);
}

}  // namespace
}  // namespace actord
