// From the opening of a store until its runtime serves: with 64 MiB of journal
// that the state store does not have yet, half of it messages and half steps of
// 1000 processes; and with the processes of --processes and their images in the
// state store.
//
// The floor: reading all files of the store.
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/durable/bench_store.h"
#include "bench/processes/durable.h"
#include "bench/temporary_directory.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr uint64_t kJournalBytes = 64 << 20;
constexpr int kJournalProcesses = 1000;
constexpr size_t kPayloadBytes = 64;
constexpr int64_t kMostUnanswered = 20'000;

// Submits durable processes that wait for messages.
std::vector<runtime::Pid> SubmitDurable(BenchRuntime& bench, int64_t count) {
  std::vector<runtime::Pid> pids(static_cast<size_t>(count));
  std::atomic<int64_t> answered{0};
  runtime::SubmitRequest request{DurableDrain::kName, "", {}, {}};
  request.durable = true;
  for (int64_t i = 0; i < count; ++i) {
    while (i - answered.load() >= kMostUnanswered) sched_yield();
    bench.runtime().Submit(request,
                           [&, i](const absl::StatusOr<runtime::Pid>& pid) {
                             if (!pid.ok()) Fail(pid.status().ToString());
                             pids[static_cast<size_t>(i)] = *pid;
                             answered.fetch_add(1);
                           });
  }
  while (answered.load() < count) sched_yield();
  return pids;
}

void FillJournal(BenchRuntime& bench, const runtime::Journal& journal,
                 const std::vector<runtime::Pid>& pids) {
  const runtime::Message message{{}, {std::string(kPayloadBytes, 'x'), {}}};
  const uint64_t end = journal.Tail() + kJournalBytes;
  for (size_t i = 0; journal.Tail() < end;) {
    const absl::Status sent =
        bench.runtime().Send(pids[i % pids.size()], message);
    if (sent.ok()) {
      ++i;
    } else if (absl::IsUnavailable(sent) || absl::IsResourceExhausted(sent)) {
      // The disk is behind, or the mailbox is full.
      sched_yield();
    } else {
      Fail(sent.ToString());
    }
  }
}

// Reads all files once, and returns how long that took, in seconds.
double ReadAll(const std::string& directory) {
  std::vector<char> buffer(1 << 20);
  const Stopwatch stopwatch;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    while (
        file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()))) {
    }
  }
  return stopwatch.Seconds();
}

// Starts a runtime with the store, and returns how long that took.
double Start(const std::string& directory,
             const runtime::RuntimeOptions& options) {
  const Stopwatch stopwatch;
  const BenchStore store(directory);
  BenchRuntime bench({store.With(options)});
  return stopwatch.Seconds();
}

}  // namespace

Json RunRecovery(const WorkloadOptions& options) {
  const runtime::RuntimeOptions runtime_options = options.Runtime();
  Json figures;
  {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/store";
    {
      const BenchStore store(path);
      BenchRuntime bench({store.With(runtime_options)});
      FillJournal(bench, store.journal(),
                  SubmitDurable(bench, kJournalProcesses));
    }
    figures["journal_read_seconds"] = ReadAll(path);
    figures["journal_seconds"] = Start(path, runtime_options);
  }
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/store";
  {
    const BenchStore store(path);
    BenchRuntime bench({store.With(runtime_options)});
    const Stopwatch stopwatch;
    SubmitDurable(bench, options.idle_processes);
    figures["images_submit_seconds"] = stopwatch.Seconds();
  }
  // Brings the state store up to the journal.
  figures["images_first_seconds"] = Start(path, runtime_options);
  figures["images_read_seconds"] = ReadAll(path);
  figures["images_seconds"] = Start(path, runtime_options);
  return figures;
}

}  // namespace actord::bench
