// actorctl log-level
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "client/commands/log/levels.h"
#include "client/output/message_json.h"
#include "nlohmann/json.hpp"

namespace actord::client {

std::vector<std::string> LevelWords() {
  return {"debug", "info", "warning", "error"};
}

v1::LogLevel LevelOf(const std::string& word) {
  v1::LogLevel level = v1::LOG_LEVEL_UNSPECIFIED;
  v1::LogLevel_Parse(absl::StrCat("LOG_LEVEL_", absl::AsciiStrToUpper(word)),
                     &level);
  return level;
}

std::string LevelWord(v1::LogLevel level) {
  return absl::AsciiStrToLower(EnumName(level));
}

namespace {

// Needs fewer rights than a new level does.
ExitStatus ShowLogLevel(Invocation& invocation) {
  v1::ListLogLinesRequest request;
  request.set_page_size(1);
  const auto response =
      invocation.client().ListLogLines(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  const std::string level = LevelWord(response->level());
  WriteOne(invocation.out(), invocation.style(),
           Json{{"level", EnumName(response->level())}}, level,
           [&] { invocation.out() << level << '\n'; });
  return ExitStatus::kDone;
}

ExitStatus RunLogLevel(Invocation& invocation, const std::string& level) {
  if (level.empty()) return ShowLogLevel(invocation);
  v1::SetLogLevelRequest request;
  request.set_level(LevelOf(level));
  const auto response =
      invocation.client().SetLogLevel(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  const std::string now = LevelWord(response->level());
  WriteOne(invocation.out(), invocation.style(), ToJson(*response), now, [&] {
    invocation.out() << now;
    if (response->level() != response->previous_level()) {
      invocation.out() << " (was " << LevelWord(response->previous_level())
                       << ")";
    }
    invocation.out() << '\n';
  });
  return ExitStatus::kDone;
}

constexpr char kLogLevelFooter[] = R"(
Without LEVEL it prints the level in force. A new level stays until it is set again, until the
daemon reads its configuration again (SIGHUP; log.level), or until the daemon ends.

Examples:
  actorctl log-level
  actorctl log-level debug
)";

}  // namespace

void AddLogLevel(CLI::App& app, Action& chosen) {
  auto level = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "log-level", "Show or set the level below which nothing is logged");
  command->footer(kLogLevelFooter);
  command->add_option("LEVEL", *level, "debug, info, warning or error")
      ->check(CLI::IsMember(LevelWords()).description(""));
  command->callback([&chosen, level] {
    chosen = [level](Invocation& invocation) {
      return RunLogLevel(invocation, *level);
    };
  });
}

}  // namespace actord::client
