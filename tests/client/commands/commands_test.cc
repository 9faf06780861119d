#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(Commands, ErrorsNameReasonFieldAndRetryDelay) {
  const CliResult refused = Run({"submit", "refuse"});
  EXPECT_EQ(refused.status, ExitStatus::kFailed);
  EXPECT_EQ(refused.err,
            "actorctl: not to its taste (INIT_REFUSED)\n"
            "  input.data: this field\n");
  const CliResult draining = Run({"submit", "drain"});
  EXPECT_EQ(draining.status, ExitStatus::kUnavailable);
  EXPECT_EQ(draining.err, "actorctl: draining (DRAINING); try again in 2s\n");
}

TEST_F(Commands, ExitStatusFollowsTheError) {
  EXPECT_EQ(Run({"submit", "nothing"}).status, ExitStatus::kNotFound);
  EXPECT_EQ(Run({"submit", "forbid"}).status, ExitStatus::kNotAllowed);
  EXPECT_EQ(Run({"describe", "p-99"}).status, ExitStatus::kNotFound);
  const std::string pid = Submitted("never");
  EXPECT_EQ(Run({"await", pid, "--timeout", "50ms"}).status,
            ExitStatus::kDeadline);
}

TEST_F(Commands, NamesAnUnreachableDaemon) {
  const CliResult result = RunCli({"status", "--address", "127.0.0.1:1"});
  EXPECT_EQ(result.status, ExitStatus::kUnavailable);
  EXPECT_THAT(result.err, StartsWith("actorctl: cannot reach the daemon at "
                                     "127.0.0.1:1: "));
}

TEST_F(Commands, AddressOptionOverridesTheVariable) {
  const CliInput wrong = {.variables = {{"ACTORD_ADDRESS", "127.0.0.1:1"}}};
  EXPECT_EQ(RunCli({"status"}, wrong).status, ExitStatus::kUnavailable);
  EXPECT_EQ(RunCli({"status", "--address", daemon_.address()}, wrong).status,
            ExitStatus::kDone);
}

TEST_F(Commands, AwaitEndsWhenInterrupted) {
  const std::string pid = Submitted("never");
  for (const std::vector<std::string>& pids :
       {std::vector<std::string>{pid}, {pid, Submitted("never")}}) {
    Cancellation cancellation;
    std::thread interrupter([&] {
      EXPECT_TRUE(daemon_.WaitForOpenAwaits(pids.size()));
      cancellation.Cancel();
    });
    std::vector<std::string> arguments = {"await"};
    arguments.insert(arguments.end(), pids.begin(), pids.end());
    const CliResult result = Run(arguments, {.cancellation = &cancellation});
    interrupter.join();
    EXPECT_EQ(result.status, ExitStatus::kInterrupted);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "actorctl: interrupted\n");
  }
}

TEST_F(Commands, AwaitPrintsSeveralResultsInOrder) {
  Run({"submit", "echo", "first"});
  Run({"submit", "fail"});
  Run({"submit", "echo", "third\n"});
  const CliResult result = Run({"await", "p-2", "p-1", "p-0"});
  EXPECT_EQ(result.out, "third\nfirst\n");
  EXPECT_THAT(result.err, HasSubstr("process p-1 failed"));
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  // A failed call decides the exit status before a failed process does.
  EXPECT_EQ(Run({"await", "p-1", "p-77"}).status, ExitStatus::kNotFound);
  const json list = json::parse(Run({"await", "p-0", "p-1", "-o", "json"}).out);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["result"]["text"], "first");
  EXPECT_EQ(list[1]["failure"]["reason"], "FAILED");
}

TEST_F(Commands, SendDeliversTopicAndPayload) {
  const std::string pid = Submitted("never");
  const CliResult result = Run({"send", pid, "5", "--topic", "add"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  EXPECT_EQ(result.out, "");
  const v1::SendRequest request = daemon_.log().sends.at(0);
  EXPECT_EQ(request.pid(), pid);
  EXPECT_EQ(request.topic(), "add");
  EXPECT_EQ(request.payload().data(), "5");
  EXPECT_EQ(Run({"send", pid, "-o", "name"}).out, pid + "\n");
  EXPECT_EQ(Run({"send", "p-9"}).status, ExitStatus::kNotFound);
}

TEST_F(Commands, CancelAndTerminateTryEveryPid) {
  const std::string pid = Submitted("never");
  const CliResult cancelled =
      Run({"cancel", "p-9", pid, "--reason", "why", "-o", "name"});
  EXPECT_EQ(cancelled.status, ExitStatus::kNotFound);
  EXPECT_EQ(cancelled.out, pid + "\n");
  EXPECT_THAT(cancelled.err, StartsWith("actorctl: process p-9: "));
  EXPECT_EQ(daemon_.log().cancels.at(1).reason(), "why");
  EXPECT_FALSE(daemon_.log().cancels.at(1).has_deadline());
  EXPECT_EQ(Run({"terminate", pid, "--reason", "now"}).status,
            ExitStatus::kDone);
  EXPECT_EQ(daemon_.log().terminates.at(0).reason(), "now");
}

TEST_F(Commands, PsReadsAllPages) {
  for (int i = 0; i < 2500; ++i) {
    v1::Process process;
    process.set_pid("q-" + std::to_string(i));
    process.set_state(v1::PROCESS_STATE_IDLE);
    daemon_.processes.push_back(process);
  }
  const CliResult all = Run({"ps", "-o", "name"});
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 2500);
  EXPECT_EQ(daemon_.log().process_lists.size(), 3U);
  EXPECT_EQ(Run({"ps", "-o", "name", "--limit", "2"}).out, "q-0\nq-1\n");
  EXPECT_EQ(daemon_.log().process_lists.back().page_size(), 2);
  EXPECT_EQ(json::parse(Run({"ps", "-o", "json"}).out).size(), 2500U);
}

TEST_F(Commands, PsFilters) {
  EXPECT_EQ(
      Run({"ps", "--type", "order", "--state", "blocked", "--parent", "p-1"})
          .status,
      ExitStatus::kDone);
  const v1::ListProcessesRequest request = daemon_.log().process_lists.at(0);
  EXPECT_EQ(request.process_type(), "order");
  EXPECT_EQ(request.state(), v1::PROCESS_STATE_BLOCKED);
  EXPECT_EQ(request.parent_pid(), "p-1");
}

TEST_F(Commands, DescribeShowsOneProcess) {
  v1::Process process;
  process.set_pid("q-1");
  process.set_process_type("order");
  process.set_state(v1::PROCESS_STATE_BLOCKED);
  process.set_steps(1234);
  process.set_priority(29);
  process.set_durability(v1::DURABILITY_DURABLE);
  daemon_.processes.push_back(process);
  const std::string wide = Run({"ps", "-o", "wide"}).out;
  EXPECT_THAT(wide, HasSubstr("PRIORITY"));
  EXPECT_THAT(wide, HasSubstr("29"));
  EXPECT_THAT(wide, ContainsRegex("OWNER +DURABILITY +PLUGIN\n.* DURABLE\n"));
  const std::string table = Run({"describe", "q-1"}).out;
  EXPECT_THAT(table, HasSubstr("29"));
  EXPECT_THAT(table, ContainsRegex("Durability: +DURABLE\n"));
  EXPECT_THAT(table, HasSubstr("PID:"));
  EXPECT_THAT(table, HasSubstr("BLOCKED"));
  EXPECT_THAT(table, HasSubstr("1,234"));
  EXPECT_EQ(json::parse(Run({"describe", "q-1", "-o", "json"}).out)["steps"],
            1234);
}

TEST_F(Commands, YieldsShowsTokensAndFilters) {
  v1::Yield yield;
  yield.set_token("t-1");
  yield.set_command("payment.charge");
  yield.mutable_payload()->set_data(R"({"amount":3})");
  yield.set_attempts(2);
  yield.set_worker("till-7");
  yield.set_last_error("the bank is closed");
  daemon_.yields.push_back(yield);
  const CliResult wide =
      Run({"yields", "--command", "payment.*", "-o", "wide"});
  EXPECT_THAT(wide.out, HasSubstr("t-1"));
  EXPECT_THAT(wide.out, HasSubstr(R"({"amount":3})"));
  EXPECT_THAT(wide.out, ContainsRegex(" 2 +till-7 +the bank is closed "));
  EXPECT_EQ(daemon_.log().yield_lists.at(0).command(), "payment.*");
  EXPECT_EQ(Run({"yields", "-o", "name"}).out, "t-1\n");
  const json line = json::parse(Run({"yields", "-o", "jsonl"}).out);
  EXPECT_EQ(line["payload"]["json"]["amount"], 3);
}

TEST_F(Commands, CompleteSendsAResultOrAnError) {
  const CliResult result = Run({"complete", "t-1", R"({"ok":true})"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  EXPECT_EQ(result.out, "ACCEPTED\n");
  EXPECT_EQ(daemon_.log().completions.at(0).result().data(), R"({"ok":true})");
  Run({"complete", "t-1", "--error", "aborted", "--message", "no"});
  const v1::YieldError error = daemon_.log().completions.at(1).error();
  EXPECT_EQ(error.code(), 10);
  EXPECT_EQ(error.message(), "no");
  Run({"complete", "t-1"});
  EXPECT_TRUE(daemon_.log().completions.at(2).has_result());
}

TEST_F(Commands, CompleteExitsByTheAnswer) {
  using Response = v1::CompleteYieldResponse;
  struct Case {
    Response::Answer answer;
    ExitStatus status;
  };
  for (const Case& c : std::initializer_list<Case>{
           {Response::ANSWER_ACCEPTED, ExitStatus::kDone},
           {Response::ANSWER_DUPLICATE, ExitStatus::kDone},
           {Response::ANSWER_CONFLICT, ExitStatus::kFailed},
           {Response::ANSWER_SUPERSEDED, ExitStatus::kFailed},
           {Response::ANSWER_EXPIRED, ExitStatus::kFailed},
           {Response::ANSWER_UNKNOWN, ExitStatus::kNotFound}}) {
    daemon_.answer = c.answer;
    EXPECT_EQ(Run({"complete", "t-1"}).status, c.status) << c.answer;
  }
}

TEST_F(Commands, StatusShowsTheDaemon) {
  v1::GetStatusResponse& status = daemon_.status;
  status.set_version("9.8.7");
  status.set_state(v1::DAEMON_STATE_SERVING);
  status.mutable_counters()->set_processes_live(1234);
  v1::ProcessType* type = status.add_process_types();
  type->set_name("order");
  type->add_methods("start");
  type->add_methods("resume");
  v1::Command* command = status.add_commands();
  command->set_name("payment.*");
  command->set_kind(v1::COMMAND_KIND_EXTERNAL);
  status.mutable_limits()->set_max_payload_bytes(1 << 20);
  status.mutable_counters()->set_processes_ready_global(56);
  v1::WorkerStatus* worker = status.add_worker_status();
  worker->set_turns_total(7654321);
  worker->set_steals_total(21);
  worker->set_hand_overs_total(3);
  EXPECT_THAT(Run({"status"}).out, ContainsRegex("Boot tree: +none\n"));
  status.set_boot_tree(v1::BOOT_TREE_DIFFERS);
  const std::string table = Run({"status"}).out;
  for (const char* text :
       {"9.8.7", "SERVING", "1,234 live", "order", "start, resume", "payment.*",
        "EXTERNAL", "goes on from the store; the file of boot.tree"}) {
    EXPECT_THAT(table, HasSubstr(text));
  }
  EXPECT_THAT(table, Not(HasSubstr("1.0 MiB")));
  EXPECT_THAT(table, Not(HasSubstr("7,654,321")));
  const std::string wide = Run({"status", "-o", "wide"}).out;
  for (const char* text : {"1.0 MiB", "Workers (56 ready in the queue of all)",
                           "HAND-OVERS", "7,654,321"}) {
    EXPECT_THAT(wide, HasSubstr(text));
  }
  const json parsed = json::parse(Run({"status", "-o", "json"}).out);
  EXPECT_EQ(parsed["boot_tree"], "DIFFERS");
  EXPECT_EQ(parsed["counters"]["processes_live"], 1234);
  EXPECT_EQ(parsed["counters"]["processes_ready_global"], 56);
  EXPECT_EQ(parsed["worker_status"][0]["turns_total"], 7654321);
  EXPECT_EQ(parsed["worker_status"][0]["steals_total"], 21);
}

TEST_F(Commands, WideStatusShowsEveryCounter) {
  v1::Counters& counters = *daemon_.status.mutable_counters();
  const auto& message = *v1::Counters::descriptor();
  for (int i = 0; i < message.field_count(); ++i) {
    counters.GetReflection()->SetUInt64(&counters, message.field(i),
                                        1'000'100 + i);
  }
  const std::string wide = Run({"status", "-o", "wide"}).out;
  for (int i = 0; i < message.field_count(); ++i) {
    EXPECT_THAT(wide,
                ContainsRegex("\n  " + message.field(i)->name() + ": +1,000," +
                              std::to_string(100 + i) + "\n"));
  }
}

TEST_F(Commands, CancelSendsItsDeadlineForEveryPid) {
  const std::vector<std::string> pids = {Submitted("never"),
                                         Submitted("never")};
  EXPECT_EQ(Run({"cancel", pids[0], pids[1], "--deadline", "1m30s"}).status,
            ExitStatus::kDone);
  for (size_t i = 0; i < pids.size(); ++i) {
    EXPECT_EQ(daemon_.log().cancels.at(i).pid(), pids[i]);
    EXPECT_EQ(daemon_.log().cancels.at(i).deadline().seconds(), 90);
  }
  const CliResult wrong = Run({"cancel", pids[0], "--deadline", "soon"});
  EXPECT_EQ(wrong.status, ExitStatus::kUsage);
  EXPECT_THAT(wrong.err, HasSubstr("--deadline"));
}

TEST_F(Commands, HealthExitsByTheAnswer) {
  const CliResult serving = Run({"health"});
  EXPECT_EQ(serving.status, ExitStatus::kDone);
  EXPECT_EQ(serving.out, "SERVING\n");
  EXPECT_EQ(Run({"health", "--service", "no.such"}).status,
            ExitStatus::kNotFound);
  daemon_.SetServing(false);
  const CliResult not_serving = Run({"health"});
  EXPECT_EQ(not_serving.status, ExitStatus::kUnavailable);
  EXPECT_EQ(not_serving.out, "NOT_SERVING\n");
}

TEST_F(Commands, EveryUsageErrorExitsWith2AndWritesNoData) {
  for (const std::vector<std::string>& arguments :
       std::initializer_list<std::vector<std::string>>{
           {},
           {"bogus"},
           {"--bogus"},
           {"submit"},
           {"submit", "echo", "one", "two"},
           {"submit", "echo", "@/nowhere"},
           {"submit", "--from-file", "/nowhere"},
           {"submit", "--from-file", "-", "--request-id", "r"},
           {"submit", "echo", "-", "--from-file", "-"},
           {"submit", "echo", "--from-file", "-", "--in-flight", "0"},
           {"submit", "echo", "--priority", "32"},
           {"submit", "echo", "--priority", "-1"},
           {"submit", "echo", "--priority", "high"},
           {"send"},
           {"await"},
           {"describe"},
           {"ps", "--state", "asleep"},
           {"ps", "--limit", "x"},
           {"ps", "-o", "xml"},
           {"complete"},
           {"complete", "t", "result", "--error", "ABORTED"},
           {"complete", "t", "--error", "NO_SUCH_CODE"},
           {"complete", "t", "--message", "without an error"},
           {"shutdown", "--mode", "later"},
           {"shutdown", "--deadline", "5"},
           {"status", "--timeout", "-1s"},
           {"completion", "csh"}}) {
    const CliResult result = Run(arguments);
    EXPECT_EQ(result.status, ExitStatus::kUsage)
        << testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("actorctl: "));
  }
}

TEST_F(Commands, HelpGoesToStandardOutput) {
  const CliResult help = Run({"--help"});
  EXPECT_EQ(help.status, ExitStatus::kDone);
  EXPECT_EQ(help.err, "");
  for (const char* command :
       {"submit", "send", "await", "ps", "describe", "cancel", "terminate",
        "dead-letters", "yields", "complete", "plugin", "status", "shutdown",
        "health", "completion", "version"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
    const CliResult of_command = Run({command, "--help"});
    EXPECT_EQ(of_command.status, ExitStatus::kDone);
    EXPECT_THAT(of_command.out, HasSubstr("Usage: actorctl "));
  }
}

TEST_F(Commands, ColoursOnlyATerminalWithoutNoColor) {
  v1::Process process;
  process.set_pid("q-1");
  daemon_.processes.push_back(process);
  EXPECT_THAT(Run({"ps"}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Run({"ps"}, {.out_is_terminal = true}).out, HasSubstr("\x1b[1m"));
  EXPECT_THAT(
      Run({"ps"}, {.variables = {{"NO_COLOR", "1"}}, .out_is_terminal = true})
          .out,
      Not(HasSubstr("\x1b")));
  EXPECT_THAT(Run({"describe", "x"}, {.err_is_terminal = true}).err,
              HasSubstr("\x1b[31mactorctl:"));
}

TEST_F(Commands, VersionIsPrinted) {
  EXPECT_THAT(Run({"version"}).out, StartsWith("actorctl "));
  EXPECT_EQ(Run({"--version"}).status, ExitStatus::kDone);
}

TEST_F(Commands, CompletionOffersCommandsOptionsAndChoices) {
  EXPECT_EQ(Run({"__complete", "subm"}).out,
            "submit\tStart a process, or many from a file\n");
  EXPECT_THAT(Run({"__complete", "submit", "--from"}).out,
              StartsWith("--from-file\tSubmit each line"));
  EXPECT_EQ(Run({"__complete", "plugin", "lis"}).out,
            "list\tList the versions of plugins, and their processes\n");
  EXPECT_EQ(Run({"__complete", "ps", "--state", "r"}).out,
            "ready\t\nrunning\t\n");
  EXPECT_EQ(Run({"__complete"}).out, "");
  EXPECT_THAT(Run({"completion", "bash"}).out,
              HasSubstr("complete -F _actorctl actorctl"));
}

}  // namespace
}  // namespace actord::client
