#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/median.h"
#include "bench/processes/latency.h"
#include "bench/workload.h"
#include "runtime/system/parker.h"

namespace actord::bench {
namespace {

// A thread that only sleeps on a futex and records how long each wake-up took:
// the cost of the kernel alone.
class BareThread {
 public:
  BareThread() : thread_([this] { Run(); }) {}
  ~BareThread() { End(); }
  BareThread(const BareThread&) = delete;
  BareThread& operator=(const BareThread&) = delete;

  // Wakes the thread once it has recorded the last wake-up. It should be asleep
  // again by then.
  void Wake() {
    while (noted_.load(std::memory_order_acquire) != woken_) {
      std::this_thread::yield();
    }
    ++woken_;
    sent_ns_.store(SteadyNowNs(), std::memory_order_relaxed);
    parker_.Notify();
  }
  // The duration of each wake-up, in microseconds.
  const std::vector<double>& End() {
    if (!thread_.joinable()) return us_;
    while (noted_.load(std::memory_order_acquire) != woken_) {
      std::this_thread::yield();
    }
    sent_ns_.store(kEnd, std::memory_order_relaxed);
    parker_.Notify();
    thread_.join();
    return us_;
  }

 private:
  static constexpr int64_t kEnd = -1;

  void Run() {
    for (;;) {
      while (!parker_.Wait(runtime::Parker::kForever)) {
      }
      const int64_t now = SteadyNowNs();
      const int64_t sent = sent_ns_.load(std::memory_order_relaxed);
      if (sent == kEnd) return;
      us_.push_back(static_cast<double>(now - sent) / 1e3);
      noted_.fetch_add(1, std::memory_order_release);
    }
  }

  runtime::Parker parker_;
  std::atomic<int64_t> sent_ns_{0};
  std::atomic<uint64_t> noted_{0};
  uint64_t woken_ = 0;
  // Used only by the thread while it runs.
  std::vector<double> us_;
  std::thread thread_;
};

}  // namespace

// Time from a send by an outside thread to the step, while every worker sleeps.
// Alternates with the time from the wake-up of a bare thread to its first
// instruction.
Json RunWake(const WorkloadOptions& options) {
  constexpr size_t kMessages = 2000;
  BenchRuntime runtime(options.Runtime());
  const auto pid = runtime.Submit(Latency::kName, {});
  BareThread bare;
  // The worker or thread to wake falls asleep meanwhile.
  constexpr auto kPause = std::chrono::milliseconds(1);
  for (size_t i = 0; i < kMessages; ++i) {
    std::this_thread::sleep_for(kPause);
    const int64_t now = SteadyNowNs();
    runtime.Send(pid, {}, BytesOf(now));
    std::this_thread::sleep_for(kPause);
    bare.Wake();
  }
  const std::vector<double>& bare_us = bare.End();
  Expect("the count of bare wake-ups", kMessages, bare_us.size());
  runtime.Send(pid, "end", {});
  const std::string bytes = runtime.Await(pid);
  Expect("the count of samples", kMessages, bytes.size() / sizeof(int64_t));
  std::vector<double> us;
  for (size_t i = 0; i < kMessages; ++i) {
    int64_t ns = 0;
    std::memcpy(&ns, bytes.data() + i * sizeof(ns), sizeof(ns));
    us.push_back(static_cast<double>(ns) / 1e3);
  }
  return {{"ops", kMessages},
          {"p50_us", Median(us)},
          {"p99_us", Quantile(us, 0.99)},
          {"max_us", Quantile(us, 1)},
          {"bare_p50_us", Median(bare_us)},
          {"bare_p99_us", Quantile(bare_us, 0.99)}};
}

// The same on a machine that adds as little latency as it can.
Json RunWakePolling(const WorkloadOptions& options) {
  WorkloadOptions polling = options;
  polling.cpu_latency_us = 0;
  return RunWake(polling);
}

}  // namespace actord::bench
