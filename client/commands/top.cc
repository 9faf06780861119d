// actorctl top

#include "client/top/top.h"

#include <memory>
#include <optional>
#include <string>

#include "client/commands/commands.h"
#include "client/output/text.h"
#include "client/top/table.h"

namespace actord::client {
namespace {

constexpr uint64_t kMostProcesses = 1'000'000;
constexpr absl::Duration kShortestInterval = absl::Milliseconds(100);
constexpr absl::Duration kLongestInterval = absl::Hours(1);

struct Typed {
  std::string interval = "2s";
  std::string sort;
  bool once = false;
  top::TopOptions options;
};

template <typename Row>
std::string NamesOf(const std::vector<top::Column<Row>>& columns) {
  std::string names;
  for (const auto& column : columns) {
    names += (names.empty() ? "" : ", ") + std::string(column.name);
  }
  return names;
}

// In the form that the completion script reads.
std::string AllColumns() {
  std::string all;
  for (const auto& column : top::ProcessColumns()) {
    all += (all.empty() ? "" : "|") + std::string(column.name);
  }
  for (const auto& column : top::TypeColumns()) {
    if (!top::ColumnNamed(top::ProcessColumns(), column.name)) {
      all += "|" + std::string(column.name);
    }
  }
  return all;
}

// Sets the column by which the first table is sorted.
absl::Status SetColumn(const std::string& name, top::ViewOptions& view) {
  const auto column = view.types
                          ? top::ColumnNamed(top::TypeColumns(), name)
                          : top::ColumnNamed(top::ProcessColumns(), name);
  if (!column) {
    return UsageError("--sort: there is no column \"" + name +
                      "\"; there are " +
                      (view.types ? NamesOf(top::TypeColumns())
                                  : NamesOf(top::ProcessColumns())));
  }
  (view.types ? view.type_column : view.process_column) = *column;
  return absl::OkStatus();
}

absl::StatusOr<top::TopOptions> Check(const Typed& typed,
                                      const Invocation& invocation) {
  top::TopOptions options = typed.options;
  const auto interval = ParseDuration(typed.interval);
  if (!interval.ok()) return interval.status();
  if (*interval < kShortestInterval || *interval > kLongestInterval) {
    return UsageError("--interval must be from 100ms to 1h");
  }
  options.view.interval = *interval;
  if (!typed.sort.empty()) {
    const absl::Status status = SetColumn(typed.sort, options.view);
    if (!status.ok()) return status;
  }
  if (!typed.once && invocation.options().format != Format::kTable) {
    return UsageError("-o needs --once");
  }
  if (!typed.once && options.limit != 0) {
    return UsageError("--limit needs --once");
  }
  return options;
}

ExitStatus RunTop(Invocation& invocation, const Typed& typed) {
  const auto options = Check(typed, invocation);
  if (!options.ok()) return invocation.Fail(options.status());
  return typed.once ? top::RunOnce(invocation, *options)
                    : top::RunLive(invocation, *options);
}

constexpr char kTopFooter[] = R"(
Shows the daemon's live counters and, below them, its processes or (key t) its process types.
Rates cover the time between two samples, by the daemon's clock. A sample holds at most --max
processes, in the daemon's order, not in the table's; the last line shows how many there are
in all. If the filter is the whole name of a type, the daemon lists that type alone.

Keys: q quit, ? help, t types or processes, s and S sort, / filter, p pause, + and - interval,
arrows move, Enter details, k cancel a process, K terminate a process; k and K ask before.

--sort processes, running, ready, blocked, idle and durable need --types; pid, name, state,
durability and priority exclude it. Numbers are sorted from the largest down, names from A to Z.
The columns for names, owners and durability are shown if a process has a name, has an owner
or is durable.

top retries a lost connection until the daemon is back. After --timeout it ends, with exit
status 6. NO_COLOR turns colours off. Without UTF-8 in LC_ALL, LC_CTYPE or LANG, top shows
other characters than ASCII as "?".

--once takes two samples, --interval apart, writes one frame, and needs no terminal. With
-o json, jsonl or yaml it writes the frame as data; a rate without an earlier sample is null.
-o name writes the PIDs, or the names of the types.

Examples:
  actorctl top
  actorctl top --types
  actorctl top --type order --sort mailbox
  actorctl top --once --limit 20 --sort bytes
  actorctl top --once -o json | jq .per_second.steps
)";

}  // namespace

void AddTop(CLI::App& app, Action& chosen) {
  auto typed = std::make_shared<Typed>();
  CLI::App* command =
      app.add_subcommand("top", "Watch the daemon and its processes live");
  command->footer(kTopFooter);
  top::TopOptions& options = typed->options;
  command
      ->add_option("--interval", typed->interval,
                   "Time between samples, from 100ms to 1h")
      ->type_name("DURATION")
      ->capture_default_str();
  command
      ->add_option("--max", options.max_processes,
                   "Maximum number of processes in a sample, up to 1000000")
      ->check(CLI::Range(uint64_t{1}, kMostProcesses).description(""))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--types", options.view.types, "Show process types first");
  command
      ->add_option("--type", options.view.filter,
                   "Filter: this type, or the types that contain this text")
      ->type_name("TEXT");
  command
      ->add_option("--sort", typed->sort,
                   "Sort by this column [rate; of types: processes]")
      ->type_name(AllColumns());
  command->add_flag("--reverse", options.view.reversed, "Reverse the order");
  command->add_flag("--once", typed->once,
                    "Write one frame and exit, for scripts");
  command
      ->add_option("--limit", options.limit,
                   "With --once: maximum number of rows [all]")
      ->type_name("N");
  command->callback([&chosen, typed] {
    chosen = [typed](Invocation& invocation) {
      return RunTop(invocation, *typed);
    };
  });
}

}  // namespace actord::client
