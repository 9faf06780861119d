// All errors of a configuration are reported at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "daemon/problems/problem_list.h"
#include "daemon/settings/config.h"

namespace actord::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

absl::StatusOr<Config> LoadFrom(const std::string& file,
                                const std::map<std::string, std::string>& set) {
  return LoadConfig(
      file, {}, [&set](const std::string& name) -> std::optional<std::string> {
        const auto found = set.find(name);
        if (found == set.end()) return std::nullopt;
        return found->second;
      });
}

TEST(ConfigSources, TheLastOneOfEachSettingIsNamed) {
  EXPECT_THAT(LoadFrom("", {})->set, IsEmpty());
  const std::string path = ::testing::TempDir() + "config_sources." +
                           std::to_string(getpid()) + ".toml";
  std::ofstream(path) << "[scheduler]\nworkers = 3\n"
                         "[log]\nlevel = \"debug\"\n";
  const auto config = LoadFrom(path, {{"ACTORD_WORKERS", "5"}});
  EXPECT_THAT(config->set,
              UnorderedElementsAre("scheduler.workers = 5 (ACTORD_WORKERS)",
                                   "log.level = \"debug\" (" + path + ":4)"));
  std::filesystem::remove(path);
}

TEST(ConfigVariables, NamesTheSettingThatAVariableResembles) {
  EXPECT_THAT(
      DoubtVariables({"ACTORD_WORKER", "ACTORD_WORKERS", "ACTORD_CONFIG",
                      "ACTORD_ADDRESS", "ACTORD_TOKEN_FILE", "ACTORD_CONTEXT",
                      "ACTORD_PORT", "ACTORD_PORT_7600_TCP_ADDR",
                      "ACTORD_SERVICE_HOST", "WORKER", "ACTORD_",
                      "ACTORD_LOG_LEVLE"}),
      ElementsAre(
          "the variable ACTORD_WORKER of the environment is ignored, "
          "because no setting has this name; did you mean "
          "ACTORD_WORKERS?",
          "the variable ACTORD_LOG_LEVLE of the environment is ignored, "
          "because no setting has this name; did you mean "
          "ACTORD_LOG_LEVEL?"));
}

TEST(ConfigProblems, AreAllNamedWithTheirOrigins) {
  const std::string path = ::testing::TempDir() + "config_problems." +
                           std::to_string(getpid()) + ".toml";
  std::ofstream(path) << "[log]\nlevel = \"loud\"\n"
                         "[scheduler]\nworkers = 257\n"
                         "[server]\nlisten = []\nlisen = 1\n";
  EXPECT_THAT(
      ProblemLines(LoadFrom(path, {{"ACTORD_BLOCKING_THREADS", "1025"},
                                   {"ACTORD_AUTH_MODE", "enforce"}})
                       .status()),
      ElementsAre(path + ":7: unknown key server.lisen; did you mean "
                         "server.listen? (column 1 of: lisen = 1)",
                  AllOf(StartsWith(path + ":2: log.level: \"loud\" is not one"),
                        EndsWith(" (column 9 of: level = \"loud\")")),
                  AllOf(StartsWith(path + ":4: scheduler.workers: "),
                        EndsWith(" (column 11 of: workers = 257)")),
                  StartsWith("ACTORD_BLOCKING_THREADS: "),
                  path + ":6: server.listen: at least one address is needed "
                         "(column 10 of: listen = [])",
                  StartsWith("ACTORD_AUTH_MODE: enforce needs")));
  std::filesystem::remove(path);
}

TEST(ConfigProblems, DoNotHaveAValueThatIsGoodTogetherWithOthers) {
  EXPECT_THAT(ProblemLines(LoadFrom("", {{"ACTORD_MAX_PAYLOAD_BYTES", "32MiB"},
                                         {"ACTORD_MAX_MAILBOX_BYTES", "64MiB"},
                                         {"ACTORD_WORKERS", "257"}})
                               .status()),
              ElementsAre(StartsWith("ACTORD_WORKERS: ")));
}

TEST(ProblemList, KeepsTheFirstCodeAndNoRepetitions) {
  ProblemList problems;
  EXPECT_TRUE(problems.status().ok());
  problems.Add(absl::OkStatus());
  EXPECT_TRUE(problems.empty());
  problems.Add(absl::UnavailableError("one"));
  problems.Add(absl::NotFoundError("two\none"));
  EXPECT_EQ(problems.status(), absl::UnavailableError("one\ntwo"));
}

}  // namespace
}  // namespace actord::daemon
