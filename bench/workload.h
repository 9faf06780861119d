// The workloads by name. Each has a file in workloads/ or durable/.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "absl/time/time.h"
#include "runtime/settings/options.h"

namespace actord::bench {

// Fields in the order in which they are printed.
using Json = nlohmann::ordered_json;

// The options of BenchRuntime.
struct BenchRuntimeOptions : runtime::RuntimeOptions {
  // The runtime has a store of its own, with which no process has to do.
  bool with_store = false;
};

struct WorkloadOptions {
  // 0: the number of CPUs that this process may use.
  int workers = 0;
  // For `memory`, `idle`, `recovery` and `dormant`.
  int64_t idle_processes = 1'000'000;
  // Maximum wake-up latency of idle CPUs, in microseconds. Unset: the machine's
  // own setting.
  std::optional<int64_t> cpu_latency_us;

  // For `durable_steady`.
  double minutes = 0.5;
  int64_t messages_per_second = 100'000;

  // Runtimes and daemons have a store, although all processes are volatile.
  bool with_store = false;

  // The daemon's defaults, except the number of workers, and more processes if
  // that many are requested.
  [[nodiscard]] BenchRuntimeOptions Runtime() const {
    BenchRuntimeOptions options;
    options.with_store = with_store;
    options.workers = workers;
    if (cpu_latency_us) {
      options.cpu_latency = absl::Microseconds(*cpu_latency_us);
    }
    // One more for the process that spawns them. Threads may hold back up to
    // 1/32 (runtime/memory/slot_table.h).
    const auto processes = static_cast<size_t>(idle_processes);
    options.max_processes =
        std::max(options.max_processes, processes + processes / 16 + 1);
    options.durable.max_processes =
        std::max(options.durable.max_processes, options.max_processes);
    return options;
  }
};

struct Workload {
  std::string_view name;
  std::string_view doc;
  // Runs it and returns its figures. Ends the program if a result is wrong.
  Json (*run)(const WorkloadOptions& options);
  // The device that it needs write access to; null: none.
  const char* device = nullptr;
};

std::span<const Workload> Workloads();

class Stopwatch {
 public:
  [[nodiscard]] double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// {"ops", "seconds", "ns_per_op"}.
inline Json Figures(int64_t ops, double seconds) {
  return {{"ops", ops},
          {"seconds", seconds},
          {"ns_per_op", seconds * 1e9 / static_cast<double>(ops)}};
}

// One function for each file in workloads/ and durable/.
Json RunBlocked(const WorkloadOptions& options);
Json RunCalibrate(const WorkloadOptions& options);
Json RunCoroutine(const WorkloadOptions& options);
Json RunDormant(const WorkloadOptions& options);
Json RunDurableChain(const WorkloadOptions& options);
Json RunDurableStream(const WorkloadOptions& options);
Json RunDurableStream1(const WorkloadOptions& options);
Json RunDurableSteady(const WorkloadOptions& options);
Json RunDurableSubmit(const WorkloadOptions& options);
Json RunDurableUnary(const WorkloadOptions& options);
Json RunFanin(const WorkloadOptions& options);
Json RunIdle(const WorkloadOptions& options);
Json RunJournal(const WorkloadOptions& options);
Json RunMemory(const WorkloadOptions& options);
Json RunPairs(const WorkloadOptions& options);
Json RunPingpong(const WorkloadOptions& options);
Json RunRecovery(const WorkloadOptions& options);
Json RunRing(const WorkloadOptions& options);
Json RunRpcUnary(const WorkloadOptions& options);
Json RunRpcUnaryMtls(const WorkloadOptions& options);
Json RunScale(const WorkloadOptions& options);
Json RunSend(const WorkloadOptions& options);
Json RunSendStream(const WorkloadOptions& options);
Json RunSkynet(const WorkloadOptions& options);
Json RunSpawn(const WorkloadOptions& options);
Json RunStart(const WorkloadOptions& options);
Json RunSubmit(const WorkloadOptions& options);
Json RunSubmitStream(const WorkloadOptions& options);
Json RunTimers(const WorkloadOptions& options);
Json RunTimersDense(const WorkloadOptions& options);
Json RunWake(const WorkloadOptions& options);
Json RunWakePolling(const WorkloadOptions& options);
Json RunYield(const WorkloadOptions& options);

}  // namespace actord::bench
