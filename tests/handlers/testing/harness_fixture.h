// Process types for the tests of the harness: a scripted one and its child.
#pragma once

#include <actord/commands.h>
#include <actord/plugin.h>
#include <actord/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace actord::harness_test {

using ::testing::ElementsAre;
using testing::EndKind;
using testing::ExpectationFailed;
using testing::ForEachSeed;
using testing::Harness;
using testing::HarnessOptions;
using ::testing::HasSubstr;
using testing::HeldYield;

// The steps of a scripted process.
inline std::function<void(Events, StepOutput&)> script;
inline int live_scripted = 0;
// Recorded by the steps.
inline std::vector<std::string> seen;

template <bool kCancels>
class Scripted : public actord::Process {
 public:
  static constexpr const char* kName =
      kCancels ? "scripted" : "scripted.uncancelled";
  static constexpr actord::Method kMethods[] = {{"run", nullptr},
                                                {"refuse", nullptr}};
  static constexpr bool kHandlesCancel = kCancels;

  Scripted() { ++live_scripted; }
  ~Scripted() { --live_scripted; }
  Status Init(std::string_view method, const Payload& input) {
    if (method == "run") return Status::Ok();
    return {Code::kInvalidArgument, "refuses " + std::string(input.bytes)};
  }
  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_completion()) {
        seen.push_back("#" + std::to_string(event.tag()) + " " +
                       std::string(CodeName(event.error().code)) + " " +
                       std::string(event.payload().bytes));
      }
      if (event.is_message()) seen.emplace_back(event.topic());
      if (event.is_cancel()) {
        seen.push_back("cancel " + std::string(event.payload().bytes));
      }
    }
    script(events, out);
  }
};

class TrappingScripted : public Scripted<true> {
 public:
  static constexpr const char* kName = "scripted.trapping";
  static constexpr bool kTrapsExits = true;
};

// Ends with its input, sent to its parent as well.
class Child : public actord::Process {
 public:
  static constexpr const char* kName = "child";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  Status Init(std::string_view /*method*/, const Payload& input) {
    input_ = input.bytes;
    if (input_ == "refuse") return {Code::kInvalidArgument, "no child"};
    return Status::Ok();
  }
  void Step(Events /*events*/, StepOutput& out) {
    out.Send(out.parent(), "child", input_);
    out.Done(input_);
  }

 private:
  std::string input_;
};

class Upper : public actord::Handler {
 public:
  static constexpr const char* kCommand = "text.upper";
  actord::Reply Handle(const actord::Command& command) {
    if (command.payload().empty()) throw std::runtime_error("nothing there");
    std::string text(command.payload().bytes);
    for (char& c : text) c = static_cast<char>(std::toupper(c));
    return actord::Reply::Text(text);
  }
};

// Spawns a child with the priority that the payload says, valid or not.
class SpawnOfPriority : public actord::Handler {
 public:
  static constexpr const char* kCommand = "test.spawn";
  void Handle(const actord::Command& command, actord::Completion done) {
    const int priority = std::stoi(std::string(command.payload().bytes));
    done.CompleteWithSpawn(command.from(), "child", "run", "x",
                           {.priority = priority});
  }
};

inline const actord_plugin_info kPlugin =
    actord::MakePlugin<actord::ProcessTypes<Scripted<true>, Scripted<false>,
                                            TrappingScripted, Child>,
                       actord::Handlers<Upper, SpawnOfPriority>>("harnessed",
                                                                 "1");

class HarnessTest : public ::testing::Test {
 protected:
  HarnessTest() {
    seen.clear();
    script = [](Events, StepOutput&) {};
  }
  ~HarnessTest() override {
    EXPECT_EQ(live_scripted, 0) << "a harness closes what lives at its end";
  }

  static std::string WhatFails(const std::function<void()>& what) {
    try {
      what();
    } catch (const ExpectationFailed& failed) {
      return failed.what();
    }
    return "nothing failed";
  }
};

}  // namespace actord::harness_test
