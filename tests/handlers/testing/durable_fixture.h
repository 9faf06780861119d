// Process types for the tests of how a harness checks durable types.
#pragma once

#include <actord/commands.h>
#include <actord/coroutine.h>
#include <actord/plugin.h>
#include <actord/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace actord::durable_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::EndKind;
using testing::ExpectationFailed;
using testing::Harness;
using testing::HarnessOptions;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Received;

// Counts the objects and the calls of the processes below.
struct Counts {
  int objects = 0;
  int inits = 0;
  int closes = 0;
  int snapshots = 0;
  int recoveries = 0;
};
inline Counts counts;

class Counted {
 public:
  Counted() { ++counts.objects; }
  Counted(const Counted&) { ++counts.objects; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --counts.objects; }
};

// An image type. "add N" adds, "get" sends the sum to the sender, "stop" ends
// with the sum. Its input chooses its defect.
class Tally : public actord::Process {
 public:
  static constexpr const char* kName = "tally";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;

  void Init(std::string_view /*method*/, const Payload& input) {
    ++counts.inits;
    fault_ = input.bytes;
  }
  SnapshotResult Snapshot() const {
    ++counts.snapshots;
    if (fault_ == "is never ready") return SnapshotResult::NotNow();
    if (added_ > 0 && fault_ == "is busy") return SnapshotResult::NotNow();
    if (added_ > 0 && fault_ == "has no image") {
      return Status(Code::kDataLoss, "lost it");
    }
    if (added_ > 0 && fault_ == "throws") throw std::runtime_error("broke");
    if (added_ > 0 && fault_ == "is large") return std::string(2'000'000, 'x');
    const int64_t sum = fault_ == "forgets" ? 0 : sum_;
    return fault_ + "\n" + std::to_string(sum);
  }
  Status Restore(std::string_view method, const RestoreFrom& from,
                 RestoreContext& context) {
    EXPECT_EQ(method, "run");
    EXPECT_EQ(from.reason, RestoreReason::kRecovery);
    EXPECT_EQ(from.version, "7");
    EXPECT_EQ(from.state_version, 0u);
    ++counts.recoveries;
    // Draws bits that the run does not get.
    (void)context.random();
    const std::string text(from.snapshot.bytes);
    fault_ = text.substr(0, text.find('\n'));
    sum_ = std::stoll(text.substr(text.find('\n') + 1));
    if (sum_ > 0 && fault_ == "refuses") return {Code::kInternal, "is bad"};
    restored_ = true;
    return {};
  }
  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "add") {
        ++added_;
        sum_ += std::stoll(std::string(event.payload().bytes));
        out.Send(event.from(), "added");
      }
      if (event.topic() == "get") {
        out.Send(event.from(), "sum", std::to_string(sum_));
      }
      if (event.topic() == "stop") {
        if (restored_ && fault_ == "fails") {
          out.Fail(Code::kInternal, "is lost");
          return;
        }
        out.Done(std::to_string(sum_));
      }
    }
  }
  void Close() { ++counts.closes; }

 private:
  Counted counted_;
  std::string fault_;
  int64_t sum_ = 0;
  int added_ = 0;
  bool restored_ = false;
};

// A flat type: like Tally.
class Meter : public actord::Process {
 public:
  static constexpr const char* kName = "meter";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;
  static constexpr uint32_t kStateVersion = 1;
  struct State {
    int64_t sum = 100;
    bool has_reader = false;
    Pid reader;
  };
  State state;

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "add") ++state.sum;
      if (event.topic() == "read") {
        state.has_reader = true;
        state.reader = event.from();
      }
      if (event.topic() == "stop") out.Done(std::to_string(state.sum));
    }
    if (state.has_reader) {
      out.Send(state.reader, "sum", std::to_string(state.sum));
    }
  }
};

// An image type that sleeps twice; its image is the tag of the sleep.
class Sleeper : public actord::Process {
 public:
  static constexpr const char* kName = "sleeper";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;

  SnapshotResult Snapshot() const { return std::to_string(tag_); }
  void Restore(std::string_view /*method*/, const RestoreFrom& from,
               RestoreContext& context) {
    tag_ = std::stoull(std::string(from.snapshot.bytes));
    if (tag_ != 0) {
      EXPECT_TRUE(context.AdoptYield(tag_));
      EXPECT_FALSE(context.AdoptYield(tag_ + 1));
    }
  }
  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_completion() && event.tag() == 2) {
        out.Done(std::to_string(event.tag()));
        return;
      }
      if (event.is_completion() && event.tag() != tag_) {
        out.Fail(Code::kInternal, "another tag");
        return;
      }
    }
    tag_ = out.Yield(commands::Sleep(std::chrono::seconds(5)));
    out.Block();
  }

 private:
  Tag tag_ = 0;
};

// The next number of a static, on which no replay type may depend.
inline int statics = 0;
// A second act of each step of Route, from its second step on.
inline std::function<void(int step, StepOutput&)> route;

// A replay type that tells its parent or its reader all that it gets.
class Route : public actord::Process {
 public:
  static constexpr const char* kName = "route";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;

  Status Init(std::string_view /*method*/, const Payload& input,
              const StepContext& context) {
    ++counts.inits;
    drawn_ = context.random();
    text_ = input.bytes;
    started_ = context.now();
    return {};
  }
  SnapshotResult Snapshot() const { return text_; }
  void Restore(std::string_view /*method*/, const RestoreFrom& from,
               RestoreContext& context) {
    text_ = std::string(from.snapshot.bytes) +
            (context.AdoptYield(1) ? " adopted" : " alone");
    drawn_ = context.random();
  }
  void Step(Events events, StepOutput& out) {
    ++steps_;
    for (const Event event : events) {
      text_ += event.topic();
      text_ += event.payload().bytes;
      if (event.topic() == "tell") reader_ = event.from();
      if (event.topic() == "stop") return out.Done(text_);
      if (event.topic() == "fail") return out.Fail(Code::kAborted, text_);
    }
    if (!reader_.empty()) {
      out.Send(reader_, "told",
               text_ + " " + std::to_string(drawn_ ^ out.random()) + " " +
                   std::to_string(out.now().time_since_epoch().count()) + " " +
                   std::to_string((out.now() - started_).count()) + " " +
                   std::to_string(out.monotonic_now().count()));
    }
    if (route && steps_ > 1) route(steps_, out);
  }
  void Close() { ++counts.closes; }

 private:
  Counted counted_;
  uint64_t drawn_ = 0;
  Time started_;
  std::string text_;
  Pid reader_;
  int steps_ = 0;
};

// A coroutine that is a replay type.
class Visits : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "visits";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;

  actord::Task<std::string> Main(Context& ctx) {
    std::string text;
    for (int i = 0; i < 3; ++i) {
      const Message visit = co_await ctx.Receive("visit");
      text += visit.payload().bytes;
      co_await ctx.Sleep(std::chrono::seconds(1));
      ctx.Send(visit.from(), "left", text);
    }
    co_return text;
  }
};

// A volatile type.
class Gone : public actord::Process {
 public:
  static constexpr const char* kName = "gone";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  void Init(std::string_view /*method*/, const Payload& /*input*/) {
    ++counts.inits;
  }
  SnapshotResult Snapshot() const {
    ++counts.snapshots;
    return "";
  }
  void Step(Events events, StepOutput& out) {
    if (!events.empty()) out.Done();
  }
};

inline const actord_plugin_info kPlugin = actord::MakePlugin<
    actord::ProcessTypes<Tally, Meter, Sleeper, Route, Visits, Gone>>("durable",
                                                                      "7");

class DurableTest : public ::testing::Test {
 protected:
  DurableTest() {
    counts = {};
    statics = 0;
    route = nullptr;
  }
  ~DurableTest() override {
    EXPECT_EQ(counts.objects, 0) << "a harness closes every state at its end";
    route = nullptr;
  }

  static std::string WhatFails(const std::function<void()>& what) {
    try {
      what();
    } catch (const ExpectationFailed& failed) {
      return failed.what();
    }
    return "nothing failed";
  }
  // Sends the topics one by one; each is a step.
  static void Steps(Harness& harness, const Pid& pid, const Pid& from,
                    const std::vector<const char*>& topics) {
    for (const char* topic : topics) {
      harness.Deliver(pid, topic, "5", from);
      harness.Run();
    }
  }
};

}  // namespace actord::durable_test
