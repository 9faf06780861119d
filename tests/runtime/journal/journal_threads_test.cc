// The journal with its threads, on the system's files and on simulated ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/runtime/journal/journal_fixture.h"

namespace actord::runtime {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kAnHourNs = uint64_t{3600} * 1'000'000'000;

class JournalThreadsTest : public testing::TestWithParam<bool> {
 protected:
  JournalThreadsTest()
      : disk_(1), options_(SmallJournal(disk_, Clock::System())) {
    options_.threads = true;
    if (!GetParam()) return;
    std::string name = testing::TempDir() + "/actord_journal_XXXXXX";
    directory_ = mkdtemp(name.data());
    options_.directory = directory_ + "/store";
    options_.files = &FileSystem::System();
  }
  ~JournalThreadsTest() override {
    journal_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  void Open() {
    journal_.reset();
    events_ = std::make_unique<RecordedEvents>();
    auto journal = Journal::Open(options_, *events_);
    ASSERT_TRUE(journal.ok()) << journal.status();
    journal_ = *std::move(journal);
  }
  template <typename Condition>
  static void Await(Condition condition) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  SimulatedDisk disk_;
  std::string directory_;
  JournalOptions options_;
  std::unique_ptr<RecordedEvents> events_;
  std::unique_ptr<Journal> journal_;
};

TEST_P(JournalThreadsTest, RecordsThatNobodyWaitsForShareAGroup) {
  options_.linger_ns = kAnHourNs;
  Open();
  const uint64_t groups = journal_->Stats().groups;
  const std::string payload(100, 'p');
  uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    last = *journal_->Append({kTestKind, 0, payload});
    std::this_thread::yield();
  }
  ASSERT_TRUE(journal_->AwaitDurable(last + RecordBytes(100)).ok());
  EXPECT_EQ(journal_->Stats().groups, groups + 1);
}

TEST_P(JournalThreadsTest, RecordThatIsWantedDoesNotLinger) {
  options_.linger_ns = kAnHourNs;
  Open();
  // The commit thread is anywhere on its way to a sleep.
  for (int i = 0; i < 300; ++i) {
    const uint64_t lsn = *journal_->Append({kTestKind, 0, "a"});
    for (int j = 0; j < i; ++j) std::this_thread::yield();
    journal_->Want(lsn);
    Await([&] { return journal_->DurableLsn() > lsn; });
  }
}

TEST_P(JournalThreadsTest, RecordsLingerForALimitedTime) {
  options_.linger_ns = 1'000'000;
  Open();
  const uint64_t lsn = *journal_->Append({kTestKind, 0, "a"});
  Await([&] { return journal_->DurableLsn() > lsn; });
}

TEST_P(JournalThreadsTest, ManyRecordsDoNotLinger) {
  options_.linger_ns = kAnHourNs;
  Open();
  const std::string payload(1000, 'p');
  const uint64_t first = *journal_->Append({kTestKind, 0, payload});
  while (journal_->Tail() - first <= options_.ring_bytes / 2) {
    ASSERT_TRUE(journal_->Append({kTestKind, 0, payload}).ok());
  }
  Await([&] { return journal_->DurableLsn() > first; });
}

TEST_P(JournalThreadsTest, CloseWritesWhatLingers) {
  options_.linger_ns = kAnHourNs;
  for (int i = 0; i < 20; ++i) {
    Open();
    const uint64_t lsn = *journal_->Append({kTestKind, 0, "a"});
    for (int j = 0; j < 20 * i; ++j) std::this_thread::yield();
    journal_->Close();
    EXPECT_GT(journal_->DurableLsn(), lsn);
  }
}

TEST_P(JournalThreadsTest, CallerThatIsAloneCommitsItsRecord) {
  options_.linger_ns = kAnHourNs;
  options_.lone_groups = 2;
  Open();
  int records = 0;
  // A sync that takes long, or a commit thread that is about to sleep, only
  // puts it off.
  Await([&] {
    ++records;
    const uint64_t lsn = *journal_->Append({kTestKind, 0, "a"});
    const uint64_t durable = journal_->CommitHere(lsn);
    if (durable != 0) {
      EXPECT_GT(durable, lsn);
      EXPECT_EQ(journal_->DurableLsn(), durable);
      EXPECT_LE(events_->durable(), lsn) << "the caller tells it";
      return true;
    }
    journal_->Want(lsn);
    Await([&] { return journal_->DurableLsn() > lsn; });
    return false;
  });
  EXPECT_EQ(journal_->Stats().groups_by_callers, 1u);
  EXPECT_GT(records, 2) << "two groups show that the caller is alone";
}

TEST_P(JournalThreadsTest, LingeringRecordsBecomeDurableWhileCallersCommit) {
  options_.linger_ns = 2'000'000;
  options_.lone_groups = 0;
  Open();
  for (int i = 0; i < 50; ++i) {
    const uint64_t lsn = *journal_->Append({kTestKind, 0, "wanted"});
    if (journal_->CommitHere(lsn) == 0) journal_->Want(lsn);
    const uint64_t last = *journal_->Append({kTestKind, 0, "not wanted"});
    if (i % 10 == 9) {
      Await([&] { return journal_->DurableLsn() > last; });
    }
  }
}

TEST_P(JournalThreadsTest, CallersAndThreadsShareTheJournal) {
  constexpr int kThreads = 4;
  constexpr int kRecords = 300;
  options_.lone_groups = 0;
  Open();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < kRecords; ++i) {
        std::string payload = std::to_string(t) + " " + std::to_string(i) + " ";
        payload.resize(payload.size() + (i % 50 == 0 ? 100000u : 300u), 'p');
        const auto lsn = journal_->Append({kTestKind, 0, payload});
        ASSERT_TRUE(lsn.ok());
        if (i % 4 == 0) continue;
        if (const uint64_t durable = journal_->CommitHere(*lsn)) {
          EXPECT_GT(durable, *lsn);
        } else {
          ASSERT_TRUE(journal_->AwaitDurable(*lsn + 8).ok());
        }
        EXPECT_GT(journal_->DurableLsn(), *lsn);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  journal_->Close();
  EXPECT_EQ(journal_->DurableLsn(), journal_->Tail());
  EXPECT_GT(journal_->Stats().groups_by_callers, 0u);
  EXPECT_EQ(journal_->CommitHere(journal_->Tail()), 0u);
  Open();
  const auto payloads = ReadAll(*journal_, journal_->FirstLsn());
  ASSERT_TRUE(payloads.ok()) << payloads.status();
  ASSERT_THAT(*payloads, SizeIs(kThreads * kRecords));
  std::vector<int> next(kThreads, 0);
  for (const std::string& payload : *payloads) {
    EXPECT_EQ(std::stoi(payload.substr(2)), next[payload[0] - '0']++);
  }
}

TEST_P(JournalThreadsTest, ManyThreadsAppendAndWait) {
  constexpr int kThreads = 4;
  constexpr int kRecords = 400;
  Open();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < kRecords; ++i) {
        std::string payload = std::to_string(t) + " " + std::to_string(i) + " ";
        payload.resize(payload.size() + (i % 50 == 0 ? 100000u : 300u), 'p');
        const auto lsn = journal_->Append({kTestKind, 0, payload});
        ASSERT_TRUE(lsn.ok());
        if (i % 8 != 7) continue;
        ASSERT_TRUE(
            journal_->AwaitDurable(*lsn + RecordBytes(payload.size())).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  journal_->Close();
  EXPECT_EQ(journal_->DurableLsn(), journal_->Tail());
  EXPECT_FALSE(journal_->Behind());
  EXPECT_EQ(journal_->Stats().unpublished_stalls, 0u);
  Open();
  const auto payloads = ReadAll(*journal_, journal_->FirstLsn());
  ASSERT_TRUE(payloads.ok()) << payloads.status();
  ASSERT_THAT(*payloads, SizeIs(kThreads * kRecords));
  std::vector<int> next(kThreads, 0);
  for (const std::string& payload : *payloads) {
    const int thread = payload[0] - '0';
    EXPECT_EQ(std::stoi(payload.substr(2)), next[thread]++);
  }
}

TEST_P(JournalThreadsTest, ReadsAndTrimsWhileOthersAppend) {
  Open();
  std::atomic<bool> done{false};
  std::thread writer([this, &done] {
    const std::string payload(5000, 'p');
    for (int i = 0; i < 1500; ++i) {
      ASSERT_TRUE(journal_->Append({kTestKind, 0, payload}).ok());
    }
    done = true;
  });
  JournalReader reader = journal_->Read(journal_->FirstLsn());
  int read = 0;
  while (read < 1500) {
    const absl::StatusOr<bool> more = reader.Next();
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) {
      std::this_thread::yield();
      continue;
    }
    if (reader.record().kind == kOpenedKind) continue;
    ++read;
    if (read % 100 == 0) {
      ASSERT_TRUE(journal_->Trim(reader.record().lsn).ok());
    }
  }
  writer.join();
  EXPECT_GT(journal_->FirstLsn(), kFirstLsn);
  EXPECT_THAT(events_->failures(), IsEmpty());
}

TEST_P(JournalThreadsTest, SealsAfterAQuietTime) {
  options_.seal_after_ns = 20'000'000;
  Open();
  Await([&] { return journal_->Stats().seals == 1; });
  ASSERT_TRUE(journal_->Append({kTestKind, 0, "one"}).ok());
  Await([&] { return journal_->Stats().seals == 2; });
  EXPECT_EQ(journal_->DurableLsn(), journal_->Tail());
  const uint64_t groups = journal_->Stats().groups;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(journal_->Stats().groups, groups) << "a seal needs no seal";
}

TEST_P(JournalThreadsTest, AReservationThatIsNotPublishedIsCounted) {
  Open();
  const Record record = {kTestKind, 0, "slow"};
  Journal::Reservation reservation;
  ASSERT_TRUE(journal_->Reserve({&record, 1}, reservation).ok());
  Await([&] { return journal_->Stats().unpublished_stalls == 1; });
  const uint64_t end = reservation.lsn() + RecordBytes(4);
  journal_->Publish(std::move(reservation), {&record, 1});
  EXPECT_TRUE(journal_->AwaitDurable(end).ok());
}

INSTANTIATE_TEST_SUITE_P(Real, JournalThreadsTest, testing::Bool());

class JournalFaultThreadsTest : public JournalThreadsTest {};

TEST_P(JournalFaultThreadsTest, AFailedSyncEndsAllWaits) {
  Open();
  ASSERT_TRUE(journal_->Append({kTestKind, 0, "durable"}).ok());
  ASSERT_TRUE(journal_->AwaitDurable(journal_->Tail()).ok());
  disk_.FailNext(SimulatedDisk::Call::kSync, ".seg", EIO);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this] {
      const std::string payload(30000, 'p');
      absl::Status status;
      while (status.ok()) {
        const auto lsn = journal_->Append({kTestKind, 0, payload});
        status = lsn.ok() ? journal_->AwaitDurable(*lsn + 8) : lsn.status();
      }
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(events_->failures(), SizeIs(1));
  journal_->Close();
}

TEST_P(JournalFaultThreadsTest, CallerWhoseSyncFailsIsNotToldThatItIsDurable) {
  options_.lone_groups = 0;
  options_.linger_ns = kAnHourNs;
  Open();
  disk_.FailNext(SimulatedDisk::Call::kSync, ".seg", EIO);
  const uint64_t lsn = *journal_->Append({kTestKind, 0, "lost"});
  EXPECT_EQ(journal_->CommitHere(lsn), 0u);
  journal_->Want(lsn);
  Await([&] { return events_->failures().size() == 1; });
  EXPECT_EQ(journal_->CommitHere(lsn), 0u);
  EXPECT_LE(journal_->DurableLsn(), lsn);
}

TEST_P(JournalFaultThreadsTest, JournalWithoutRoomWaitsAndResumesByItself) {
  Open();
  Await([&] { return disk_.Files().size() == 5; });
  disk_.set_capacity(3 << 20 | 64 << 10);
  std::thread writer([this] {
    const std::string payload(50000, 'p');
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(journal_->Append({kTestKind, 0, payload}).ok());
    }
  });
  Await([&] { return journal_->Behind(); });
  disk_.set_capacity(SimulatedDisk::kNever);
  writer.join();
  EXPECT_TRUE(journal_->AwaitDurable(journal_->Tail()).ok());
  Await([&] { return !journal_->Behind(); });
  EXPECT_GE(events_->caught_up(), 1);
  EXPECT_THAT(events_->failures(), IsEmpty());
}

TEST_P(JournalFaultThreadsTest, AStopDoesNotWaitForRoom) {
  Open();
  Await([&] { return disk_.Files().size() == 5; });
  disk_.set_capacity(3 << 20 | 64 << 10);
  const std::string payload(50000, 'p');
  // More than two segments hold; the rest waits in the ring.
  while (journal_->Tail() < (9 << 18)) {
    Await([&] {
      return journal_->Tail() - journal_->DurableLsn() < (600 << 10);
    });
    ASSERT_TRUE(journal_->Append({kTestKind, 0, payload}).ok());
  }
  const uint64_t durable = journal_->DurableLsn();
  journal_->Close();
  EXPECT_GE(journal_->DurableLsn(), durable);
  EXPECT_LT(journal_->DurableLsn(), journal_->Tail());
  EXPECT_THAT(events_->failures(), IsEmpty());
}

TEST_P(JournalFaultThreadsTest, NobodyWaitsForWhatWasNeverReserved) {
  Open();
  EXPECT_EQ(journal_->AwaitDurable(journal_->Tail() + 8).code(),
            absl::StatusCode::kOutOfRange);
}

INSTANTIATE_TEST_SUITE_P(Simulated, JournalFaultThreadsTest,
                         testing::Values(false));

}  // namespace
}  // namespace actord::runtime
