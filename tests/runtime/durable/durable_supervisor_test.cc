// The built-in supervisor in a store: its children over restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The inputs of the processes of the next type, in the order of their Init.
std::vector<std::string> begun;

// A volatile process that says when it starts.
class Starter : public actord::Process {
 public:
  static constexpr const char* kName = "starter";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, actord::Payload input) {
    begun.emplace_back(input.bytes);
  }
  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.topic() == "fail") out.Fail(actord::Code::kInternal, "told to");
    }
  }
};

// A durable process that counts the messages `add`.
class Keeper : public actord::Process {
 public:
  static constexpr const char* kName = "keeper";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr uint32_t kStateVersion = 1;
  struct State {
    uint64_t count = 0;
  };
  State state;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.topic() == "add") ++state.count;
      if (event.topic() == "get") {
        out.Reply(event.call(), std::to_string(state.count));
      }
      if (event.topic() == "fail") out.Fail(actord::Code::kInternal, "told to");
    }
  }
};

json Durable(const std::string& id) { return {{"id", id}, {"type", "keeper"}}; }
json Volatile(const std::string& id) {
  return {{"id", id}, {"type", "starter"}, {"input", id}};
}
json TreeOf(const std::vector<json>& children,
            const std::string& strategy = "one_for_one") {
  return {{"strategy", strategy},
          {"backoff", {{"initial_ms", 1000}, {"jitter", 0}}},
          {"children", children}};
}

// A supervisor in a world of its own.
class SupervisedWorld : public DurableWorld {
 public:
  SupervisedWorld() {
    begun.clear();
    more_types = handlers::BuiltinProcessTypes();
    more_types.push_back(&actord::kProcessType<Starter>);
    more_types.push_back(&actord::kProcessType<Keeper>);
    EXPECT_TRUE(Start().ok());
  }
  Pid Supervise(const json& tree, bool durable = true) {
    auto told = Submit(tree.dump(), "top", durable, "supervisor");
    Settle();
    EXPECT_TRUE(told->has_value() && (*told)->ok());
    return told->has_value() && (*told)->ok() ? ***told : Pid{};
  }
  std::shared_ptr<std::string> Ask(const Pid& pid, std::string topic,
                                   const json& payload = json::object()) {
    auto answer = std::make_shared<std::string>();
    runtime().calls.Begin(
        Owner::kAny, pid, {std::move(topic), {payload.dump(), ""}},
        [answer](absl::StatusOr<Payload> got) {
          *answer = got.ok() ? got->bytes : std::string(got.status().message());
        });
    return answer;
  }
  json AskNow(const Pid& pid, std::string topic,
              const json& payload = json::object()) {
    const auto answer = Ask(pid, std::move(topic), payload);
    Settle();
    return json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  }
  std::map<std::string, json> Children(const Pid& supervisor) {
    std::map<std::string, json> children;
    json list = AskNow(supervisor, "children");
    for (;;) {
      for (const json& child : list["children"]) children[child["id"]] = child;
      if (!list.contains("next")) return children;
      list = AskNow(supervisor, "children", {{"after", list["next"]}});
    }
  }
  Pid ChildOf(const Pid& supervisor, const std::string& id) {
    return ParsePid(Children(supervisor)[id].value("pid", "")).value_or(Pid{});
  }
  bool Lives(const Pid& pid) {
    return static_cast<bool>(runtime().processes.Find(pid));
  }
};

class DurableSupervisor : public ::testing::Test {
 protected:
  SupervisedWorld world;
};

TEST_F(DurableSupervisor, GoesOnWithItsDurableChildrenAndStartsTheOthersAgain) {
  const Pid top = world.Supervise(
      TreeOf({Volatile("v"), Durable("d"), Volatile("w")}, "one_for_all"));
  const Pid durable = world.ChildOf(top, "d");
  world.Tell(durable, "add");
  for (int i = 0; i < 5; ++i) {
    begun.clear();
    world.Restart(/*keep_cache=*/false);
    EXPECT_THAT(begun, ElementsAre("v", "w"));
    auto children = world.Children(top);
    for (const auto& [id, child] : children) {
      EXPECT_EQ(child["state"], "running") << child;
      EXPECT_EQ(child["restarts"], 0) << child;
      EXPECT_TRUE(world.Lives(*ParsePid(child.value("pid", "0.0.0.0"))));
    }
    EXPECT_EQ(children["v"]["last_end"],
              "ended with the daemon: it was volatile, and ended with the "
              "daemon");
    EXPECT_EQ(children["d"]["pid"], FormatPid(durable));
    EXPECT_EQ(world.NotesOf(durable), "1");
    EXPECT_EQ(world.runtime().durable->live(), 2u);
    EXPECT_EQ(world.runtime().LiveVolatile(), 2u);
  }
}

// A step has at most 256 messages. Behind these there is place for the ends of
// one child.
TEST_F(DurableSupervisor, FirstChildStartsFirstInEveryOrderOfTheEnds) {
  const Pid top = world.Supervise(TreeOf({Volatile("v"), Volatile("w")}));
  // Now its ties come behind those of the other.
  world.Tell(world.ChildOf(top, "v"), "fail");
  world.Elapse(1100 * kMs);
  EXPECT_THAT(begun, ElementsAre("v", "w", "v"));
  for (int i = 0; i < 254; ++i) {
    EXPECT_TRUE(world.Send(top, "ignored", "").status.ok());
  }
  while (world.store->Work()) {
  }
  begun.clear();
  world.Restart(/*keep_cache=*/false);
  EXPECT_THAT(begun, ElementsAre("v", "w"));
}

TEST_F(DurableSupervisor, AnswersStartedWhenTheVolatileChildrenAreUpAgain) {
  const Pid top = world.Supervise(TreeOf({Volatile("v"), Volatile("w")}));
  world.Crash(/*keep_cache=*/true);
  begun.clear();
  ASSERT_TRUE(world.Start().ok());
  const auto answer = world.Ask(top, "started");
  while (answer->empty()) {
    ASSERT_TRUE(begun.size() <= 2);
    world.Turns(1);
    world.store->Work();
  }
  EXPECT_EQ(*answer, "{}");
  EXPECT_THAT(begun, ElementsAre("v", "w"));
}

TEST_F(DurableSupervisor, VolatileSupervisorHasVolatileChildren) {
  const Pid top = world.Supervise(TreeOf({Volatile("v"), Durable("d")}), false);
  EXPECT_FALSE(IsHomePid(world.ChildOf(top, "d")));
  EXPECT_EQ(world.runtime().durable->live(), 0u);
  world.Restart();
  EXPECT_EQ(world.runtime().LiveProcesses(), 0u);
}

TEST_F(DurableSupervisor, CallsWorkOverARestart) {
  const Pid top = world.Supervise(TreeOf({Durable("a")}));
  world.AskNow(top, "start_child", Durable("b"));
  world.AskNow(top, "start_child", Volatile("v"));
  world.AskNow(top, "stop_child", {{"id", "a"}});
  world.Restart(/*keep_cache=*/false);
  auto children = world.Children(top);
  EXPECT_EQ(children.size(), 3u);
  EXPECT_EQ(children["a"]["state"], "stopped");
  EXPECT_EQ(children["b"]["state"], "running");
  EXPECT_EQ(children["v"]["state"], "running");
  const json again = world.AskNow(top, "restart_child", {{"id", "a"}});
  EXPECT_TRUE(world.Lives(*ParsePid(again["pid"].get<std::string>())));
  world.AskNow(top, "stop_child", {{"id", "b"}});
  world.AskNow(top, "delete_child", {{"id", "b"}});
  EXPECT_EQ(world.AskNow(top, "input"), TreeOf({Durable("a")}));
  world.Restart(/*keep_cache=*/false);
  children = world.Children(top);
  EXPECT_EQ(children.size(), 2u);
  EXPECT_EQ(children["a"]["pid"], again["pid"]);
  EXPECT_EQ(world.runtime().durable->live(), 2u);
}

TEST_F(DurableSupervisor, PauseGoesOnOverARestart) {
  const Pid top = world.Supervise(TreeOf({Durable("a")}));
  world.Tell(world.ChildOf(top, "a"), "fail");
  EXPECT_EQ(world.Children(top)["a"]["state"], "backoff");
  world.Elapse(500 * kMs);
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.Children(top)["a"]["state"], "backoff");
  world.Elapse(400 * kMs);
  EXPECT_EQ(world.Children(top)["a"]["state"], "backoff");
  world.Elapse(200 * kMs);
  const json child = world.Children(top)["a"];
  EXPECT_EQ(child["state"], "running");
  EXPECT_EQ(child["restarts"], 1);
}

TEST_F(DurableSupervisor, RestartsBeforeARestartOfTheDaemonCount) {
  json tree = TreeOf({Durable("a"), Durable("b")});
  tree["intensity"] = 1;
  tree["backoff"]["initial_ms"] = 1;
  const Pid top = world.Supervise(tree);
  world.Tell(world.ChildOf(top, "a"), "fail");
  world.Elapse(10 * kMs);
  world.Restart(/*keep_cache=*/false);
  const auto outcome = world.Await(top);
  world.Tell(world.ChildOf(top, "a"), "fail");
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_THAT((*outcome)->value().message, HasSubstr("only 1 restarts"));
  EXPECT_EQ(world.runtime().durable->live(), 0u);
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.runtime().LiveProcesses(), 0u);
}

TEST_F(DurableSupervisor, TreesNest) {
  const json inner = {{"id", "inner"},
                      {"type", "supervisor"},
                      {"input", TreeOf({Durable("d"), Volatile("v")})}};
  const Pid top = world.Supervise(TreeOf({inner}));
  const Pid middle = world.ChildOf(top, "inner");
  const Pid durable = world.ChildOf(middle, "d");
  begun.clear();
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.ChildOf(top, "inner"), middle);
  EXPECT_EQ(world.ChildOf(middle, "d"), durable);
  EXPECT_THAT(begun, ElementsAre("v"));
  EXPECT_EQ(world.Children(middle)["v"]["state"], "running");
}

TEST_F(DurableSupervisor, CancelStopsAllChildrenOverARestart) {
  const Pid top = world.Supervise(TreeOf({Durable("a"), Volatile("v")}));
  EXPECT_TRUE(world.runtime()
                  .durable_inputs
                  ->Control(Owner::kAny, top, ACTORD_EVENT_CANCEL, "enough", 0,
                            world.runtime().lane)
                  .status.ok());
  world.Turns(1);
  while (world.store->Work()) {
  }
  world.Restart(/*keep_cache=*/false);
  EXPECT_EQ(world.runtime().LiveProcesses(), 0u);
}

// ---- A crash at each call of the disk

class SupervisorSweep {
 public:
  void Run(uint64_t crash_after) {
    world.disk.CrashAt(crash_after == SimulatedDisk::kNever
                           ? SimulatedDisk::kNever
                           : world.disk.calls() + crash_after);
    told = world.Submit(
        TreeOf({Durable("a"), Volatile("v"), Durable("b"), Volatile("w")})
            .dump(),
        "top", true, "supervisor");
    Work();
    Ask("start_child", Durable("c"));
    Ask("start_child", Volatile("x"));
    Ask("restart_child", {{"id", "a"}});
    Ask("stop_child", {{"id", "b"}});
    if (!world.disk.has_crashed()) world.Settle();
  }
  void Restart(bool keep_cache) {
    world.Reboot(keep_cache);
    begun.clear();
    const absl::Status status = world.Start();
    ASSERT_TRUE(status.ok()) << status;
    world.Settle();
  }
  // Each child that the supervisor has, and that is not stopped, lives once,
  // and nothing else does.
  void Check() {
    const auto found = world.runtime().names.Find(Owner::kNobody, "top");
    if (told->has_value()) {
      EXPECT_TRUE(found.ok()) << "was acknowledged";
    }
    if (!found.ok()) {
      EXPECT_EQ(world.runtime().LiveProcesses(), 0u);
      return;
    }
    std::set<std::string> living;
    size_t of_volatile = 0;
    for (const auto& [id, child] : world.Children(*found)) {
      if (child["state"] == "stopped") continue;
      EXPECT_EQ(child["state"], "running") << child;
      EXPECT_EQ(child["restarts"], 0) << child;
      living.insert(child.value("pid", ""));
      if (child["type"] == "starter") ++of_volatile;
    }
    for (const std::string& pid : living) {
      EXPECT_TRUE(world.Lives(ParsePid(pid).value_or(Pid{}))) << pid;
    }
    EXPECT_EQ(world.runtime().LiveVolatile(), of_volatile);
    EXPECT_EQ(world.runtime().durable->live(), 1 + living.size() - of_volatile);
    const std::set<std::string> once(begun.begin(), begun.end());
    EXPECT_EQ(once.size(), begun.size()) << json(begun);
  }

  SupervisedWorld world;
  std::shared_ptr<std::optional<absl::StatusOr<Pid>>> told;

 private:
  void Ask(const std::string& topic, const json& payload) {
    if (world.disk.has_crashed() || !told->has_value()) return;
    world.Ask(***told, topic, payload);
    Work();
  }
  void Work() {
    // A turn or two between syncs, so that each record is the last one once.
    for (int i = 0; i < 24 && !world.disk.has_crashed(); ++i) {
      world.Turns(2);
      world.store->Work();
    }
  }
};

TEST(DurableSupervisorSweep, EachChildIsThereOnceWhereverTheProgramEnds) {
  uint64_t calls = 0;
  {
    SupervisorSweep whole;
    const uint64_t before = whole.world.disk.calls();
    whole.Run(SimulatedDisk::kNever);
    calls = whole.world.disk.calls() - before;
    whole.Check();
    whole.Restart(true);
    whole.Check();
  }
  EXPECT_GT(calls, 30u);
  for (uint64_t at = 0; at < calls; ++at) {
    const bool keep_cache = at % 2 == 0;
    SCOPED_TRACE("call " + std::to_string(at) + (keep_cache ? ", kept" : ""));
    SupervisorSweep sweep;
    sweep.Run(at);
    sweep.Restart(keep_cache);
    sweep.Check();
    sweep.Restart(false);
    sweep.Check();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace actord::runtime
