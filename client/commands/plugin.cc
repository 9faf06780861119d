// actorctl plugin

#include <poll.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/commands/commands.h"
#include "client/commands/plugins/check.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct LoadOptions {
  std::string path;
  bool new_processes_only = false;
  bool wait = false;
};

// Pause between two polls for the progress of an upgrade: a poll walks over all
// processes.
constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
// Time between two lines about the processes that --wait still waits for.
constexpr absl::Duration kSayEvery = absl::Seconds(5);

// The progress of the processes of former versions.
struct UpgradeCounts {
  uint64_t to_come = 0;
  uint64_t upgraded = 0;
  uint64_t declined = 0;
  // Live processes of former versions, of types that the new version has.
  uint64_t former = 0;
};

bool HasType(const v1::PluginVersion& version, const std::string& name) {
  return std::any_of(
      version.process_types().begin(), version.process_types().end(),
      [&](const v1::ProcessTypeVersion& type) { return type.name() == name; });
}

// `loaded` is one of `all`.
UpgradeCounts CountUpgrades(const v1::ListPluginsResponse& all,
                            const v1::PluginVersion& loaded) {
  UpgradeCounts counts;
  for (const v1::ProcessTypeVersion& type : loaded.process_types()) {
    counts.to_come += type.processes_to_come();
    counts.upgraded += type.upgrades_total();
    counts.declined += type.upgrades_declined_total();
  }
  for (const v1::PluginVersion& version : all.plugins()) {
    if (&version == &loaded) continue;
    for (const v1::ProcessTypeVersion& type : version.process_types()) {
      if (HasType(loaded, type.name())) counts.former += type.processes_live();
    }
  }
  return counts;
}

absl::StatusOr<UpgradeCounts> CountUpgrades(Invocation& invocation,
                                            const v1::Plugin& plugin) {
  v1::ListPluginsRequest request;
  request.set_name(plugin.name());
  CallOptions options = invocation.Waiting();
  options.deadline =
      std::min(options.deadline, absl::Now() + kDefaultCallTimeout);
  const auto response = invocation.client().ListPlugins(request, options);
  if (!response.ok()) return response.status();
  for (auto version = response->plugins().rbegin();
       version != response->plugins().rend(); ++version) {
    if (version->plugin().version() == plugin.version()) {
      return CountUpgrades(*response, *version);
    }
  }
  return absl::InternalError("the daemon does not list the loaded plugin");
}

// False: the time has passed.
bool Interrupted(const Cancellation& cancellation, absl::Duration pause) {
  pollfd wait = {.fd = cancellation.fd(), .events = POLLIN, .revents = 0};
  poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(pause)));
  return cancellation.cancelled();
}

// A wait that does not end, or ends early, changes nothing about the load.
std::string StillToContinue(const v1::Plugin& plugin,
                            const UpgradeCounts& counts) {
  const bool one = counts.to_come == 1;
  return OneLine(plugin.name() + " " + plugin.version()) +
         " is in force, and " + WithThousands(counts.to_come) +
         (one ? " process has" : " processes have") +
         " still to continue in it; see \"actorctl plugin list " +
         OneLine(plugin.name()) + "\"";
}

absl::StatusOr<UpgradeCounts> WaitForProcesses(Invocation& invocation,
                                               const v1::Plugin& plugin) {
  UpgradeCounts last;
  const auto say = [&] {
    invocation.err() << "actorctl: " << StillToContinue(plugin, last) << "\n"
                     << std::flush;
  };
  absl::Time next_line = absl::Now() + kSayEvery;
  for (absl::Duration pause = kFirstPause;;
       pause = std::min(2 * pause, kLongestPause)) {
    const absl::StatusOr<UpgradeCounts> counts =
        CountUpgrades(invocation, plugin);
    // Interrupted in the call.
    if (absl::IsCancelled(counts.status()) && last.to_come != 0) say();
    if (!counts.ok() || counts->to_come == 0) return counts;
    last = *counts;
    if (absl::Now() + pause >= invocation.deadline()) {
      return absl::DeadlineExceededError(StillToContinue(plugin, last));
    }
    if (Interrupted(invocation.environment().cancellation, pause)) {
      say();
      return absl::CancelledError("interrupted");
    }
    if (absl::Now() < next_line) continue;
    say();
    next_line = absl::Now() + kSayEvery;
  }
}

std::string NamesOf(
    const google::protobuf::RepeatedPtrField<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text.empty() ? "-" : text;
}

void WriteLoad(Invocation& invocation, const v1::LoadPluginResponse& loaded,
               const UpgradeCounts* counts) {
  Json json = ToJson(loaded);
  if (counts != nullptr) {
    json["upgraded"] = counts->upgraded;
    json["declined"] = counts->declined;
  }
  WriteOne(
      invocation.out(), invocation.style(), json, loaded.plugin().name(), [&] {
        std::vector<std::pair<std::string, std::string>> fields = {
            {"Plugin",
             OneLine(loaded.plugin().name() + " " + loaded.plugin().version())},
            {"Replaces", loaded.replaced_version().empty()
                             ? "-"
                             : OneLine(loaded.replaced_version())},
            {"Process types", NamesOf(loaded.process_types())},
            {"Commands", NamesOf(loaded.commands())},
            {"Processes told", WithThousands(loaded.processes_told())}};
        if (counts != nullptr) {
          fields.emplace_back("Upgraded", WithThousands(counts->upgraded));
          fields.emplace_back("Declined", WithThousands(counts->declined));
        }
        WriteFields(invocation.out(), fields);
      });
}

// Says why live processes have kept their former version.
void WriteFormer(Invocation& invocation, const UpgradeCounts& counts) {
  if (counts.former == 0) return;
  invocation.err()
      << "actorctl: "
      << (counts.former == 1 ? "1 process stays in its old version: "
                             : WithThousands(counts.former) +
                                   " processes stay in their old version: ")
      << (counts.declined > 0
              ? "the daemon's log says why the first of each type has declined"
              : "a live process continues in the new version if its type has "
                "a Snapshot and the new type has a Restore")
      << "\n";
}

ExitStatus RunLoad(Invocation& invocation, const LoadOptions& options) {
  v1::LoadPluginRequest request;
  request.set_path(options.path);
  request.set_new_processes_only(options.new_processes_only);
  const auto loaded =
      invocation.client().LoadPlugin(request, invocation.Quick());
  if (!loaded.ok()) return invocation.Fail(loaded.status());
  if (!options.wait) {
    WriteLoad(invocation, *loaded, nullptr);
    return ExitStatus::kDone;
  }
  const auto counts = WaitForProcesses(invocation, loaded->plugin());
  if (!counts.ok()) return invocation.Fail(counts.status());
  WriteLoad(invocation, *loaded, &*counts);
  if (!options.new_processes_only) WriteFormer(invocation, *counts);
  return ExitStatus::kDone;
}

// Enough of the digest to tell files apart.
std::string ShortDigest(const v1::Plugin& plugin) {
  constexpr size_t kDigits = 12;
  return plugin.sha256().empty() ? "-"
                                 : OneLine(plugin.sha256().substr(0, kDigits));
}

// One row for each process type of the version, at least one row.
void AddRows(const v1::PluginVersion& version, ListWriter& writer) {
  const auto add = [&](const v1::ProcessTypeVersion* type) {
    const auto count = [type](uint64_t number) {
      return type == nullptr ? std::string("-") : WithThousands(number);
    };
    const v1::ProcessTypeVersion none;
    const v1::ProcessTypeVersion& of = type == nullptr ? none : *type;
    writer.Add({.json = nullptr, .name = nullptr, .cells = [&] {
                  return std::vector<std::string>{
                      version.plugin().name(),
                      OneLine(version.plugin().version()),
                      type == nullptr ? "-" : of.name(),
                      (type == nullptr ? version.in_force() : of.in_force())
                          ? "yes"
                          : "no",
                      count(of.processes_live()),
                      count(of.processes_to_come()),
                      count(of.upgrades_total()),
                      count(of.upgrades_declined_total()),
                      ShortDigest(version.plugin()),
                      version.plugin().path().empty()
                          ? "-"
                          : OneLine(version.plugin().path())};
                }});
  };
  for (const v1::ProcessTypeVersion& type : version.process_types()) {
    add(&type);
  }
  if (version.process_types().empty()) add(nullptr);
}

ExitStatus RunList(Invocation& invocation, const std::string& name) {
  v1::ListPluginsRequest request;
  request.set_name(name);
  const auto response =
      invocation.client().ListPlugins(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "PLUGIN"},
                     {.heading = "VERSION"},
                     {.heading = "TYPE"},
                     {.heading = "IN FORCE"},
                     {.heading = "LIVE", .number = true},
                     {.heading = "TO COME", .number = true},
                     {.heading = "UPGRADED", .number = true},
                     {.heading = "DECLINED", .number = true},
                     {.heading = "SHA-256"},
                     {.heading = "PATH", .wide_only = true}});
  for (const v1::PluginVersion& version : response->plugins()) {
    if (invocation.ForPeople()) {
      AddRows(version, writer);
    } else {
      writer.Add({.json = [&] { return ToJson(version); },
                  .name = [&] { return version.plugin().name(); },
                  .cells = nullptr});
    }
  }
  writer.Finish();
  invocation.SayEmpty(writer, "no plugin is loaded");
  return ExitStatus::kDone;
}

constexpr char kPluginFooter[] = R"(
A plugin, or a new version of a plugin, takes effect while the daemon runs. A load that
fails changes nothing. Loaded plugins stay loaded until the daemon ends.

Examples:
  actorctl plugin load orders-2.so --wait
  actorctl plugin list -o wide
  actorctl plugin check orders-2.so --store /backup/now
)";

constexpr char kLoadFooter[] = R"(
PATH is a path on the daemon's machine, below one of the daemon's plugin directories
(--plugin-dir of actord), absolute or relative to them. The daemon loads a private copy: you
can overwrite, rename or remove the file while the daemon runs.

New processes use the new version. Live processes continue in it if their type can hand
over its state. --wait waits until each has continued in it or has declined; without
--timeout there is no deadline.

Examples:
  actorctl plugin load orders-2.so
  actorctl --timeout 1m plugin load orders-2.so --wait -o json | jq .declined
)";

constexpr char kPluginListFooter[] = R"(
Lists every version that was loaded. TO COME counts the processes of former versions that
have still to continue in this version; UPGRADED counts the processes that have, DECLINED
the processes that refused. SHA-256 has the first 12 digits of the digest of the file;
-o json has all of them. -o name prints the names of the plugins.

Examples:
  actorctl plugin list
  actorctl plugin list orders -o json | jq .process_types
)";

void AddLoad(CLI::App& parent, Action& chosen) {
  auto options = std::make_shared<LoadOptions>();
  CLI::App* command =
      parent.add_subcommand("load", "Load a plugin or a new version of one");
  command->footer(kLoadFooter);
  command->add_option("PATH", options->path, "The shared object")
      ->required()
      ->type_name("");
  command->add_flag("--new-processes-only", options->new_processes_only,
                    "Leave live processes in their version");
  command->add_flag("--wait", options->wait,
                    "Wait until live processes have continued or declined");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunLoad(invocation, *options);
    };
  });
}

void AddList(CLI::App& parent, Action& chosen) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = parent.add_subcommand(
      "list", "List the versions of plugins, and their processes");
  command->footer(kPluginListFooter);
  command->add_option("NAME", *name, "Only this plugin [all]")->type_name("");
  command->callback([&chosen, name] {
    chosen = [name](Invocation& invocation) {
      return RunList(invocation, *name);
    };
  });
}

}  // namespace

void AddPlugin(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "plugin", "Load and check plugins, and list their versions");
  command->footer(kPluginFooter);
  command->require_subcommand(1);
  command->fallthrough();
  AddLoad(*command, chosen);
  AddList(*command, chosen);
  AddPluginCheck(*command, chosen);
}

}  // namespace actord::client
