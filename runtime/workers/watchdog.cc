#include "runtime/workers/watchdog.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/process.h"
#include "runtime/system/fail_point.h"
#include "runtime/workers/worker_threads.h"

namespace actord::runtime {

Watchdog::Watchdog(Scheduler& scheduler, WorkerThreads& threads,
                   const DueTimers& due_timers, Results& results,
                   const ProcessTable& processes, const ProcessLog& process_log,
                   Lane& lane, const Log& log)
    : scheduler_(scheduler),
      threads_(threads),
      due_timers_(due_timers),
      results_(results),
      processes_(processes),
      process_log_(process_log),
      lane_(lane),
      log_(log),
      seen_(scheduler.size()) {}

absl::Status Watchdog::Start() {
  try {
    thread_ = SystemThread([this] {
      pthread_setname_np(pthread_self(), "watchdog");
      uint64_t wait_ns = CheckAll();
      while (!stop_.load(std::memory_order_relaxed)) {
        wait_ns = parker_.Wait(wait_ns) ? CheckAll() : CheckAfterPause();
      }
    });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(
        absl::StrCat("cannot start the watchdog's thread: ", error.what()));
  }
}

void Watchdog::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  parker_.Notify();
  if (thread_.joinable()) thread_.join();
}

uint64_t Watchdog::CheckAll() {
  rests_.store(false, std::memory_order_relaxed);
  acted_ = false;
  const uint64_t now = scheduler_.clock().MonotonicNs();
  uint64_t patience = Policy::kLongestCheckNs;
  for (size_t i = 0; i < seen_.size(); ++i) {
    patience =
        std::min(patience, CheckWorker(scheduler_.queue(i), seen_[i], now));
  }
  patience = std::min(patience, CheckTimers(now));
  if (acted_) {
    interval_ns_ = Policy::kShortestCheckNs;
  } else if (interval_ns_ < Policy::kLongestCheckNs) {
    interval_ns_ = std::min(2 * interval_ns_, Policy::kLongestCheckNs);
  } else if (Rest()) {
    interval_ns_ = Policy::kAfterRestNs;
    // The results are checked after the rest began, because from then on the
    // next result that is kept ends the rest.
    return CheckResults(now);
  }
  return std::min({interval_ns_, patience, CheckResults(now)});
}

uint64_t Watchdog::CheckAfterPause() {
  // Relaxed: a thread that has ended the rest meanwhile has also notified.
  if (!rests_.load(std::memory_order_relaxed)) return CheckAll();
  return CheckResults(scheduler_.clock().MonotonicNs());
}

uint64_t Watchdog::CheckResults(uint64_t now_ns) {
  if (results_.NextExpiryNs() <= now_ns) results_.Trim();
  const uint64_t next_ns = results_.NextExpiryNs();
  if (next_ns == Results::kNever) return Parker::kForever;
  // The next check is later than the first result expires, to drop several
  // results at once, and because the clock that decides may be a little behind.
  return std::max(next_ns - std::min(next_ns, now_ns), Policy::kLongestCheckNs);
}

uint64_t Watchdog::CheckTimers(uint64_t now_ns) {
  const uint64_t earliest = scheduler_.EarliestTimerNs();
  if (earliest == TimerWheel::kNever) return Policy::kLongestCheckNs;
  // A woken worker checks all timers first; a searcher checks them when it
  // finds nothing else.
  if (earliest + Policy::kTimerPatienceNs <= now_ns) scheduler_.WakeForWork();
  // FireAny fires a limited number of timers, so that the check of long calls
  // is not delayed.
  if (earliest + Policy::kTimerDespairNs <= now_ns &&
      due_timers_.FireAny(lane_)) {
    acted_ = true;
  }
  // While no worker is in a call, every worker can serve its timers.
  const bool in_call =
      std::any_of(seen_.begin(), seen_.end(),
                  [](const Seen& seen) { return seen.holder != nullptr; });
  return in_call ? Policy::kTimerPatienceNs : Policy::kLongestCheckNs;
}

uint64_t Watchdog::CheckWorker(WorkerQueue& queue, Seen& seen,
                               uint64_t now_ns) {
  // Acquire: pairs with Hold::Give.
  Hold* holder = queue.holder.load(std::memory_order_acquire);
  const auto call = holder->CallUnderWay();
  if (!call) {
    seen = {};
    return Policy::kCallPatienceNs;
  }
  if (seen.holder != holder || seen.number != call->number) {
    seen = {holder, call->number, now_ns};
    return Policy::kCallPatienceNs;
  }
  const uint64_t age_ns = now_ns - seen.since_ns;
  if (age_ns < Policy::kCallPatienceNs) return Policy::kCallPatienceNs - age_ns;
  // Read before the worker is taken, so that they belong to this call.
  LongCall long_call{
      .type = call->process->type.load(std::memory_order_acquire),
      .pid = processes_.PidOf(*call->process, call->process->generation.load(
                                                  std::memory_order_relaxed)),
      .is_named = (call->process->wanted.load(std::memory_order_relaxed) &
                   Wanted::kNamed) != 0,
      .name = call->name};
  const bool handed_over = threads_.HandOver(queue, *holder, call->number);
  acted_ = acted_ || handed_over;
  const auto after = holder->CallUnderWay();
  long_call.handed_over = handed_over;
  long_call.still_runs = after && after->number == call->number;
  if (handed_over || long_call.still_runs) Warn(long_call, now_ns);
  // Perhaps no worker was woken for the ready processes behind the call.
  if (!handed_over && scheduler_.HasWork()) scheduler_.WakeForWork();
  // If the worker could not be taken, the call gets the same time again.
  seen.since_ns = now_ns;
  return Policy::kCallPatienceNs;
}

void Watchdog::Warn(const LongCall& call, uint64_t now_ns) {
  Report& report = reports_[call.type];
  if (report.last_ns != 0 &&
      now_ns - report.last_ns < Policy::kWarningPauseNs) {
    ++report.unsaid;
    return;
  }
  report.last_ns = now_ns;
  const uint64_t unsaid = std::exchange(report.unsaid, 0);
  const ProcessLog::Line line = process_log_.LineOf(
      call.pid, call.type, call.is_named,
      absl::StrCat(
          "its ", call.name, " has kept a worker for ",
          Policy::kCallPatienceNs / 1'000'000, " ms, and ",
          call.still_runs ? "is still running" : "has returned now", "; ",
          call.handed_over ? "another thread has taken the worker"
                           : "no thread is left to take the worker, so other "
                             "processes wait",
          ". If the steps of this type block, set kBlocksThread (in C "
          "ACTORD_TYPE_BLOCKS_THREAD); split long computations with "
          "Continue, or move them to a pooled command.",
          unsaid == 0 ? ""
                      : absl::StrCat(" This has happened ", unsaid,
                                     " more times to processes of this type "
                                     "since the last warning.")));
  log_(LogLevel::kWarning, line.text, line.subject());
}

bool Watchdog::Rest() {
  rests_.store(true, std::memory_order_seq_cst);
  if (scheduler_.idle().AllSleep()) return true;
  rests_.store(false, std::memory_order_relaxed);
  return false;
}

}  // namespace actord::runtime
