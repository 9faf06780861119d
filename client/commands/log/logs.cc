// actorctl logs
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/commands/log/levels.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct LogsOptions {
  std::string level;
  std::optional<uint64_t> tail;
  bool follow = false;
};

// Pause between two requests of --follow.
constexpr absl::Duration kFollowLogEvery = absl::Milliseconds(500);

Item LineItem(const v1::LogLine& line) {
  return {.json = [&line] { return ToJson(line); },
          .name = [&line] { return line.id(); },
          .cells =
              [&line] {
                return std::vector<std::string>{Rfc3339Ms(ToTime(line.time())),
                                                LevelWord(line.level()),
                                                OneLine(line.text())};
              }};
}

ExitStatus RunLogs(Invocation& invocation, const LogsOptions& options) {
  v1::ListLogLinesRequest request;
  request.set_min_level(LevelOf(options.level));
  ListWriter writer(
      invocation.out(), invocation.style(),
      {{.heading = "TIME"}, {.heading = "LEVEL"}, {.heading = "TEXT"}});
  const auto end_page = [&] {
    writer.EndPage();
    invocation.out().flush();
  };
  std::optional<uint64_t> tail = options.tail;
  do {
    std::deque<v1::LogLine> last;
    const absl::Status status = ForEachElement(
        request, 0,
        [&](const v1::ListLogLinesRequest& page) {
          return invocation.client().ListLogLines(page, invocation.Quick());
        },
        [](const v1::ListLogLinesResponse& response) -> const auto& {
          return response.lines();
        },
        [&](const v1::LogLine& line) {
          request.set_after_id(line.id());
          if (!tail.has_value()) return writer.Add(LineItem(line));
          last.push_back(line);
          if (last.size() > *tail) last.pop_front();
        },
        end_page);
    if (!status.ok()) return invocation.Fail(status);
    for (const v1::LogLine& line : last) writer.Add(LineItem(line));
    end_page();
    // Of the lines that come later, all are shown.
    tail.reset();
    if (options.follow && !invocation.Pause(kFollowLogEvery)) {
      return invocation.Fail(absl::CancelledError());
    }
  } while (options.follow);
  writer.Finish();
  invocation.SayEmpty(writer, "no line of the log is kept, or none matches");
  return ExitStatus::kDone;
}

constexpr char kLogsFooter[] = R"(
The daemon keeps its newest 2000 lines in memory (at most 1 MiB), until it ends, so the log
can be read without access to the daemon's machine. Lines below the level of the log are
neither written nor kept: see "actorctl log-level". --follow asks for new lines twice a second.

Examples:
  actorctl logs --tail 20
  actorctl logs --level warning
  actorctl logs --follow -o jsonl | jq -r .text
)";

}  // namespace

void AddLogs(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<LogsOptions>();
  CLI::App* command =
      app.add_subcommand("logs", "Print the newest lines of the daemon's log");
  command->footer(kLogsFooter);
  command
      ->add_option("--level", options->level,
                   "Only lines of this level and above")
      ->type_name("LEVEL")
      ->check(CLI::IsMember(LevelWords()).description(""));
  command->add_option("--tail", options->tail, "Only the newest N lines [all]")
      ->check(CLI::Range(0, 1'000'000).description(""))
      ->type_name("N");
  command->add_flag("--follow", options->follow,
                    "Then print new lines as they are logged");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunLogs(invocation, *options);
    };
  });
}

}  // namespace actord::client
