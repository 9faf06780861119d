#include "daemon/signals.h"

#include <pthread.h>

#include <csignal>
#include <utility>

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
}

SignalThread::SignalThread(std::function<void(int signal)> handler)
    : handler_(std::move(handler)), thread_([this] { Run(); }) {}

SignalThread::~SignalThread() {
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
