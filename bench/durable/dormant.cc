// The memory of a runtime whose processes are nearly all dormant: a child makes
// the durable processes, which leave memory as they become idle. Then a new
// runtime starts with that store, and each hundredth process gets a message,
// which brings it back into memory.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/durable/bench_store.h"
#include "bench/process_usage.h"
#include "bench/processes/durable.h"
#include "bench/temporary_directory.h"
#include "bench/workload.h"
#include "runtime/process/pid.h"

namespace actord::bench {
namespace {

// One of this number of processes is active.
constexpr int64_t kActiveShare = 100;
// Bounds of the memory of the child.
constexpr int64_t kMostInMemory = 300'000;
constexpr int64_t kMostSubmitted = 20'000;

void Pause() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

int64_t Dormant(BenchRuntime& bench) {
  return static_cast<int64_t>(bench.runtime().Stats().processes_dormant);
}

// Submits the processes, waits until all are dormant, and writes the PIDs of
// the future active ones into a file.
void MakeDormant(BenchRuntime& bench, int64_t count,
                 const std::string& pids_file) {
  std::ofstream pids(pids_file);
  std::vector<runtime::Pid> active(
      static_cast<size_t>((count + kActiveShare - 1) / kActiveShare));
  std::atomic<int64_t> answered{0};
  runtime::SubmitRequest request{DurableDrain::kName, "", {}, {}};
  request.durable = true;
  for (int64_t i = 0; i < count; ++i) {
    while (i - answered.load() >= kMostSubmitted) sched_yield();
    if (i % kActiveShare == 0) {
      while (i - Dormant(bench) >= kMostInMemory) Pause();
    }
    bench.runtime().Submit(
        request, [&, i](const absl::StatusOr<runtime::Pid>& p) {
          if (!p.ok()) Fail(p.status().ToString());
          if (i % kActiveShare == 0) {
            active[static_cast<size_t>(i / kActiveShare)] = *p;
          }
          answered.fetch_add(1);
        });
  }
  while (Dormant(bench) < count) Pause();
  for (const runtime::Pid& pid : active) pids << FormatPid(pid) << '\n';
  if (!pids.flush()) Fail("cannot write the PIDs");
}

// Makes the store in a process of its own, so that its memory is not measured.
void MakeStoreApart(const std::string& path, const std::string& pids_file,
                    runtime::RuntimeOptions options, int64_t count) {
  const pid_t child = fork();
  if (child < 0) Fail("cannot start a process");
  if (child == 0) {
    options.durable.passivate_after = absl::Seconds(1);
    {
      const BenchStore store(path);
      BenchRuntime bench({store.With(options)});
      MakeDormant(bench, count, pids_file);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    Fail("the process that makes the store has failed");
  }
}

// Sends a message to each process in the file, and returns their number.
int64_t WakeActive(BenchRuntime& bench, const std::string& pids_file) {
  std::ifstream pids(pids_file);
  int64_t sent = 0;
  for (std::string text; pids >> text; ++sent) {
    const auto pid = runtime::ParsePid(text);
    if (!pid.ok()) Fail("there is no PID in " + text);
    for (;;) {
      const absl::Status status = bench.runtime().Send(*pid, {});
      if (status.ok()) break;
      // The disk is behind.
      if (!absl::IsUnavailable(status)) Fail(status.ToString());
      Pause();
    }
  }
  return sent;
}

double MebibytesOf(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

Json RunDormant(const WorkloadOptions& options) {
  const int64_t processes = options.idle_processes;
  const runtime::RuntimeOptions runtime_options = options.Runtime();
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/store";
  const std::string pids_file = directory.path() + "/pids";
  Json figures = {{"processes", processes}};
  const Stopwatch making;
  MakeStoreApart(path, pids_file, runtime_options, processes);
  figures["make_seconds"] = making.Seconds();
  const Stopwatch starting;
  const BenchStore store(path);
  BenchRuntime bench({store.With(runtime_options)});
  figures["start_seconds"] = starting.Seconds();
  Expect("the number of dormant processes", static_cast<uint64_t>(processes),
         static_cast<uint64_t>(Dormant(bench)));
  figures["start_resident_mib"] = MebibytesOf(ResidentBytes());
  const Stopwatch waking;
  const int64_t active = WakeActive(bench, pids_file);
  while (bench.runtime().Stats().steps < static_cast<uint64_t>(active)) Pause();
  figures["active"] = active;
  figures["wake_seconds"] = waking.Seconds();
  bench.ExpectMessages(static_cast<uint64_t>(active));
  Expect("the number of dormant processes",
         static_cast<uint64_t>(processes - active),
         static_cast<uint64_t>(Dormant(bench)));
  figures["resident_mib"] = MebibytesOf(ResidentBytes());
  return figures;
}

}  // namespace actord::bench
