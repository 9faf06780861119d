// How the daemon ends, and with which exit status (exit_status.h). The status
// of a failed store is decided in daemon_store.cc.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "daemon/daemon.h"

namespace actord::daemon {
namespace {

// How long the service still refuses calls after all processes have ended. gRPC
// answers CANCELLED to calls that are open when their server stops; in this
// time most clients get UNAVAILABLE and stay away.
constexpr auto kLastAnswers = std::chrono::milliseconds(50);

// Time for open calls to finish after all processes have ended.
constexpr absl::Duration kServerGrace = absl::Seconds(1);

// A wait ends this long before the deadline, to leave time for the other steps.
constexpr absl::Duration kExitReserve = absl::Milliseconds(300);

// Time for the collector of traces to take the last spans.
constexpr absl::Duration kLastSpans = absl::Seconds(2);

}  // namespace

void Daemon::RequestShutdown(runtime::ShutdownMode mode) {
  shutdown_.Request(mode, config_.drain_timeout);
}

ShutdownControl::Result Daemon::EndProcesses() {
  ended_ = true;
  const uint64_t ended_before = runtime_->Stats().processes_ended;
  return shutdown_.Carry(
      {.shutdown =
           [this](runtime::ShutdownMode mode, absl::Duration timeout,
                  runtime::DurableAtEnd durable) {
             return runtime_->Shutdown(mode, timeout, durable);
           },
       .hurry = [this] { runtime_->HurryShutdown(); },
       .so_far =
           [this, ended_before] {
             const runtime::RuntimeStats stats = runtime_->Stats();
             return runtime::ShutdownReport{
                 .ended = stats.processes_ended - ended_before,
                 .forced = stats.processes_live,
                 .stuck = stats.processes_live};
           }});
}

void Daemon::Enter(Phase phase, ExitStatus status) {
  const absl::MutexLock lock(&phase_mutex_);
  phase_ = phase;
  expired_status_ = status;
}

void Daemon::Expire() {
  const absl::MutexLock lock(&phase_mutex_);
  switch (phase_) {
    case Phase::kStart:
      logger_.Error("exiting although the start has not finished");
      break;
    case Phase::kProcesses:
      LogStuck(runtime_->Stats().processes_live);
      break;
    case Phase::kCalls:
      logger_.Error("exiting although gRPC or a plugin has not finished");
      break;
  }
  Exit(expired_status_);
}

void Daemon::Exit(ExitStatus status) {
  if (store_ != nullptr) store_->NoteExit();
  logger_.Flush(LogWriter::kLastPatience);
  std::_Exit(status);
}

void Daemon::LogStuck(uint64_t count) {
  logger_.Error(absl::StrCat("exiting although ", count,
                             " steps or commands have not returned"));
}

void Daemon::EndFailedStart(const absl::Status& why) {
  const ExitStatus status = ExitStatusOf(why);
  Enter(Phase::kCalls, status);
  if (runtime_ == nullptr) return;
  Enter(Phase::kProcesses, status);
  shutdown_.Request(runtime::ShutdownMode::kNow, absl::ZeroDuration());
  const ShutdownControl::Result result = EndProcesses();
  Enter(Phase::kCalls, status);
  if (!result.stuck && result.report.stuck == 0) return;
  // Some steps are stuck, for example an Init of the boot tree. As in Run,
  // nothing that they use may be destroyed.
  logger_.Error(std::string(why.message()));
  LogStuck(result.report.stuck);
  Exit(status);
}

ExitStatus Daemon::Run() {
  shutdown_.WaitForRequest();
  Enter(Phase::kProcesses, kExitDrainTimeout);
  logger_.Info(absl::StrCat(
      "ending: new processes are refused; ", runtime_->Stats().processes_live,
      " processes are live, and volatile ones may go on for at most ",
      absl::FormatDuration(config_.drain_timeout),
      " (drain_timeout) or the deadline of the request; another SIGTERM, or "
      "\"actorctl shutdown --mode now\", ends them at once"));
  if (service_reports_ != nullptr) service_reports_->Ending(deadline_.left());
  if (store_watch_ != nullptr) store_watch_->Stop();
  if (limit_watch_ != nullptr) limit_watch_->Stop();
  if (serves()) server_->SetServing(false);
  const ShutdownControl::Result result = EndProcesses();
  const bool is_stuck = result.stuck || result.report.stuck > 0;
  const bool ran_out_of_time =
      is_stuck || (result.report.forced > 0 && !result.now) || result.has_kept;
  const ExitStatus status = ran_out_of_time ? kExitDrainTimeout : kExitClean;
  if (!is_stuck) Enter(Phase::kCalls, status);
  // The ports are still held, so no other daemon can have written its own files
  // there.
  RemovePortFiles();
  if (serves()) {
    service_->CloseStreams();
    std::this_thread::sleep_for(kLastAnswers);
  }
  if (is_stuck) {
    // The threads of the stuck steps run plugin code, so nothing that they use
    // may be destroyed.
    LogStuck(result.report.stuck);
    Exit(kExitDrainTimeout);
  }
  const absl::Duration for_loads =
      std::min(config_.force_timeout, deadline_.left() - kExitReserve);
  if (serves() && !plugin_load_threads_->Stop(for_loads)) {
    logger_.Error("exiting although the loading of a plugin has not finished");
    Exit(kExitDrainTimeout);
  }
  StopAdmin();
  if (serves()) {
    server_->Stop(std::min(kServerGrace, deadline_.left() - kExitReserve));
  }
  if (spans_ != nullptr) {
    spans_->Stop(
        std::max(absl::ZeroDuration(),
                 std::min(kLastSpans, deadline_.left() - kExitReserve)));
  }
  logger_.Log(
      ran_out_of_time ? runtime::LogLevel::kWarning : runtime::LogLevel::kInfo,
      absl::StrCat("ended: ", result.report.ended, " processes ended in time, ",
                   result.report.forced, " had to be forced",
                   store_ == nullptr
                       ? ""
                       : absl::StrCat(", ", result.report.kept,
                                      " durable ones stay in the store")));
  return status;
}

}  // namespace actord::daemon
