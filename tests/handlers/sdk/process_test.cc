#include <actord/plugin.h>
#include <actord/process.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_set>

#include "tests/support/fake_process.h"

namespace actord {
namespace {

using namespace std::chrono_literals;
using testing::FakeProcess;
using testing::MakePid;

// Runs the test's functions in Init and Step, and counts its objects.
class Scripted : public Process {
 public:
  static constexpr const char* kName = "scripted";
  static constexpr Method kMethods[] = {{"run", "The first."},
                                        {"other", nullptr}};

  static inline int objects = 0;
  static inline std::function<Status(std::string_view, Payload,
                                     const StepContext&)>
      init;
  static inline std::function<void(Events, StepOutput&)> step;
  static inline std::function<void()> close;

  Scripted() { ++objects; }
  ~Scripted() { --objects; }

  Status Init(std::string_view method, Payload input,
              const StepContext& context) {
    return init ? init(method, input, context) : Status::Ok();
  }
  void Step(Events events, StepOutput& out) {
    if (step) step(events, out);
  }
  void Close() {
    if (close) close();
  }
};

class ProcessTest : public ::testing::Test {
 protected:
  void TearDown() override {
    Scripted::init = nullptr;
    Scripted::step = nullptr;
    Scripted::close = nullptr;
  }
};

TEST_F(ProcessTest, StepThatSaysNothingIsIdle) {
  FakeProcess process(kProcessType<Scripted>);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  EXPECT_EQ(process.Step(), ACTORD_STEP_IDLE);
}

TEST_F(ProcessTest, LastVerdictCounts) {
  struct Case {
    std::function<void(StepOutput&)> say;
    int32_t verdict;
  };
  const Case cases[] = {
      {[](StepOutput& out) { out.Done(); }, ACTORD_STEP_DONE},
      {[](StepOutput& out) { out.Block(); }, ACTORD_STEP_BLOCK},
      {[](StepOutput& out) { out.Continue(); }, ACTORD_STEP_CONTINUE},
      {[](StepOutput& out) { out.Fail(Code::kAborted, "x"); },
       ACTORD_STEP_FAIL},
      {[](StepOutput& out) {
         out.Done();
         out.Idle();
       },
       ACTORD_STEP_IDLE},
  };
  for (const Case& c : cases) {
    Scripted::step = [&](Events, StepOutput& out) { c.say(out); };
    FakeProcess process(kProcessType<Scripted>);
    ASSERT_EQ(process.Init(), ACTORD_OK);
    EXPECT_EQ(process.Step(), c.verdict);
  }
}

TEST_F(ProcessTest, InitSeesMethodInputAndContext) {
  Scripted::init = [](std::string_view method, Payload input,
                      const StepContext& context) {
    EXPECT_EQ(method, "other");
    EXPECT_EQ(input.bytes, "in");
    EXPECT_EQ(input.content_type, "text/plain");
    EXPECT_EQ(context.self(), MakePid(3));
    EXPECT_EQ(context.parent(), MakePid(2));
    EXPECT_EQ(context.random(), 42u);
    EXPECT_EQ(context.now().time_since_epoch(), 1'700'000'000s);
    return Status::Ok();
  };
  FakeProcess process(kProcessType<Scripted>, MakePid(3), MakePid(2));
  EXPECT_EQ(process.Init("other", Payload::Text("in")), ACTORD_OK);
}

TEST_F(ProcessTest, RefusedInitDestroysTheObjectAndSaysWhy) {
  Scripted::init = [](const auto&...) {
    return Status(Code::kInvalidArgument, "not a number");
  };
  FakeProcess process(kProcessType<Scripted>);
  EXPECT_EQ(process.Init(), ACTORD_INVALID_ARGUMENT);
  EXPECT_EQ(process.failure, Code::kInvalidArgument);
  EXPECT_EQ(process.failure_text, "not a number");
  EXPECT_EQ(Scripted::objects, 0);
}

TEST_F(ProcessTest, ExceptionInInitRefusesWithItsText) {
  Scripted::init = [](const auto&...) -> Status {
    throw std::runtime_error("boom");
  };
  FakeProcess process(kProcessType<Scripted>);
  EXPECT_EQ(process.Init(), ACTORD_INTERNAL);
  EXPECT_EQ(process.failure_text, "Init threw: boom");
  EXPECT_EQ(Scripted::objects, 0);
}

TEST_F(ProcessTest, ExceptionInStepIsToldFromFail) {
  Scripted::step = [](Events, StepOutput& out) {
    out.Done("never");
    throw std::runtime_error("boom");
  };
  {
    FakeProcess process(kProcessType<Scripted>);
    ASSERT_EQ(process.Init(), ACTORD_OK);
    EXPECT_EQ(process.Step(), ACTORD_STEP_THREW);
    EXPECT_EQ(process.failure, Code::kInternal);
    EXPECT_EQ(process.failure_text, "Step threw: boom");
    EXPECT_EQ(Scripted::objects, 1);
  }
  EXPECT_EQ(Scripted::objects, 0);
}

TEST_F(ProcessTest, ExceptionOfAnyTypeIsCaught) {
  Scripted::step = [](Events, StepOutput&) { throw 42; };
  FakeProcess process(kProcessType<Scripted>);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  EXPECT_EQ(process.Step(), ACTORD_STEP_THREW);
  EXPECT_THAT(process.failure_text,
              ::testing::HasSubstr("Step threw something"));
}

TEST_F(ProcessTest, ExceptionInCloseLeavesAndStillDestroysTheObject) {
  Scripted::close = [] { throw std::runtime_error("boom"); };
  FakeProcess process(kProcessType<Scripted>);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  EXPECT_THROW(process.Close(), std::runtime_error);
  EXPECT_EQ(Scripted::objects, 0);
}

TEST_F(ProcessTest, EventsAreViewsOfWhatCame) {
  std::vector<std::string> seen;
  Scripted::step = [&](Events events, StepOutput&) {
    ASSERT_EQ(events.size(), 4u);
    EXPECT_TRUE(events[0].is_message());
    EXPECT_EQ(events[0].topic(), "add");
    EXPECT_EQ(events[0].from(), MakePid(9));
    EXPECT_EQ(events[0].payload().bytes, "1");
    EXPECT_FALSE(events[0].error());

    EXPECT_TRUE(events[1].is_completion());
    EXPECT_EQ(events[1].tag(), 7u);
    EXPECT_EQ(events[1].payload().bytes, "result");
    EXPECT_FALSE(events[1].error());

    EXPECT_TRUE(events[2].is_completion());
    ASSERT_TRUE(events[2].error());
    EXPECT_EQ(events[2].error().code, Code::kNotFound);
    EXPECT_EQ(events[2].error().message, "no such thing");
    EXPECT_TRUE(events[2].error().holder.empty());

    EXPECT_TRUE(events[3].is_cancel());
    EXPECT_EQ(events[3].payload().bytes, "please");
    for (const Event event : events) seen.emplace_back(event.payload().bytes);
  };
  FakeProcess process(kProcessType<Scripted>);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  process.Message("add", "1", MakePid(9));
  process.Complete(7, "result");
  process.Complete(8, "no such thing", Code::kNotFound);
  process.Cancel("please");
  process.Step();
  EXPECT_THAT(seen,
              ::testing::ElementsAre("1", "result", "no such thing", "please"));
}

TEST_F(ProcessTest, EffectsReachTheDaemon) {
  Tag tag = 0;
  Pid child;
  Scripted::step = [&](Events, StepOutput& out) {
    tag = out.Yield("a.b", Payload::Text("p"), {.timeout = 5ms});
    out.Yield("c.d", {}, {.timeout = -5ms});
    out.Yield("e.f");
    child =
        out.Spawn("type", "method", "in", {.keep_result = true, .priority = 3});
    out.Send(child, "topic", Payload("body", "text/csv"));
  };
  FakeProcess process(kProcessType<Scripted>);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  process.Step();

  ASSERT_EQ(process.yields.size(), 3u);
  EXPECT_EQ(process.yields[0].tag, tag);
  EXPECT_EQ(process.yields[0].command, "a.b");
  EXPECT_EQ(process.yields[0].payload.bytes, "p");
  EXPECT_EQ(process.yields[0].payload.content_type, "text/plain");
  EXPECT_EQ(process.yields[0].timeout_ns, 5'000'000u);
  EXPECT_EQ(process.yields[1].timeout_ns, 1u) << "has passed: not the default";
  EXPECT_EQ(process.yields[2].timeout_ns, 0u);
  ASSERT_EQ(process.spawned.size(), 1u);
  EXPECT_EQ(process.spawned[0].type, "type");
  EXPECT_EQ(process.spawned[0].method, "method");
  EXPECT_EQ(process.spawned[0].input.bytes, "in");
  EXPECT_TRUE(process.spawned[0].keep_result);
  EXPECT_EQ(process.spawned[0].priority, 3u);
  ASSERT_EQ(process.sent.size(), 1u);
  EXPECT_EQ(process.sent[0].to, child);
  EXPECT_EQ(process.sent[0].topic, "topic");
  EXPECT_EQ(process.sent[0].payload.content_type, "text/csv");
}

TEST_F(ProcessTest, PidsBecomeTextAndComeBack) {
  Scripted::step = [](Events, StepOutput& out) {
    const std::string text = out.FormatPid(MakePid(3));
    const auto pid = out.ParsePid(text);
    if (pid && *pid == MakePid(3) && !out.ParsePid("nonsense")) out.Done(text);
  };
  FakeProcess process(kProcessType<Scripted>);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  EXPECT_EQ(process.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(process.result.bytes, "pid-3");
}

TEST_F(ProcessTest, FailingWithOkIsAFailureAllTheSame) {
  Scripted::step = [](Events, StepOutput& out) { out.Fail(Status::Ok()); };
  FakeProcess process(kProcessType<Scripted>);
  ASSERT_EQ(process.Init(), ACTORD_OK);
  EXPECT_EQ(process.Step(), ACTORD_STEP_FAIL);
  EXPECT_EQ(process.failure, Code::kUnknown);
}

// The other forms of Init, the flags, and a type without Close.
class Plain : public Process {
 public:
  static constexpr const char* kName = "plain";
  static constexpr const char* kDoc = "Plain.";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  static constexpr bool kHandlesCancel = true;
  static constexpr bool kBlocksThread = true;
  void Init(std::string_view /*method*/, Payload input) { text_ = input.bytes; }
  void Step(Events /*events*/, StepOutput& out) { out.Done(text_); }

 private:
  std::string text_;
};

TEST_F(ProcessTest, InitMayReturnNothing) {
  FakeProcess process(kProcessType<Plain>);
  ASSERT_EQ(process.Init("run", "in"), ACTORD_OK);
  EXPECT_EQ(process.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(process.result.bytes, "in");
}

TEST_F(ProcessTest, TableSaysWhatTheClassSays) {
  constexpr const actord_process_type& kPlain = kProcessType<Plain>;
  EXPECT_EQ(kPlain.struct_size, sizeof(actord_process_type));
  EXPECT_STREQ(kPlain.name, "plain");
  EXPECT_STREQ(kPlain.doc, "Plain.");
  EXPECT_EQ(kPlain.flags,
            uint32_t{ACTORD_TYPE_HANDLES_CANCEL | ACTORD_TYPE_BLOCKS_THREAD});
  EXPECT_EQ(kPlain.state_size, sizeof(Plain));
  EXPECT_EQ(kPlain.state_align, alignof(Plain));
  EXPECT_EQ(kPlain.method_count, 1u);
  EXPECT_EQ(kProcessType<Scripted>.flags, 0u);
  EXPECT_EQ(kProcessType<Scripted>.doc, nullptr);
  EXPECT_EQ(kProcessType<Scripted>.method_count, 2u);
}

TEST(Plugin, TableListsTypesAndHandlers) {
  constexpr actord_plugin_info kInfo =
      MakePlugin<ProcessTypes<Plain, Scripted>>("name", "1.2");
  EXPECT_EQ(kInfo.magic, ACTORD_ABI_MAGIC);
  EXPECT_EQ(kInfo.abi_version, ACTORD_ABI_VERSION);
  EXPECT_STREQ(kInfo.name, "name");
  EXPECT_STREQ(kInfo.version, "1.2");
  ASSERT_EQ(kInfo.process_type_count, 2u);
  EXPECT_EQ(kInfo.process_types[1], &kProcessType<Scripted>);
  EXPECT_EQ(kInfo.command_count, 0u);
}

TEST(Pid, ComparesAndHashesByAllParts) {
  const Pid pid = actord_pid{1, 2, 3, 4};
  std::unordered_set<Pid> set = {pid};
  for (const Pid& other :
       {Pid(actord_pid{9, 2, 3, 4}), Pid(actord_pid{1, 9, 3, 4}),
        Pid(actord_pid{1, 2, 9, 4}), Pid(actord_pid{1, 2, 3, 9})}) {
    EXPECT_NE(pid, other);
    EXPECT_LT(pid, other);
    EXPECT_FALSE(set.contains(other));
  }
  EXPECT_TRUE(set.contains(actord_pid{1, 2, 3, 4}));
  EXPECT_TRUE(Pid().empty());
  EXPECT_FALSE(pid.empty());
}

TEST(Code, UnknownNumbersAreUnknown) {
  EXPECT_EQ(ToCode(5), Code::kNotFound);
  EXPECT_EQ(ToCode(17), Code::kUnknown);
  EXPECT_EQ(ToCode(-1), Code::kUnknown);
  EXPECT_EQ(CodeName(Code::kUnauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(CodeName(Code::kOk), "OK");
}

}  // namespace
}  // namespace actord
