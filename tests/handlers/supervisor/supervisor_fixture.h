// Supervisors in a harness, with real processes, commands, links and calls, and
// the test's own clock.
//
// Thread-safety: none.
#pragma once

#include <actord/plugin.h>
#include <actord/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "handlers/supervisor/supervisor.h"

namespace actord::supervisor_test {

using namespace std::chrono_literals;
using actord::testing::EndKind;
using actord::testing::ForEachSeed;
using actord::testing::Harness;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Start and end reports of the children, in order.
inline std::vector<std::string> told;
inline bool refuses = false;
// With each second seed supervisors lose their state after each step.
inline bool crashes = false;
inline std::string why_refused = "not today";

// Reports when it begins and ends. The messages "fail" and "done" end it.
class Child : public Process {
 public:
  static constexpr const char* kName = "child";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  Status Init(std::string_view /*method*/, const Payload& input) {
    if (refuses) return {Code::kUnavailable, why_refused};
    name_ = input.bytes;
    told.push_back("+" + name_);
    return {};
  }
  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "fail") out.Fail(Code::kInternal, "broken");
      if (event.topic() == "done") out.Done();
      if (event.topic() == "leave") out.Unlink(out.parent());
    }
  }
  void Close() { told.push_back("-" + name_); }

 private:
  std::string name_;
};

// Does not end after a cancel.
class Stubborn : public Child {
 public:
  static constexpr const char* kName = "stubborn";
  static constexpr bool kHandlesCancel = true;
};

// Calls "started" of the supervisor that its input names, once more than the
// number of calls that may wait, and reports each answer.
class Asker : public Process {
 public:
  static constexpr const char* kName = "asker";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    supervisor_ = input.bytes;
  }
  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      told.emplace_back(CodeName(event.error().code));
      if (event.tag() == first_) told.back() += " is what the first hears";
    }
    if (std::exchange(asked_, true)) return;
    for (int i = 0; i < 1001; ++i) {
      const Tag tag = out.Call(*out.ParsePid(supervisor_), "started", {});
      if (i == 0) first_ = tag;
    }
  }

 private:
  std::string supervisor_;
  bool asked_ = false;
  Tag first_ = 0;
};

class SupervisorTest : public ::testing::Test {
 protected:
  static Harness MakeHarness(uint64_t seed = 1) {
    return MakeHarness(actord::testing::HarnessOptions{.seed = seed});
  }
  static Harness MakeHarness(const actord::testing::HarnessOptions& options) {
    told.clear();
    refuses = false;
    why_refused = "not today";
    static const actord_plugin_info kPlugin =
        MakePlugin<ProcessTypes<Child, Stubborn, Asker>>("supervised", "1");
    crashes = options.seed % 2 == 0;
    return Harness(kPlugin, options);
  }
  static json ChildOf(const std::string& id) {
    return {{"id", id}, {"type", "child"}, {"input", id}};
  }
  static json TreeOf(const std::string& strategy,
                     const std::vector<json>& children) {
    return {{"strategy", strategy}, {"children", children}};
  }
  static Pid Begin(Harness& harness, const json& spec) {
    if (crashes) harness.CrashEverywhere();
    const Pid pid = harness.Submit("supervisor", "", spec.dump());
    harness.Run();
    return pid;
  }
  static json Ask(Harness& harness, const Pid& supervisor,
                  const std::string& topic, const json& payload = json()) {
    const Result<> answer = harness.Call(
        supervisor, topic, payload.is_null() ? std::string() : payload.dump());
    if (!answer.ok()) {
      return std::string(CodeName(answer.error().code)) + ": " +
             answer.status().message();
    }
    return json::parse(answer->bytes);
  }
  // The child with this id in the answer to "children".
  static json ChildIn(Harness& harness, const Pid& supervisor,
                      const std::string& id) {
    const json list = Ask(harness, supervisor, "children");
    for (const json& child : list["children"]) {
      if (child["id"] == id) return child;
    }
    return {};
  }
  static Pid PidIn(Harness& harness, const Pid& supervisor,
                   const std::string& id) {
    const json child = ChildIn(harness, supervisor, id);
    Pid pid;
    const std::string text = child.value("pid", "");
    for (const Pid& live : harness.Live()) {
      if (Text(live) == text) pid = live;
    }
    EXPECT_FALSE(pid.empty()) << child;
    return pid;
  }
  // The text of a PID, in the harness's format.
  static std::string Text(const Pid& pid) {
    char text[64];
    std::snprintf(text, sizeof(text), "%x.%x.%x.%x", pid.node, pid.incarnation,
                  pid.slot, pid.generation);
    return text;
  }
  static std::vector<std::string> TakeTold() { return std::exchange(told, {}); }
};

}  // namespace actord::supervisor_test
