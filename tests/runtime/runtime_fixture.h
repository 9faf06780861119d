// A runtime with scripted process types, for tests of its outer behaviour.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/process/errors.h"
#include "runtime/runtime.h"
#include "tests/support/script_process.h"

namespace actord::runtime {

using actord::testing::InputOf;
using actord::testing::Script;

// How long a test waits; only reached when something is wrong.
inline constexpr std::chrono::seconds kPatience{60};

// The value of a future that a test waits for; fails the test after kPatience.
template <typename T>
T Get(std::future<T>& future) {
  if (future.wait_for(kPatience) != std::future_status::ready) {
    ADD_FAILURE() << "nothing came within " << kPatience.count() << " s";
    std::abort();
  }
  return future.get();
}

// Waits until `condition` holds; false after kPatience.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class RuntimeTest : public ::testing::TestWithParam<int> {
 protected:
  // Starts a runtime; GetParam() workers in parametrised tests, otherwise 2.
  void Start(RuntimeOptions options = {}) {
    if (options.workers == 0) options.workers = 2;
    ASSERT_TRUE(
        catalog_
            .AddProcessType(
                &actord::kProcessType<actord::testing::ScriptProcess>, "test")
            .ok());
    ASSERT_TRUE(
        catalog_
            .AddProcessType(&actord::kProcessType<
                                actord::testing::CancellableScriptProcess>,
                            "test")
            .ok());
    auto runtime = Runtime::Create(options, catalog_);
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = *std::move(runtime);
    ASSERT_TRUE(runtime_->Start().ok());
  }

  absl::StatusOr<Pid> Submit(SubmitRequest request) {
    std::promise<absl::StatusOr<Pid>> promise;
    auto future = promise.get_future();
    runtime_->Submit(std::move(request), [&promise](absl::StatusOr<Pid> pid) {
      promise.set_value(std::move(pid));
    });
    return Get(future);
  }
  absl::StatusOr<Pid> Submit(const Script& script,
                             std::string type = "script") {
    return Submit(
        SubmitRequest{std::move(type), "", {InputOf(script), ""}, {}});
  }
  Pid MustSubmit(const Script& script, std::string type = "script") {
    absl::StatusOr<Pid> pid = Submit(script, std::move(type));
    EXPECT_TRUE(pid.ok()) << pid.status();
    return pid.value_or(Pid{});
  }

  absl::StatusOr<Outcome> Await(const Pid& pid) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<Outcome>>>();
    auto future = promise->get_future();
    runtime_->Await(pid, [promise](absl::StatusOr<Outcome> outcome) {
      promise->set_value(std::move(outcome));
    });
    return Get(future);
  }
  Outcome MustAwait(const Pid& pid) {
    absl::StatusOr<Outcome> outcome = Await(pid);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *outcome : Outcome{};
  }

  absl::Status Send(const Pid& to, std::string topic, std::string bytes = "") {
    return runtime_->Send(to, {std::move(topic), {std::move(bytes), ""}});
  }

  Catalog catalog_;
  std::unique_ptr<Runtime> runtime_;
};

MATCHER_P2(Refused, code, reason, "") {
  *result_listener << arg << " with reason " << ReasonOf(arg);
  return arg.code() == code && ReasonOf(arg) == reason;
}

}  // namespace actord::runtime
