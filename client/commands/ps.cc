// actorctl ps

#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/commands/known_type.h"
#include "client/commands/labels/label_options.h"
#include "client/output/exit_status.h"
#include "client/output/message_json.h"
#include "client/output/process_fields.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct PsOptions {
  std::string process_type;
  std::string state;
  std::string parent;
  std::vector<std::string> labels;
  std::string outcome;
  std::string owner;
  bool is_ended = false;
  uint64_t limit = 0;

  [[nodiscard]] bool ListsEnded() const {
    return is_ended || state == "ended" || !outcome.empty();
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

std::string FirstName(const v1::Process& process) {
  return process.names().empty() ? "" : process.names(0);
}

Item ProcessItem(const v1::Process& process) {
  return {.json = [&process] { return ToJson(process); },
          .name = [&process] { return process.pid(); },
          .cells =
              [&process] {
                return std::vector<std::string>{
                    process.pid(),
                    process.process_type(),
                    process.method(),
                    EnumName(process.state()),
                    ShortDuration(absl::Now() - ToTime(process.create_time())),
                    std::to_string(process.steps()),
                    std::to_string(process.mailbox_messages()),
                    std::to_string(process.yields_outstanding()),
                    FirstName(process),
                    std::to_string(process.mailbox_bytes()),
                    process.cancel_requested() ? "yes" : "no",
                    std::to_string(process.priority()),
                    process.parent_pid(),
                    LabelsText(process),
                    process.owner(),
                    DurabilityText(process)};
              }};
}

Item EndedItem(const v1::Process& process) {
  return {.json = [&process] { return ToJson(process); },
          .name = [&process] { return process.pid(); },
          .cells =
              [&process] {
                const absl::Time ended = ToTime(process.end_time());
                return std::vector<std::string>{
                    process.pid(),
                    process.process_type(),
                    EnumName(process.end()),
                    ShortDuration(absl::Now() - ended),
                    ShortDuration(ended - ToTime(process.create_time())),
                    std::to_string(process.steps()),
                    FirstName(process),
                    process.end_message(),
                    LabelsText(process),
                    process.owner(),
                    DurabilityText(process)};
              }};
}

std::vector<Column> LiveColumns() {
  return {{.heading = "PID"},
          {.heading = "TYPE"},
          {.heading = "METHOD"},
          {.heading = "STATE"},
          {.heading = "AGE", .number = true},
          {.heading = "STEPS", .number = true},
          {.heading = "MAILBOX", .number = true},
          {.heading = "YIELDS", .number = true},
          {.heading = "NAME", .if_filled = true},
          {.heading = "BYTES", .wide_only = true, .number = true},
          {.heading = "CANCELLED", .wide_only = true},
          {.heading = "PRIORITY", .wide_only = true, .number = true},
          {.heading = "PARENT", .wide_only = true},
          {.heading = "LABELS", .wide_only = true},
          {.heading = "OWNER", .wide_only = true},
          {.heading = "DURABILITY", .wide_only = true}};
}

std::vector<Column> EndedColumns() {
  return {{.heading = "PID"},
          {.heading = "TYPE"},
          {.heading = "OUTCOME"},
          {.heading = "ENDED", .number = true},
          {.heading = "RAN", .number = true},
          {.heading = "STEPS", .number = true},
          {.heading = "NAME", .if_filled = true},
          {.heading = "MESSAGE", .wide_only = true},
          {.heading = "LABELS", .wide_only = true},
          {.heading = "OWNER", .wide_only = true},
          {.heading = "DURABILITY", .wide_only = true}};
}

ExitStatus RunPs(Invocation& invocation, const PsOptions& options) {
  const bool lists_ended = options.ListsEnded();
  if (!lists_ended && !options.owner.empty()) {
    return invocation.Fail(
        UsageError("--owner selects ended processes only; add --ended"));
  }
  if (lists_ended && !options.parent.empty()) {
    return invocation.Fail(
        UsageError("--parent selects live processes only, because the parents "
                   "of ended ones are not known"));
  }
  if (lists_ended && !options.state.empty() && options.state != "ended") {
    return invocation.Fail(UsageError("--state " + options.state +
                                      " is a state of a live process; leave "
                                      "it out to list ended ones"));
  }
  v1::ListProcessesRequest request;
  request.set_process_type(options.process_type);
  if (lists_ended) {
    request.set_state(v1::PROCESS_STATE_ENDED);
  } else if (!options.state.empty()) {
    request.set_state(States().at(options.state));
  }
  request.set_parent_pid(options.parent);
  for (const std::string& label : options.labels) request.add_labels(label);
  if (!options.outcome.empty()) request.set_end(Ends().at(options.outcome));
  request.set_owner(options.owner);
  ListWriter writer(invocation.out(), invocation.style(),
                    lists_ended ? EndedColumns() : LiveColumns());
  const absl::Status status = ForEachElement(
      request, options.limit,
      [&](const v1::ListProcessesRequest& page) {
        return invocation.client().ListProcesses(page, invocation.Quick());
      },
      [](const v1::ListProcessesResponse& response) -> const auto& {
        return response.processes();
      },
      [&](const v1::Process& process) {
        writer.Add(lists_ended ? EndedItem(process) : ProcessItem(process));
      },
      [&] { writer.EndPage(); });
  if (!status.ok()) return invocation.Fail(status);
  writer.Finish();
  if (writer.empty() && !options.process_type.empty()) {
    WarnOfUnknownType(invocation, options.process_type, "");
  }
  invocation.SayEmpty(writer, lists_ended
                                  ? "no result of an ended process is kept, or "
                                    "none matches"
                                  : "no process is live, or none matches");
  return ExitStatus::kDone;
}

constexpr char kPsFooter[] = R"(
NAME is the name that a process has held longest, and is a column if one of the first 1000
processes has a name. -o wide shows the labels.

--ended lists the processes that have ended, the newest end first, for as long as their
results are kept ("actorctl await" prints them). ENDED is how long ago, RAN how long they
lived. "actorctl failures" also has failures whose result is not kept.

Examples:
  actorctl ps --type order --state blocked
  actorctl ps -o wide --limit 20
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
      ->add_option("--parent", options->parent, "Only children of this process")
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
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunPs(invocation, *options);
    };
  });
}

}  // namespace actord::client
