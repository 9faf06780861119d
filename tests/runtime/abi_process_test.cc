// Processes as the ABI has them, below the C++ SDK: what a plugin in C may do
// and not do, and what becomes of it. Workers run by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/errors.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;
using enum absl::StatusCode;

actord_payload PayloadOf(std::string_view text) { return {ToAbi(text), {}}; }

// The two process types under test, "a" and "b", are what these say.
struct Raw {
  std::function<int32_t(void*, const actord_init*, actord_step*)> init;
  std::function<int32_t(std::vector<const actord_event*>, actord_step*)> step;
  int closes = 0;
};

class AbiProcess : public ::testing::Test {
 protected:
  static inline Raw a_, b_;

  template <Raw& raw>
  static actord_process_type TypeOf(const char* name) {
    static constexpr actord_method kMethods[] = {{"run", nullptr}};
    actord_process_type type{};
    type.struct_size = sizeof(type);
    type.name = name;
    type.state_size = 72;
    type.state_align = 64;
    type.methods = kMethods;
    type.method_count = 1;
    type.init = [](void* state, const actord_init* init, actord_step* step) {
      return raw.init ? raw.init(state, init, step) : int32_t{ACTORD_OK};
    };
    type.step = [](void*, const actord_event* const* events, size_t count,
                   actord_step* step) {
      return raw.step ? raw.step({events, events + count}, step)
                      : int32_t{ACTORD_STEP_IDLE};
    };
    type.close = [](void*) { ++raw.closes; };
    return type;
  }

  void Start(RuntimeOptions options = {}) {
    a_ = b_ = {};
    options.external_commands = {"ext"};
    core_ = std::make_unique<SteppedCore>(1, options);
    ASSERT_TRUE(core_->catalog.AddProcessType(&type_a_, "test").ok());
    ASSERT_TRUE(core_->catalog.AddProcessType(&type_b_, "test").ok());
  }
  absl::StatusOr<Pid> Submit(const char* type,
                             std::vector<Message> messages = {}) {
    absl::StatusOr<Pid> answer = absl::InternalError("no answer");
    core_->core->admission.Submit(
        SubmitRequest{type, "", {"input", "text/plain"}, std::move(messages)},
        Pid{}, true, [&](absl::StatusOr<Pid> pid) { answer = std::move(pid); });
    core_->Settle();
    return answer;
  }
  // Submits, runs until nothing is left to do, and tells how it ended.
  std::optional<Outcome> Run(const char* type) {
    const absl::StatusOr<Pid> pid = Submit(type);
    EXPECT_TRUE(pid.ok()) << pid.status();
    return pid.ok() ? OutcomeOf(*pid) : std::nullopt;
  }
  std::optional<Outcome> OutcomeOf(const Pid& pid) {
    std::optional<Outcome> result;
    core_->core->results.Await(
        pid,
        [&](absl::StatusOr<Outcome> outcome) {
          if (outcome.ok()) result = *std::move(outcome);
        },
        [] { return false; }, [] { return absl::NotFoundError("none"); });
    return result;
  }

  static inline const actord_process_type type_a_ = TypeOf<a_>("a");
  static inline const actord_process_type type_b_ = TypeOf<b_>("b");
  std::unique_ptr<SteppedCore> core_;
};

TEST_F(AbiProcess, StateIsZeroedAlignedAndItsOwn) {
  Start();
  std::set<void*> states;
  a_.init = [&](void* state, const actord_init* init, actord_step*) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(state) % 64, 0u);
    const auto* bytes = static_cast<const unsigned char*>(state);
    EXPECT_TRUE(std::all_of(bytes, bytes + 72, [](auto b) { return b == 0; }));
    EXPECT_TRUE(states.insert(state).second);
    std::memset(state, 0xee, 72);
    EXPECT_EQ(init->struct_size, sizeof(actord_init));
    EXPECT_EQ(View(init->input.bytes), "input");
    EXPECT_EQ(View(init->input.content_type), "text/plain");
    return ACTORD_OK;
  };
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Submit("a").ok());
  // Memory that was used before is zeroed again.
  a_.step = [](auto, actord_step*) { return ACTORD_STEP_DONE; };
  states.clear();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(Submit("a").ok());
    states.clear();
  }
}

// What one process says and does not use is not what the next one says.
TEST_F(AbiProcess, ResultsAndFailuresDoNotLeakIntoOtherProcesses) {
  Start();
  a_.step = [](auto, actord_step* step) {
    const actord_payload secret{ToAbi(std::string_view("secret")),
                                ToAbi(std::string_view("text/secret"))};
    step->api->set_result(step, &secret);
    step->api->set_failure(step, ACTORD_ABORTED,
                           ToAbi(std::string_view("secret")));
    return ACTORD_STEP_IDLE;
  };
  ASSERT_TRUE(Submit("a").ok());
  b_.step = [](auto, actord_step*) { return ACTORD_STEP_DONE; };
  EXPECT_EQ(Run("b")->result, Payload{});
  ASSERT_TRUE(Submit("a").ok());
  b_.step = [](auto, actord_step*) { return ACTORD_STEP_FAIL; };
  const auto failed = Run("b");
  EXPECT_EQ(failed->kind, EndKind::kFailed);
  EXPECT_EQ(failed->message, "");
  EXPECT_EQ(failed->code, kUnknown);
  ASSERT_TRUE(Submit("a").ok());
  b_.init = [](auto...) { return ACTORD_ABORTED; };
  const auto refused = Submit("b");
  EXPECT_EQ(ReasonOf(refused.status()), reason::kInitRefused);
  EXPECT_EQ(refused.status().code(), kAborted);
  EXPECT_THAT(std::string(refused.status().message()),
              Not(HasSubstr("secret")));
}

TEST_F(AbiProcess, TheLastResultAndTheLastFailureCount) {
  Start();
  a_.step = [](auto, actord_step* step) {
    for (const char* text : {"1", "2"}) {
      const actord_payload payload = PayloadOf(text);
      step->api->set_result(step, &payload);
    }
    return ACTORD_STEP_DONE;
  };
  EXPECT_EQ(Run("a")->result.bytes, "2");
  a_.step = [](auto, actord_step* step) {
    step->api->set_failure(step, ACTORD_ABORTED, ToAbi(std::string_view("1")));
    step->api->set_failure(step, 1234, ToAbi(std::string(10'000, 'x')));
    return ACTORD_STEP_FAIL;
  };
  const auto outcome = Run("a");
  EXPECT_EQ(outcome->code, kUnknown) << "not a code";
  EXPECT_EQ(outcome->message, std::string(4096, 'x')) << "cut";
}

TEST_F(AbiProcess, AnInvalidVerdictFailsTheProcess) {
  Start();
  for (const int32_t verdict : {-1, 6, 77}) {
    a_.step = [=](auto, actord_step*) { return verdict; };
    const auto outcome = Run("a");
    EXPECT_EQ(outcome->kind, EndKind::kThrew);
    EXPECT_EQ(outcome->code, kInternal);
    EXPECT_THAT(outcome->message, HasSubstr(std::to_string(verdict)));
  }
  EXPECT_EQ(a_.closes, 3);
}

TEST_F(AbiProcess, InitMayLookButNotAct) {
  Start();
  const std::function<void(actord_step*)> acts[] = {
      [](actord_step* step) {
        actord_yield yield{};
        yield.struct_size = sizeof(yield);
        yield.command = ToAbi(std::string_view("ext"));
        step->api->yield(step, &yield);
      },
      [](actord_step* step) {
        actord_message message{};
        message.struct_size = sizeof(message);
        const actord_pid self = step->api->self(step);
        step->api->send(step, &self, &message);
      },
      [](actord_step* step) {
        actord_spawn spawn{};
        spawn.struct_size = sizeof(spawn);
        spawn.process_type = ToAbi(std::string_view("b"));
        EXPECT_EQ(FromAbi(step->api->spawn(step, &spawn)), Pid{});
      }};
  for (const auto& act : acts) {
    a_.init = [&](void*, const actord_init*, actord_step* step) {
      EXPECT_FALSE(FromAbi(step->api->self(step)).empty());
      EXPECT_TRUE(FromAbi(step->api->parent(step)).empty());
      act(step);
      return ACTORD_OK;
    };
    const auto refused = Submit("a");
    EXPECT_EQ(ReasonOf(refused.status()), reason::kInitRefused);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("init"));
  }
  EXPECT_EQ(a_.closes, 0) << "what was refused is not closed";
  EXPECT_EQ(core_->core->Stats().yields, 0u);
  EXPECT_EQ(core_->core->Stats().processes_live, 0u);
  // The next one is not held to it.
  a_.init = nullptr;
  EXPECT_TRUE(Submit("a").ok());
}

TEST_F(AbiProcess, ASpawnsPriorityCountsOnlyWithItsFlagAndWithinItsSize) {
  Start();
  struct Case {
    size_t size;
    uint32_t flags, priority;
    int got;
  };
  constexpr size_t kBefore = offsetof(actord_spawn, priority);
  const Case cases[] = {
      {sizeof(actord_spawn), ACTORD_SPAWN_PRIORITY, 31, 31},
      {sizeof(actord_spawn), ACTORD_SPAWN_PRIORITY, 0, 0},
      {sizeof(actord_spawn), 0, 31, 16},
      {kBefore, ACTORD_SPAWN_PRIORITY, 31, 16},
      {kBefore + sizeof(uint32_t), ACTORD_SPAWN_PRIORITY, 31, 31},
  };
  for (const Case& c : cases) {
    Pid child;
    a_.step = [&](auto, actord_step* step) {
      actord_spawn spawn{};
      spawn.struct_size = static_cast<uint32_t>(c.size);
      spawn.flags = c.flags;
      spawn.priority = c.priority;
      spawn.process_type = ToAbi(std::string_view("b"));
      child = FromAbi(step->api->spawn(step, &spawn));
      return ACTORD_STEP_DONE;
    };
    ASSERT_TRUE(Submit("a").ok());
    EXPECT_EQ(core_->process(child).Priority(), c.got) << c.size;
  }
}

TEST_F(AbiProcess, TimeStandsStillInACallAndRandomNumbersDoNot) {
  Start();
  std::vector<uint64_t> times;
  a_.step = [&](auto, actord_step* step) {
    for (int i = 0; i < 2; ++i) {
      times.push_back(step->api->unix_time_ns(step));
      core_->clock.manual.AdvanceNs(1000);
    }
    EXPECT_NE(step->api->random(step), step->api->random(step));
    return times.size() == 2 ? ACTORD_STEP_CONTINUE : ACTORD_STEP_DONE;
  };
  const auto outcome = Run("a");
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[0], times[1]);
  EXPECT_EQ(times[2], times[3]);
  EXPECT_EQ(times[2] - times[0], 2000u);
  EXPECT_GT(times[0], ManualClock::kUnixOrigin);
  EXPECT_EQ(outcome->ended_unix_ns - outcome->started_unix_ns, 4000u);
}

TEST_F(AbiProcess, ARunawayStepIsStopped) {
  Start();
  const Pid target = *Submit("b");
  a_.step = [&](auto, actord_step* step) {
    actord_message message{};
    message.struct_size = sizeof(message);
    const actord_pid to = ToAbi(target);
    for (int i = 0; i < 65'537; ++i) step->api->send(step, &to, &message);
    return ACTORD_STEP_DONE;
  };
  const uint64_t sent = core_->core->Stats().messages_sent;
  const auto outcome = Run("a");
  EXPECT_EQ(outcome->kind, EndKind::kThrew);
  EXPECT_EQ(outcome->code, kResourceExhausted);
  EXPECT_EQ(core_->core->Stats().messages_sent, sent);
}

TEST_F(AbiProcess, AStepGetsAFewHundredEventsAtMostAndAllInOrder) {
  Start();
  std::vector<size_t> counts;
  uint64_t next = 0;
  a_.step = [&](const std::vector<const actord_event*>& events, actord_step*) {
    if (!events.empty()) counts.push_back(events.size());
    for (const actord_event* event : events) {
      EXPECT_EQ(View(event->topic), std::to_string(next++));
    }
    return ACTORD_STEP_IDLE;
  };
  const Pid pid = *Submit("a");
  for (int i = 0; i < 1000; ++i) core_->Send(pid, -1, std::to_string(i));
  core_->Settle();
  EXPECT_EQ(counts, (std::vector<size_t>{256, 256, 256, 232}));
  const uint64_t word = core_->process(pid).activity;
  EXPECT_EQ(Activity::Messages(word), 0u);
  EXPECT_EQ(Activity::Units(word), 0) << "every buffer was given back";
  EXPECT_EQ(word & (Activity::kReady | Activity::kBlocked), 0u);
}

// A flood of cancels and then as many completions as there may be: the counts
// of urgent events and of messages stay apart.
TEST_F(AbiProcess, AFloodOfUrgentEventsDoesNotSpillIntoTheMessages) {
  constexpr size_t kYields = 16'000;
  RuntimeOptions options;
  options.max_yields = kYields;
  Start(options);
  a_.step = [&](const std::vector<const actord_event*>& events,
                actord_step* step) {
    EXPECT_TRUE(events.empty());
    actord_yield yield{};
    yield.struct_size = sizeof(yield);
    yield.command = ToAbi(std::string_view("ext"));
    for (size_t i = 0; i < kYields; ++i) step->api->yield(step, &yield);
    return ACTORD_STEP_BLOCK;
  };
  const Pid pid = *Submit("a");
  Runtime::Core& core = *core_->core;
  const std::atomic<uint64_t>& word = core_->process(pid).activity;
  size_t cancels = 0;
  absl::Status status;
  while (status.ok()) {
    status = core.delivery.Control(pid, ACTORD_EVENT_CANCEL, "x", core.lane);
    ASSERT_LE(++cancels, Activity::kUrgentMax + 1);
  }
  EXPECT_EQ(ReasonOf(status), reason::kMailboxFull);
  for (size_t tag = 1; tag <= kYields; ++tag) {
    ASSERT_EQ(core.external.Complete({{pid, tag}, 0}, {}),
              CompleteAnswer::kAccepted);
  }
  EXPECT_EQ(Activity::Urgent(word), Activity::kUrgentMax + kYields);
  EXPECT_EQ(Activity::Messages(word), 0u);
  core_->Settle();
  EXPECT_EQ(OutcomeOf(pid)->kind, EndKind::kCancelled);
  EXPECT_EQ(word, Activity::kEnded);
}

// It has other bytes where a policy would be.
TEST_F(AbiProcess, AYieldOfAnOlderPluginHasNoPolicy) {
  Start();
  a_.step = [](const std::vector<const actord_event*>&, actord_step* step) {
    actord_yield yield{};
    yield.struct_size = offsetof(actord_yield, policy);
    yield.command = ToAbi(std::string_view("ext"));
    std::memset(&yield.policy, 0xff, sizeof(yield.policy));
    step->api->yield(step, &yield);
    actord_work_policy policy{};
    policy.struct_size = offsetof(actord_work_policy, lease_ns);
    policy.max_attempts = 7;
    policy.lease_ns = 1;
    yield.struct_size = sizeof(yield);
    yield.policy = &policy;
    step->api->yield(step, &yield);
    return ACTORD_STEP_BLOCK;
  };
  ASSERT_TRUE(Submit("a").ok());
  ExternalYields& external = core_->core->external;
  const auto worker = external.Open({"ext"}, "", nullptr);
  ASSERT_TRUE(external.AddCredits(worker, 10));
  const WorkBatch batch = external.Take(worker, /*busy=*/true, {});
  ASSERT_EQ(batch.tasks.size(), 2u);
  EXPECT_EQ(batch.tasks[0].max_attempts, WorkPolicy().max_attempts);
  EXPECT_EQ(batch.tasks[1].max_attempts, 7u);
  EXPECT_EQ(batch.tasks[1].lease, WorkPolicy().lease) << "not in its bytes";
  external.Close(worker);
}

TEST_F(AbiProcess, InitialMessagesKeepToTheLimitsOfTheMailbox) {
  RuntimeOptions options;
  options.max_mailbox_messages = 10;
  options.max_payload_bytes = 1000;
  options.max_mailbox_bytes = 6000;
  Start(options);
  const auto submit = [&](size_t count, size_t bytes) {
    return Submit(
        "a", std::vector<Message>(count, {"t", {std::string(bytes, 'x'), ""}}));
  };
  EXPECT_TRUE(submit(10, 1).ok());
  EXPECT_TRUE(submit(5, 900).ok());
  for (const auto& refused :
       {submit(11, 1), submit(6, 1000), submit(1, 1001)}) {
    EXPECT_EQ(refused.status().code(), kInvalidArgument);
    EXPECT_EQ(FieldOf(refused.status()), "messages");
  }
  EXPECT_EQ(core_->core->Stats().processes_started, 2u);
}

}  // namespace
}  // namespace actord::runtime
