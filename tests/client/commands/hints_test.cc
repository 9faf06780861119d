// The next step that an error or an empty list names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Hints : public Commands {};

TEST_F(Hints, EndedProcessHasItsResultInAwait) {
  const std::string pid = Submitted("echo");
  daemon_.ended = {pid, "p-99"};
  EXPECT_EQ(
      Run({"describe", pid}).err,
      "actorctl: it has ended (PROCESS_ENDED)\nactorctl: \"actorctl await " +
          pid + "\" prints its result\n");
  // Its result is not kept.
  EXPECT_EQ(Run({"describe", "p-99"}).err,
            "actorctl: it has ended (PROCESS_ENDED)\n");
}

TEST_F(Hints, AwaitOfALostNamePointsToEndedProcesses) {
  EXPECT_THAT(Run({"await", "@c1"}).err, HasSubstr("actorctl ps --ended"));
  EXPECT_THAT(Run({"await", "@c1", "@c2"}).err,
              HasSubstr("actorctl ps --ended"));
  EXPECT_THAT(Run({"await", "p-99"}).err, Not(HasSubstr("--ended")));
}

TEST_F(Hints, NameBeginsWithAnAt) {
  const CliResult result = Run({"describe", "tanks/1"});
  EXPECT_EQ(result.status, ExitStatus::kUsage);
  EXPECT_EQ(result.err,
            "actorctl: tanks/1 is not a PID; a name begins with @: @tanks/1\n");
}

TEST_F(Hints, MissingTokenNamesTheOption) {
  EXPECT_EQ(Run({"submit", "locked"}).err,
            "actorctl: the call has no token (TOKEN_MISSING); give "
            "--token-file or set ACTORD_TOKEN_FILE\n");
}

TEST_F(Hints, EmptyListIsExplainedOnStandardError) {
  const std::map<std::string, std::string> texts = {
      {"ps", "no process is live\n"},
      {"yields", "no command waits for an answer\n"},
      {"clients", "no client that you may see is connected\n"},
      {"names", "no name is registered, or none matches\n"},
      {"dead-letters", "there is no dead letter, or none matches\n"}};
  for (const auto& [command, text] : texts) {
    for (const bool is_terminal : {false, true}) {
      const CliResult result = Run({command}, {.err_is_terminal = is_terminal});
      EXPECT_EQ(result.status, ExitStatus::kDone) << command;
      EXPECT_EQ(result.out, "") << command;
      EXPECT_EQ(result.err, text);
    }
    for (const char* format : {"json", "jsonl", "yaml", "name"}) {
      EXPECT_EQ(Run({command, "-o", format}).err, "") << command;
    }
  }
  v1::Process process;
  process.set_pid("q-1");
  daemon_.processes.push_back(process);
  EXPECT_EQ(Run({"ps"}, {.err_is_terminal = true}).err, "");
}

TEST_F(Hints, StatusShowsTheLimitThatIsReached) {
  v1::GetStatusResponse& status = daemon_.status;
  status.mutable_limits()->set_max_processes(20);
  status.mutable_counters()->set_processes_live(21);
  status.mutable_counters()->set_processes_dormant(2);
  EXPECT_THAT(Run({"status"}).out,
              ContainsRegex("Processes: +21 of 20 live \\(2 dormant\\), "));
  EXPECT_THAT(Run({"status"}).out, ContainsRegex("Refused at limits: +none\n"));
  status.mutable_counters()->set_processes_live(22);
  status.mutable_counters()->set_process_limit_total(1234);
  status.mutable_counters()->set_memory_limit_total(1);
  status.mutable_counters()->set_store_full_limit_total(7);
  status.mutable_counters()->set_processes_quarantined(3);
  const std::string full = Run({"status"}).out;
  EXPECT_THAT(full, HasSubstr("22 of 20 live (full, 2 dormant, "
                              "3 in quarantine), "));
  EXPECT_THAT(full, HasSubstr("7 store full"));
  EXPECT_THAT(full, HasSubstr("1,234 process"));
  EXPECT_THAT(full, HasSubstr("1 memory"));
  EXPECT_THAT(full, Not(HasSubstr("mailbox")));
  // An older daemon does not show what it uses.
  EXPECT_THAT(full, Not(HasSubstr("Memory:")));
  v1::LimitUse& use = *status.add_limit_use();
  use.set_name("memory");
  use.set_setting("memory.max");
  use.set_unit("bytes");
  use.set_used(3 << 20);
  use.set_max(4 << 20);
  use.mutable_full_since()->set_seconds(absl::ToUnixSeconds(absl::Now()) - 185);
  status.mutable_resources()->set_resident_bytes(2 << 20);
  status.mutable_resources()->set_cpu_busy(1.5);
  status.mutable_resources()->set_cpus(4);
  const std::string seen = Run({"status"}).out;
  EXPECT_THAT(seen, ContainsRegex("memory +3.0 MiB +4.0 MiB +75 % +REACHED for "
                                  "3m[0-9]s +0 +memory.max"));
  EXPECT_THAT(seen,
              ContainsRegex("Memory: +2.0 MiB resident; no limit is set"));
  EXPECT_THAT(seen, ContainsRegex("Processors: +1.50 of 4 processors busy with "
                                  "actord in the last second \\(38 %\\)"));
}

}  // namespace
}  // namespace actord::client
