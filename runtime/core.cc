#include "runtime/core.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "runtime/errors.h"

namespace actord::runtime {
namespace {

// Outstanding yields of the whole daemon, at most.
constexpr size_t kMaxYieldRecords = size_t{1} << 26;

void RelaxCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Runtime::Core::Seat::Seat(Core& core, int index, uint64_t seed)
    : lane(core.buffers, &core.scheduler.queue(static_cast<size_t>(index))),
      context(core.catalog, core.processes, core.options, core.clock, lane,
              seed),
      runner({.processes = core.processes,
              .scheduler = core.scheduler,
              .delivery = core.delivery,
              .dispatcher = core.dispatcher,
              .broker = core.broker,
              .results = core.results,
              .clock = core.clock,
              .orders = core.orders,
              .log = core.options.log,
              .on_end = core.on_end},
             lane, context),
      worker(core.scheduler, *lane.here(), runner, core.broker, seed + 1) {}

Runtime::Core::Core(const RuntimeOptions& resolved, const Catalog& known)
    : options(resolved),
      catalog(known),
      clock(*options.clock),
      processes(options.node, options.incarnation, options.max_processes,
                static_cast<size_t>(options.workers) + 1),
      scheduler(options.workers, clock),
      lane(buffers, nullptr),
      external(options, clock),
      results(options, clock),
      broker(scheduler, processes, external, options.max_payload_bytes,
             kMaxYieldRecords, static_cast<size_t>(options.workers)),
      delivery(processes, scheduler, options),
      admission(catalog, options, clock, processes, scheduler, lane, state),
      host(options, clock, delivery, broker, admission, lane),
      pool(options.blocking_threads, options.blocking_queue),
      dispatcher(catalog, options, clock, processes, broker, external, pool,
                 lane),
      stuck_after_ns_(static_cast<uint64_t>(absl::ToInt64Nanoseconds(
          std::min(options.stuck_after, absl::Hours(24))))),
      on_end([this] { shutdown_wake_.notify_all(); }) {
  Random seeds(options.seed);
  for (int i = 0; i < options.workers; ++i) {
    seats.push_back(std::make_unique<Seat>(*this, i, seeds.Next()));
  }
}

Runtime::Core::~Core() {
  Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
  pool.Stop(UINT64_MAX);
  StopThreads();
  FreeMailboxes();
}

void Runtime::Core::FreeMailboxes() {
  // What was put into mailboxes at the moment when their processes ended.
  for (uint32_t slot = 0; slot < processes.SlotsInUse(); ++slot) {
    Process& process = processes.At(slot);
    EnvelopeList urgent;
    process.urgent.TakeAll(urgent);
    while (Envelope* envelope = urgent.PopFront()) lane.Free(envelope);
    while (Envelope* envelope = process.messages.Pop()) lane.Free(envelope);
  }
}

void Runtime::Core::StartThreads() {
  for (auto& seat : seats) {
    seat->thread = std::thread([this, &seat = *seat] { RunThread(seat); });
  }
  state.store(RunState::kServing, std::memory_order_seq_cst);
}

void Runtime::Core::RunThread(Seat& seat) {
  pthread_setname_np(
      pthread_self(),
      absl::StrCat("worker/", seat.worker.queue().index).c_str());
  // The default slack of 50 µs is most of what a timer may be late.
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  Worker& worker = seat.worker;
  while (!stop_.load(std::memory_order_relaxed)) {
    switch (worker.RunOne()) {
      case Worker::Did::kRan:
        break;
      case Worker::Did::kSearch:
        RelaxCpu();
        break;
      case Worker::Did::kYield:
        sched_yield();
        break;
      case Worker::Did::kSleep: {
        Parker& parker = worker.queue().parker;
        while (!worker.Wake(parker.Wait(worker.sleep_ns()))) {
        }
        break;
      }
    }
  }
}

void Runtime::Core::StopThreads() {
  stop_.store(true, std::memory_order_relaxed);
  for (auto& seat : seats) seat->worker.queue().parker.Notify();
  for (auto& seat : seats) {
    if (seat->thread.joinable()) seat->thread.join();
  }
}

uint64_t Runtime::Core::LiveProcesses() const {
  // Ended first: a process that both begins and ends in between counts as
  // live rather than as minus one.
  uint64_t ended = lane.counters().processes_ended.Get();
  for (const auto& seat : seats) {
    ended += seat->lane.counters().processes_ended.Get();
  }
  uint64_t started = lane.counters().processes_started.Get();
  for (const auto& seat : seats) {
    started += seat->lane.counters().processes_started.Get();
  }
  return started - ended;
}

RuntimeStats Runtime::Core::Stats() const {
  RuntimeStats stats;
  stats.state = state.load(std::memory_order_seq_cst);
  stats.node = options.node;
  stats.incarnation = options.incarnation;
  stats.workers = options.workers;
  stats.processes_live = LiveProcesses();
  const auto add = [&stats](const Counters& counters) {
    stats.processes_started += counters.processes_started.Get();
    stats.processes_ended += counters.processes_ended.Get();
    stats.processes_failed += counters.processes_failed.Get();
    stats.steps += counters.steps.Get();
    stats.messages_sent += counters.messages_sent.Get();
    stats.dead_letters += counters.dead_letters.Get();
    stats.yields += counters.yields.Get();
    stats.completions += counters.completions.Get();
  };
  add(lane.counters());
  for (const auto& seat : seats) add(seat->lane.counters());
  stats.external_yields_waiting = external.waiting();
  stats.blocking_queue = pool.queued();
  stats.results_kept = results.kept();
  stats.results_bytes = results.bytes();
  return stats;
}

void Runtime::Core::TellAll(uint32_t type, std::string_view reason) {
  const uint32_t slots = processes.SlotsInUse();
  for (uint32_t slot = 0; slot < slots; ++slot) {
    Process& process = processes.At(slot);
    const uint32_t generation =
        process.generation.load(std::memory_order_acquire);
    if ((generation & 1) == 0) continue;
    const absl::Status status = delivery.Control(
        processes.PidOf(process, generation), type, reason, lane);
    // It has ended meanwhile, or is full of cancels already: both are fine.
    status.IgnoreError();
  }
}

bool Runtime::Core::WaitForEmpty(uint64_t deadline_ns, bool may_be_cut) {
  // Whoever ends a process notifies, but without the lock; so look again now
  // and then.
  constexpr auto kLookAgain = std::chrono::milliseconds(5);
  const MutexLock lock(shutdown_mutex_);
  while (LiveProcesses() != 0) {
    if (may_be_cut && cut_short_) return false;
    if (clock.MonotonicNs() >= deadline_ns) return false;
    shutdown_wake_.wait_for(shutdown_mutex_, kLookAgain);
  }
  return true;
}

void Runtime::Core::LogStuck() const {
  constexpr size_t kNamed = 10;
  size_t named = 0;
  for (uint32_t slot = 0; slot < processes.SlotsInUse(); ++slot) {
    const Process& process = processes.At(slot);
    const uint32_t generation =
        process.generation.load(std::memory_order_acquire);
    const ProcessType* type = process.type.load(std::memory_order_relaxed);
    if ((generation & 1) == 0 || type == nullptr) continue;
    options.log(LogLevel::kError,
                absl::StrCat("process ",
                             FormatPid(processes.PidOf(process, generation)),
                             " of type ", type->name,
                             " does not come back from its step"));
    if (++named == kNamed) return;
  }
}

void Runtime::Core::EndAllProcesses(ShutdownMode mode, absl::Duration timeout) {
  state.store(RunState::kDraining, std::memory_order_seq_cst);
  // Who is to be terminated at once is not asked before.
  (mode == ShutdownMode::kDrain ? orders.cancel : orders.terminate)
      .store(true, std::memory_order_seq_cst);
  admission.AwaitQuiet();
  const uint64_t now = clock.MonotonicNs();
  const uint64_t deadline =
      timeout == absl::InfiniteDuration()
          ? UINT64_MAX
          : now + static_cast<uint64_t>(
                      std::max<int64_t>(0, absl::ToInt64Nanoseconds(timeout)));
  if (mode == ShutdownMode::kDrain) {
    TellAll(ACTORD_EVENT_CANCEL, "the daemon is shutting down");
    if (WaitForEmpty(deadline, /*may_be_cut=*/true)) return;
  }
  orders.terminate.store(true, std::memory_order_seq_cst);
  TellAll(kEventTerminate, "the daemon is shutting down");
  if (!WaitForEmpty(clock.MonotonicNs() + stuck_after_ns_,
                    /*may_be_cut=*/false)) {
    LogStuck();
  }
}

ShutdownReport Runtime::Core::Shutdown(ShutdownMode mode,
                                       absl::Duration timeout) {
  uint64_t ended_before = 0;
  {
    const MutexLock lock(shutdown_mutex_);
    if (shutting_down_) {
      if (mode == ShutdownMode::kNow) cut_short_ = true;
      shutdown_wake_.notify_all();
      while (!finished_) shutdown_wake_.wait(shutdown_mutex_);
      return report_;
    }
    shutting_down_ = true;
    ended_before = Stats().processes_ended;
  }
  EndAllProcesses(mode, timeout);
  ShutdownReport report;
  for (const auto& seat : seats) {
    report.forced += seat->lane.counters().processes_forced.Get();
  }
  report.ended = Stats().processes_ended - ended_before - report.forced;
  const uint64_t left = LiveProcesses();
  report.forced += left;
  report.stuck = left + pool.Stop(stuck_after_ns_);
  if (LiveProcesses() == 0) StopThreads();
  results.AbandonAll(Error(absl::StatusCode::kUnavailable, reason::kStopped,
                           "the daemon has stopped"));
  state.store(RunState::kStopped, std::memory_order_seq_cst);
  const MutexLock lock(shutdown_mutex_);
  report_ = report;
  finished_ = true;
  shutdown_wake_.notify_all();
  return report_;
}

}  // namespace actord::runtime
