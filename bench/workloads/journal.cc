// Records of 64 to 300 bytes from 1, 2 and 8 threads to the runtime's journal,
// each thread with 1, 8 or 100 of them in flight; in turn with a floor: a loop
// that writes groups of the same size to a file filled with zeros, and syncs.
//
// The files are in the directory for temporary files (TMPDIR).
#include "runtime/journal/journal.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/bench_runtime.h"
#include "bench/durable/floor.h"
#include "bench/median.h"
#include "bench/temporary_directory.h"
#include "bench/workload.h"
#include "runtime/files/file_system.h"
#include "runtime/system/random.h"

namespace actord::bench {

namespace {

using runtime::Journal;
using runtime::JournalOptions;
using runtime::JournalStats;

constexpr int kJournalRounds = 5;
constexpr std::chrono::milliseconds kRoundTime(300);
constexpr uint64_t kFloorFileBytes = 64 << 20;
constexpr uint16_t kBenchKind = 7;

class FailingEvents final : public runtime::JournalEvents {
 public:
  void Durable(uint64_t /*lsn*/) override {}
  void CaughtUp() override {}
  void Failed(const absl::Status& status) override { Fail(status.ToString()); }
};

void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

struct JournalRound {
  double records_per_s = 0;
  double p50_us = 0;
  double records_a_group = 0;
  uint64_t bytes_a_group = 0;
};

// What one thread does until `stop`; returns how long each batch took.
std::vector<double> AppendBatches(Journal& journal, int in_flight,
                                  uint64_t seed,
                                  const std::atomic<bool>& stop) {
  runtime::Random random(seed);
  const std::string bytes(300, 'r');
  std::vector<double> batch_us;
  while (!stop.load(std::memory_order_relaxed)) {
    const Stopwatch watch;
    uint64_t last = 0;
    for (int i = 0; i < in_flight; ++i) {
      const size_t size = 64 + random.Next() % 237;
      const absl::StatusOr<uint64_t> lsn = journal.Append(
          {kBenchKind, 0, std::string_view(bytes).substr(0, size)});
      if (!lsn.ok()) Fail(lsn.status().ToString());
      last = *lsn;
    }
    Check(journal.AwaitDurable(last + 8));
    batch_us.push_back(watch.Seconds() * 1e6);
  }
  return batch_us;
}

JournalRound RunJournalRound(Journal& journal, int threads, int in_flight) {
  // Only the end of the journal is of interest.
  Check(journal.Trim(journal.DurableLsn()));
  std::atomic<bool> stop{false};
  std::vector<std::vector<double>> latencies(static_cast<size_t>(threads));
  const JournalStats before = journal.Stats();
  const Stopwatch watch;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      latencies[static_cast<size_t>(t)] =
          AppendBatches(journal, in_flight, static_cast<uint64_t>(t) + 1, stop);
    });
  }
  std::this_thread::sleep_for(kRoundTime);
  stop = true;
  for (std::thread& thread : running) thread.join();
  const double seconds = watch.Seconds();
  const JournalStats after = journal.Stats();
  std::vector<double> all;
  for (const std::vector<double>& some : latencies) {
    all.insert(all.end(), some.begin(), some.end());
  }
  const auto records = static_cast<double>(after.records - before.records);
  const uint64_t groups = after.groups - before.groups;
  return {
      records / seconds, Median(std::move(all)),
      records / static_cast<double>(groups),
      runtime::AlignUp((after.written_bytes - before.written_bytes) / groups,
                       runtime::kBlockBytes)};
}

// Groups a second.
double RunFloor(runtime::File& file, uint64_t group_bytes) {
  const std::string group(group_bytes, 'g');
  uint64_t offset = 0;
  uint64_t groups = 0;
  const Stopwatch watch;
  while (watch.Seconds() < std::chrono::duration<double>(kRoundTime).count()) {
    if (offset + group_bytes > kFloorFileBytes) offset = 0;
    Check(file.Write(offset, group));
    Check(file.SyncData());
    offset += group_bytes;
    ++groups;
  }
  return static_cast<double>(groups) / watch.Seconds();
}

}  // namespace

Json RunJournal(const WorkloadOptions& /*options*/) {
  const TemporaryDirectory directory;
  FailingEvents events;
  JournalOptions options;
  options.directory = directory.path() + "/store";
  options.knows = [](uint16_t kind) { return kind == kBenchKind; };
  absl::StatusOr<std::unique_ptr<Journal>> journal =
      Journal::Open(options, events);
  if (!journal.ok()) Fail(journal.status().ToString());
  const auto floor_file =
      ZeroFilledFile(directory.path() + "/floor", kFloorFileBytes);
  Json figures;
  for (const int threads : {1, 2, 8}) {
    for (const int in_flight : {1, 8, 100}) {
      std::vector<double> rates;
      std::vector<double> floors;
      std::vector<double> ratios;
      std::vector<double> latencies;
      for (int round = 0; round < kJournalRounds; ++round) {
        const JournalRound result =
            RunJournalRound(**journal, threads, in_flight);
        const double floor = RunFloor(*floor_file, result.bytes_a_group) *
                             result.records_a_group;
        rates.push_back(result.records_per_s);
        floors.push_back(floor);
        ratios.push_back(result.records_per_s / floor);
        latencies.push_back(result.p50_us);
      }
      const std::string prefix = absl::StrCat("t", threads, "_f", in_flight);
      figures[prefix + "_per_s"] = Median(rates);
      figures[prefix + "_floor_per_s"] = Median(floors);
      figures[prefix + "_ratio"] = Median(ratios);
      figures[prefix + "_p50_us"] = Median(latencies);
    }
  }
  figures["room_waits"] = (*journal)->Stats().room_waits;
  figures["unpublished_stalls"] = (*journal)->Stats().unpublished_stalls;
  return figures;
}

}  // namespace actord::bench
