// How fast this machine currently is at the operations that dominate the
// runtime. It runs no code of the runtime. So the ratio of a figure to it
// changes with the runtime's code, but hardly with the machine: a slower clock,
// or a neighbour that takes a share of a core or a cache, slows both in the
// same way. Its parts are those of a message in docs/performance.md: atomic
// read-modify-writes on a private line (the mailbox and the activity word), and
// dependent loads in the second-level cache (processes that ran a while ago).
//
// Sharing between two cores costs several times as much if a host places them
// far apart. No ratio can compensate for that, because the effect differs from
// figure to figure. So the transfer of a line between two threads is a figure
// of its own, which shows whether two runs are comparable.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "bench/median.h"
#include "bench/workload.h"
#include "runtime/system/cpu_count.h"

namespace actord::bench {
namespace {

// Each slice is short, so that the median excludes the slices in which the
// thread was interrupted.
constexpr int kSlices = 41;

// The mix of one operation of the calibration. Each part takes about half of
// the time.
constexpr double kRmws = 8;
constexpr double kLoads = 8;

struct alignas(64) Line {
  std::atomic<uint64_t> value{0};
};

double NsPerRmw(Line& line) {
  constexpr int kCount = 40'000;
  const Stopwatch stopwatch;
  for (int i = 0; i < kCount; ++i) line.value.fetch_add(1);
  return stopwatch.Seconds() * 1e9 / kCount;
}

// A cycle through all lines of a buffer that fits the second-level cache but
// not the first. The order defeats prefetchers.
class Walk {
 public:
  Walk() : lines_(kLines) {
    std::vector<uint32_t> order(kLines);
    std::iota(order.begin(), order.end(), 0U);
    uint64_t random = 1;
    for (uint32_t i = kLines - 1; i > 0; --i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      std::swap(order[i], order[(random >> 33U) % i]);
    }
    for (uint32_t i = 0; i < kLines; ++i) {
      lines_[order[i]].next = order[(i + 1) % kLines];
    }
  }

  double NsPerLoad() {
    constexpr int kCount = 40'000;
    const Stopwatch stopwatch;
    for (int i = 0; i < kCount; ++i) at_ = lines_[at_].next;
    return stopwatch.Seconds() * 1e9 / kCount;
  }

  // The current position. Used by the caller, so that the compiler cannot
  // remove the walk.
  [[nodiscard]] uint32_t at() const { return at_; }

 private:
  // 256 KiB.
  static constexpr uint32_t kLines = 4096;
  struct alignas(64) Step {
    uint32_t next = 0;
  };
  std::vector<Step> lines_;
  uint32_t at_ = 0;
};

struct Samples {
  std::vector<double> rmw_ns;
  std::vector<double> load_ns;
  uint32_t walked_to = 0;
};

void Measure(Samples& samples) {
  Line line;
  Walk walk;
  for (int i = 0; i < kSlices; ++i) {
    samples.rmw_ns.push_back(NsPerRmw(line));
    samples.load_ns.push_back(walk.NsPerLoad());
  }
  samples.walked_to = walk.at();
}

// Runs on every worker's thread at once, like the runtime.
Samples MeasureOnThreads(int threads) {
  std::vector<Samples> each(static_cast<size_t>(threads));
  {
    std::vector<std::jthread> running;
    for (Samples& samples : each) {
      running.emplace_back([&samples] { Measure(samples); });
    }
  }
  Samples all;
  for (const Samples& samples : each) {
    all.rmw_ns.insert(all.rmw_ns.end(), samples.rmw_ns.begin(),
                      samples.rmw_ns.end());
    all.load_ns.insert(all.load_ns.end(), samples.load_ns.begin(),
                       samples.load_ns.end());
    all.walked_to += samples.walked_to;
  }
  return all;
}

// Nanoseconds of one transfer. Two threads pass one line back and forth: at
// even numbers it is the first thread's turn to write, at odd numbers the
// second's.
double NsPerExchange() {
  constexpr uint64_t kHandOvers = 4'000;
  constexpr uint64_t kAll = kSlices * kHandOvers;
  Line line;
  const auto take_turns = [&line](uint64_t first, uint64_t end) {
    for (uint64_t turn = first; turn < end; turn += 2) {
      while (line.value.load() != turn) {
      }
      line.value.store(turn + 1);
    }
  };
  const std::jthread other([&take_turns] { take_turns(1, kAll); });
  take_turns(0, 2);  // The other has started by the next turn.
  std::vector<double> ns;
  for (uint64_t begin = 2; begin < kAll; begin += kHandOvers) {
    const uint64_t end = std::min(begin + kHandOvers, kAll);
    const Stopwatch stopwatch;
    take_turns(begin, end);
    ns.push_back(stopwatch.Seconds() * 1e9 / static_cast<double>(end - begin));
  }
  return Median(ns);
}

}  // namespace

Json RunCalibrate(const WorkloadOptions& options) {
  const int cpus = runtime::UsableCpuCount();
  const int threads = options.workers > 0 ? options.workers : cpus;
  const Samples samples = MeasureOnThreads(threads);
  const double rmw_ns = Median(samples.rmw_ns);
  const double load_ns = Median(samples.load_ns);
  // Two threads on one core would wait for each other's time slices.
  const double exchange_ns = std::min(threads, cpus) > 1 ? NsPerExchange() : 0;
  return {{"ns_per_op", kRmws * rmw_ns + kLoads * load_ns},
          {"rmw_ns", rmw_ns},
          {"load_ns", load_ns},
          {"exchange_ns", exchange_ns},
          {"walked_to", samples.walked_to}};
}

}  // namespace actord::bench
