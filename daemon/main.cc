// actord: parses and checks the configuration, and runs Daemon.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "daemon/access/access_control.h"
#include "daemon/boot_tree.h"
#include "daemon/crash/crash_report.h"
#include "daemon/crash/out_of_memory.h"
#include "daemon/daemon.h"
#include "daemon/descriptor_limit.h"
#include "daemon/exit_status.h"
#include "daemon/listening/cannot_listen.h"
#include "daemon/listening/inherited_sockets.h"
#include "daemon/listening/open_listening.h"
#include "daemon/log/logging.h"
#include "daemon/log/text_escapes.h"
#include "daemon/operations/memory_watch.h"
#include "daemon/operations/restore_store.h"
#include "daemon/operations/store/store_check.h"
#include "daemon/plugins/plugin_trial.h"
#include "daemon/problems/problem_list.h"
#include "daemon/settings/command_line.h"
#include "daemon/settings/config.h"
#include "daemon/settings/version.h"
#include "daemon/signals.h"
#include "daemon/systemd/service_reports.h"
#include "daemon/tls/handshake_errors.h"
#include "daemon/tls/tls_reloader.h"
#include "runtime/crash/alternate_stack.h"
#include "runtime/system/clock.h"

namespace actord::daemon {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ACTORD_IS_SANITIZED 1
#endif
#endif
#if !defined(ACTORD_IS_SANITIZED) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
// Runs before the initialisers of the libraries, which allocate. A sanitizer
// has to be the first, and has an answer of its own.
void BeforeAll(int, char**, char**) {
  OutOfMemory::HandleFromNowOn(kExitInternal);
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_all)(int, char**, char**) = BeforeAll;
#endif

ExitStatus Complain(ExitStatus exit_status, const absl::Status& status) {
  for (const std::string& line : ProblemLines(status)) {
    std::string shown;  // a line may quote a file
    AppendVisible(line, shown);
    std::fprintf(stderr, "actord: %s\n", shown.c_str());
  }
  return exit_status;
}

std::vector<std::string> VariableNames() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

// With the sockets of a service manager the default address is not served.
void AddInheritedSockets(const std::vector<int>& sockets, Config& config) {
  config.inherited_sockets = sockets;
  if (!sockets.empty() && config.listen_is_default) config.listen.clear();
}

// The checks of a start before it listens, without a lock or a bind. A store in
// use is only noted, because a running daemon may use this configuration.
absl::Status CheckStart(const Config& config) {
  ProblemList problems;
  if (!config.boot_tree.empty()) {
    problems.Add(
        ReadBootTree(config.boot_tree, config.runtime.max_payload_bytes)
            .status());
  }
  Logger silent(config.log_format, runtime::LogLevel::kError);
  const runtime::Clock& clock = runtime::Clock::System();
  problems.Add(TlsReloader::Open(config.tls, silent, clock).status());
  problems.Add(CheckOpenListening(config));
  problems.Add(CheckAddressList(config));
  problems.Add(CheckSocketFolders(config));
  if (!config.auth_tokens.empty()) {
    problems.Add(AccessControl::Open(config, silent, clock).status());
  }
  const StoreCheck store = CheckStoreDirectory(config.store.directory);
  problems.Add(store.status);
  if (!store.in_use.empty()) {
    std::fprintf(stderr, "actord: note: %s\n", store.in_use.c_str());
  }
  problems.Add(TryPlugins(config, silent));
  return problems.status();
}

void Reload(const CommandLine& command_line, const std::vector<int>& sockets,
            Daemon& daemon, Logger& logger) {
  daemon.ReloadTls();
  auto config = LoadConfig(command_line.config_file, command_line.values,
                           SystemEnvironment(), ConfigReading::kAgain);
  if (!config.ok()) {
    for (const std::string& line : ProblemLines(config.status())) {
      logger.Error(absl::StrCat("configuration not reloaded: ", line));
    }
    return;
  }
  AddInheritedSockets(sockets, *config);
  daemon.Reload(*config);
}

ExitStatus Serve(const CommandLine& command_line, const Config& config,
                 const ServiceReports::Offer& offer) {
  MemoryWatch::BoundArenas();
  Logger logger(config.log_format, config.log_level);
  logger.Info(ToText(RaiseDescriptorLimit()));
  for (const std::string& doubt : DoubtVariables(VariableNames())) {
    logger.Warning(doubt);
  }
  const CrashReport crash_report(logger.writer(), config.log_format);
  const OutOfMemory out_of_memory(config.log_format, kExitInternal);
  // The plugins of the configuration are loaded on this thread.
  const runtime::AlternateStack stack_of_signals;
  const LibraryLogCapture capture(logger, runtime::Clock::System(),
                                  ExplainHandshakeOfThread);
  ServiceReports reports(offer, logger, runtime::Clock::System());
  const std::unique_ptr<Daemon> daemon = Daemon::Create(config, logger);
  daemon->ReportBy(reports);
  // A SIGHUP during the start waits until the daemon serves. Each thread sets
  // its own flag before it reads the other thread's flag (seq_cst), so at least
  // one thread sees both flags set. The exchange makes sure that only one
  // reload follows. The reload runs on the thread of the signals.
  std::atomic<bool> serves{false};
  std::atomic<bool> reload_wanted{false};
  int requests = 0;
  const auto signals = SignalThread::Start([&](int signal) {
    if (signal == SIGHUP) {
      reload_wanted = true;
      if (!serves || !reload_wanted.exchange(false)) return;
      reports.Reloading();
      Reload(command_line, config.inherited_sockets, *daemon, logger);
      reports.Reloaded();
      return;
    }
    switch (++requests) {
      case 1:
        daemon->RequestShutdown(runtime::ShutdownMode::kDrain);
        break;
      case 2:
        daemon->RequestShutdown(runtime::ShutdownMode::kNow);
        break;
      default:
        std::_Exit(kExitDrainTimeout);
    }
  });
  absl::Status status = signals.status();
  if (status.ok()) {
    status = RestoreStore(command_line.restore, config.store.directory, logger);
  }
  if (status.ok()) status = daemon->Open();
  if (!status.ok()) {
    for (const std::string& line : ProblemLines(status)) logger.Error(line);
    return ExitStatusOf(status);
  }
  serves = daemon->serves();
  if (serves && reload_wanted.exchange(false)) kill(getpid(), SIGHUP);
  return daemon->Run();
}

ExitStatus Main(const std::vector<std::string>& arguments) {
  const auto command_line = ParseCommandLine(arguments);
  if (!command_line.ok()) {
    Complain(kExitUsage, command_line.status());
    std::fprintf(stderr, "Try 'actord --help'.\n");
    return kExitUsage;
  }
  using Action = CommandLine::Action;
  if (command_line->action == Action::kHelp) {
    std::fputs(HelpText().c_str(), stdout);
    return kExitClean;
  }
  if (command_line->action == Action::kVersion) {
    std::printf("actord %s\n", kActordVersion);
    return kExitClean;
  }
  auto config = LoadConfig(command_line->config_file, command_line->values,
                           SystemEnvironment());
  if (!config.ok()) return Complain(kExitBadConfiguration, config.status());
  // The parts of a path are joined by one slash.
  std::string& store = config->store.directory;
  while (store.size() > 1 && store.back() == '/') store.pop_back();
  if (!command_line->restore.empty() && config->store.directory.empty()) {
    return Complain(kExitUsage,
                    absl::InvalidArgumentError(
                        "--restore: --store is required: the directory of the "
                        "store to make"));
  }
  config->boot_tree_replace = command_line->replace_boot_tree;
  if (config->boot_tree_replace &&
      (config->boot_tree.empty() || config->store.directory.empty())) {
    return Complain(kExitUsage,
                    absl::InvalidArgumentError(
                        "--boot-tree-replace: --boot-tree and --store are "
                        "required: a tree in the store is replaced"));
  }
  if (command_line->action == Action::kCheckConfig) {
    const absl::Status status = CheckStart(*config);
    if (!status.ok()) return Complain(kExitBadConfiguration, status);
    for (const std::string& doubt : DoubtVariables(VariableNames())) {
      std::fprintf(stderr, "actord: warning: %s\n", doubt.c_str());
    }
    std::printf("The configuration is good.\n");
    return kExitClean;
  }
  if (command_line->action == Action::kPrintConfig) {
    std::fputs(PrintConfig(*config).c_str(), stdout);
    return kExitClean;
  }
  const auto sockets = TakeInheritedSockets();
  if (!sockets.ok()) return Complain(kExitBadConfiguration, sockets.status());
  AddInheritedSockets(*sockets, *config);
  return Serve(*command_line, *config, ServiceReports::TakeOffer());
}

}  // namespace
}  // namespace actord::daemon

int main(int argc, char** argv) {
  // This must come first: Debian's Abseil may abort because of an order of
  // locks in gRPC.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  actord::daemon::BlockSignals();
  return actord::daemon::Main({argv + 1, argv + argc});
}
