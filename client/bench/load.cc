#include "client/bench/load.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/calls/error.h"
#include "client/output/exit_status.h"

namespace actord::client::bench {
namespace {

// The other requests would fail in the same way.
bool StopsTheLoad(const absl::Status& status) {
  const ExitStatus exit_status = ExitStatusOf(status);
  return exit_status == ExitStatus::kNotAllowed ||
         status.code() == absl::StatusCode::kUnavailable;
}

std::string ReasonOf(const Answer& answer) {
  if (!answer.reason.empty()) return answer.reason;
  std::string reason = DetailsOf(answer.status).reason;
  return reason.empty() ? absl::StatusCodeToString(answer.status.code())
                        : reason;
}

}  // namespace

Load::Load(const LoadOptions& options, Begin begin)
    : options_(options), begin_(std::move(begin)) {}

Load::~Load() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void Load::Start() {
  start_ = Clock::now();
  end_ = start_ + options_.duration;
  thread_ = std::thread([this] { Run(); });
}

Load::Clock::time_point Load::NextDue() const {
  if (options_.rate == 0) return start_;
  const double seconds = static_cast<double>(result_.begun) / options_.rate;
  return start_ + std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(seconds));
}

void Load::Run() {
  mutex_.lock();
  while (!stopped_) {
    const auto now = Clock::now();
    const auto due = NextDue();
    if (now >= end_) {
      StopLocked(now);
    } else if (open_ == options_.in_flight) {
      // The end of a request begins the next one if it is due.
      changed_.wait_until(mutex_, end_);
    } else if (due > now) {
      changed_.wait_until(mutex_, std::min(due, end_));
    } else {
      const uint64_t index = result_.begun++;
      ++open_;
      mutex_.unlock();
      BeginOne(index, options_.rate == 0 ? now : due);
      mutex_.lock();
    }
  }
  mutex_.unlock();
}

void Load::BeginOne(uint64_t index, Clock::time_point due) {
  begin_(index, [this, due](Answer answer) { End(due, std::move(answer)); });
}

void Load::End(Clock::time_point due, Answer answer) {
  const auto now = Clock::now();
  uint64_t next = 0;
  Clock::time_point next_due;
  {
    const MutexLock lock(mutex_);
    result_.elapsed = now - start_;
    if (answer.status.ok()) {
      ++result_.answered;
      result_.latency.Record(now - due);
    } else {
      ++failed_;
      ++result_.errors[ReasonOf(answer)];
      if (!stopped_ && StopsTheLoad(answer.status)) {
        result_.fatal = answer.status;
        StopLocked(now);
      }
    }
    next_due = NextDue();
    if (stopped_ || now >= end_ || next_due > now) {
      --open_;
      changed_.notify_all();
      return;
    }
    next = result_.begun++;
  }
  BeginOne(next, options_.rate == 0 ? now : next_due);
}

void Load::StopLocked(Clock::time_point now) {
  if (stopped_) return;
  stopped_ = true;
  if (options_.rate > 0) {
    // Request 0 is due at the start, and no request at the end.
    const std::chrono::duration<double> run = std::min(now, end_) - start_;
    const auto due =
        static_cast<uint64_t>(std::ceil(run.count() * options_.rate));
    result_.unsent = due > result_.begun ? due - result_.begun : 0;
  }
  changed_.notify_all();
}

void Load::Stop() {
  const MutexLock lock(mutex_);
  StopLocked(Clock::now());
}

bool Load::WaitUntilStopped(std::chrono::nanoseconds timeout) {
  const auto until = Clock::now() + timeout;
  const MutexLock lock(mutex_);
  while (!stopped_) {
    if (Clock::now() >= until) return false;
    changed_.wait_until(mutex_, until);
  }
  return true;
}

bool Load::WaitUntilIdle(std::chrono::nanoseconds timeout) {
  const auto until = Clock::now() + timeout;
  const MutexLock lock(mutex_);
  while (open_ > 0) {
    if (Clock::now() >= until) return false;
    changed_.wait_until(mutex_, until);
  }
  return true;
}

LoadCounts Load::counts() const {
  const MutexLock lock(mutex_);
  return {.begun = result_.begun,
          .finished = result_.answered + failed_,
          .failed = failed_};
}

LoadResult Load::result() const {
  const MutexLock lock(mutex_);
  return result_;
}

}  // namespace actord::client::bench
