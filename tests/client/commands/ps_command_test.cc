// actorctl ps: names, labels and ended processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "client/calls/cancellation.h"
#include "client/commands/processes/sorted_processes.h"
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
  EXPECT_EQ(Run({"ps", "--type", "order"}).err,
            "no process is live, or none matches\n");
  const CliResult result = Run({"ps", "--type", "nope"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  EXPECT_THAT(result.err, HasSubstr("the daemon has no process type \"nope\""));
  for (const char* command : {"ps", "failures"}) {
    EXPECT_THAT(Run({command, "--type", "ordre"}).err,
                HasSubstr("has no process type \"ordre\"; did you mean "
                          "\"order\"?"))
        << command;
  }
  Add("q-1");
  EXPECT_EQ(Run({"ps", "--type", "nope"}).err, "");
}

TEST_F(PsCommand, EmptyListIsOneLineForPeopleAndAnEmptyArrayForPrograms) {
  for (const char* format : {"table", "wide"}) {
    const CliResult empty = Run({"ps", "-o", format});
    EXPECT_EQ(empty.status, ExitStatus::kDone);
    EXPECT_EQ(empty.out, "");
    EXPECT_EQ(empty.err, "no process is live\n");
  }
  const CliResult array = Run({"ps", "-o", "json"});
  EXPECT_EQ(array.out, "[]\n");
  EXPECT_EQ(array.err, "");
}

TEST_F(PsCommand, SortsByAField) {
  Add("q-1").set_steps(5);
  Add("q-2").set_steps(70);
  Add("q-3").set_steps(5);
  daemon_.processes[0].add_names("b");
  daemon_.processes[2].add_names("a");
  const auto pids = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "ps");
    words.insert(words.end(), {"-o", "name"});
    return Run(words).out;
  };
  EXPECT_EQ(pids({"--sort-by", "steps"}), "q-2\nq-1\nq-3\n");
  EXPECT_EQ(pids({"--sort-by", "name"}), "q-3\nq-1\nq-2\n");
  EXPECT_EQ(pids({"--sort-by", "steps", "--limit", "1"}), "q-2\n");
  EXPECT_EQ(Run({"ps", "--sort-by", "ran"}).status, ExitStatus::kUsage);
  EXPECT_EQ(Run({"ps", "--sort-by", "steps", "--limit", "100001"}).status,
            ExitStatus::kUsage);
  EXPECT_EQ(Run({"ps", "--ended", "--sort-by", "mailbox"}).status,
            ExitStatus::kUsage);
}

TEST(SortedProcesses, KeepsTheFirstOfManyAndRefusesTooManyWithoutALimit) {
  const auto is_above = [](const v1::Process& a, const v1::Process& b) {
    return a.steps() > b.steps();
  };
  SortedProcesses three(is_above, 3);
  SortedProcesses all(is_above, 0);
  v1::Process process;
  for (size_t i = 0; i <= SortedProcesses::kMost; ++i) {
    process.set_steps(i * 7919 % 1000);
    three.Add(process);
    EXPECT_TRUE(all.status().ok());
    all.Add(process);
  }
  EXPECT_TRUE(three.status().ok());
  EXPECT_EQ(three.Take().size(), 3u);
  EXPECT_EQ(all.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(PsCommand, WatchRepeatsTheListUntilItIsInterrupted) {
  Add("q-1");
  for (const bool is_terminal : {false, true}) {
    Cancellation interrupt;
    const size_t before = daemon_.log().process_lists.size();
    std::thread interrupting([&] {
      // The third list is requested when the second one is printed.
      while (daemon_.log().process_lists.size() < before + 3) {
        absl::SleepFor(absl::Milliseconds(5));
      }
      interrupt.Cancel();
    });
    const CliResult result =
        Run({"ps", "--watch", "--interval", "100ms"},
            {.out_is_terminal = is_terminal, .cancellation = &interrupt});
    interrupting.join();
    EXPECT_EQ(result.status, ExitStatus::kInterrupted);
    const std::string clear = "\x1b[H\x1b[2J\x1b[3J";
    EXPECT_EQ(result.out.starts_with(clear), is_terminal);
    const size_t second = result.out.find(is_terminal ? clear : "\n\nPID", 1);
    EXPECT_NE(second, std::string::npos) << result.out;
  }
}

TEST_F(PsCommand, WatchRefusesWhatItCannotDo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--watch", "-o", "json"},
        {"--watch", "--interval", "1ms"},
        {"--watch", "--interval", "soon"},
        {"--interval", "1s"}}) {
    std::vector<std::string> all = {"ps"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(Run(all).status, ExitStatus::kUsage) << words.back();
  }
}

TEST_F(PsCommand, WideShowsThePlugin) {
  v1::Process& process = Add("q-1");
  process.set_plugin("orders");
  process.set_plugin_version("2.1");
  EXPECT_THAT(Run({"ps", "-o", "wide"}).out, HasSubstr("orders 2.1"));
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
