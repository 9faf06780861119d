#include "daemon/signals.h"

#include <pthread.h>

#include <csignal>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

void BlockSignals() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

absl::StatusOr<std::unique_ptr<SignalThread>> SignalThread::Start(
    std::function<void(int signal)> handler) {
  std::unique_ptr<SignalThread> signals(new SignalThread(std::move(handler)));
  try {
    signals->thread_ = std::thread([raw = signals.get()] { raw->Run(); });
    return signals;
  } catch (const std::system_error& error) {
    return absl::InternalError(
        absl::StrCat("cannot start the thread for signals: ", error.what()));
  }
}

SignalThread::~SignalThread() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  pthread_kill(thread_.native_handle(), SIGHUP);
  thread_.join();
}

void SignalThread::Run() {
  const sigset_t signals = Signals();
  for (;;) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (stopping_.load()) return;
    handler_(signal);
  }
}

}  // namespace actord::daemon
