// actorctl ps

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/calls/older_daemon.h"
#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/commands/known_type.h"
#include "client/commands/labels/label_options.h"
#include "client/commands/processes/process_rows.h"
#include "client/commands/processes/sorted_processes.h"
#include "client/output/exit_status.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// Of the time between two lists of --watch.
constexpr absl::Duration kShortestPsInterval = absl::Milliseconds(100);
constexpr absl::Duration kLongestPsInterval = absl::Hours(1);

struct PsOptions {
  std::string process_type;
  std::string state;
  std::string parent;
  std::vector<std::string> labels;
  std::string outcome;
  std::string owner;
  std::string sort_by;
  bool is_ended = false;
  bool watch = false;
  std::string interval = "2s";
  uint64_t limit = 0;

  [[nodiscard]] bool ListsEnded() const {
    return is_ended || state == "ended" || !outcome.empty();
  }
  [[nodiscard]] bool HasFilter() const {
    return !(process_type.empty() && state.empty() && parent.empty() &&
             labels.empty() && owner.empty());
  }
};

std::string Lower(std::string name) {
  for (char& c : name) {
    c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

// The states by their names in lower case.
std::map<std::string, v1::ProcessState> States() {
  std::map<std::string, v1::ProcessState> states;
  for (int i = v1::ProcessState_MIN + 1; i <= v1::ProcessState_MAX; ++i) {
    if (!v1::ProcessState_IsValid(i)) continue;
    const auto state = static_cast<v1::ProcessState>(i);
    states.emplace(Lower(EnumName(state)), state);
  }
  return states;
}

// The ends by their names in lower case.
std::map<std::string, v1::ProcessEnd> Ends() {
  std::map<std::string, v1::ProcessEnd> ends;
  for (int i = v1::ProcessEnd_MIN + 1; i <= v1::ProcessEnd_MAX; ++i) {
    if (!v1::ProcessEnd_IsValid(i)) continue;
    const auto end = static_cast<v1::ProcessEnd>(i);
    ends.emplace(Lower(EnumName(end)), end);
  }
  return ends;
}

template <typename Value>
std::vector<std::string> NamesIn(const std::map<std::string, Value>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

const SortField& FieldNamed(const std::string& name) {
  const auto& fields = SortFields();
  return *std::find_if(fields.begin(), fields.end(),
                       [&](const SortField& one) { return one.name == name; });
}

std::vector<std::string> SortFieldNames() {
  std::vector<std::string> names;
  for (const SortField& field : SortFields()) names.emplace_back(field.name);
  return names;
}

absl::Status CheckPs(const PsOptions& options) {
  const bool lists_ended = options.ListsEnded();
  if (!lists_ended && !options.owner.empty()) {
    return UsageError("--owner selects ended processes only; add --ended");
  }
  if (lists_ended && !options.parent.empty()) {
    return UsageError(
        "--parent selects live processes only, because the parents of ended "
        "ones are not known");
  }
  if (lists_ended && !options.state.empty() && options.state != "ended") {
    return UsageError("--state " + options.state +
                      " is a state of a live process; leave it out to list "
                      "ended ones");
  }
  if (options.sort_by.empty()) return absl::OkStatus();
  const SortField& field = FieldNamed(options.sort_by);
  if (lists_ended ? !field.is_ended : !field.is_live) {
    return UsageError(
        "--sort-by " + options.sort_by + " is for " +
        (lists_ended ? "live processes" : "ended processes; add --ended"));
  }
  if (options.limit > SortedProcesses::kMost) {
    return UsageError("with --sort-by, --limit is at most 100000");
  }
  return absl::OkStatus();
}

v1::ListProcessesRequest RequestOfPs(const PsOptions& options) {
  v1::ListProcessesRequest request;
  request.set_process_type(options.process_type);
  if (options.ListsEnded()) {
    request.set_state(v1::PROCESS_STATE_ENDED);
  } else if (!options.state.empty()) {
    request.set_state(States().at(options.state));
  }
  request.set_parent_pid(options.parent);
  for (const std::string& label : options.labels) request.add_labels(label);
  if (!options.outcome.empty()) request.set_end(Ends().at(options.outcome));
  request.set_owner(options.owner);
  return request;
}

// One page of the list.
absl::StatusOr<v1::ListProcessesResponse> ListPage(
    Invocation& invocation, const v1::ListProcessesRequest& request) {
  auto response =
      invocation.client().ListProcesses(request, invocation.Quick());
  if (response.ok()) {
    absl::Status selected = CheckSelected(request, *response);
    if (!selected.ok()) return selected;
  }
  return response;
}

// Calls `show` for each process, and `end_page` after each page.
template <typename Show, typename EndPage>
absl::Status ForEachProcess(Invocation& invocation, const PsOptions& options,
                            const Show& show, const EndPage& end_page) {
  const auto processes_of =
      [](const v1::ListProcessesResponse& response) -> const auto& {
    return response.processes();
  };
  if (options.sort_by.empty()) {
    return ForEachElement(
        RequestOfPs(options), options.limit,
        [&](const v1::ListProcessesRequest& page) {
          return ListPage(invocation, page);
        },
        processes_of, show, end_page);
  }
  SortedProcesses sorted(FieldNamed(options.sort_by).is_above, options.limit);
  absl::Status status = ForEachElement(
      RequestOfPs(options), 0,
      [&](const v1::ListProcessesRequest& page)
          -> absl::StatusOr<v1::ListProcessesResponse> {
        absl::Status full = sorted.status();
        if (!full.ok()) return full;
        return ListPage(invocation, page);
      },
      processes_of, [&](const v1::Process& process) { sorted.Add(process); },
      [] {});
  if (!status.ok()) return status;
  if (!sorted.status().ok()) return sorted.status();
  for (const v1::Process& process : sorted.Take()) show(process);
  end_page();
  return absl::OkStatus();
}

ListWriter WriterOf(const Invocation& invocation, const PsOptions& options,
                    std::ostream& out) {
  return {out, invocation.style(),
          options.ListsEnded() ? EndedColumns() : LiveColumns()};
}

absl::Status PrintProcesses(Invocation& invocation, const PsOptions& options,
                            ListWriter& writer) {
  const bool lists_ended = options.ListsEnded();
  absl::Status status = ForEachProcess(
      invocation, options,
      [&](const v1::Process& process) {
        writer.Add(lists_ended ? EndedItem(process) : ProcessItem(process));
      },
      [&] { writer.EndPage(); });
  if (status.ok()) writer.Finish();
  return status;
}

void SayWhyEmpty(Invocation& invocation, const PsOptions& options,
                 const ListWriter& writer) {
  if (writer.empty() && !options.process_type.empty()) {
    WarnOfUnknownType(invocation, options.process_type, "");
  }
  invocation.SayEmpty(writer, options.ListsEnded()
                                  ? "no result of an ended process is kept, or "
                                    "none matches"
                              : options.HasFilter()
                                  ? "no process is live, or none matches"
                                  : "no process is live");
}

// Prints the list again and again: over the former one on a terminal, and
// otherwise behind an empty line.
ExitStatus RepeatPs(Invocation& invocation, const PsOptions& options) {
  const auto interval = ParseDuration(options.interval);
  if (!interval.ok()) return invocation.Fail(interval.status(), "--interval");
  if (*interval < kShortestPsInterval || *interval > kLongestPsInterval) {
    return invocation.Fail(UsageError("--interval must be from 100ms to 1h"));
  }
  constexpr char kClearScreen[] = "\x1b[H\x1b[2J\x1b[3J";
  const bool redraws = invocation.environment().out_is_terminal;
  for (bool is_first = true;; is_first = false) {
    std::ostringstream list;
    ListWriter writer = WriterOf(invocation, options, list);
    const absl::Status status = PrintProcesses(invocation, options, writer);
    if (!status.ok()) return invocation.Fail(status);
    invocation.out() << (redraws    ? kClearScreen
                         : is_first ? ""
                                    : "\n")
                     << list.str();
    invocation.out().flush();
    if (!invocation.out()) return ExitStatus::kFailed;
    SayWhyEmpty(invocation, options, writer);
    if (!invocation.Pause(*interval)) {
      return invocation.Fail(absl::CancelledError());
    }
    if (absl::Now() >= invocation.deadline()) return ExitStatus::kDeadline;
  }
}

ExitStatus RunPs(Invocation& invocation, const PsOptions& options) {
  const absl::Status usable = CheckPs(options);
  if (!usable.ok()) return invocation.Fail(usable);
  if (options.watch && !invocation.ForPeople()) {
    return invocation.Fail(
        UsageError("--watch prints tables only; \"actorctl watch\" prints each "
                   "start and end for programs"));
  }
  if (options.watch) return RepeatPs(invocation, options);
  ListWriter writer = WriterOf(invocation, options, invocation.out());
  const absl::Status status = PrintProcesses(invocation, options, writer);
  if (!status.ok()) return invocation.Fail(status);
  SayWhyEmpty(invocation, options, writer);
  return ExitStatus::kDone;
}

constexpr char kPsFooter[] = R"(
NAME is the name that a process has held longest, and is a column if one of the first 1000
processes has a name. -o wide shows the labels and the plugin.

--sort-by puts the largest numbers first, names from A to Z, and with age the oldest process.
With --limit N it prints the first N of all. --watch prints the list anew every --interval,
until it is interrupted (130); "actorctl top" also shows rates, "actorctl watch" each start
and end.

--ended lists the processes that have ended, the newest end first, for as long as their
results are kept ("actorctl await" prints them). ENDED is how long ago, RAN how long they
lived. "actorctl failures" also has failures whose result is not kept.

Examples:
  actorctl ps --type order --state blocked
  actorctl ps -o wide --sort-by mailbox --limit 20
  actorctl ps --type order --watch
  actorctl ps -o json | jq -r '.[] | select(.steps > 1000) | .pid'
  actorctl ps -l tenant=acme -l urgent
  actorctl ps --ended --outcome failed --type order
  actorctl ps --type order -o name | xargs actorctl cancel
)";

}  // namespace

void AddPs(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<PsOptions>();
  CLI::App* command = app.add_subcommand("ps", "List processes");
  command->footer(kPsFooter);
  command
      ->add_option("--type", options->process_type,
                   "Only processes of this type")
      ->type_name("NAME");
  command->add_option("--state", options->state, "Only processes in this state")
      ->check(CLI::IsMember(NamesIn(States())).description(""))
      ->type_name("ready|running|blocked|idle|dormant|quarantined|ended");
  command
      ->add_option("--parent", options->parent,
                   "Only children of this process: a PID or @NAME")
      ->type_name("PID");
  AddLabelFilter(*command, options->labels);
  command->add_flag("--ended", options->is_ended,
                    "List ended processes whose results are kept, instead of "
                    "live ones");
  command
      ->add_option("--outcome", options->outcome,
                   "Only ended processes with this outcome")
      ->check(CLI::IsMember(NamesIn(Ends())).description(""))
      ->type_name(
          "done|failed|exception|cancelled|terminated|init_refused|limit_"
          "reached");
  command
      ->add_option("--owner", options->owner,
                   "Only ended processes of this owner")
      ->type_name("NAME");
  command->add_option("--limit", options->limit, "Maximum number of rows [all]")
      ->type_name("N");
  command->add_option("--sort-by", options->sort_by, "Sort by this field")
      ->check(CLI::IsMember(SortFieldNames()).description(""))
      ->type_name(
          "pid|type|name|owner|steps|state|age|mailbox|bytes|yields|priority|"
          "outcome|ran");
  CLI::Option* const watch =
      command->add_flag("--watch", options->watch,
                        "Print the list again and again, until interrupted");
  command
      ->add_option("--interval", options->interval,
                   "With --watch: time between two lists, 100ms to 1h")
      ->type_name("DURATION")
      ->needs(watch)
      ->capture_default_str();
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunPs(invocation, *options);
    };
  });
}

}  // namespace actord::client
