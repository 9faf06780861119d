#include "client/bulk/call_window.h"

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "client/calls/error.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace actord::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr absl::Duration kPatience = absl::Seconds(10);

// Records the starts and ends of a set of calls. One thread uses it, except
// where a test says otherwise.
struct Log {
  std::mutex mutex;
  std::vector<std::string> started;
  std::vector<std::string> over;
  std::vector<std::string> cancelled;

  std::vector<std::string> Started() {
    const std::lock_guard lock(mutex);
    return started;
  }
};

// A call whose attempts end when the test says so.
class ManualCall final : public WindowedCall {
 public:
  ManualCall(Log& log, std::string name) : log_(log), name_(std::move(name)) {}

  void Start(std::function<void(absl::Status)> finished) override {
    const std::lock_guard lock(log_.mutex);
    log_.started.push_back(name_);
    finished_ = std::move(finished);
  }
  void Cancel() override {
    {
      const std::lock_guard lock(log_.mutex);
      log_.cancelled.push_back(name_);
    }
    End(absl::CancelledError());
  }
  void Over(const absl::Status& status) override {
    const std::lock_guard lock(log_.mutex);
    log_.over.push_back(name_ + ":" + absl::StatusCodeToString(status.code()));
  }
  void End(const absl::Status& status) {
    std::function<void(absl::Status)> finished;
    {
      const std::lock_guard lock(log_.mutex);
      finished = std::exchange(finished_, nullptr);
    }
    if (finished) finished(status);
  }

 private:
  Log& log_;
  const std::string name_;
  std::function<void(absl::Status)> finished_;
};

// A call whose attempts end at once, each with the next of several statuses.
class ScriptedCall final : public WindowedCall {
 public:
  explicit ScriptedCall(std::vector<absl::Status> script)
      : script_(std::move(script)) {}
  void Start(std::function<void(absl::Status)> finished) override {
    finished(script_[attempts_++]);
  }
  void Cancel() override {}
  void Over(const absl::Status& status) override { result_ = status; }

  // To be read when the window is idle.
  [[nodiscard]] size_t attempts() const { return attempts_; }
  [[nodiscard]] const std::optional<absl::Status>& result() const {
    return result_;
  }

 private:
  const std::vector<absl::Status> script_;
  size_t attempts_ = 0;
  std::optional<absl::Status> result_;
};

// Refused with `reason`, "": none, and with a retry delay if it is given.
absl::Status Refused(grpc::StatusCode code, std::optional<int> retry_ms,
                     const std::string& reason = "") {
  google::rpc::Status status;
  if (retry_ms) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_nanos(*retry_ms * 1000000);
    status.add_details()->PackFrom(retry);
  }
  if (!reason.empty()) {
    google::rpc::ErrorInfo info;
    info.set_reason(reason);
    status.add_details()->PackFrom(info);
  }
  return FromGrpc(grpc::Status(code, "full", status.SerializeAsString()));
}

absl::Status Full(std::optional<int> retry_ms) {
  return Refused(grpc::StatusCode::RESOURCE_EXHAUSTED, retry_ms);
}

TEST(CallWindow, StartsNoMoreCallsThanItsSize) {
  Log log;
  CallWindow window({.window = 2});
  std::vector<std::shared_ptr<ManualCall>> calls;
  for (const char* name : {"a", "b", "c"}) {
    calls.push_back(std::make_shared<ManualCall>(log, name));
    window.Add(calls.back());
  }
  EXPECT_THAT(log.started, ElementsAre("a", "b"));
  calls[1]->End(absl::OkStatus());
  EXPECT_THAT(log.started, ElementsAre("a", "b", "c"));
  EXPECT_THAT(log.over, ElementsAre("b:OK"));
  EXPECT_FALSE(window.WaitUntilIdle(absl::ZeroDuration()));
  calls[0]->End(absl::OkStatus());
  calls[2]->End(absl::InternalError("x"));
  EXPECT_TRUE(window.WaitUntilIdle(absl::ZeroDuration()));
  EXPECT_THAT(log.over, ElementsAre("b:OK", "a:OK", "c:INTERNAL"));
}

TEST(CallWindow, KeepsTheOrderOfEachKeyOnly) {
  Log log;
  CallWindow window({.window = 10});
  const auto add = [&](const char* name, const char* key) {
    auto call = std::make_shared<ManualCall>(log, name);
    window.Add(call, key);
    return call;
  };
  const auto a1 = add("a1", "a");
  const auto a2 = add("a2", "a");
  const auto b1 = add("b1", "b");
  const auto a3 = add("a3", "a");
  EXPECT_THAT(log.started, ElementsAre("a1", "b1"));
  a1->End(absl::InternalError("whatever became of it"));
  EXPECT_THAT(log.started, ElementsAre("a1", "b1", "a2"));
  a2->End(absl::OkStatus());
  EXPECT_THAT(log.started, ElementsAre("a1", "b1", "a2", "a3"));
  a3->End(absl::OkStatus());
  b1->End(absl::OkStatus());
  EXPECT_TRUE(window.WaitUntilIdle(absl::ZeroDuration()));
  // The key is free again.
  add("a4", "a")->End(absl::OkStatus());
  EXPECT_EQ(log.over.back(), "a4:OK");
}

TEST(CallWindow, HasRoomForTwiceItsSize) {
  Log log;
  CallWindow window({.window = 1});
  const auto a = std::make_shared<ManualCall>(log, "a");
  const auto b = std::make_shared<ManualCall>(log, "b");
  window.Add(a);
  EXPECT_TRUE(window.WaitForRoom(absl::ZeroDuration()));
  window.Add(b);
  EXPECT_FALSE(window.WaitForRoom(absl::Milliseconds(1)));
  a->End(absl::OkStatus());
  EXPECT_TRUE(window.WaitForRoom(absl::ZeroDuration()));
  b->End(absl::OkStatus());
}

TEST(CallWindow, RetriesCallsThatAreRefusedForWantOfRoom) {
  const auto call = std::make_shared<ScriptedCall>(
      std::vector{Full(1), Full(1), absl::OkStatus()});
  CallWindow window({});
  window.Add(call);
  ASSERT_TRUE(window.WaitUntilIdle(kPatience));
  EXPECT_EQ(call->attempts(), 3U);
  EXPECT_EQ(call->result(), absl::OkStatus());
}

TEST(CallWindow, RetriesCallsThatAreRefusedWhileTheDiskIsBehind) {
  const auto call = std::make_shared<ScriptedCall>(
      std::vector{Refused(grpc::StatusCode::UNAVAILABLE, 1, "JOURNAL_BEHIND"),
                  absl::OkStatus()});
  CallWindow window({});
  window.Add(call);
  ASSERT_TRUE(window.WaitUntilIdle(kPatience));
  EXPECT_EQ(call->attempts(), 2U);
  EXPECT_EQ(call->result(), absl::OkStatus());
}

TEST(CallWindow, GivesUpAfterTheMaximumOfRetries) {
  const auto call = std::make_shared<ScriptedCall>(
      std::vector{Full(1), Full(1), Full(1), absl::OkStatus()});
  CallWindow window({.max_retries = 2});
  window.Add(call);
  ASSERT_TRUE(window.WaitUntilIdle(kPatience));
  EXPECT_EQ(call->attempts(), 3U);
  EXPECT_EQ(call->result()->code(), absl::StatusCode::kResourceExhausted);
}

TEST(CallWindow, RetriesNoOtherError) {
  CallWindow window({});
  for (const absl::Status& status :
       {Full(std::nullopt), absl::UnavailableError("x"),
        absl::InternalError("x"), MarkUnanswered(Full(1)),
        Refused(grpc::StatusCode::UNAVAILABLE, 1, "DRAINING")}) {
    const auto call =
        std::make_shared<ScriptedCall>(std::vector{status, absl::OkStatus()});
    window.Add(call);
    ASSERT_TRUE(window.WaitUntilIdle(kPatience));
    EXPECT_EQ(call->attempts(), 1U);
    EXPECT_EQ(call->result()->code(), status.code());
  }
}

TEST(CallWindow, CancelsRunningDelayedAndQueuedCalls) {
  Log log;
  CallWindow window({.window = 1});
  window.Add(std::make_shared<ManualCall>(log, "runs"), "k");
  window.Add(std::make_shared<ManualCall>(log, "behind"), "k");
  window.Add(std::make_shared<ManualCall>(log, "waits"));
  window.CancelAll();
  EXPECT_TRUE(window.WaitUntilIdle(absl::ZeroDuration()));
  EXPECT_THAT(log.started, ElementsAre("runs"));
  EXPECT_THAT(log.cancelled, ElementsAre("runs"));
  EXPECT_THAT(log.over,
              testing::UnorderedElementsAre(
                  "runs:CANCELLED", "behind:CANCELLED", "waits:CANCELLED"));
  window.Add(std::make_shared<ManualCall>(log, "late"));
  EXPECT_EQ(log.over.back(), "late:CANCELLED");
}

TEST(CallWindow, CancelsTheDelayBeforeARetry) {
  const auto call =
      std::make_shared<ScriptedCall>(std::vector{Full(900), absl::OkStatus()});
  CallWindow window({});
  window.Add(call);
  window.CancelAll();
  ASSERT_TRUE(window.WaitUntilIdle(kPatience));
  EXPECT_EQ(call->attempts(), 1U);
  EXPECT_EQ(call->result()->code(), absl::StatusCode::kCancelled);
}

TEST(CallWindow, CancelsALongQueueWithoutDeepRecursion) {
  Log log;
  CallWindow window({.window = 1});
  window.Add(std::make_shared<ManualCall>(log, "runs"), "k");
  for (int i = 0; i < 200'000; ++i) {
    window.Add(std::make_shared<ManualCall>(log, "x"), "k");
  }
  window.CancelAll();
  EXPECT_TRUE(window.WaitUntilIdle(absl::ZeroDuration()));
  EXPECT_EQ(log.over.size(), 200'001U);
}

TEST(CallWindow, CountsCallsThatAnEndingCallAdds) {
  class Parent final : public WindowedCall {
   public:
    Parent(CallWindow& next, std::shared_ptr<WindowedCall> child)
        : next_(next), child_(std::move(child)) {}
    void Start(std::function<void(absl::Status)> finished) override {
      finished(absl::OkStatus());
    }
    void Cancel() override {}
    void Over(const absl::Status& /*status*/) override { next_.Add(child_); }

   private:
    CallWindow& next_;
    const std::shared_ptr<WindowedCall> child_;
  };
  Log log;
  CallWindow window({.window = 1});
  const auto child = std::make_shared<ManualCall>(log, "child");
  window.Add(std::make_shared<Parent>(window, child));
  EXPECT_FALSE(window.WaitUntilIdle(absl::ZeroDuration()));
  EXPECT_THAT(log.started, ElementsAre("child"));
  child->End(absl::OkStatus());
  EXPECT_TRUE(window.WaitUntilIdle(absl::ZeroDuration()));
}

}  // namespace
}  // namespace actord::client
