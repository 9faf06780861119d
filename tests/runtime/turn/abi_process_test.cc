// Processes as the ABI has them, below the C++ SDK: what a plugin in C may do
// and not do, and what becomes of it. Workers run by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/turn/abi_process_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;
using enum absl::StatusCode;

actord_payload PayloadOf(std::string_view text) { return {ToAbi(text), {}}; }

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

// A text that has its limit in the middle of a character ends before it.
TEST_F(AbiProcess, NoTextIsCutWithinACharacter) {
  Start();
  b_.step = [](auto, actord_step* step) {
    step->api->set_failure(step, ACTORD_ABORTED,
                           ToAbi(std::string(4095, 'x') + "é"));
    return ACTORD_STEP_FAIL;
  };
  const auto failed = Run("b");
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->message, std::string(4095, 'x'));

  // The text that the runtime makes of an exception is longer than the text of
  // an exit may be.
  const std::string told = "Step threw: " + std::string(4083, 'x');
  ASSERT_EQ(told.size(), 4095u);
  b_.step = [](const auto& events, actord_step*) -> int32_t {
    if (events.empty()) return ACTORD_STEP_IDLE;
    throw std::runtime_error(std::string(4083, 'x') + "é");
  };
  const auto thrower = Submit("b");
  ASSERT_TRUE(thrower.ok());
  std::string exit;
  a_.step = [&](const auto& events, actord_step* step) {
    const actord_pid pid = ToAbi(*thrower);
    if (events.empty()) step->api->monitor(step, &pid);
    for (const actord_event* event : events) {
      if (event->type == ACTORD_EVENT_EXIT) exit = View(event->payload.bytes);
    }
    return ACTORD_STEP_IDLE;
  };
  ASSERT_TRUE(Submit("a").ok());
  core_->Send(*thrower, -1, "throw");
  core_->Settle();
  EXPECT_EQ(exit, told);
}

TEST_F(AbiProcess, AnInvalidVerdictFailsTheProcess) {
  Start();
  for (const int32_t verdict : {-1, 7, 77}) {
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
  EXPECT_EQ(Activity::Units(word), 0u) << "every buffer was given back";
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
    status = core.delivery.Control(Owner::kAny, pid, ACTORD_EVENT_CANCEL, "x",
                                   core.lane);
    ASSERT_LE(++cancels, Activity::kUrgentMax + 1);
  }
  EXPECT_EQ(ReasonOf(status), reason::kMailboxFull);
  for (size_t tag = 1; tag <= kYields; ++tag) {
    ASSERT_EQ(core.tasks.Complete({{pid, tag}, 0}, {}),
              CompleteAnswer::kAccepted);
  }
  EXPECT_EQ(Activity::Urgent(word), Activity::kUrgentMax + kYields);
  EXPECT_EQ(Activity::Messages(word), 0u);
  core_->Settle();
  EXPECT_EQ(OutcomeOf(pid)->kind, EndKind::kCancelled);
  EXPECT_EQ(word, Activity::kEnded);
}

// A plugin may make up what it hands on. One byte of each text is there.
TEST_F(AbiProcess, EventsThatAreHandedOnKeepToTheLimits) {
  Start();
  const auto with = [](size_t topic, size_t content_type, size_t bytes) {
    static const char text = 'x';
    actord_event event{};
    event.type = ACTORD_EVENT_MESSAGE;
    event.call = 5;
    event.topic = {&text, topic};
    event.payload = {{&text, bytes}, {&text, content_type}};
    return event;
  };
  for (const actord_event& event :
       {with(1025, 1, 1), with(1, 1025, 1),
        with(1, 1, kPayloadLimitMaxBytes + 1), with(size_t{1} << 40, 0, 0)}) {
    a_.step = [&event](const auto&, actord_step* step) {
      const actord_event* const unseen = &event;
      actord_continuation next{};
      next.struct_size = sizeof(next);
      next.unseen_count = 1;
      next.unseen = &unseen;
      step->api->continue_as(step, &next);
      return int32_t{ACTORD_STEP_CONTINUE_AS};
    };
    const auto outcome = Run("a");
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->kind, EndKind::kThrew);
    EXPECT_EQ(outcome->code, absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(outcome->message, HasSubstr("the payload of a continue_as"));
  }
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
  TaskTable& external = core_->core->tasks;
  const auto worker = external.Open({"ext"}, "", Owner::kNobody, nullptr);
  ASSERT_TRUE(external.AddCredits(worker, 10));
  const TaskBatch batch = external.Take(worker, /*busy=*/true, {});
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
