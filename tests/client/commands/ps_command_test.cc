// actorctl ps: names, labels and ended processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"
#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class PsCommand : public Commands {
 protected:
  v1::Process& Add(const std::string& pid) {
    v1::Process& process = daemon_.processes.emplace_back();
    process.set_pid(pid);
    process.set_process_type("order");
    return process;
  }
  v1::ListProcessesRequest LastRequest() {
    return daemon_.log().process_lists.back();
  }
};

TEST_F(PsCommand, NameIsAColumnOnlyIfAProcessHasOne) {
  Add("q-1");
  EXPECT_THAT(Run({"ps"}).out, Not(HasSubstr("NAME")));
  EXPECT_THAT(Run({"ps", "-o", "wide"}).out, Not(HasSubstr("NAME")));
  Add("q-2").add_names("nightly");
  const std::string table = Run({"ps"}).out;
  EXPECT_THAT(table, ContainsRegex("YIELDS +NAME\n"));
  EXPECT_THAT(table, ContainsRegex("q-2 .* nightly\n"));
}

TEST_F(PsCommand, UnknownTypeIsReportedIfNoProcessMatches) {
  daemon_.status.add_process_types()->set_name("order");
  EXPECT_EQ(Run({"ps", "--type", "order"}).err, "");
  const CliResult result = Run({"ps", "--type", "nope"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  EXPECT_THAT(result.err, HasSubstr("the daemon has no process type \"nope\""));
  Add("q-1");
  EXPECT_EQ(Run({"ps", "--type", "nope"}).err, "");
}

TEST_F(PsCommand, SelectsAndShowsLabels) {
  v1::Process& process = Add("q-1");
  (*process.mutable_labels())["tenant"] = "acme";
  (*process.mutable_labels())["env"] = "";
  EXPECT_EQ(Run({"ps", "-l", "tenant=acme", "--label", "env"}).status,
            ExitStatus::kDone);
  EXPECT_THAT(LastRequest().labels(), ElementsAre("tenant=acme", "env"));
  EXPECT_THAT(Run({"ps", "-o", "wide"}).out, HasSubstr("env=,tenant=acme"));
  EXPECT_EQ(nlohmann::json::parse(Run({"ps", "-o", "json"}).out)[0]["labels"],
            nlohmann::json::parse(R"({"env": "", "tenant": "acme"})"));
}

TEST_F(PsCommand, ListsEndedProcesses) {
  v1::Process& process = Add("q-1");
  process.set_end(v1::PROCESS_END_INIT_REFUSED);
  process.set_end_message("customer is missing");
  process.mutable_create_time()->set_seconds(100);
  process.mutable_end_time()->set_seconds(105);
  const std::string table = Run({"ps", "--ended", "--owner", "alice"}).out;
  EXPECT_EQ(LastRequest().state(), v1::PROCESS_STATE_ENDED);
  EXPECT_EQ(LastRequest().owner(), "alice");
  EXPECT_THAT(table, ContainsRegex("OUTCOME +ENDED +RAN +STEPS\n"));
  EXPECT_THAT(table,
              ContainsRegex("q-1 +order +INIT_REFUSED +[0-9]+d[0-9hms]* +5s"));
  EXPECT_THAT(Run({"ps", "--ended", "-o", "wide"}).out,
              HasSubstr("customer is missing"));
  Run({"ps", "--outcome", "init_refused"});
  EXPECT_EQ(LastRequest().state(), v1::PROCESS_STATE_ENDED);
  EXPECT_EQ(LastRequest().end(), v1::PROCESS_END_INIT_REFUSED);
  EXPECT_EQ(Run({"ps", "--ended", "--parent", "p-1"}).status,
            ExitStatus::kUsage);
  EXPECT_EQ(Run({"ps", "--ended", "--state", "idle"}).status,
            ExitStatus::kUsage);
  EXPECT_EQ(Run({"ps", "--outcome", "good"}).status, ExitStatus::kUsage);
}

}  // namespace
}  // namespace actord::client
