#include "bench/durable/floor.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "bench/bench_runtime.h"
#include "bench/median.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr uint64_t kFloorBytes = 64 << 20;

void MustBeOk(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

}  // namespace

std::unique_ptr<runtime::File> ZeroFilledFile(const std::string& path,
                                              uint64_t bytes) {
  auto file =
      runtime::FileSystem::System().Open(path, runtime::OpenMode::kCreate);
  MustBeOk(file.status());
  MustBeOk((*file)->Allocate(bytes));
  const std::string zeros(1 << 20, '\0');
  for (uint64_t at = 0; at < bytes; at += zeros.size()) {
    MustBeOk((*file)->Write(at, zeros));
  }
  MustBeOk((*file)->SyncData());
  return *std::move(file);
}

Floor::Floor(const std::string& directory)
    : file_(ZeroFilledFile(directory + "/floor", kFloorBytes)) {}

void Floor::Append(std::string_view bytes) {
  const absl::MutexLock lock(&mutex_);
  waiting_ += bytes;
  const uint64_t mine = ++last_;
  while (synced_ < mine) {
    if (busy_) {
      changed_.Wait(&mutex_);
    } else {
      Commit();
    }
  }
}

void Floor::Commit() {
  busy_ = true;
  const uint64_t up_to = last_;
  writing_.clear();
  writing_.swap(waiting_);
  mutex_.Unlock();
  if (place_ + writing_.size() > kFloorBytes) place_ = 0;
  MustBeOk(file_->Write(place_, writing_));
  MustBeOk(file_->SyncData());
  place_ += writing_.size();
  mutex_.Lock();
  synced_ = up_to;
  busy_ = false;
  changed_.SignalAll();
}

Floor::Rate Floor::Run(int writers, size_t bytes, uint64_t appends) {
  const std::string content(bytes, 'f');
  std::atomic<uint64_t> begun{0};
  std::vector<std::vector<double>> waits_us(static_cast<size_t>(writers));
  std::vector<std::thread> threads;
  const Stopwatch stopwatch;
  for (std::vector<double>& mine : waits_us) {
    threads.emplace_back([&] {
      while (begun.fetch_add(1) < appends) {
        const Stopwatch wait;
        Append(content);
        mine.push_back(wait.Seconds() * 1e6);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = stopwatch.Seconds();
  std::vector<double> all;
  for (const std::vector<double>& mine : waits_us) {
    all.insert(all.end(), mine.begin(), mine.end());
  }
  return {static_cast<double>(appends) / seconds, Median(all),
          Quantile(all, 0.99)};
}

}  // namespace actord::bench
