// Moments that are too short for the simulator's seeds to meet them often:
// something happens at a certain fail point of a worker's turn.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "runtime/runtime.h"
#include "runtime/system/fail_point.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using Did = Worker::Did;

// While it lives, calls `at` at the fail points of its thread, but for those
// within `at`.
class AtFailPoints final : public Interleaver {
 public:
  explicit AtFailPoints(std::function<void()> at) : at_(std::move(at)) {
    interleaver = this;
  }
  ~AtFailPoints() override { interleaver = nullptr; }

  void MaySwitch() override {
    interleaver = nullptr;
    at_();
    interleaver = this;
  }
  bool Wait(const void* /*what*/, uint64_t /*timeout_ns*/) override {
    ADD_FAILURE() << "nobody else is there to wait for";
    return true;
  }
  void Wake(const void* /*what*/) override {}
  void Yield() override { ++yields_; }
  uint64_t Start(std::function<void()> /*run*/) override { return 0; }
  void Join(uint64_t /*thread*/) override {}
  // How often the thread let others run because it had nothing to do.
  [[nodiscard]] int yields() const { return yields_; }

 private:
  int yields_ = 0;
  const std::function<void()> at_;
};

TEST(Moments, ABatchOnItsWayFromTheGlobalQueueWakesASleeper) {
  SteppedCore core(2);
  const auto idle = [](Events, StepOutput&) {};
  const Pid first = core.Submit(idle);
  const Pid second = core.Submit(idle);
  core.WakeAll();
  // The other worker searches, and is about to sleep.
  Did did = Did::kRan;
  for (int i = 0; i < 15; ++i) did = core.RunOne(1);
  ASSERT_EQ(did, Did::kYield);
  core.Send(first, -1);
  core.Send(second, -1);
  {
    const AtFailPoints sleeps([&core] {
      const bool is_taken = core.core->scheduler.GlobalLevels() == 0;
      if (is_taken && !core.IsAsleep(1) && !core.core->scheduler.HasWork()) {
        EXPECT_EQ(core.RunOne(1), Did::kSleep);
      }
    });
    EXPECT_EQ(core.RunOne(0), Did::kRan);
  }
  ASSERT_TRUE(core.IsAsleep(1));
  // One was run, and the other waits for a worker.
  ASSERT_TRUE(core.core->scheduler.HasWork());
  EXPECT_TRUE(core.WakeIfNotified(1));
}

TEST(Moments, AnAwaitAtAnyMomentOfAProcesssEndHasAnAnswer) {
  int moments = 0;
  for (int at = 0; at <= moments; ++at) {
    SteppedCore core(1);
    // It borrows the core, so it must not end.
    alignas(Runtime) std::byte memory[sizeof(Runtime)];
    Runtime* runtime =
        new (memory) Runtime(std::unique_ptr<Runtime::Core>(core.core.get()));
    // A child's result is not kept.
    Pid child;
    const actord::testing::Script ends{
        .step = [](Events, StepOutput& out) { out.Done(); }};
    const actord::testing::Script spawns{.step = [&](Events, StepOutput& out) {
      child =
          FromAbi(out.Spawn("script", "run", actord::testing::InputOf(ends)));
      out.Done();
    }};
    core.core->admission.Submit(
        SubmitRequest{"script", "", {actord::testing::InputOf(spawns), ""}, {}},
        Pid{}, /*keep_result=*/true, [](const absl::StatusOr<Pid>&) {});
    core.Wake(0);
    ASSERT_EQ(core.RunOne(0), Did::kRan);
    ASSERT_FALSE(child.empty());
    moments = 0;
    int answers = 0;
    {
      const AtFailPoints awaits([&] {
        if (moments++ != at) return;
        runtime->Await(child,
                       [&](const absl::StatusOr<Outcome>&) { ++answers; });
      });
      EXPECT_EQ(core.RunOne(0), Did::kRan);
    }
    EXPECT_EQ(answers, at < moments ? 1 : 0) << "at fail point " << at;
  }
  EXPECT_GT(moments, 1);
}

TEST(Moments, AtAnyMomentOfAnEndAStepMayGiveUpItsWatchesAndIsShielded) {
  struct Case {
    const char* type;
    bool links;  // or else it monitors
  };
  for (const Case& given :
       {Case{"script", true}, Case{"trapping", true}, Case{"script", false}}) {
    SCOPED_TRACE(::testing::Message() << given.type << " " << given.links);
    int moments = 0;
    int shielded = 0;  // from an end that had begun
    for (int at = 0; at <= moments; ++at) {
      SteppedCore core(2);
      const Pid partner = core.Submit([](Events, StepOutput&) {});
      const auto lives = [&core](const Pid& pid) {
        return core.core->processes.Find(pid) != nullptr;
      };
      bool had_begun = false;
      bool has_given_up = false;
      int exits = 0;
      Tag monitor = 0;
      const Pid watcher =
          core.Submit({.step =
                           [&](Events events, StepOutput& out) {
                             if (events.empty()) {
                               if (given.links) return out.Link(ToAbi(partner));
                               monitor = out.Monitor(ToAbi(partner));
                               return;
                             }
                             const bool had_given_up = has_given_up;
                             for (const Event event : events) {
                               // What comes with the message was there before.
                               exits += event.is_exit() && had_given_up ? 1 : 0;
                               if (!event.is_message()) continue;
                               had_begun = !lives(partner);
                               has_given_up = true;
                               out.Unlink(ToAbi(partner));
                               out.Demonitor(monitor);
                             }
                           }},
                      given.type);
      ASSERT_TRUE(core.core->delivery
                      .Control(Owner::kAny, partner, kEventTerminate, "now",
                               core.core->lane)
                      .ok());
      core.Wake(0);
      moments = 0;
      {
        const AtFailPoints gives_up([&] {
          if (moments++ != at) return;
          core.Send(watcher, -1);
          core.Wake(1);
          core.RunUntilSleep(1);
        });
        // At the first of them the other worker may take the turn.
        core.RunOne(0);
      }
      core.Settle();
      ASSERT_FALSE(lives(partner));
      if (has_given_up) {
        EXPECT_TRUE(lives(watcher)) << "at fail point " << at;
        EXPECT_EQ(exits, 0) << "at fail point " << at;
        EXPECT_EQ(core.core->ties.size(), 0u) << "at fail point " << at;
        shielded += had_begun ? 1 : 0;
      }
    }
    EXPECT_GT(moments, 5);
    EXPECT_GT(shielded, 2);
  }
}

// Its sender is between counting a message and pushing it, and may need the
// processor for that.
TEST(Moments, AThreadGivesItsProcessorToASenderThatItWaitsFor) {
  constexpr int kTurns = 300;
  for (const bool alone : {true, false}) {
    SCOPED_TRACE(alone);
    SteppedCore core(1);
    int seen = 0;
    const Pid pid = core.Submit([&seen](Events events, StepOutput&) {
      seen += static_cast<int>(events.size());
    });
    bool goes_on = false;
    const Pid other = core.Submit([&goes_on](Events, StepOutput& out) {
      if (goes_on) out.Continue();
    });
    if (!alone) {
      goes_on = true;
      core.Send(other, -1);
    }
    Process& process = core.process(pid);
    Envelope* late = core.core->lane.NewEnvelope(ACTORD_EVENT_MESSAGE, "m", {});
    late->generation = pid.generation;
    ASSERT_TRUE(Activity::Add(process.activity,
                              Activity::ForMessages(1, late->units())));
    core.core->scheduler.Enqueue(&process, nullptr);
    core.Wake(0);
    {
      const AtFailPoints counts([] {});
      for (int i = 0; i < kTurns; ++i) EXPECT_EQ(core.RunOne(0), Did::kRan);
      if (alone) {
        EXPECT_EQ(counts.yields(), kTurns);
      } else {
        EXPECT_GE(counts.yields(), 1);
        EXPECT_LT(counts.yields(), kTurns / 10);
      }
    }
    EXPECT_EQ(seen, 0);
    goes_on = false;
    process.messages.Push(late);
    core.Settle();
    EXPECT_EQ(seen, 1);
  }
}

}  // namespace
}  // namespace actord::runtime
