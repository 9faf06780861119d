// Tests "actorctl submit" with one process. bulk_commands_test.cc has the tests
// with many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class SubmitCommand : public Commands {};

TEST_F(SubmitCommand, PrintsThePid) {
  const CliResult result =
      Run({"submit", "echo", "7", "--method", "run", "--request-id", "r1"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  EXPECT_EQ(result.out, "p-0\n");
  EXPECT_EQ(result.err, "");
  const v1::SubmitRequest request = daemon_.log().submits.at(0);
  EXPECT_EQ(request.process_type(), "echo");
  EXPECT_EQ(request.method(), "run");
  EXPECT_EQ(request.request_id(), "r1");
  EXPECT_EQ(request.input().data(), "7");
  EXPECT_EQ(request.input().content_type(), "");
  EXPECT_FALSE(request.has_priority());
}

TEST_F(SubmitCommand, SendsThePriority) {
  Run({"submit", "echo", "--priority", "0"});
  Run({"submit", "echo", "--priority", "31"});
  EXPECT_TRUE(daemon_.log().submits.at(0).has_priority());
  EXPECT_EQ(daemon_.log().submits.at(0).priority(), 0);
  EXPECT_EQ(daemon_.log().submits.at(1).priority(), 31);
}

TEST_F(SubmitCommand, DeliversToTheHolderOfTheName) {
  v1::Name& held = daemon_.names.emplace_back();
  held.set_name("visits");
  held.set_pid("p-7");
  const std::vector<std::string> words = {
      "submit", "echo", "0", "--name", "visits", "--on-name-conflict"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return Run(more);
  };
  EXPECT_EQ(with({"fail"}).status, ExitStatus::kFailed);
  const CliResult result =
      with({"deliver", "--message", "1", "--topic", "add"});
  EXPECT_EQ(result.out, "p-7\n");
  EXPECT_EQ(result.err, "");
  const v1::SubmitRequest request = daemon_.log().submits.back();
  EXPECT_EQ(request.on_name_conflict(),
            v1::SubmitRequest::NAME_CONFLICT_DELIVER);
  ASSERT_EQ(request.messages_size(), 1);
  EXPECT_EQ(request.messages(0).topic(), "add");
  EXPECT_EQ(request.messages(0).payload().data(), "1");
  EXPECT_EQ(with({"deliver", "--volatile"}).err, "");
  EXPECT_EQ(with({"deliver", "--durable"}).err,
            "actorctl: process p-7 held the name visits already and is "
            "VOLATILE; --durable applies only to a process that the command "
            "starts\n");
}

TEST_F(SubmitCommand, RefusesOptionsThatDoNotFit) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--on-name-conflict", "deliver"},
        {"--name", "a", "--on-name-conflict", "replace"},
        {"--topic", "add"},
        {"-", "--message", "-"}}) {
    std::vector<std::string> all = {"submit", "echo"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(Run(all).status, ExitStatus::kUsage) << words[0];
  }
  EXPECT_TRUE(daemon_.log().submits.empty());
}

TEST_F(SubmitCommand, ReadsInputFromFilesAndStandardInput) {
  const TemporaryFile file("file");
  EXPECT_EQ(Run({"submit", "echo", "@" + file.path(), "--wait"}).out, "file");
  EXPECT_EQ(Run({"submit", "echo", "-", "--wait"}, {.stdin_text = "in"}).out,
            "in");
  EXPECT_EQ(Run({"submit", "echo", "[1,2]", "--wait"}).out, "[1,2]");
  EXPECT_EQ(Run({"submit", "echo", "--wait", "--", "-5"}).out, "-5");
  EXPECT_FALSE(Run({"submit", "echo"}).out.empty());
  EXPECT_FALSE(daemon_.log().submits.back().has_input());
}

TEST_F(SubmitCommand, PrintsTheTypesThatTheDaemonNames) {
  EXPECT_EQ(Run({"submit", "nosuch"}).err,
            "actorctl: no plugin has the process type \"nosuch\"; the types "
            "are echo, fail (UNKNOWN_PROCESS_TYPE)\n");
}

TEST_F(SubmitCommand, WarnsOfTextThatLooksLikeJson) {
  const CliResult broken = Run({"submit", "echo", R"({"customer":"acme")"});
  EXPECT_EQ(broken.status, ExitStatus::kDone);
  EXPECT_EQ(broken.out, "p-0\n");
  EXPECT_THAT(broken.err,
              testing::MatchesRegex(
                  "actorctl: the text looks like JSON, but is not valid JSON "
                  "at byte 19[^\n]*; it is sent as text/plain\n"));
  EXPECT_EQ(daemon_.log().submits.back().input().content_type(), "text/plain");
  // A long quotation would not help.
  EXPECT_EQ(Run({"submit", "echo", "[\"" + std::string(1000, 'x')}).err,
            "actorctl: the text looks like JSON, but is not valid JSON at byte "
            "1003; it is sent as text/plain\n");
  EXPECT_NE(Run({"submit", "echo", "-"}, {.stdin_text = "[1"}).err, "");
  for (const std::string text : {"hello", R"({"a": 1})", "", "say {x}"}) {
    EXPECT_EQ(Run({"submit", "echo", text}).err, "") << text;
  }
  EXPECT_EQ(Run({"submit", "echo", "{bad", "--content-type", "text/plain"}).err,
            "");
  EXPECT_EQ(Run({"submit", "echo", "-"}, {.stdin_text = "{\xff"}).err, "");
}

TEST_F(SubmitCommand, WaitPrintsTheResultByteForByte) {
  EXPECT_EQ(Run({"submit", "echo", "x", "--wait"}).out, "x");
  EXPECT_EQ(
      Run({"submit", "echo", "x", "--wait"}, {.out_is_terminal = true}).out,
      "x\n");
}

TEST_F(SubmitCommand, TypeMayHaveTheNameOfACommand) {
  const CliResult result = Run({"submit", "status"});
  EXPECT_EQ(result.status, ExitStatus::kNotFound);
  EXPECT_EQ(daemon_.log().submits.at(0).process_type(), "status");
}

TEST_F(SubmitCommand, WaitReportsAFailedProcess) {
  const CliResult result = Run({"submit", "fail", "--wait"});
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "actorctl: process p-0 failed: INVALID_ARGUMENT: as told "
            "(FAILED)\n");
}

TEST_F(SubmitCommand, WaitWritesTheOutcomeForPrograms) {
  const CliResult result =
      Run({"submit", "echo", "{\"a\":1}", "--wait", "-o", "json"});
  const json outcome = json::parse(result.out);
  EXPECT_EQ(outcome["pid"], "p-0");
  EXPECT_EQ(outcome["result"]["json"]["a"], 1);
  EXPECT_EQ(outcome["steps"], 1);
  const CliResult failed = Run({"submit", "fail", "--wait", "-o", "yaml"});
  EXPECT_EQ(failed.status, ExitStatus::kFailed);
  EXPECT_THAT(failed.out, HasSubstr("failure:\n  reason: FAILED\n"));
}

}  // namespace
}  // namespace actord::client
