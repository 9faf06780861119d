#include "client/commands/plugins/check.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/commands/plugins/check_output.h"
#include "client/commands/store/store_path.h"
#include "client/output/text.h"
#include "client/plugin_check/daemon_limits.h"
#include "client/plugin_check/plugin_check.h"

namespace actord::client {
namespace {

struct CheckFlags {
  std::string file;
  std::string store;
  std::string config;
  uint64_t limit = 20;
  bool all = false;
  std::string process_timeout = "10s";
};

ExitStatus FailCheck(Invocation& invocation, const absl::Status& status) {
  if (absl::IsInvalidArgument(status)) {
    return invocation.Fail(UsageError(std::string(status.message())));
  }
  const ExitStatus exit = invocation.Fail(status);
  return absl::IsDataLoss(status) && exit == ExitStatus::kFailed
             ? ExitStatus::kStoreRefused
             : exit;
}

ExitStatus RunCheck(Invocation& invocation, const CheckFlags& flags) {
  if (flags.store.empty()) {
    return invocation.Fail(UsageError(
        "--store is missing: a check needs a copy of the store, or the store "
        "of a daemon that has ended. Make a copy with \"actorctl backup DIR\", "
        "while the daemon serves, and check with \"actorctl plugin check " +
        flags.file +
        " --store DIR\". To check only whether a daemon loads the file: "
        "\"actord --check-config --plugin " +
        flags.file + "\""));
  }
  const auto process_timeout = ParseDuration(flags.process_timeout);
  if (!process_timeout.ok()) {
    return invocation.Fail(
        UsageError("--process-timeout: " +
                   std::string(process_timeout.status().message())));
  }
  const auto limits = flags.config.empty()
                          ? absl::StatusOr<DaemonLimits>(DaemonLimits{})
                          : ReadDaemonLimits(flags.config);
  if (!limits.ok()) return FailCheck(invocation, limits.status());
  CheckOutput output(invocation,
                     flags.all ? std::nullopt : std::optional(flags.limit));
  PluginCheckOptions options{
      .file = flags.file,
      .store = WithoutEndSlash(flags.store),
      .limits = *limits,
      .process_timeout = *process_timeout,
      .deadline = invocation.deadline(),
      .cancellation = &invocation.environment().cancellation};
  options.began = [&](const PluginCheck& check) { output.Begin(check); };
  options.checked = [&](CheckedProcess&& process) {
    output.Add(std::move(process));
  };
  // A forked child has a copy of the buffer: it must be empty.
  invocation.out().flush();
  const auto check = CheckPlugin(options);
  output.Clear();
  if (!check.ok()) return FailCheck(invocation, check.status());
  if (!check->damage.empty()) {
    for (const std::string& text : check->damage) invocation.Complain(text);
    return ExitStatus::kStoreRefused;
  }
  output.End(*check);
  return check->is_fine() ? ExitStatus::kDone : ExitStatus::kFailed;
}

constexpr char kCheckFooter[] = R"(
Says what a new version of a plugin would do to the durable processes of a store, before
a daemon loads it. DIR is a backup, or the store of a daemon that has ended; nothing in
it changes. For each process of a type that FILE has, the code that has written its state
makes the state again, and FILE takes it over, as after a restart of the daemon with
FILE. No process takes a new step, and no command, message or timer leaves.

  UPGRADES   it goes on in FILE
  STAYS      it goes on in its version: there is no way to upgrade, or not yet
  DIVERGES   a step differs from its record: the process would be in quarantine
  FAILS      Snapshot or Restore refuses, or FILE lacks the type
  CRASHES    the code crashes, or ends the program
  TIMES_OUT  the code does not return within --process-timeout
  NOT_TRIED  8 processes of its type have crashed or timed out, so the other ones of that
             type are not tried

Give the daemon's configuration file with --config if it sets limits.max_payload_bytes,
store.max_record_bytes or store.segment_bytes. Otherwise their defaults decide.

The code runs in child processes, as your user, so run the command as the user of the
daemon. -o json has an object for the plugin, each version that processes are of, each
process, each type, and the result; -o name has the PIDs that are not fine.
Exit status: 0 all processes upgrade or stay, 1 at least one does not, or was not tried,
2 no plugin or a wrong configuration, 3 no file or no store, 4 others can write to a file, 78 damaged store.

Examples:
  actorctl backup /backup/now && actorctl plugin check orders-2.so --store /backup/now
  actorctl plugin check orders-2.so --store /backup/now -o json |
    jq '.[] | select(.kind == "process" and .outcome == "STAYS")'
)";

}  // namespace

void AddPluginCheck(CLI::App& plugin, Action& chosen) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = plugin.add_subcommand(
      "check", "Check what a plugin does to the processes of a store");
  command->footer(kCheckFooter);
  command->add_option("FILE", flags->file, "The shared object, on this machine")
      ->required()
      ->type_name("");
  command
      ->add_option("--store", flags->store,
                   "Directory of a backup, or of the store of a daemon that "
                   "has ended; required")
      ->type_name("DIR");
  command
      ->add_option("--config", flags->config,
                   "Configuration file of the daemon, for its limits of "
                   "payloads and records")
      ->type_name("FILE");
  CLI::Option* limit =
      command
          ->add_option("--limit", flags->limit,
                       "Maximum number of processes that are shown because "
                       "they are not fine")
          ->type_name("N")
          ->capture_default_str();
  command
      ->add_flag("--all", flags->all,
                 "Show all processes that are not fine, before the table")
      ->excludes(limit);
  command
      ->add_option("--process-timeout", flags->process_timeout,
                   "How long the code may take for one process")
      ->type_name("DURATION")
      ->capture_default_str();
  command->callback([&chosen, flags] {
    chosen = [flags](Invocation& invocation) {
      return RunCheck(invocation, *flags);
    };
  });
}

}  // namespace actord::client
