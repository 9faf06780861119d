// Processes that begin again (continue_as), below the C++ SDK. The behaviour
// that the harness of the SDK shares is tested by
// tests/conformance/scripts/continue_as.txt.
#include <gmock/gmock.h>

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/turn/inbox.h"
#include "tests/runtime/turn/abi_process_fixture.h"

namespace actord::runtime {
namespace {

using EventPointers = std::vector<const actord_event*>;

class AbiContinue : public AbiProcess {
 protected:
  static int32_t Again(actord_step* step, std::string_view input,
                       const EventPointers& unseen = {},
                       std::string_view method = {}) {
    const actord_continuation next{
        .struct_size = sizeof(next),
        .unseen_count = static_cast<uint32_t>(unseen.size()),
        .method = ToAbi(method),
        .input = {ToAbi(input), {}},
        .unseen = unseen.data()};
    step->api->continue_as(step, &next);
    return ACTORD_STEP_CONTINUE_AS;
  }
  static std::vector<Message> Messages(size_t count) {
    std::vector<Message> messages;
    for (size_t i = 0; i < count; ++i) {
      messages.push_back({std::to_string(i), {"text", "text/plain"}});
    }
    return messages;
  }
  Runtime::Core& core() { return *core_->core; }
};

TEST_F(AbiContinue, NextLifeBeginsWithItsInputInAZeroedState) {
  Start();
  std::vector<std::string> inputs;
  a_.init = [&](void* state, const actord_init* init, actord_step*) {
    const std::string_view bytes(static_cast<const char*>(state), 72);
    EXPECT_EQ(bytes.find_first_not_of('\0'), std::string_view::npos);
    std::fill_n(static_cast<char*>(state), 72, 'x');
    inputs.emplace_back(View(init->input.bytes));
    EXPECT_EQ(View(init->input.content_type),
              inputs.size() == 1 ? "text/plain" : "");
    return int32_t{ACTORD_OK};
  };
  a_.step = [&](const EventPointers&, actord_step* step) {
    if (inputs.size() < 4) {
      return Again(step, inputs.size() == 2
                             ? ""
                             : "life " + std::to_string(inputs.size()));
    }
    return int32_t{ACTORD_STEP_DONE};
  };
  const auto outcome = Run("a");
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->kind, EndKind::kResult);
  EXPECT_EQ(outcome->steps, 4u);
  EXPECT_THAT(inputs, ::testing::ElementsAre("input", "life 1", "", "life 3"));
  EXPECT_EQ(a_.closes, 4);
  EXPECT_EQ(core().Stats().processes_started, 1u);
  EXPECT_EQ(core().Stats().processes_ended, 1u);
}

TEST_F(AbiContinue, EachInitAndEachStepDrawsOtherBits) {
  Start();
  std::multiset<uint64_t> bits;
  a_.init = [&](void*, const actord_init*, actord_step* step) {
    bits.insert(step->api->random(step));
    return int32_t{ACTORD_OK};
  };
  a_.step = [&](const EventPointers&, actord_step* step) {
    bits.insert(step->api->random(step));
    return bits.size() < 8 ? Again(step, "") : int32_t{ACTORD_STEP_DONE};
  };
  ASSERT_TRUE(Run("a").has_value());
  EXPECT_EQ(bits.size(), 8u);
  for (const uint64_t one : bits) EXPECT_EQ(bits.count(one), 1u);
}

TEST_F(AbiContinue, VerdictAndFunctionBelongTogether) {
  Start();
  a_.step = [](const EventPointers&, actord_step*) {
    return int32_t{ACTORD_STEP_CONTINUE_AS};
  };
  const auto outcome = Run("a");
  EXPECT_EQ(outcome->kind, EndKind::kThrew);
  EXPECT_EQ(outcome->code, absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(a_.closes, 1);
  // The function alone does nothing, also if a later step gives the verdict.
  int steps = 0;
  a_.step = [&](const EventPointers&, actord_step* step) {
    if (++steps == 1) Again(step, "");
    return steps == 1 ? int32_t{ACTORD_STEP_CONTINUE}
                      : int32_t{ACTORD_STEP_CONTINUE_AS};
  };
  EXPECT_EQ(Run("a")->kind, EndKind::kThrew);
  EXPECT_EQ(steps, 2);
  a_.step = [](const EventPointers&, actord_step* step) {
    Again(step, "");
    return int32_t{ACTORD_STEP_FAIL};
  };
  EXPECT_EQ(Run("a")->kind, EndKind::kFailed);
  a_.init = [](void*, const actord_init*, actord_step* step) {
    Again(step, "");
    return int32_t{ACTORD_OK};
  };
  EXPECT_FALSE(Submit("a").ok());
}

TEST_F(AbiContinue, FirstStepGetsWhatIsHandedOnBeforeTheMailbox) {
  Start();
  std::vector<std::string> seen;
  int lives = 0;
  a_.init = [&](auto...) {
    ++lives;
    return int32_t{ACTORD_OK};
  };
  a_.step = [&](const EventPointers& events, actord_step* step) {
    if (lives == 1 && !events.empty()) {
      EXPECT_EQ(events.size(), 256u);
      return Again(step, "", {events.begin() + 1, events.end()});
    }
    if (seen.empty() && lives == 2) EXPECT_EQ(events.size(), 256u);
    for (const actord_event* event : events) {
      seen.emplace_back(View(event->topic));
      EXPECT_EQ(View(event->payload.bytes), "text");
      EXPECT_EQ(View(event->payload.content_type), "text/plain");
    }
    return int32_t{ACTORD_STEP_IDLE};
  };
  ASSERT_TRUE(Submit("a", Messages(600)).ok());
  ASSERT_EQ(seen.size(), 599u);
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], std::to_string(i + 1));
  }
}

// The process collects messages in several steps before it begins again.
TEST_F(AbiContinue, HandsOnMoreThanAStepCanGet) {
  constexpr size_t kHandedOn = 2'000;
  Start();
  int lives = 0;
  std::vector<size_t> steps;
  std::vector<std::string> seen;
  a_.init = [&](auto...) {
    ++lives;
    return int32_t{ACTORD_OK};
  };
  actord_event exit{};
  exit.type = ACTORD_EVENT_EXIT;
  exit.tag = 9;
  actord_event completion{};
  completion.type = ACTORD_EVENT_COMPLETION;
  a_.step = [&](const EventPointers& events, actord_step* step) {
    if (lives == 1) {
      if (events.empty()) return int32_t{ACTORD_STEP_IDLE};
      std::vector<std::string> topics;
      for (size_t i = 0; i < kHandedOn; ++i)
        topics.push_back("k" + std::to_string(i));
      std::vector<actord_event> all(kHandedOn, *events[0]);
      EventPointers unseen;
      for (size_t i = 0; i < kHandedOn; ++i) {
        all[i].topic = ToAbi(topics[i]);
        unseen.push_back(i % 500 == 499 ? &exit : &all[i]);
        if (i % 700 == 0) unseen.push_back(&completion);
      }
      return Again(step, "", unseen);
    }
    steps.push_back(events.size());
    for (const actord_event* event : events) {
      EXPECT_NE(event->type, uint32_t{ACTORD_EVENT_COMPLETION});
      seen.push_back(event->type == ACTORD_EVENT_EXIT
                         ? "exit " + std::to_string(event->tag)
                         : std::string(View(event->topic)));
    }
    return int32_t{ACTORD_STEP_IDLE};
  };
  const absl::StatusOr<Pid> pid = Submit("a", Messages(300));
  ASSERT_TRUE(pid.ok());
  ASSERT_EQ(seen.size(), kHandedOn + 44);
  EXPECT_EQ(steps[0], 319u);
  for (size_t i = 0; i < kHandedOn; ++i) {
    EXPECT_EQ(seen[i], i % 500 == 499 ? "exit 9" : "k" + std::to_string(i));
  }
  EXPECT_EQ(seen[kHandedOn], "256") << "the messages that no step has got";
  EXPECT_EQ(Activity::Messages(core().processes.Find(*pid)->activity), 0u);
  EXPECT_EQ(Activity::Units(core().processes.Find(*pid)->activity), 0u);
}

TEST_F(AbiContinue, ProcessThatBlocksGetsTheRestOfItsMessagesLater) {
  Start();
  actord_completion handle = 0;
  core_->AddCommand("hold", ACTORD_HANDLER_INLINE,
                    [&](actord::testing::Call& call) {
                      handle = call.Defer();
                      return ACTORD_DEFERRED;
                    });
  std::vector<size_t> steps;
  a_.step = [&](const EventPointers& events, actord_step* step) {
    if (steps.empty() && events.size() == 1) {
      return Again(step, "", EventPointers(400, events[0]));
    }
    if (events.empty()) return int32_t{ACTORD_STEP_IDLE};
    steps.push_back(events.size());
    if (steps.size() > 1) return int32_t{ACTORD_STEP_IDLE};
    actord_yield yield{};
    yield.struct_size = sizeof(yield);
    yield.command = ToAbi(std::string_view("hold"));
    step->api->yield(step, &yield);
    return int32_t{ACTORD_STEP_BLOCK};
  };
  ASSERT_TRUE(Submit("a", Messages(1)).ok());
  EXPECT_THAT(steps, ::testing::ElementsAre(319u));
  EXPECT_EQ(core().broker.Complete(handle, ACTORD_OK, {}, core().lane),
            ACTORD_OK);
  core_->Settle();
  EXPECT_THAT(steps, ::testing::ElementsAre(319u, 1u, 81u));
}

TEST_F(AbiContinue, RestIsDroppedWithTheMailboxAtTheEnd) {
  Start();
  int steps = 0;
  a_.step = [&](const EventPointers& events, actord_step* step) {
    if (steps == 0 && events.size() == 1) {
      ++steps;
      return Again(step, "", EventPointers(400, events[0]));
    }
    return int32_t{steps == 0 ? ACTORD_STEP_IDLE : ACTORD_STEP_DONE};
  };
  ASSERT_TRUE(Submit("a", Messages(1)).ok());
  EXPECT_EQ(core().Stats().dead_letters, 81u);
}

TEST_F(AbiContinue, MailboxWithoutRoomEndsTheProcess) {
  Start();
  a_.step = [&](const EventPointers& events, actord_step* step) {
    if (events.empty()) return int32_t{ACTORD_STEP_IDLE};
    // As if so many messages were on their way.
    Activity::Add(
        core().processes.Find(FromAbi(step->api->self(step)))->activity,
        Activity::ForMessages(Activity::kMessagesLimitMax - 80, 0));
    return Again(step, "", EventPointers(400, events[0]));
  };
  const absl::StatusOr<Pid> pid = Submit("a", Messages(1));
  ASSERT_TRUE(pid.ok());
  const auto outcome = OutcomeOf(*pid);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->kind, EndKind::kLimit);
  EXPECT_EQ(outcome->code, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(a_.closes, 1);
}

TEST_F(AbiContinue, ExitIsHandedOnWhole) {
  Start();
  const Pid other{1, 7, 12, 3};
  actord_event exit{};
  exit.type = ACTORD_EVENT_EXIT;
  exit.status = ACTORD_ABORTED;
  exit.tag = 4;
  exit.from = ToAbi(other);
  exit.reason = ACTORD_EXIT_FAILED;
  exit.payload = TextPayload("why");
  int steps = 0;
  a_.step = [&](const EventPointers& events, actord_step* step) {
    if (++steps == 1) return Again(step, "", {&exit});
    EXPECT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0]->type, uint32_t{ACTORD_EVENT_EXIT});
    EXPECT_EQ(events[0]->status, ACTORD_ABORTED);
    EXPECT_EQ(events[0]->tag, 4u);
    EXPECT_EQ(FromAbi(events[0]->from), other);
    EXPECT_EQ(events[0]->reason, uint32_t{ACTORD_EXIT_FAILED});
    EXPECT_EQ(View(events[0]->payload.bytes), "why");
    return int32_t{ACTORD_STEP_DONE};
  };
  EXPECT_EQ(Run("a")->kind, EndKind::kResult);
  EXPECT_EQ(steps, 2);
}

TEST_F(AbiContinue, CompletionOnItsWayReachesNoLife) {
  Start();
  actord_completion handle = 0;
  core_->AddCommand("hold", ACTORD_HANDLER_INLINE,
                    [&](actord::testing::Call& call) {
                      handle = call.Defer();
                      return ACTORD_DEFERRED;
                    });
  int steps = 0;
  a_.step = [&](const EventPointers& events, actord_step* step) {
    ++steps;
    if (steps == 1) {
      actord_yield yield{};
      yield.struct_size = sizeof(yield);
      yield.command = ToAbi(std::string_view("hold"));
      step->api->yield(step, &yield);
      return int32_t{ACTORD_STEP_CONTINUE};
    }
    if (steps == 2) {
      EXPECT_EQ(core().broker.Complete(handle, ACTORD_OK, TextPayload("late"),
                                       core().lane),
                ACTORD_OK);
      return Again(step, "");
    }
    EXPECT_TRUE(events.empty());
    return int32_t{ACTORD_STEP_IDLE};
  };
  const absl::StatusOr<Pid> pid = Submit("a");
  ASSERT_TRUE(pid.ok());
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(core().processes.Find(*pid)->yields_count.load(), 0u);
  // Without an outstanding yield.
  EXPECT_EQ(core().broker.Complete(handle, ACTORD_OK, {}, core().lane),
            ACTORD_FAILED_PRECONDITION);
}

TEST_F(AbiContinue, InitThatRefusesIsAFailure) {
  Start();
  int lives = 0;
  a_.init = [&](void*, const actord_init*, actord_step* step) {
    if (++lives == 1) return int32_t{ACTORD_OK};
    step->api->set_failure(step, ACTORD_OUT_OF_RANGE,
                           ToAbi(std::string_view("not again")));
    return int32_t{ACTORD_OUT_OF_RANGE};
  };
  a_.step = [&](const EventPointers&, actord_step* step) {
    return Again(step, "");
  };
  const absl::StatusOr<Pid> pid = Submit("a");
  ASSERT_TRUE(pid.ok());
  const auto outcome = OutcomeOf(*pid);
  EXPECT_EQ(outcome->kind, EndKind::kInitRefused);
  EXPECT_EQ(outcome->code, absl::StatusCode::kOutOfRange);
  EXPECT_EQ(outcome->message, "not again");
  EXPECT_EQ(a_.closes, 1);
  EXPECT_EQ(core().Stats().processes_failed, 1u);
  const auto failure = core().failures.Find(*pid);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->kind, EndKind::kInitRefused);
}

// The events for the first step, and the events that wait in the mailbox.
TEST_F(AbiContinue, HandedOnEventIsADeadLetterIfInitRefuses) {
  Start();
  constexpr size_t kCount = Inbox::kMaxEvents + 100;
  int lives = 0;
  a_.init = [&](void*, const actord_init*, actord_step*) {
    return int32_t{++lives == 1 ? ACTORD_OK : ACTORD_OUT_OF_RANGE};
  };
  EventPointers unseen;
  std::deque<actord_event> kept;
  a_.step = [&](const EventPointers& events, actord_step* step) {
    if (events.empty()) return int32_t{ACTORD_STEP_IDLE};
    for (size_t i = 0; i < kCount; ++i) {
      kept.push_back(*events[0]);
      kept.back().topic = ToAbi(std::string_view(i % 2 == 0 ? "even" : "odd"));
      unseen.push_back(&kept.back());
    }
    return Again(step, "", unseen);
  };
  const absl::StatusOr<Pid> pid = Submit("a", Messages(1));
  ASSERT_TRUE(pid.ok());
  EXPECT_EQ(OutcomeOf(*pid)->kind, EndKind::kInitRefused);
  const auto letters =
      core().dead_letters.List({.page_size = 1000, .max_payload_bytes = 9});
  ASSERT_EQ(letters.letters.size(), kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const DeadLetter& letter = letters.letters[i];
    EXPECT_EQ(letter.message.topic, i % 2 == 0 ? "even" : "odd");
    EXPECT_EQ(letter.message.payload.bytes, "text");
    EXPECT_EQ(letter.reason, DeadLetterReason::kDroppedAtEnd);
    EXPECT_EQ(letter.to, *pid);
  }
}

TEST_F(AbiContinue, LimitOfStepsCountsTheStepsOfAllLives) {
  RuntimeOptions options;
  options.max_steps = 5;
  Start(options);
  a_.step = [&](const EventPointers&, actord_step* step) {
    return Again(step, "");
  };
  const auto outcome = Run("a");
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->kind, EndKind::kLimit);
  EXPECT_EQ(outcome->steps, 5u);
  EXPECT_EQ(core().Stats().ended_by_steps, 1u);
}

}  // namespace
}  // namespace actord::runtime
