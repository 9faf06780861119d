// actorctl ps

#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/paging.h"
#include "client/commands/commands.h"
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
  uint64_t limit = 0;
};

// The states by their names in lower case.
std::map<std::string, v1::ProcessState> States() {
  std::map<std::string, v1::ProcessState> states;
  for (int i = v1::ProcessState_MIN + 1; i <= v1::ProcessState_MAX; ++i) {
    if (!v1::ProcessState_IsValid(i)) continue;
    const auto state = static_cast<v1::ProcessState>(i);
    std::string name = EnumName(state);
    for (char& c : name) {
      c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
    }
    states.emplace(std::move(name), state);
  }
  return states;
}

std::vector<std::string> StateNames() {
  std::vector<std::string> names;
  for (const auto& [name, state] : States()) names.push_back(name);
  return names;
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
                    std::to_string(process.mailbox_bytes()),
                    process.cancel_requested() ? "yes" : "no",
                    std::to_string(process.priority()),
                    process.parent_pid(),
                    process.owner(),
                    DurabilityText(process)};
              }};
}

ExitStatus RunPs(Invocation& invocation, const PsOptions& options) {
  v1::ListProcessesRequest request;
  request.set_process_type(options.process_type);
  if (!options.state.empty()) request.set_state(States().at(options.state));
  request.set_parent_pid(options.parent);
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "PID"},
                     {.heading = "TYPE"},
                     {.heading = "METHOD"},
                     {.heading = "STATE"},
                     {.heading = "AGE", .number = true},
                     {.heading = "STEPS", .number = true},
                     {.heading = "MAILBOX", .number = true},
                     {.heading = "YIELDS", .number = true},
                     {.heading = "BYTES", .wide_only = true, .number = true},
                     {.heading = "CANCELLED", .wide_only = true},
                     {.heading = "PRIORITY", .wide_only = true, .number = true},
                     {.heading = "PARENT", .wide_only = true},
                     {.heading = "OWNER", .wide_only = true},
                     {.heading = "DURABILITY", .wide_only = true}});
  const absl::Status status = ForEachElement(
      request, options.limit,
      [&](const v1::ListProcessesRequest& page) {
        return invocation.client().ListProcesses(page, invocation.Quick());
      },
      [](const v1::ListProcessesResponse& response) -> const auto& {
        return response.processes();
      },
      [&](const v1::Process& process) { writer.Add(ProcessItem(process)); },
      [&] { writer.EndPage(); });
  if (!status.ok()) return invocation.Fail(status);
  writer.Finish();
  invocation.SayEmpty(writer, "no process is live, or none matches");
  return ExitStatus::kDone;
}

constexpr char kPsFooter[] = R"(
Ended processes are not listed; "actorctl await" prints their results.

Examples:
  actorctl ps --type order --state blocked
  actorctl ps -o wide --limit 20
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
      ->check(CLI::IsMember(StateNames()).description(""))
      ->type_name("ready|running|blocked|idle|dormant|quarantined");
  command
      ->add_option("--parent", options->parent, "Only children of this process")
      ->type_name("PID");
  command->add_option("--limit", options->limit, "Maximum number of rows [all]")
      ->type_name("N");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunPs(invocation, *options);
    };
  });
}

}  // namespace actord::client
