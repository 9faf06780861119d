// Processes of replay types for the tests of dormant processes.
#pragma once

#include <actord/commands.h>
#include <actord/coroutine.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/passivator.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {

using ::testing::HasSubstr;

constexpr uint64_t kLookNs = uint64_t{60} * 1'000'000'000;

// Writes the topics of its messages down. The call `get` is answered with them
// and is not written down.
class Logbook : public actord::Process {
 public:
  static constexpr const char* kName = "logbook";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  ~Logbook() {
    if (closed) std::exchange(closed, nullptr)();
  }

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    ++inits;
    lines_ = input.bytes;
    return actord::Status::Ok();
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    ++steps;
    for (const actord::Event event : events) {
      if (event.call() != 0) {
        out.Reply(event.call(), lines_);
      } else if (event.is_message()) {
        lines_ += std::string(event.topic()) + ",";
        if (echoes && event.topic() == "b") out.Send(out.self(), "echo");
        if (event.topic() == "tick") {
          out.Yield(actord::commands::Sleep(std::chrono::milliseconds(1)));
        }
        if (event.topic() == "new") out.ContinueAs(lines_ + "/");
      }
    }
  }

  static inline uint64_t inits = 0;
  static inline uint64_t steps = 0;
  // The author has changed the code: it sends a message.
  static inline bool echoes = false;
  // Called once, when an object of this class is destroyed.
  static inline std::function<void()> closed;

 protected:
  std::string lines_;
};

// A logbook that can also be kept as an image.
class Almanac : public Logbook {
 public:
  static constexpr const char* kName = "almanac";

  actord::SnapshotResult Snapshot() const { return lines_; }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    lines_ = from.snapshot.bytes;
    return actord::Status::Ok();
  }
};

// Leaves its callers without an answer.
class Listener : public actord::Process {
 public:
  static constexpr const char* kName = "listener";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  void Step(actord::Events /*events*/, actord::StepOutput& /*out*/) {}
};

// Begins a new page after three messages.
class Pages : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "pages";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  actord::Status Init(std::string_view /*method*/, actord::Payload input) {
    text_ = input.bytes;
    return actord::Status::Ok();
  }
  actord::Task<> Main(actord::Context& ctx) {
    for (int i = 0; i < 3; ++i) {
      const actord::Message message = co_await ctx.Receive();
      ++received;
      if (message.call() != 0) {
        ctx.Reply(message, text_);
      } else {
        text_ += std::string(message.topic()) + ",";
      }
    }
    co_return ctx.ContinueAs(text_ + "/");
  }

  static inline uint64_t received = 0;

 private:
  std::string text_;
};

class DormantReplay : public ::testing::Test {
 protected:
  DormantReplay() {
    Logbook::echoes = false;
    world_.more_types = {
        &actord::kProcessType<Logbook>, &actord::kProcessType<Almanac>,
        &actord::kProcessType<Listener>, &actord::kProcessType<Pages>};
    EXPECT_EQ(world_.Start(Options()), absl::OkStatus());
  }
  RuntimeOptions Options() {
    RuntimeOptions options;
    options.log = [this](LogLevel level, std::string_view text) {
      if (level == LogLevel::kError) errors_.emplace_back(text);
    };
    return options;
  }
  Pid New(const std::string& type, std::string input = "") {
    auto told = world_.Submit(std::move(input), "", true, type);
    world_.Settle();
    EXPECT_TRUE(told->has_value() && (*told)->ok());
    return told->has_value() && (*told)->ok() ? ***told : Pid{};
  }
  // Lets the store catch up, time pass, and the passivator look.
  void Look() {
    world_.Settle();
    EXPECT_EQ(world_.store->CatchUp(), absl::OkStatus());
    world_.runtime().passivator->LookIfDue();
    world_.Elapse(kLookNs);
  }
  void Wait() {
    for (int looks = 0; looks < 20; ++looks) Look();
  }
  bool IsDormant(const Pid& pid) {
    return world_.runtime().processes.IsDormant(pid);
  }
  std::string LinesOf(const Pid& pid) { return world_.BalanceOf(pid); }
  void Restart(bool keep_cache) { world_.Restart(keep_cache, Options()); }

  DurableWorld world_;
  std::vector<std::string> errors_;
};

}  // namespace actord::runtime
