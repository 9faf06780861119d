// Tests the output of "actorctl tree".
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TreeCommand : public Commands {
 protected:
  void Add(const std::string& pid, const std::string& type,
           const std::string& parent = "") {
    v1::Process process;
    process.set_pid(pid);
    process.set_process_type(type);
    process.set_parent_pid(parent);
    process.set_state(v1::PROCESS_STATE_IDLE);
    daemon_.processes.push_back(process);
  }
  // Adds the supervisor "p-1" with a running child, a child that is down, and a
  // process that the supervisor does not list.
  void AddSupervisor() {
    Add("p-1", "supervisor");
    Add("p-3", "extra", "p-1");
    Add("p-2", "database", "p-1");
    daemon_.calls[{"p-1", "children"}] = {
        R"({"children": [{"id": "db", "pid": "p-2", "type": "database",
                          "state": "running", "restarts": 7,
                          "last_end": "failed: disk"}],
            "next": "db"})",
        R"({"children": [{"id": "web", "type": "server", "state": "backoff",
                          "restarts": 2, "last_end": "threw: oops"}]})"};
    v1::Name name;
    name.set_name("store");
    name.set_pid("p-2");
    daemon_.names.push_back(name);
  }
  std::vector<std::string> Lines(const std::vector<std::string>& arguments) {
    std::vector<std::string> lines;
    std::istringstream text(Run(arguments).out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  // The first column of each line, without the heading.
  std::vector<std::string> Drawn(const std::vector<std::string>& arguments) {
    std::vector<std::string> drawn;
    for (const std::string& line : Lines(arguments)) {
      if (line.starts_with("PROCESS")) continue;
      drawn.push_back(line.substr(0, line.find("  p-")));
      drawn.back().erase(drawn.back().find_last_not_of(' ') + 1);
    }
    return drawn;
  }
};

TEST_F(TreeCommand, DrawsEachProcessBelowItsParent) {
  Add("p-1", "a");
  Add("p-5", "e", "p-2");
  Add("p-2", "b", "p-1");
  Add("p-3", "c", "p-1");
  Add("p-4", "d", "p-3");
  Add("p-6", "orphan", "p-0");
  EXPECT_THAT(Drawn({"tree"}),
              ElementsAre("a", "├─ b", "│  └─ e", "└─ c", "   └─ d", "orphan"));
  EXPECT_THAT(Drawn({"tree", "p-3"}), ElementsAre("c", "└─ d"));
  EXPECT_EQ(Run({"tree", "-o", "name"}).out, "p-1\np-2\np-5\np-3\np-4\np-6\n");
  EXPECT_THAT(Lines({"tree", "--limit", "3", "-o", "name"}), SizeIs(3));
}

TEST_F(TreeCommand, ShowsTheChildrenThatASupervisorReports) {
  AddSupervisor();
  const std::string table = Run({"tree", "-o", "wide"}).out;
  EXPECT_THAT(table, HasSubstr("├─ db: database @store"));
  EXPECT_THAT(table, HasSubstr("failed: disk"));
  EXPECT_THAT(table, HasSubstr("├─ web: server"));
  EXPECT_THAT(table, HasSubstr("BACKOFF"));
  EXPECT_THAT(table, HasSubstr("└─ extra"));
  const FakeDaemon::Log log = daemon_.log();
  ASSERT_THAT(log.calls, SizeIs(2));
  EXPECT_EQ(log.calls[0].payload().data(), "");
  EXPECT_EQ(log.calls[1].payload().data(), R"({"after":"db"})");
}

TEST_F(TreeCommand, LimitCountsWrittenRows) {
  AddSupervisor();
  // "web" is down, so it has no PID to print.
  EXPECT_EQ(Run({"tree", "--limit", "3", "-o", "name"}).out, "p-1\np-2\np-3\n");
}

TEST_F(TreeCommand, AsksOnlySupervisorsOfWrittenRows) {
  AddSupervisor();
  EXPECT_THAT(Drawn({"tree", "--limit", "1"}), ElementsAre("supervisor"));
  EXPECT_THAT(daemon_.log().calls, SizeIs(0));
}

TEST_F(TreeCommand, RowsAreTheSameInJson) {
  AddSupervisor();
  const json rows = json::parse(Run({"tree", "-o", "json"}).out);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["depth"], 0);
  EXPECT_EQ(rows[1]["pid"], "p-2");
  EXPECT_EQ(rows[1]["depth"], 1);
  EXPECT_EQ(rows[1]["child_id"], "db");
  EXPECT_EQ(rows[1]["restarts"], 7);
  EXPECT_EQ(rows[1]["names"], json::array({"store"}));
  EXPECT_EQ(rows[2], json({{"process_type", "server"},
                           {"state", "BACKOFF"},
                           {"parent_pid", "p-1"},
                           {"depth", 1},
                           {"names", json::array()},
                           {"child_id", "web"},
                           {"restarts", 2},
                           {"last_end", "threw: oops"}}));
  EXPECT_EQ(rows[3]["pid"], "p-3");
  EXPECT_FALSE(rows[3].contains("child_id"));
}

TEST_F(TreeCommand, PlainAsksNoSupervisor) {
  AddSupervisor();
  EXPECT_THAT(Drawn({"tree", "--plain"}),
              ElementsAre("supervisor", "├─ extra", "└─ database @store"));
  EXPECT_THAT(daemon_.log().calls, SizeIs(0));
}

// A process of another plugin may have the type name of supervisors, or a
// supervisor may be broken.
TEST_F(TreeCommand, DrawsASupervisorWhoseAnswerIsInvalid) {
  for (const char* answer :
       {"", "[]", "{", R"({"children": 1})", R"({"children": [1, {}]})",
        R"({"children": [{"id": 1, "pid": {}, "restarts": "x"}]})"}) {
    daemon_.processes.clear();
    Add("p-1", "supervisor");
    Add("p-2", "database", "p-1");
    daemon_.calls[{"p-1", "children"}] = {answer};
    EXPECT_THAT(Drawn({"tree"}), ElementsAre("supervisor", "└─ database"))
        << answer;
  }
}

TEST_F(TreeCommand, LimitsThePagesOfAnAnswer) {
  Add("p-1", "supervisor");
  daemon_.calls[{"p-1", "children"}] = {
      R"({"children": [{"id": "a", "type": "t", "state": "x"}], "next": "a"})"};
  EXPECT_LE(Lines({"tree"}).size(), 1100u);
}

TEST_F(TreeCommand, DrawsAChainOfAnyLength) {
  for (int i = 0; i < 5000; ++i) {
    Add("p-" + std::to_string(i), "link",
        i == 0 ? "" : "p-" + std::to_string(i - 1));
  }
  const std::vector<std::string> lines = Lines({"tree"});
  ASSERT_THAT(lines, SizeIs(5001));
  EXPECT_THAT(lines.back(), HasSubstr("[4999] link"));
}

TEST_F(TreeCommand, ReportsAnUnknownPid) {
  EXPECT_EQ(Run({"tree", "p-1"}).status, ExitStatus::kNotFound);
}

}  // namespace
}  // namespace actord::client
