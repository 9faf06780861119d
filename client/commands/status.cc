// actorctl status

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

// The place of the fields about the machine: behind the number of workers.
constexpr int kFieldsBeforeMachine = 5;

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

std::string Percent(uint64_t part, uint64_t whole) {
  return absl::StrFormat("%.0f %%",
                         100 * static_cast<double>(part) /
                             static_cast<double>(std::max<uint64_t>(whole, 1)));
}

// Dormant processes are live, and are not in memory, which the limit is about.
// "8 of 8 live (full, 2 dormant, 1 in quarantine)".
std::string LiveProcesses(const v1::GetStatusResponse& status) {
  const uint64_t live = status.counters().processes_live();
  const uint64_t dormant = status.counters().processes_dormant();
  const uint64_t quarantined = status.counters().processes_quarantined();
  const uint64_t most = status.limits().max_processes();
  const bool is_full = most != 0 && live >= dormant + most;
  return WithThousands(live) + (most == 0 ? "" : " of " + WithThousands(most)) +
         " live (" + (is_full ? "full, " : "") + WithThousands(dormant) +
         " dormant" +
         (quarantined == 0
              ? ""
              : ", " + WithThousands(quarantined) + " in quarantine") +
         ")";
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

// "2 with a result, 3 failed, 1 cancelled or terminated".
std::string EndsText(const v1::Counters& counters) {
  const uint64_t ended = counters.processes_ended_total();
  const uint64_t without = std::min(counters.processes_failed_total(), ended);
  const uint64_t failed = std::min(counters.process_failures_total(), without);
  return WithThousands(ended - without) + " with a result, " +
         WithThousands(failed) + " failed, " + WithThousands(without - failed) +
         " cancelled or terminated";
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
      {"Processes", LiveProcesses(status) + ", " +
                        WithThousands(counters.processes_started_total()) +
                        " started, " +
                        WithThousands(counters.processes_ended_total()) +
                        " ended: " + EndsText(counters)},
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
      {"Refused at limits", ReachedLimits(counters)},
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

// "41 MiB resident; 120.0 MiB of 512.0 MiB, its limit (23 %)".
std::string MemoryText(const v1::Resources& resources) {
  std::string text = ShortBytes(resources.resident_bytes()) + " resident";
  if (!resources.has_memory_limit_bytes()) return text + "; no limit is set";
  return text + "; " + ShortBytes(resources.memory_used_bytes()) + " of " +
         ShortBytes(resources.memory_limit_bytes()) +
         ", the limit of the system (" +
         Percent(resources.memory_used_bytes(),
                 resources.memory_limit_bytes()) +
         "; work is refused from 85 % on)";
}

// "1.50 of 4 processors busy with actord in the last second (38 %), 3m12s of
// processor time since the start".
std::string ProcessorText(const v1::Resources& resources) {
  const double cpus = std::max<double>(resources.cpus(), 1);
  return absl::StrFormat(
      "%.2f of %d processors busy with actord in the last "
      "second (%.0f %%), %s of processor time since the start",
      resources.cpu_busy(), static_cast<int>(resources.cpus()),
      resources.cpu_busy() / cpus * 100,
      ShortDuration(ToDuration(resources.cpu_time())));
}

// "load 2.30 on 2 processors in the last minute; 22 GiB of 24 GiB of ...".
std::string MachineText(const v1::Resources& resources) {
  return absl::StrFormat(
      "load %.2f on %d processors in the last minute; %s of %s of memory "
      "available",
      resources.machine_load(), static_cast<int>(resources.cpus()),
      ShortBytes(resources.machine_memory_available_bytes()),
      ShortBytes(resources.machine_memory_bytes()));
}

// The fields about the machine; none from an older daemon.
Fields MachineFields(const v1::GetStatusResponse& status) {
  if (!status.has_resources()) return {};
  const v1::Resources& resources = status.resources();
  Fields fields = {{"Memory", MemoryText(resources)},
                   {"Processors", ProcessorText(resources)}};
  if (resources.has_machine_load()) {
    fields.emplace_back("Machine", MachineText(resources));
  }
  if (resources.has_store_disk_free_bytes()) {
    fields.emplace_back(
        "Disk of the store",
        ShortBytes(resources.store_disk_free_bytes()) + " free");
  }
  return fields;
}

std::string AmountText(const v1::LimitUse& use, uint64_t amount) {
  return use.unit() == "bytes" ? ShortBytes(amount) : WithThousands(amount);
}

std::vector<std::string> LimitUseCells(const v1::LimitUse& use) {
  return {
      "  " + use.name(),
      use.has_used() ? AmountText(use, use.used()) : "-",
      use.has_max() ? AmountText(use, use.max()) : "-",
      use.has_used() && use.has_max() ? Percent(use.used(), use.max()) : "-",
      use.has_full_since()
          ? "REACHED for " +
                ShortDuration(absl::Now() - ToTime(use.full_since()))
      : use.is_unset() ? "not set"
                       : "free",
      WithThousands(use.refused_total()),
      use.setting() + (use.needs_restart() ? " (restart)" : "")};
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
  Fields overview = Overview(status);
  const Fields machine = MachineFields(status);
  overview.insert(overview.begin() + kFieldsBeforeMachine, machine.begin(),
                  machine.end());
  WriteFields(invocation.out(), overview);
  if (status.limit_use_size() > 0) {
    WriteSection(invocation, "Use of limits",
                 {{.heading = "  LIMIT"},
                  {.heading = "USED", .number = true},
                  {.heading = "OF", .number = true},
                  {.heading = "FULL", .number = true},
                  {.heading = "NOW"},
                  {.heading = "REFUSED", .number = true},
                  {.heading = "SET BY"}},
                 status.limit_use(), LimitUseCells);
  }
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
      "\nIs the machine full? Memory and Processors show what the daemon uses "
      "of it. Use of\nlimits shows how full each limit is, whether it refuses "
      "work now (REACHED), and how much\nit has refused since the start.\n"
      "A process that was cancelled or terminated ended without a result, and "
      "has not failed;\nactorctl failures lists the processes that have "
      "failed.\n"
      "\n-o wide adds all counters, the limits in force and the workers; -o "
      "name "
      "prints the incarnation.\n"
      "\nExamples:\n"
      "  actorctl status -o wide\n"
      "  actorctl status -o json | jq .counters.processes_live");
  command->callback([&chosen] { chosen = RunStatus; });
}

}  // namespace actord::client
