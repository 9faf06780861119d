// actorctl schedule

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/calls/error.h"
#include "client/cli/paging.h"
#include "client/commands/commands.h"
#include "client/commands/schedules/add_schedule.h"
#include "client/commands/schedules/schedule_calls.h"
#include "client/output/message_json.h"
#include "client/output/output.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// Unit: characters.
constexpr size_t kErrorWidth = 48;

// Whether a call has failed because its process has ended meanwhile.
bool HasEnded(const absl::Status& status) {
  const std::string reason = DetailsOf(status).reason;
  return absl::IsNotFound(status) || reason == "PROCESS_ENDED" ||
         reason == "CALLEE_ENDED";
}

ExitStatus RunNamed(Invocation& invocation, const std::string& name,
                    const std::string& topic) {
  const absl::StatusOr<Json> state =
      AskSchedule(invocation, "@" + (kSchedulePrefix + name), topic);
  if (!state.ok()) return invocation.Fail(state.status(), "schedule " + name);
  WriteSchedule(invocation, name, *state);
  return ExitStatus::kDone;
}

struct Listed {
  // Empty: the process has no name that begins with kSchedulePrefix.
  std::string name = {};
  // "@" and another name of the process; empty: it has none.
  std::string other_name = {};
  v1::Process process;
};

absl::StatusOr<std::vector<Listed>> FindSchedules(Invocation& invocation) {
  v1::ListProcessesRequest processes;
  processes.set_process_type(kScheduleType);
  std::vector<Listed> found;
  absl::Status status = ForEachElement(
      processes, 0,
      [&](const v1::ListProcessesRequest& page) {
        return invocation.client().ListProcesses(page, invocation.Quick());
      },
      [](const v1::ListProcessesResponse& response) -> const auto& {
        return response.processes();
      },
      [&](const v1::Process& process) {
        found.push_back({.process = process});
      },
      [] {});
  if (!status.ok()) return status;
  v1::ListNamesRequest request;
  request.set_prefix(kSchedulePrefix);
  std::map<std::string, std::string> names;
  status = ForEachElement(
      request, 0,
      [&](const v1::ListNamesRequest& page) {
        return invocation.client().ListNames(page, invocation.Quick());
      },
      [](const v1::ListNamesResponse& response) -> const auto& {
        return response.names();
      },
      [&](const v1::Name& name) {
        names.emplace(name.pid(),
                      name.name().substr(sizeof(kSchedulePrefix) - 1));
      },
      [] {});
  if (!status.ok()) return status;
  for (Listed& each : found) {
    const auto name = names.find(each.process.pid());
    if (name != names.end()) {
      each.name = name->second;
    } else if (each.process.names_size() > 0) {
      each.other_name = "@" + each.process.names(0);
    }
  }
  return found;
}

ExitStatus RunList(Invocation& invocation) {
  const absl::StatusOr<std::vector<Listed>> found = FindSchedules(invocation);
  if (!found.ok()) return invocation.Fail(found.status());
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "NAME"},
                     {.heading = "STATE"},
                     {.heading = "WHEN"},
                     {.heading = "WHAT"},
                     {.heading = "NEXT"},
                     {.heading = "LAST RUN"},
                     {.heading = "RUNS", .number = true},
                     {.heading = "FAILURES", .number = true},
                     {.heading = "LAST ERROR"},
                     {.heading = "MISSED", .wide_only = true, .number = true},
                     {.heading = "CATCH-UP", .wide_only = true},
                     {.heading = "PID", .wide_only = true},
                     {.heading = "OWNER", .wide_only = true}});
  ExitStatus result = ExitStatus::kDone;
  for (const Listed& each : *found) {
    const std::string& name = each.name;
    const v1::Process& process = each.process;
    const std::string& pid = process.pid();
    const std::string& shown = name.empty() ? each.other_name : name;
    absl::StatusOr<Json> state = AskSchedule(invocation, pid, "show");
    // It has ended since it was listed.
    if (!state.ok() && HasEnded(state.status())) continue;
    if (!state.ok()) {
      const ExitStatus failed = invocation.Fail(
          state.status(),
          "schedule " + (shown.empty() ? pid : shown + " (" + pid + ")"));
      if (result == ExitStatus::kDone) result = failed;
      if (failed == ExitStatus::kUnavailable ||
          failed == ExitStatus::kInterrupted) {
        break;
      }
      state = Json{{"state", "unknown"}};
    }
    Json json = {{"name", name}, {"pid", pid}};
    if (!process.owner().empty()) json["owner"] = process.owner();
    json.update(*state);
    const auto field = [&](const char* of) { return ScheduleField(json, of); };
    writer.Add({.json = [&] { return json; },
                .name = [&] { return name.empty() ? pid : name; },
                .cells =
                    [&] {
                      return std::vector<std::string>{
                          OneLine(shown.empty() ? pid : shown),
                          field("state"),
                          field("when"),
                          field("what"),
                          field("next"),
                          field("last_run"),
                          field("runs"),
                          field("failures"),
                          OneLine(field("last_error"), kErrorWidth),
                          field("missed"),
                          field("catch_up"),
                          OneLine(pid),
                          field("owner")};
                    }});
  }
  writer.EndPage();
  writer.Finish();
  if (result == ExitStatus::kDone) {
    invocation.SayEmpty(writer, "there is no schedule");
  }
  return result;
}

constexpr char kScheduleFooter[] = R"(
A schedule submits a process or sends a message, at an interval or at the times of a cron
expression in UTC. It is a process with the name schedule/NAME. If the daemon has a store, the
schedule survives the daemon, and each due time is run once.

Examples:
  actorctl schedule add nightly --cron '30 2 * * *' --submit report
  actorctl schedule add beat --every 30s --send-to @monitor --topic beat
  actorctl schedule list
  actorctl schedule pause nightly
  actorctl schedule remove beat
)";

constexpr char kListFooter[] = R"(
NAME of a schedule that "schedule add" has not started is @ and the name of its process, or
its PID. FAILURES counts runs whose process was not started, or whose message was not
delivered; LAST ERROR says why. MISSED counts due times that were left out (see add
--catch-up).

Examples:
  actorctl schedule list -o wide
  actorctl schedule list -o json | jq '.[] | select(.failures > 0)'
)";

void AddNamed(CLI::App& parent, Action& chosen, const std::string& topic,
              const std::string& does, const std::string& footer) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = parent.add_subcommand(topic, does);
  command->footer("\n" + footer + "\n");
  command->add_option("NAME", *name, "Name of the schedule")
      ->required()
      ->type_name("");
  command->callback([&chosen, name, topic] {
    chosen = [name, topic](Invocation& invocation) {
      return RunNamed(invocation, *name, topic);
    };
  });
}

}  // namespace

void AddSchedule(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "schedule", "Submit processes and send messages at set times");
  command->footer(kScheduleFooter);
  command->require_subcommand(1);
  command->fallthrough();
  AddAddSchedule(*command, chosen);
  CLI::App* list = command->add_subcommand("list", "List the schedules");
  list->footer(kListFooter);
  list->callback([&chosen] {
    chosen = [](Invocation& invocation) { return RunList(invocation); };
  });
  AddNamed(*command, chosen, "show", "Show one schedule",
           "Examples:\n  actorctl schedule show nightly");
  AddNamed(
      *command, chosen, "pause", "Run nothing until \"schedule resume\"",
      "Due times that pass during the pause are not run later. Runs in "
      "progress continue.\n\nExamples:\n  actorctl schedule pause nightly");
  AddNamed(*command, chosen, "resume", "Continue with the next due time",
           "Examples:\n  actorctl schedule resume nightly");
  AddNamed(*command, chosen, "remove", "End a schedule",
           "Prints the schedule as it was at its end, with the state removed. "
           "Processes that it has submitted continue.\n\n"
           "Examples:\n  actorctl schedule remove nightly");
}

}  // namespace actord::client
