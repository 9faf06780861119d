// Reads of single outcomes, with the threads of the store.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/durable/opened_store.h"
#include "runtime/process/errors.h"
#include "runtime/system/mutex.h"
#include "runtime/table/home_pid.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/support/simulated_disk.h"

namespace actord::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Entry = absl::StatusOr<std::optional<OutcomeEntry>>;

constexpr Owner kAlice{1};
constexpr auto kDeadline = std::chrono::seconds(30);

// Any thread may read it, as RocksDB.
class SharedStateStore final : public StateStore {
 public:
  absl::StatusOr<std::optional<std::string>> Get(
      std::string_view key) override {
    const MutexLock lock(mutex_);
    return state_.Get(key);
  }
  absl::Status Write(std::span<const StateWrite> writes) override {
    const MutexLock lock(mutex_);
    return state_.Write(writes);
  }
  absl::Status Flush() override {
    const MutexLock lock(mutex_);
    return state_.Flush();
  }
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override {
    const MutexLock lock(mutex_);
    return state_.Scan(first, last, use);
  }

 private:
  Mutex mutex_;
  MemoryStateStore state_;
};

// Counts the rounds of the store: each asks for the room on the disk once.
class CountedFiles final : public FileSystem {
 public:
  explicit CountedFiles(FileSystem& files) : files_(files) {}

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path,
                                             OpenMode mode) override {
    return files_.Open(path, mode);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return files_.Rename(from, to);
  }
  absl::Status Unlink(const std::string& path) override {
    return files_.Unlink(path);
  }
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& path) override {
    return files_.List(path);
  }
  absl::Status MakeDirectory(const std::string& path) override {
    return files_.MakeDirectory(path);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    return files_.SyncDirectory(path);
  }
  absl::StatusOr<DiskSpace> Space(const std::string& path) override {
    spaces_.fetch_add(1);
    return files_.Space(path);
  }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDirectory(
      const std::string& path) override {
    return files_.LockDirectory(path);
  }
  [[nodiscard]] int spaces() const { return spaces_.load(); }

 private:
  FileSystem& files_;
  std::atomic<int> spaces_{0};
};

class LateOutcomes : public ::testing::Test {
 protected:
  struct Read {
    std::thread::id thread;
    Entry entry;
  };

  void SetUp() override {
    ASSERT_TRUE(disk_.MakeDirectory("/srv").ok());
    OpenedStore::Options options;
    options.journal.directory = "/srv/store";
    options.journal.segment_bytes = 1 << 20;
    options.journal.max_record_bytes = 256 << 10;
    options.journal.max_unsynced_bytes = 256 << 10;
    options.journal.ring_bytes = 1 << 20;
    options.journal.max_group_bytes = 64 << 10;
    options.journal.files = &files_;
    options.disk_reserve_bytes = 1;
    options.open_state = [] { return std::make_unique<SharedStateStore>(); };
    auto opened = OpenedStore::Open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  std::future<Read> Begin(uint32_t slot) {
    auto done = std::make_shared<std::promise<Read>>();
    store_->ReadOutcomeLater(HomePid(1, 1, slot, 1), [done](Entry entry) {
      done->set_value({std::this_thread::get_id(), std::move(entry)});
    });
    return done->get_future();
  }
  // Appends a record, and returns its position when it is durable.
  uint64_t AppendDurably() {
    const uint64_t before = store_->journal().Tail();
    EXPECT_TRUE(store_->KeepOwner(kAlice, "alice").ok());
    EXPECT_TRUE(store_->journal().AwaitDurable(store_->journal().Tail()).ok());
    return before;
  }
  // False: the state store has not passed the position in time.
  bool AwaitApplied(uint64_t position) {
    const auto until = steady_clock::now() + kDeadline;
    while (store_->Applied() <= position) {
      if (steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
  }

  SimulatedDisk disk_{1};
  CountedFiles files_{disk_};
  std::unique_ptr<OpenedStore> store_;
};

TEST_F(LateOutcomes, AreAnsweredOnAnotherThreadUntilTheStoreIsClosed) {
  const Read unknown = Begin(1).get();
  ASSERT_TRUE(unknown.entry.ok()) << unknown.entry.status();
  EXPECT_FALSE(unknown.entry->has_value());
  EXPECT_NE(unknown.thread, std::this_thread::get_id());
  store_->Close();
  EXPECT_EQ(ReasonOf(Begin(1).get().entry.status()), reason::kStopped)
      << "the next start may have the outcome";
}

TEST_F(LateOutcomes, SlowCallbackDoesNotHoldUpTheApplierNorReadsThatWait) {
  std::promise<void> in_callback;
  std::promise<void> go_on;
  store_->ReadOutcomeLater(HomePid(1, 1, 1, 1), [&](const Entry& /*entry*/) {
    in_callback.set_value();
    go_on.get_future().wait();
  });
  in_callback.get_future().wait();
  std::future<Read> next = Begin(2);
  const bool is_applied = AwaitApplied(AppendDurably());
  EXPECT_TRUE(is_applied);
  if (is_applied) {
    EXPECT_TRUE(
        store_
            ->ReadState([](StateStore&, uint64_t) { return absl::OkStatus(); })
            .ok());
  }
  EXPECT_EQ(next.wait_for(milliseconds(0)), std::future_status::timeout);
  go_on.set_value();
  EXPECT_TRUE(next.get().entry.ok());
}

TEST_F(LateOutcomes, SeeEveryRecordThatWasDurableBefore) {
  for (uint32_t i = 0; i < 20; ++i) {
    const uint64_t position = AppendDurably();
    ASSERT_TRUE(Begin(i).get().entry.ok());
    EXPECT_GT(store_->Applied(), position);
  }
}

TEST_F(LateOutcomes, OfPidsThatNeverWereCostAnIdleStoreNoRounds) {
  ASSERT_TRUE(Begin(0).get().entry.ok());  // The state store has caught up.
  const int before = files_.spaces();
  const auto begun = steady_clock::now();
  constexpr uint32_t kReads = 2000;
  for (uint32_t i = 0; i < kReads; ++i) {
    const Read never = Begin(i).get();
    ASSERT_TRUE(never.entry.ok()) << never.entry.status();
    ASSERT_FALSE(never.entry->has_value());
  }
  // Half a second after each other, as without reads.
  const auto took = steady_clock::now() - begun;
  EXPECT_LE(files_.spaces() - before, took / milliseconds(500) + 2);
}

TEST_F(LateOutcomes, CostABusyStoreABoundedNumberOfRounds) {
  ASSERT_TRUE(Begin(0).get().entry.ok());
  const int before = files_.spaces();
  const auto begun = steady_clock::now();
  for (uint32_t i = 0; i < 60; ++i) {
    AppendDurably();
    ASSERT_TRUE(Begin(i).get().entry.ok());
  }
  const auto took = steady_clock::now() - begun;
  EXPECT_LE(files_.spaces() - before,
            took / milliseconds(5) + took / milliseconds(500) + 4);
}

TEST_F(LateOutcomes, AreAllAnsweredWhenTheStoreIsClosed) {
  std::vector<std::future<Read>> reads;
  for (uint32_t i = 0; i < 1000; ++i) {
    if (i % 100 == 0) AppendDurably();
    reads.push_back(Begin(i));
  }
  store_->Close();
  for (std::future<Read>& read : reads) {
    const Entry entry = read.get().entry;
    EXPECT_TRUE(entry.ok() || ReasonOf(entry.status()) == reason::kStopped)
        << entry.status();
  }
}

}  // namespace
}  // namespace actord::runtime
