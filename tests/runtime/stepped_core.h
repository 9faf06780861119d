// The whole runtime without threads: a test runs its workers by hand, one turn
// after the other, under a clock that it moves itself.
//
// Thread-safety: one thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core.h"
#include "tests/runtime/system/manual_clock.h"
#include "tests/support/script_handler.h"
#include "tests/support/script_process.h"

namespace actord::runtime {

// Calls a function whenever somebody asks for the time: a test's way into the
// middle of a turn.
class HookClock final : public Clock {
 public:
  [[nodiscard]] uint64_t MonotonicNs() const override {
    if (hook) hook();
    return manual.MonotonicNs();
  }
  [[nodiscard]] uint64_t UnixNs() const override {
    ++unix_looks;
    return manual.UnixNs();
  }

  ManualClock manual;
  std::function<void()> hook;
  // How often somebody has asked for the time of day.
  mutable uint64_t unix_looks = 0;
};

class SteppedCore {
 public:
  using Step = std::function<void(actord::Events, actord::StepOutput&)>;

  explicit SteppedCore(int workers, RuntimeOptions options = {}) {
    options.workers = workers;
    options.clock = &clock;
    options.seed = 1;
    if (options.incarnation == 0) options.incarnation = 7;
    if (!options.log) options.log = [](LogLevel, std::string_view) {};
    namespace t = actord::testing;
    EXPECT_TRUE(
        catalog.AddProcessType(&kProcessType<t::ScriptProcess>, "test").ok());
    EXPECT_TRUE(
        catalog
            .AddProcessType(&kProcessType<t::CancellableScriptProcess>, "test")
            .ok());
    EXPECT_TRUE(
        catalog.AddProcessType(&kProcessType<t::TrappingScriptProcess>, "test")
            .ok());
    // Completes after as many nanoseconds as its payload says.
    AddCommand("sleep", ACTORD_HANDLER_INLINE, [this](t::Call& call) {
      const uint64_t delay_ns = std::stoull(std::string(call.bytes()));
      core->host.abi()->complete_after(core->host.abi(), call.Defer(),
                                       delay_ns);
      return ACTORD_DEFERRED;
    });
    core = std::make_unique<Runtime::Core>(options, catalog);
    core->state = RunState::kServing;
    asleep_.resize(static_cast<size_t>(workers));
  }

  ~SteppedCore() {
    clock.hook = nullptr;
    core->orders.terminate = true;
    core->orders.freeze = true;
    for (uint32_t slot = 0; slot < core->processes.SlotsInUse(); ++slot) {
      const Process& process = core->processes.At(slot);
      core->delivery
          .Control(Owner::kAny,
                   core->processes.PidOf(process, process.generation),
                   kEventTerminate, "the test is over", core->lane)
          .IgnoreError();
    }
    Settle();
    EXPECT_EQ(core->LiveVolatile(), 0u);
  }

  void AddCommand(std::string name, uint32_t mode,
                  actord::testing::ScriptHandler::Function handle,
                  uint32_t flags = 0) {
    handlers.push_back(std::make_unique<actord::testing::ScriptHandler>(
        std::move(name), mode, std::move(handle), flags));
    EXPECT_TRUE(catalog
                    .AddCommand(handlers.back()->descriptor(),
                                handlers.back().get(), "test")
                    .ok());
  }

  // Submits a process; it is on the global queue then.
  Pid Submit(const actord::testing::Script& script,
             const std::string& type = "script", Owner owner = Owner::kNobody) {
    Pid submitted;
    SubmitRequest request{type, "", {actord::testing::InputOf(script), ""}, {}};
    request.owner = owner;
    core->admission.Submit(request, Pid{}, /*keep_result=*/true,
                           [&submitted](absl::StatusOr<Pid> pid) {
                             ASSERT_TRUE(pid.ok()) << pid.status();
                             submitted = *pid;
                           });
    // Runs its Init and first step.
    Settle();
    EXPECT_FALSE(submitted.empty());
    return submitted;
  }
  Pid Submit(Step step) {
    return Submit(actord::testing::Script{.step = std::move(step)});
  }

  // Sends, as worker `from` would in a step; -1: as another thread would.
  void Send(const Pid& to, int from, std::string_view topic = "m") {
    Lane& sender = from < 0 ? core->lane : lane(from);
    Envelope* envelope = sender.NewEnvelope(ACTORD_EVENT_MESSAGE, topic, {});
    ASSERT_TRUE(
        core->delivery.SendOrExplain(Owner::kAny, to, envelope, sender).ok());
  }

  Worker::Did RunOne(int worker) {
    EXPECT_FALSE(asleep_[static_cast<size_t>(worker)]);
    WorkerThreads::Thread& runs = thread(worker);
    const Worker::Did did = core->threads.RunOne(runs);
    if (runs.lane.here() == nullptr) {
      // Lost meanwhile: what became of the worker is the next thread's affair.
      core->threads.AddSpare(runs);
      return did;
    }
    asleep_[static_cast<size_t>(worker)] = did == Worker::Did::kSleep;
    return did;
  }
  [[nodiscard]] bool IsAsleep(int worker) const {
    return asleep_[static_cast<size_t>(worker)];
  }
  // Runs the worker until it sleeps.
  void RunUntilSleep(int worker) {
    for (int i = 0; !IsAsleep(worker); ++i) {
      ASSERT_LT(i, 1'000'000)
          << "worker " << worker << " does not come to rest";
      RunOne(worker);
    }
  }
  // Takes a notification, if there is one, and wakes by it.
  bool WakeIfNotified(int worker) {
    if (!IsAsleep(worker) || !queue(worker).parker.Wait(0)) {
      return false;
    }
    EXPECT_TRUE(this->worker(worker).Wake(true));
    asleep_[static_cast<size_t>(worker)] = false;
    return true;
  }
  // The worker's sleep ends, by its time-out or a notification.
  void Wake(int worker) {
    if (!IsAsleep(worker) || WakeIfNotified(worker)) return;
    ASSERT_TRUE(this->worker(worker).Wake(false));
    asleep_[static_cast<size_t>(worker)] = false;
  }
  // Runs all workers until all sleep and nobody is notified.
  void Settle() {
    for (bool again = true; again;) {
      again = false;
      for (int i = 0; i < workers(); ++i) {
        if (IsAsleep(i) && !WakeIfNotified(i)) continue;
        RunUntilSleep(i);
        again = true;
      }
    }
  }
  void WakeAll() {
    for (int i = 0; i < workers(); ++i) Wake(i);
  }

  [[nodiscard]] int workers() const {
    return static_cast<int>(core->scheduler.size());
  }
  // The thread that holds the worker.
  WorkerThreads::Thread& thread(int worker) {
    const Hold* holder = queue(worker).holder;
    for (size_t i = 0; i < core->threads.size(); ++i) {
      if (&core->threads.at(i).lane.hold() == holder)
        return core->threads.at(i);
    }
    std::abort();
  }
  Worker& worker(int worker) { return core->threads.worker(worker); }
  Lane& lane(int worker) { return thread(worker).lane; }
  WorkerQueue& queue(int worker) {
    return core->scheduler.queue(static_cast<size_t>(worker));
  }
  Process& process(const Pid& pid) { return core->processes.At(pid.slot); }

  HookClock clock;
  Catalog catalog;
  std::vector<std::unique_ptr<actord::testing::ScriptHandler>> handlers;
  std::unique_ptr<Runtime::Core> core;

 private:
  std::vector<bool> asleep_;
};

}  // namespace actord::runtime
