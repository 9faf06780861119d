// Makes requests for a time and measures their latencies.
//
// A closed load keeps `in_flight` requests open: the end of a request begins
// the next one, and its latency counts from its begin. An open load has a
// schedule: request i is due i / rate after the start, however slow the answers
// are, and its latency counts from then. So the time that a request waits
// because `in_flight` requests are open is part of its latency.
//
// Thread-safety: every function may be called from any thread, except Start and
// the destructor. Ownership: owns its thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "client/bench/latency_histogram.h"
#include "client/calls/mutex.h"

namespace actord::client::bench {

struct LoadOptions {
  // How long requests begin.
  std::chrono::nanoseconds duration{0};
  size_t in_flight = 1;  // at least 1
  // Requests a second, at most 10 million. 0: a closed load.
  double rate = 0;
};

// The end of one request: answered if `status` is OK.
struct Answer {
  absl::Status status;
  // Why it failed, as in MAILBOX_FULL. "": the reason or the code of `status`.
  std::string reason = {};
};

struct LoadResult {
  // Requests that have begun: `answered` and the sum of `errors`, as soon as
  // none is open.
  uint64_t begun = 0;
  uint64_t answered = 0;
  // The other requests that have ended, by their reasons.
  std::map<std::string, uint64_t> errors = {};
  // Requests of an open load that were due and did not begin.
  uint64_t unsent = 0;
  // From the start to the newest answer.
  std::chrono::nanoseconds elapsed{0};
  LatencyHistogram latency = {};  // of the answered requests
  // The error that has stopped the load: the other requests would fail, too.
  absl::Status fatal = {};
};

struct LoadCounts {
  uint64_t begun = 0;
  uint64_t finished = 0;
  uint64_t failed = 0;
};

class Load {
 public:
  using Finished = std::function<void(Answer)>;
  // Begins request `index`, counted from 0, and calls `finished` exactly once,
  // on any thread but not before it returns on the thread that has begun it.
  // Must not block.
  using Begin = std::function<void(uint64_t index, Finished finished)>;

  Load(const LoadOptions& options, Begin begin);
  // Precondition: no request is open.
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Called once.
  void Start();
  // No request begins any more.
  void Stop();
  // Waits until the load has stopped. False: `timeout` has passed.
  bool WaitUntilStopped(std::chrono::nanoseconds timeout);
  // Waits until no request is open. False: `timeout` has passed.
  bool WaitUntilIdle(std::chrono::nanoseconds timeout);

  [[nodiscard]] LoadCounts counts() const;
  // Complete as soon as the load has stopped and no request is open.
  [[nodiscard]] LoadResult result() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Begins the requests that no answer begins.
  void Run();
  void End(Clock::time_point due, Answer answer);
  void BeginOne(uint64_t index, Clock::time_point due);
  [[nodiscard]] Clock::time_point NextDue() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopLocked(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LoadOptions options_;
  const Begin begin_;
  Clock::time_point start_;
  Clock::time_point end_;
  mutable Mutex mutex_;
  // Signalled at a stop, and when the number of open requests falls.
  std::condition_variable_any changed_;
  LoadResult result_ ABSL_GUARDED_BY(mutex_);
  uint64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t open_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace actord::client::bench
