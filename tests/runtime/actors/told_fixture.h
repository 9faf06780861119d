// Scripted processes that write down, as text, what they are told, and do what
// a test hands to them.
//
// Thread-safety: one thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {

class ToldTest : public ::testing::Test {
 protected:
  using Act = std::function<void(StepOutput&)>;

  void Start(RuntimeOptions options = {}) {
    options.external_commands = {"ext"};
    core_ = std::make_unique<SteppedCore>(1, options);
  }
  Runtime::Core& core() { return *core_->core; }

  // A process that does nothing but what Do hands to it. It writes what it is
  // told to told(name), and answers nothing.
  Pid Begin(const std::string& name, const std::string& type = "script") {
    const Pid pid = core_->Submit(
        actord::testing::Script{
            .step =
                [this, name](Events events, StepOutput& out) {
                  for (const Event event : events) {
                    if (event.is_message() && event.topic() == "act") {
                      const Act act = std::exchange(acts_[name], nullptr);
                      if (act) act(out);
                      continue;
                    }
                    told_[name].push_back(TextOf(event));
                    if (event.call() != 0) calls_.push_back(event.call());
                  }
                }},
        type);
    pids_[name] = pid;
    return pid;
  }
  // Lets the process do this in its next step, and runs that step with
  // everything that follows from it.
  void Do(const std::string& name, Act act) {
    DoLater(name, std::move(act));
    core_->Settle();
  }
  void DoLater(const std::string& name, Act act) {
    acts_[name] = std::move(act);
    core_->Send(pids_[name], -1, "act");
  }
  std::vector<std::string> Told(const std::string& name) {
    core_->Settle();
    return std::exchange(told_[name], {});
  }
  // The calls that were seen, in their order.
  std::vector<CallId> TakeCalls() { return std::exchange(calls_, {}); }
  CallId TheCall() {
    const std::vector<CallId> calls = TakeCalls();
    EXPECT_EQ(calls.size(), 1u);
    return calls.empty() ? 0 : calls[0];
  }
  void Pass(uint64_t ns) {
    core_->clock.manual.AdvanceNs(ns);
    core_->WakeAll();
    core_->Settle();
  }
  void Terminate(const std::string& name) {
    ASSERT_TRUE(core()
                    .delivery
                    .Control(Owner::kAny, pids_[name], kEventTerminate,
                             "by the test", core().lane)
                    .ok());
    core_->Settle();
  }
  bool Lives(const std::string& name) {
    return core().processes.Find(pids_[name]) != nullptr;
  }
  std::optional<Outcome> OutcomeOf(const std::string& name) {
    std::optional<Outcome> result;
    core().results.Await(
        Owner::kAny, pids_[name],
        [&](absl::StatusOr<Outcome> outcome) {
          if (outcome.ok()) result = *std::move(outcome);
        },
        [] { return false; }, [] { return absl::NotFoundError("none"); });
    return result;
  }

  // "m:topic:payload", "c:code:payload", "x:name:tag:reason:code:payload".
  std::string TextOf(const Event& event) const {
    const std::string payload(event.payload().bytes);
    const int code = static_cast<int>(event.error().code);
    switch (event.type()) {
      case EventType::kMessage:
        return "m:" + std::string(event.topic()) + ":" + payload;
      case EventType::kCompletion:
        return "c:" + std::to_string(code) + ":" + payload;
      case EventType::kCancel:
        return "cancel:" + payload;
      case EventType::kExit: {
        std::string who = "?";
        for (const auto& [name, pid] : pids_) {
          if (pid == FromAbi(event.from())) who = name;
        }
        return "x:" + who + ":" + std::to_string(event.tag()) + ":" +
               std::to_string(static_cast<uint32_t>(event.exit_reason())) +
               ":" + std::to_string(code) + ":" + payload;
      }
    }
    return "unknown";
  }
  actord::Pid PidOf(const std::string& name) { return ToAbi(pids_[name]); }

  std::unique_ptr<SteppedCore> core_;
  std::map<std::string, Pid> pids_;

 private:
  std::map<std::string, Act> acts_;
  std::map<std::string, std::vector<std::string>> told_;
  std::vector<CallId> calls_;
};

}  // namespace actord::runtime
