// Supervisors: starts, stops, restarts, calls.
#include "tests/handlers/supervisor/supervisor_fixture.h"

namespace actord::supervisor_test {
namespace {

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
    // Started as soon as its own Init has returned; its children do not count
    // here.
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

TEST_F(SupervisorTest, ChildThatUnlinksItselfIsStillWatched) {
  Harness harness = MakeHarness();
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {ChildOf("a")}));
  const Pid child = PidIn(harness, supervisor, "a");
  harness.Deliver(child, "leave");
  harness.Run();
  harness.Deliver(child, "fail");
  harness.Advance(1s);
  EXPECT_THAT(TakeTold(), ElementsAre("+a", "-a", "+a"));
}

TEST_F(SupervisorTest, StubbornChildIsTerminatedAfterItsTimeout) {
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

TEST_F(SupervisorTest, InvalidCallIsAnsweredWithTheReason) {
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
    EXPECT_LT(page->bytes.size(), 4u * 1024);
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

TEST_F(SupervisorTest, AnEndWithAFinalCodeIsNotFollowedByARestart) {
  ForEachSeed(20, [](uint64_t seed) {
    Harness harness = MakeHarness(seed);
    json child = ChildOf("a");
    child["final_codes"] = {"INTERNAL"};
    const Pid supervisor =
        Begin(harness, TreeOf("one_for_all", {child, ChildOf("b")}));
    harness.Deliver(PidIn(harness, supervisor, "a"), "fail");
    harness.Advance(1h);
    EXPECT_THAT(TakeTold(), ElementsAre("+a", "+b", "-a"));
    EXPECT_EQ(ChildIn(harness, supervisor, "a")["state"], "ended");
    EXPECT_EQ(ChildIn(harness, supervisor, "a")["restarts"], 0);
    EXPECT_EQ(ChildIn(harness, supervisor, "b")["state"], "running");
  });
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
