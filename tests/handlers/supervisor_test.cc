// Supervisors in a harness: real processes, commands, links and calls, and a
// clock of the test's own.
#include "handlers/supervisor.h"

#include <actord/plugin.h>
#include <actord/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace actord::supervisor_test {
namespace {

using namespace std::chrono_literals;
using actord::testing::EndKind;
using actord::testing::ForEachSeed;
using actord::testing::Harness;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What the children have said, in this order.
std::vector<std::string> told;
bool refuses = false;

// Says when it begins and ends; "fail" and "done" end it.
class Child : public Process {
 public:
  static constexpr const char* kName = "child";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  Status Init(std::string_view /*method*/, const Payload& input) {
    if (refuses) return {Code::kUnavailable, "not today"};
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

// Does not end when it is asked to.
class Stubborn : public Child {
 public:
  static constexpr const char* kName = "stubborn";
  static constexpr bool kHandlesCancel = true;
};

class SupervisorTest : public ::testing::Test {
 protected:
  static Harness MakeHarness(uint64_t seed = 1) {
    told.clear();
    refuses = false;
    static const actord_plugin_info kPlugin =
        MakePlugin<ProcessTypes<Child, Stubborn>>("supervised", "1");
    return Harness(kPlugin, {.seed = seed});
  }
  static json ChildOf(const std::string& id) {
    return {{"id", id}, {"type", "child"}, {"input", id}};
  }
  static json TreeOf(const std::string& strategy,
                     const std::vector<json>& children) {
    return {{"strategy", strategy}, {"children", children}};
  }
  static Pid Begin(Harness& harness, const json& spec) {
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
  // The child with this id, as "children" says.
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
  // As the harness writes PIDs.
  static std::string Text(const Pid& pid) {
    char text[64];
    std::snprintf(text, sizeof(text), "%x.%x.%x.%x", pid.node, pid.incarnation,
                  pid.slot, pid.generation);
    return text;
  }
  static std::vector<std::string> TakeTold() { return std::exchange(told, {}); }
};

TEST_F(SupervisorTest, StartsInOrderAndStopsInReverse) {
  ForEachSeed(50, [](uint64_t seed) {
    Harness harness = MakeHarness(seed);
    const Pid supervisor = Begin(
        harness,
        TreeOf("one_for_one", {ChildOf("a"), ChildOf("b"), ChildOf("c")}));
    EXPECT_THAT(TakeTold(), ElementsAre("+a", "+b", "+c"));
    harness.Cancel(supervisor, "that is all");
    EXPECT_EQ(harness.ExpectFailed(supervisor, Code::kCancelled),
              "that is all");
    EXPECT_EQ(harness.OutcomeOf(supervisor)->kind, EndKind::kCancelled);
    EXPECT_THAT(TakeTold(), ElementsAre("-c", "-b", "-a"));
  });
}

TEST_F(SupervisorTest, EachStrategyRestartsItsOwn) {
  ForEachSeed(50, [](uint64_t seed) {
    const struct {
      const char* strategy;
      std::vector<std::string> told;
    } kCases[] = {{"one_for_one", {"-b", "+b"}},
                  {"one_for_all", {"-b", "-c", "-a", "+a", "+b", "+c"}},
                  {"rest_for_one", {"-b", "-c", "+b", "+c"}}};
    for (const auto& each : kCases) {
      Harness harness = MakeHarness(seed);
      const Pid supervisor = Begin(
          harness,
          TreeOf(each.strategy, {ChildOf("a"), ChildOf("b"), ChildOf("c")}));
      TakeTold();
      harness.Deliver(PidIn(harness, supervisor, "b"), "fail");
      harness.Advance(1s);
      EXPECT_EQ(TakeTold(), each.told) << each.strategy;
      const json child = ChildIn(harness, supervisor, "b");
      EXPECT_EQ(child["restarts"], 1);
      EXPECT_EQ(child["state"], "running");
      EXPECT_EQ(child["last_end"], "failed: broken");
    }
  });
}

TEST_F(SupervisorTest, AnInitThatFailsForEverIsGivenUpWithItsReason) {
  Harness harness = MakeHarness();
  refuses = true;
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {ChildOf("a")}));
  EXPECT_TRUE(harness.IsLive(supervisor)) << "it waits for its pause";
  harness.Advance(10s);
  const std::string why = harness.ExpectFailed(supervisor, Code::kAborted);
  EXPECT_THAT(why, HasSubstr("child a (child)"));
  EXPECT_THAT(why, HasSubstr("not today"));
  EXPECT_EQ(harness.log().size(), 4u) << harness.Trace();
  EXPECT_THAT(harness.log().back().text, HasSubstr("gives up"));
}

TEST_F(SupervisorTest, AnInitThatComesBackIsGoneOnWith) {
  Harness harness = MakeHarness();
  refuses = true;
  const Pid supervisor =
      Begin(harness, TreeOf("one_for_one", {ChildOf("a"), ChildOf("b")}));
  EXPECT_EQ(ChildIn(harness, supervisor, "a")["state"], "backoff");
  EXPECT_EQ(ChildIn(harness, supervisor, "b")["state"], "waiting");
  refuses = false;
  harness.Advance(1s);
  EXPECT_THAT(TakeTold(), ElementsAre("+a", "+b"));
  EXPECT_EQ(Ask(harness, supervisor, "started"), json::object());
}

TEST_F(SupervisorTest, AnUnknownTypeIsSaid) {
  Harness harness = MakeHarness();
  const json child = {{"id", "a"}, {"type", "nothing.like.it"}};
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {child}));
  harness.Advance(10s);
  EXPECT_THAT(harness.ExpectFailed(supervisor, Code::kAborted),
              HasSubstr("nothing.like.it"));
}

TEST_F(SupervisorTest, TreesNest) {
  ForEachSeed(20, [](uint64_t seed) {
    Harness harness = MakeHarness(seed);
    const json inner = {
        {"id", "inner"},
        {"type", "supervisor"},
        {"input", TreeOf("one_for_all", {ChildOf("b"), ChildOf("c")})}};
    const Pid supervisor = Begin(
        harness, TreeOf("rest_for_one", {ChildOf("a"), inner, ChildOf("d")}));
    // Its own Init has returned; whose children it starts is its business.
    EXPECT_EQ(Ask(harness, PidIn(harness, supervisor, "inner"), "started"),
              json::object());
    EXPECT_THAT(TakeTold(),
                ::testing::UnorderedElementsAre("+a", "+b", "+c", "+d"));
    harness.Deliver(PidIn(harness, PidIn(harness, supervisor, "inner"), "c"),
                    "fail");
    harness.Advance(1s);
    EXPECT_THAT(TakeTold(), ElementsAre("-c", "-b", "+b", "+c"));
    harness.Cancel(supervisor);
    harness.ExpectFailed(supervisor, Code::kCancelled);
    EXPECT_THAT(TakeTold(), ElementsAre("-d", "-c", "-b", "-a"));
  });
}

TEST_F(SupervisorTest, AnInnerOneThatGivesUpIsRestartedByTheOuterOne) {
  Harness harness = MakeHarness();
  json inner_tree = TreeOf("one_for_one", {ChildOf("b")});
  inner_tree["intensity"] = 0;
  const json inner = {
      {"id", "inner"}, {"type", "supervisor"}, {"input", inner_tree}};
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {inner}));
  harness.Deliver(PidIn(harness, PidIn(harness, supervisor, "inner"), "b"),
                  "fail");
  harness.Advance(1s);
  EXPECT_THAT(TakeTold(), ElementsAre("+b", "-b", "+b"));
  EXPECT_THAT(ChildIn(harness, supervisor, "inner")["last_end"],
              HasSubstr("child b (child)"));
}

TEST_F(SupervisorTest, ChildrenEndWithATerminatedSupervisor) {
  ForEachSeed(20, [](uint64_t seed) {
    Harness harness = MakeHarness(seed);
    const json inner = {{"id", "inner"},
                        {"type", "supervisor"},
                        {"input", TreeOf("one_for_one", {ChildOf("b")})}};
    const Pid supervisor =
        Begin(harness, TreeOf("one_for_one", {ChildOf("a"), inner}));
    harness.Terminate(supervisor);
    harness.Run();
    EXPECT_TRUE(harness.Live().empty()) << harness.Trace();
  });
}

TEST_F(SupervisorTest, WhoUnlinksItselfIsWatchedAllTheSame) {
  Harness harness = MakeHarness();
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {ChildOf("a")}));
  const Pid child = PidIn(harness, supervisor, "a");
  harness.Deliver(child, "leave");
  harness.Run();
  harness.Deliver(child, "fail");
  harness.Advance(1s);
  EXPECT_THAT(TakeTold(), ElementsAre("+a", "-a", "+a"));
}

TEST_F(SupervisorTest, WhoDoesNotEndIsTerminatedAfterItsTimeout) {
  Harness harness = MakeHarness();
  const json child = {
      {"id", "a"}, {"type", "stubborn"}, {"stop_timeout_ms", 250}};
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {child}));
  harness.Cancel(supervisor);
  harness.Advance(249ms);
  EXPECT_TRUE(harness.IsLive(supervisor));
  EXPECT_EQ(harness.Live("stubborn").size(), 1u);
  harness.Advance(1ms);
  harness.ExpectFailed(supervisor, Code::kCancelled);
  EXPECT_TRUE(harness.Live().empty());
}

TEST_F(SupervisorTest, ChildrenAreStartedStoppedAndRestartedByCalls) {
  ForEachSeed(20, [](uint64_t seed) {
    Harness harness = MakeHarness(seed);
    const Pid supervisor = Begin(harness, json::object());
    const json started = Ask(harness, supervisor, "start_child", ChildOf("a"));
    EXPECT_EQ(started["pid"], Text(PidIn(harness, supervisor, "a")));
    EXPECT_THAT(Ask(harness, supervisor, "start_child", ChildOf("a")).dump(),
                HasSubstr("ALREADY_EXISTS"));
    EXPECT_EQ(Ask(harness, supervisor, "restart_child", {{"id", "a"}})["id"],
              "a");
    EXPECT_THAT(TakeTold(), ElementsAre("+a", "-a", "+a"));
    EXPECT_THAT(Ask(harness, supervisor, "delete_child", {{"id", "a"}}).dump(),
                HasSubstr("FAILED_PRECONDITION"));
    EXPECT_EQ(Ask(harness, supervisor, "stop_child", {{"id", "a"}}),
              json({{"id", "a"}}));
    EXPECT_THAT(TakeTold(), ElementsAre("-a"));
    harness.Advance(1h);
    EXPECT_EQ(ChildIn(harness, supervisor, "a")["state"], "stopped");
    EXPECT_EQ(Ask(harness, supervisor, "stop_child", {{"id", "a"}})["id"], "a");
    EXPECT_EQ(Ask(harness, supervisor, "restart_child", {{"id", "a"}})["id"],
              "a");
    EXPECT_EQ(ChildIn(harness, supervisor, "a")["restarts"], 0)
        << "who was asked to restart has not failed";
    Ask(harness, supervisor, "stop_child", {{"id", "a"}});
    EXPECT_EQ(Ask(harness, supervisor, "delete_child", {{"id", "a"}})["id"],
              "a");
    EXPECT_THAT(Ask(harness, supervisor, "stop_child", {{"id", "a"}}).dump(),
                HasSubstr("NOT_FOUND"));
  });
}

TEST_F(SupervisorTest, AStartChildWhoseInitRefusesIsAnErrorAndNoRestart) {
  Harness harness = MakeHarness();
  const Pid supervisor = Begin(harness, json::object());
  refuses = true;
  EXPECT_EQ(Ask(harness, supervisor, "start_child", ChildOf("a")),
            "UNAVAILABLE: not today");
  EXPECT_EQ(Ask(harness, supervisor, "children")["children"], json::array());
}

TEST_F(SupervisorTest, WhatIsWrongWithACallIsSaid) {
  Harness harness = MakeHarness();
  const Pid supervisor = Begin(harness, json::object());
  const struct {
    const char* topic;
    json payload;
    const char* says;
  } kCases[] = {
      {"start_child", {{"id", "a"}}, "\"type\" is missing"},
      {"start_child", {{"id", "a b"}, {"type", "t"}}, "\"id\" is \"a b\""},
      {"stop_child", json::object(), "\"id\" is missing"},
      {"stop_child", {{"id", 1}}, "\"id\" is a JSON number"},
      {"children", {{"after", "x"}}, "no child \"x\""},
      {"children", {{"before", "x"}}, "\"before\" is not known"},
      {"dance", json(), "UNIMPLEMENTED"},
  };
  for (const auto& each : kCases) {
    EXPECT_THAT(
        Ask(harness, supervisor, each.topic, each.payload).get<std::string>(),
        HasSubstr(each.says));
  }
}

TEST_F(SupervisorTest, ManyChildrenComeInPages) {
  Harness harness = MakeHarness();
  std::vector<json> children;
  for (int i = 0; i < 1000; ++i) {
    children.push_back(ChildOf("child-" + std::to_string(i)));
  }
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", children));
  std::vector<std::string> ids;
  json asked;
  for (;;) {
    const Result<> page = harness.Call(supervisor, "children",
                                       asked.is_null() ? "" : asked.dump());
    ASSERT_TRUE(page.ok());
    EXPECT_LT(page->bytes.size(), 64u * 1024);
    const json list = json::parse(page->bytes);
    for (const json& child : list["children"]) ids.push_back(child["id"]);
    if (!list.contains("next")) break;
    asked = {{"after", list["next"]}};
  }
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_EQ(ids.back(), "child-999");
  EXPECT_THAT(Ask(harness, supervisor, "start_child", ChildOf("more")).dump(),
              HasSubstr("RESOURCE_EXHAUSTED"));
}

TEST_F(SupervisorTest, ATemporaryChildIsForgotten) {
  Harness harness = MakeHarness();
  json child = ChildOf("a");
  child["restart"] = "temporary";
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {child}));
  harness.Deliver(PidIn(harness, supervisor, "a"), "done");
  harness.Advance(1h);
  EXPECT_EQ(Ask(harness, supervisor, "children")["children"], json::array());
  EXPECT_EQ(Ask(harness, supervisor, "start_child", child)["id"], "a");
}

}  // namespace
}  // namespace actord::supervisor_test
