// Many processes and many threads do random things for a while; stress_world.h
// lists the checks. A seed prints with each failure; the schedule of the
// threads cannot be replayed, but the choices are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/process/errors.h"
#include "runtime/runtime.h"
#include "tests/runtime/stress_world.h"
#include "tests/support/script_handler.h"

namespace actord::runtime::stress {
namespace {

using actord::testing::Call;
using actord::testing::ScriptHandler;

constexpr std::chrono::seconds kDuration{3};

class Stress : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    seed_ = Random::SystemSeed();
    RecordProperty("seed", std::to_string(seed_));
    world_ = std::make_unique<World>(seed_);
    ASSERT_TRUE(
        catalog_.AddProcessType(&kProcessType<StressProcess>, "t").ok());
    ASSERT_TRUE(
        catalog_.AddProcessType(&kProcessType<CancellableStressProcess>, "t")
            .ok());
    Add("sleep", ACTORD_HANDLER_INLINE, [this](Call& call) {
      host_->complete_after(host_, call.Defer(),
                            std::stoull(std::string(call.bytes())));
      return ACTORD_DEFERRED;
    });
    const auto echo = [](Call& call) {
      call.Reply(ACTORD_OK, call.bytes());
      return ACTORD_HANDLED;
    };
    Add("inline", ACTORD_HANDLER_INLINE, echo);
    Add("pooled", ACTORD_HANDLER_POOLED, echo);
    Add("deferred", ACTORD_HANDLER_INLINE, [this](Call& call) {
      const actord_completion completion = call.Defer();
      const std::lock_guard lock(mutex_);
      deferred_.push_back(completion);
      return ACTORD_DEFERRED;
    });
    RuntimeOptions options;
    options.workers = GetParam();
    options.blocking_threads = 2;
    options.external_commands = {"ext.*"};
    options.seed = seed_;
    options.max_processes = 2000;
    auto runtime = Runtime::Create(options, catalog_);
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = *std::move(runtime);
    host_ = runtime_->host();
    ASSERT_TRUE(runtime_->Start().ok());
  }

  void Add(std::string command, uint32_t mode, ScriptHandler::Function handle) {
    handlers_.push_back(std::make_unique<ScriptHandler>(
        std::move(command), mode, std::move(handle)));
    ASSERT_TRUE(catalog_
                    .AddCommand(handlers_.back()->descriptor(),
                                handlers_.back().get(), "t")
                    .ok());
  }

  void SubmitOne() {
    Actor* actor = world_->NewActor();
    ++submits_;
    runtime_->Submit(
        SubmitRequest{actor->id % 2 == 0 ? "stress" : "stress.cancellable",
                      "run",
                      {InputOf(actor), ""},
                      {{"note", {BytesOf({kOutside, 0}, 0), ""}}}},
        [this, actor](const absl::StatusOr<Pid>& pid) {
          ++submit_answers_;
          if (pid.ok()) {
            world_->Enter(*pid, actor->id);
          } else if (actor->inits != 0 && !actor->refuses_init &&
                     ReasonOf(pid.status()) != reason::kDraining) {
            world_->Broken("a submit was refused for no reason: " +
                           std::string(pid.status().message()));
          }
        });
  }

  // Sends, cancels, terminates, looks and awaits from outside.
  void Disturb(uint64_t sender) {
    Random random(seed_ ^ sender);
    std::map<uint64_t, uint64_t> next_to;
    while (!quiet_) {
      const World::Entry target = world_->Pick(random.Next());
      const uint64_t r = random.Next();
      if (world_->live.load() < 200) SubmitOne();
      if (target.pid.empty()) continue;
      if (r % 64 < 48) {
        const Note note{sender, next_to[target.id]};
        const size_t padding = r / 64 % 16 == 0 ? 3000 : 0;
        if (runtime_->Send(target.pid, {"note", {BytesOf(note, padding), ""}})
                .ok()) {
          ++next_to[target.id];
        }
      } else if (r % 64 < 50) {
        runtime_->Cancel(target.pid, "stress").IgnoreError();
      } else if (r % 64 < 51) {
        runtime_->Terminate(target.pid, "stress").IgnoreError();
      } else if (r % 64 < 56) {
        AwaitOne(target.pid, r / 64 % 4 == 0);
      } else if (r % 64 < 58) {
        LookAt(target.pid);
      }
    }
  }

  void AwaitOne(const Pid& pid, bool cancel) {
    ++awaits_;
    const Runtime::AwaitId id = runtime_->Await(
        pid, [this](const absl::StatusOr<Outcome>&) { ++await_answers_; });
    if (cancel && id != 0 && runtime_->CancelAwait(pid, id)) --awaits_;
  }

  void LookAt(const Pid& pid) {
    const auto info = runtime_->Describe(pid);
    if (info.ok() && info->method != "run") world_->Broken("a torn look");
    std::set<Pid> seen;
    uint32_t slot = 0;
    do {
      const ProcessPage page = runtime_->ListProcesses({}, slot, 50);
      for (const ProcessInfo& process : page.processes) {
        if (!seen.insert(process.pid).second) world_->Broken("listed twice");
      }
      slot = page.next_slot;
    } while (slot != 0);
  }

  // Completes deferred and external commands, now and then twice.
  void Answer() {
    Random random(seed_ ^ 0xa15);
    while (!quiet_) {
      std::vector<actord_completion> deferred;
      {
        const std::lock_guard lock(mutex_);
        deferred.swap(deferred_);
      }
      for (const actord_completion completion : deferred) {
        const bool first =
            host_->complete(host_, completion, ACTORD_OK, nullptr) == ACTORD_OK;
        if (random.Next() % 4 == 0 &&
            host_->complete(host_, completion, ACTORD_ABORTED, nullptr) ==
                ACTORD_OK) {
          world_->Broken(first ? "completed twice" : "completed late");
        }
      }
      for (const ExternalYield& yield :
           runtime_->ListYields({}, 0, 20).yields) {
        AnswerExternal(yield.token, random.Next());
      }
      std::this_thread::yield();
    }
  }

  void AnswerExternal(const YieldToken& token, uint64_t random) {
    const YieldResult answer{absl::StatusCode::kOk, {"fine", ""}};
    const YieldResult other{absl::StatusCode::kAborted, {"bad", ""}};
    if (random % 4 == 0) return;
    const CompleteAnswer first = runtime_->CompleteYield(token, answer);
    if (first != CompleteAnswer::kAccepted &&
        first != CompleteAnswer::kExpired) {
      world_->Broken(
          "an external yield was answered by nobody else, but not "
          "accepted");
    }
    const bool accepted = first == CompleteAnswer::kAccepted;
    if (runtime_->CompleteYield(token, answer) !=
            (accepted ? CompleteAnswer::kDuplicate
                      : CompleteAnswer::kExpired) ||
        runtime_->CompleteYield(token, other) !=
            (accepted ? CompleteAnswer::kConflict : CompleteAnswer::kExpired)) {
      world_->Broken("a second answer was not told the truth");
    }
  }

  static constexpr uint64_t kOutside = uint64_t{1} << 40;

  uint64_t seed_ = 0;
  std::unique_ptr<World> world_;
  Catalog catalog_;
  std::vector<std::unique_ptr<ScriptHandler>> handlers_;
  const actord_host* host_ = nullptr;
  std::atomic<bool> quiet_{false};
  std::atomic<int64_t> submits_{0}, submit_answers_{0};
  std::atomic<int64_t> awaits_{0}, await_answers_{0};
  std::mutex mutex_;
  std::vector<actord_completion> deferred_;  // guarded by mutex_
  std::unique_ptr<Runtime> runtime_;
};

TEST_P(Stress, PromisesHoldUnderDisturbance) {
  std::vector<std::thread> threads;
  threads.emplace_back([this] { Disturb(kOutside + 1); });
  threads.emplace_back([this] { Disturb(kOutside + 2); });
  std::thread answering([this] { Answer(); });
  const auto end = std::chrono::steady_clock::now() + kDuration;
  while (std::chrono::steady_clock::now() < end &&
         world_->broken().first == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  world_->stopping = true;
  // The disturbance goes on, so that submits race with the drain.
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kDrain, absl::Seconds(60));
  quiet_ = true;
  for (std::thread& thread : threads) thread.join();
  answering.join();

  const auto [broken, first] = world_->broken();
  EXPECT_EQ(broken, 0u) << "first: " << first << "; seed " << seed_;
  EXPECT_EQ(report.forced, 0u) << "stranded; seed " << seed_;
  EXPECT_EQ(report.stuck, 0u);
  const RuntimeStats stats = runtime_->Stats();
  EXPECT_EQ(stats.processes_live, 0u);
  EXPECT_EQ(stats.processes_started, stats.processes_ended);
  EXPECT_EQ(stats.external_yields_waiting, 0u);
  EXPECT_EQ(stats.blocking_queue, 0u);
  EXPECT_EQ(submits_, submit_answers_);
  EXPECT_EQ(awaits_, await_answers_);
  EXPECT_EQ(world_->live, 0);
  uint64_t started = 0;
  for (const auto& actor : world_->actors()) {
    started += static_cast<uint64_t>(actor->inits.load());
    ASSERT_EQ(actor->closes, actor->refuses_init ? 0 : actor->inits.load())
        << "actor " << actor->id << "; seed " << seed_;
  }
  EXPECT_EQ(stats.processes_started, started);
  // It did happen, also on a slow and busy machine.
  EXPECT_GT(world_->received, 100u);
  EXPECT_GT(world_->completed, 100u);
  EXPECT_GT(started, 100u);
}

INSTANTIATE_TEST_SUITE_P(Workers, Stress, ::testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace actord::runtime::stress
