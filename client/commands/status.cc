// actorctl status

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text;
}

std::string BootTreeText(v1::BootTree tree) {
  switch (tree) {
    case v1::BOOT_TREE_STARTED:
      return "started from the file of boot.tree";
    case v1::BOOT_TREE_CONTINUED:
      return "goes on from the store";
    case v1::BOOT_TREE_DIFFERS:
      return "goes on from the store; the file of boot.tree differs (see "
             "actord --boot-tree-replace)";
    default:
      return "none";
  }
}

// Dormant processes are live, and are not in memory, which the limit is about.
std::string LiveProcesses(const v1::GetStatusResponse& status) {
  const uint64_t live = status.counters().processes_live();
  const uint64_t dormant = status.counters().processes_dormant();
  const uint64_t most = status.limits().max_processes();
  const bool is_full = most != 0 && live >= dormant + most;
  return WithThousands(live) + (most == 0 ? "" : " of " + WithThousands(most)) +
         " live (" + (is_full ? "full, " : "") + WithThousands(dormant) +
         " dormant)";
}

// The counters of limits that have refused something, by their names:
// "3 process, 1 memory".
std::string ReachedLimits(const v1::Counters& counters) {
  constexpr std::string_view kEnd = "_limit_total";
  const Json json = ToJson(counters);
  std::string text;
  for (const auto& [name, value] : json.items()) {
    if (!name.ends_with(kEnd) || value == 0) continue;
    std::string limit = name.substr(0, name.size() - kEnd.size());
    std::replace(limit.begin(), limit.end(), '_', ' ');
    text += (text.empty() ? "" : ", ") + WithThousands(value.get<uint64_t>()) +
            " " + limit;
  }
  return text.empty() ? "none" : text;
}

Fields Overview(const v1::GetStatusResponse& status) {
  const v1::Counters& counters = status.counters();
  return {
      {"Version", status.version()},
      {"State", EnumName(status.state())},
      {"Incarnation", status.incarnation()},
      {"Up", ShortDuration(ToDuration(status.uptime())) + ", since " +
                 Rfc3339(ToTime(status.start_time()))},
      {"Workers", std::to_string(status.workers())},
      {"Boot tree", BootTreeText(status.boot_tree())},
      {"Processes",
       LiveProcesses(status) + ", " +
           WithThousands(counters.processes_started_total()) + " started, " +
           WithThousands(counters.processes_ended_total()) + " ended, " +
           WithThousands(counters.processes_failed_total()) +
           " of them failed"},
      {"Steps", WithThousands(counters.steps_total())},
      {"Messages",
       WithThousands(counters.messages_total()) + ", " +
           WithThousands(counters.dead_letters_total()) + " dead letters (" +
           WithThousands(counters.dead_letters_kept()) + " kept), " +
           WithThousands(counters.late_replies_total()) + " late replies"},
      {"Yields",
       WithThousands(counters.yields_total()) + ", " +
           WithThousands(counters.completions_total()) +
           " completions; waiting: " +
           WithThousands(counters.yields_external_waiting()) + " external, " +
           WithThousands(counters.commands_pooled_waiting()) + " pooled"},
      {"Results", WithThousands(counters.results_kept()) + " kept, " +
                      ShortBytes(counters.results_kept_bytes())},
      {"Watches",
       WithThousands(counters.watches_open()) + " open, " +
           WithThousands(counters.watch_events_total()) + " events (" +
           WithThousands(counters.watch_events_kept()) + " kept), " +
           WithThousands(counters.watch_events_missed_total()) + " missed"},
      {"Limits reached", ReachedLimits(counters)},
      {"Upgrades", WithThousands(counters.upgrades_total()) + ", " +
                       WithThousands(counters.upgrades_declined_total()) +
                       " declined"},
      {"Connections",
       WithThousands(counters.connections_open()) + " open, " +
           WithThousands(counters.connections_accepted_total()) +
           " accepted, " +
           WithThousands(counters.connection_limit_total() +
                         counters.connection_address_limit_total() +
                         counters.connection_descriptor_limit_total()) +
           " refused, " + WithThousands(counters.connections_cut_total()) +
           " cut"},
      {"Calls refused",
       WithThousands(counters.calls_unauthenticated_total()) +
           " without a valid token, " +
           WithThousands(counters.calls_denied_total()) + " not permitted, " +
           WithThousands(counters.calls_observed_total()) + " observed only"},
      {"Log",
       WithThousands(counters.log_lines_dropped_total()) + " lines dropped"},
  };
}

Fields LimitFields(const v1::Limits& limits) {
  return {
      {"Payload", ShortBytes(limits.max_payload_bytes())},
      {"Processes", WithThousands(limits.max_processes())},
      {"Mailbox", WithThousands(limits.max_mailbox_messages()) + " events, " +
                      ShortBytes(limits.max_mailbox_bytes())},
      {"Yields",
       WithThousands(limits.max_yields_per_process()) + " a process; " +
           ShortBytes(limits.max_external_yield_bytes()) + " external; " +
           (limits.has_default_yield_timeout()
                ? "time out after " +
                      ShortDuration(ToDuration(limits.default_yield_timeout()))
                : "no timeout of their own")},
      {"Process life",
       (limits.max_steps_per_process() == 0
            ? std::string("any number of steps, ")
            : WithThousands(limits.max_steps_per_process()) + " steps, ") +
           (limits.has_max_lifetime()
                ? ShortDuration(ToDuration(limits.max_lifetime()))
                : "any time")},
      {"Dead letters", WithThousands(limits.max_dead_letters()) + ", " +
                           ShortBytes(limits.max_dead_letters_bytes())},
      {"Failures", WithThousands(limits.max_failures()) + ", " +
                       ShortBytes(limits.max_failures_bytes())},
      {"Watches", WithThousands(limits.max_watches()) + " open; " +
                      WithThousands(limits.max_watch_events()) + " events, " +
                      ShortBytes(limits.max_watch_bytes()) + ", for " +
                      (limits.has_watch_retention()
                           ? ShortDuration(ToDuration(limits.watch_retention()))
                           : "ever") +
                      " after the last"},
      {"Results", ShortBytes(limits.max_results_bytes()) + ", for " +
                      ShortDuration(ToDuration(limits.result_retention()))},
      {"Request ids",
       WithThousands(limits.max_request_ids()) + ", for " +
           ShortDuration(ToDuration(limits.request_id_retention()))},
      {"Yield answers",
       WithThousands(limits.max_yield_answers()) + ", for " +
           ShortDuration(ToDuration(limits.yield_answer_retention()))},
  };
}

// Every field of the message, so that a new counter needs no code here.
Fields CounterFields(const v1::Counters& counters) {
  const Json json = ToJson(counters);
  Fields fields;
  for (const auto& [name, value] : json.items()) {
    fields.emplace_back(name, value.is_number_unsigned()
                                  ? WithThousands(value.get<uint64_t>())
                                  : value.dump());
  }
  return fields;
}

// Writes a heading and the fields below it.
void WriteFieldSection(Invocation& invocation, const std::string& heading,
                       Fields fields) {
  invocation.out() << '\n' << Bold(heading, invocation.style().colour) << '\n';
  for (auto& [name, value] : fields) name.insert(0, "  ");
  WriteFields(invocation.out(), fields);
}

// Writes a heading and a list of `items` below it.
template <typename Items, typename Cells>
void WriteSection(Invocation& invocation, const std::string& heading,
                  std::vector<Column> columns, const Items& items,
                  const Cells& cells) {
  invocation.out() << '\n' << Bold(heading, invocation.style().colour) << '\n';
  OutputStyle style = invocation.style();
  style.colour = false;
  ListWriter writer(invocation.out(), style, std::move(columns));
  for (const auto& item : items) {
    writer.Add({.json = nullptr, .name = nullptr, .cells = [&] {
                  return cells(item);
                }});
  }
  writer.Finish();
}

void WriteWorkers(Invocation& invocation, const v1::GetStatusResponse& status) {
  WriteSection(invocation,
               "Workers (" +
                   WithThousands(status.counters().processes_ready_global()) +
                   " ready in the queue of all)",
               {{.heading = "  WORKER"},
                {.heading = "TURNS"},
                {.heading = "STEALS"},
                {.heading = "WAKE-UPS"},
                {.heading = "READY"},
                {.heading = "HAND-OVERS"}},
               status.worker_status(), [](const v1::WorkerStatus& worker) {
                 return std::vector<std::string>{
                     "  " + std::to_string(worker.index()),
                     WithThousands(worker.turns_total()),
                     WithThousands(worker.steals_total()),
                     WithThousands(worker.wake_ups_total()),
                     WithThousands(worker.processes_ready()),
                     WithThousands(worker.hand_overs_total())};
               });
}

void WriteTable(Invocation& invocation, const v1::GetStatusResponse& status) {
  WriteFields(invocation.out(), Overview(status));
  WriteSection(
      invocation, "Process types",
      {{.heading = "  NAME"}, {.heading = "METHODS"}, {.heading = "PLUGIN"}},
      status.process_types(), [](const v1::ProcessType& type) {
        return std::vector<std::string>{"  " + type.name(),
                                        Joined(type.methods()), type.plugin()};
      });
  WriteSection(invocation, "Commands",
               {{.heading = "  NAME"},
                {.heading = "CARRIED OUT"},
                {.heading = "PLUGIN"}},
               status.commands(), [](const v1::Command& command) {
                 return std::vector<std::string>{"  " + command.name(),
                                                 EnumName(command.kind()),
                                                 command.plugin()};
               });
  WriteSection(
      invocation, "Plugins",
      {{.heading = "  NAME"}, {.heading = "VERSION"}, {.heading = "PATH"}},
      status.plugins(), [](const v1::Plugin& plugin) {
        return std::vector<std::string>{"  " + plugin.name(), plugin.version(),
                                        plugin.path()};
      });
  if (invocation.options().format != Format::kWide) return;
  WriteFieldSection(invocation, "Counters", CounterFields(status.counters()));
  WriteFieldSection(invocation, "Limits", LimitFields(status.limits()));
  WriteWorkers(invocation, status);
}

ExitStatus RunStatus(Invocation& invocation) {
  const auto response = invocation.client().GetStatus({}, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  WriteOne(invocation.out(), invocation.style(), ToJson(*response),
           response->incarnation(), [&] { WriteTable(invocation, *response); });
  return ExitStatus::kDone;
}

}  // namespace

void AddStatus(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "status", "Show version, types, plugins and counters of the daemon");
  command->footer(
      "\n-o wide adds all counters, the limits in force and the workers; -o "
      "name "
      "prints the incarnation.\n"
      "\nExamples:\n"
      "  actorctl status -o wide\n"
      "  actorctl status -o json | jq .counters.processes_live");
  command->callback([&chosen] { chosen = RunStatus; });
}

}  // namespace actord::client
