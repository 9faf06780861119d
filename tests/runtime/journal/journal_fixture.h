// A journal on a simulated disk, without threads.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/journal/journal.h"
#include "runtime/system/mutex.h"
#include "tests/runtime/system/manual_clock.h"
#include "tests/support/simulated_disk.h"

namespace actord::runtime {

// The kind of the tests' records.
inline constexpr uint16_t kTestKind = 7;
inline constexpr char kStore[] = "/store";

class RecordedEvents final : public JournalEvents {
 public:
  void Durable(uint64_t lsn) override {
    const MutexLock lock(mutex_);
    durable_ = lsn;
  }
  void CaughtUp() override {
    const MutexLock lock(mutex_);
    ++caught_up_;
  }
  void Failed(const absl::Status& status) override {
    const MutexLock lock(mutex_);
    failures_.push_back(status);
  }

  uint64_t durable() const {
    const MutexLock lock(mutex_);
    return durable_;
  }
  int caught_up() const {
    const MutexLock lock(mutex_);
    return caught_up_;
  }
  std::vector<absl::Status> failures() const {
    const MutexLock lock(mutex_);
    return failures_;
  }

 private:
  mutable Mutex mutex_;
  uint64_t durable_ ABSL_GUARDED_BY(mutex_) = 0;
  int caught_up_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<absl::Status> failures_ ABSL_GUARDED_BY(mutex_);
};

inline JournalOptions SmallJournal(FileSystem& files, const Clock& clock) {
  JournalOptions options;
  options.directory = kStore;
  options.segment_bytes = 1 << 20;
  options.max_record_bytes = 256 << 10;
  options.max_unsynced_bytes = 256 << 10;
  options.ring_bytes = 1 << 20;
  options.max_group_bytes = 64 << 10;
  options.threads = false;
  options.knows = [](uint16_t kind) { return kind == kTestKind; };
  options.files = &files;
  options.clock = &clock;
  options.seed = 1;
  return options;
}

// All records from `from` on, but for OPENED ones.
inline absl::StatusOr<std::vector<std::string>> ReadAll(const Journal& journal,
                                                        uint64_t from) {
  std::vector<std::string> payloads;
  JournalReader reader = journal.Read(from);
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next();
    if (!more.ok()) return more.status();
    if (!*more) return payloads;
    if (reader.record().kind != kOpenedKind) {
      payloads.emplace_back(reader.record().payload);
    }
  }
}

class JournalFixture : public testing::Test {
 protected:
  JournalFixture() : disk_(1), options_(SmallJournal(disk_, clock_)) {}

  // The store's state after a crash or a stop, opened by a new program.
  absl::Status TryOpen() {
    journal_.reset();
    events_ = std::make_unique<RecordedEvents>();
    absl::StatusOr<std::unique_ptr<Journal>> journal =
        Journal::Open(options_, *events_);
    if (!journal.ok()) return journal.status();
    journal_ = *std::move(journal);
    return absl::OkStatus();
  }
  void Open() {
    const absl::Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << status;
  }
  // The program ends where it is.
  void Kill(bool keep_cache = true) {
    disk_.CrashAt(disk_.calls());
    (void)disk_.List("/");
    journal_.reset();
    disk_.Restart(keep_cache, SimulatedDisk::kSectorBytes);
  }
  uint64_t Append(std::string_view payload, uint16_t flags = 0) {
    const absl::StatusOr<uint64_t> lsn =
        journal_->Append({kTestKind, flags, payload});
    EXPECT_TRUE(lsn.ok()) << lsn.status();
    return lsn.value_or(0);
  }
  void WorkAll() {
    // Segments are used up slowly, so two spares are enough.
    clock_.AdvanceNs(10 * kSecond);
    while (journal_->Work()) {
    }
  }
  void AppendDurably(std::string_view payload) {
    (void)Append(payload);
    WorkAll();
    ASSERT_EQ(journal_->DurableLsn(), journal_->Tail());
  }
  std::vector<std::string> Payloads() {
    const absl::StatusOr<std::vector<std::string>> all =
        ReadAll(*journal_, journal_->FirstLsn());
    EXPECT_TRUE(all.ok()) << all.status();
    return all.value_or(std::vector<std::string>());
  }
  static std::string Segment(uint64_t place) {
    return std::string(kStore) + "/journal/" + SegmentName(place);
  }

  SimulatedDisk disk_;
  ManualClock clock_;
  JournalOptions options_;
  std::unique_ptr<RecordedEvents> events_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace actord::runtime
