// Reads that wait for the thread that applies the journal to the state store.
#include "runtime/durable/state_reads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/durable/opened_store.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/runtime/store/watched_state_store.h"
#include "tests/support/simulated_disk.h"

namespace actord::runtime {
namespace {

// A thread that reads at a position, and what it has seen.
class Reader {
 public:
  explicit Reader(uint64_t position)
      : reads_(StateReads::Ask{.now = [this] { ++asks_; }, .soon = [] {}}),
        thread_([this, position] {
          status_ =
              reads_.Read(position, [this](StateStore&, uint64_t applied) {
                seen_ = applied;
                return absl::OkStatus();
              });
        }) {
    while (asks_ == 0) std::this_thread::yield();
  }

  // One round of the writer. It carries reads out on this thread.
  void Round(uint64_t applied, uint64_t caught_up) {
    reads_.Serve(state_, applied, caught_up);
  }
  [[nodiscard]] uint64_t seen() const { return seen_; }
  void Stop() { reads_.Stop(); }
  absl::Status Join() {
    thread_.join();
    return status_;
  }

 private:
  MemoryStateStore state_;
  std::atomic<int> asks_ = 0;
  std::atomic<uint64_t> seen_ = 0;
  absl::Status status_;
  StateReads reads_;
  std::thread thread_;
};

TEST(StateReads, AReadThatComesAfterTheEndOfARoundWaitsForTheNextOne) {
  Reader reader(10);
  reader.Round(/*applied=*/9, /*caught_up=*/9);
  EXPECT_EQ(reader.seen(), 0);
  reader.Round(/*applied=*/12, /*caught_up=*/10);
  EXPECT_EQ(reader.seen(), 12);
  EXPECT_TRUE(reader.Join().ok());
}

TEST(StateReads, AReadThatWaitsForAnotherRoundIsAnsweredAtTheEnd) {
  Reader reader(10);
  reader.Round(/*applied=*/9, /*caught_up=*/9);
  reader.Stop();
  EXPECT_TRUE(absl::IsUnavailable(reader.Join()));
  EXPECT_EQ(reader.seen(), 0);
}

TEST(StateReads, AReadOfTheStoreSeesWhatIsDurable) {
  SimulatedDisk disk(1);
  ASSERT_TRUE(disk.MakeDirectory("/srv").ok());
  ASSERT_TRUE(disk.SyncDirectory("/").ok());
  MemoryStateStore state;
  OpenedStore* store = nullptr;
  std::atomic<bool> is_armed = false, has_asked = false;
  uint64_t end = 0;
  std::promise<uint64_t> seen;
  std::thread reader;
  // Called in a round that has taken the durable end of the journal before.
  const auto append_and_read = [&] {
    if (!is_armed.exchange(false)) return;
    EXPECT_TRUE(store->KeepOwner(Owner{2}, "second").ok());
    end = store->journal().Tail();
    EXPECT_TRUE(store->journal().AwaitDurable(end).ok());
    reader = std::thread([&] {
      has_asked = true;
      uint64_t at = 0;
      EXPECT_TRUE(store
                      ->ReadState([&](StateStore&, uint64_t applied) {
                        at = applied;
                        return absl::OkStatus();
                      })
                      .ok());
      seen.set_value(at);
    });
    while (!has_asked) std::this_thread::yield();
    // Until the reader waits. If it is late, the test shows less.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  OpenedStore::Options options;
  options.journal.directory = "/srv/store";
  options.journal.segment_bytes = 1 << 20;
  options.journal.max_record_bytes = 256 << 10;
  options.journal.max_unsynced_bytes = 1 << 20;
  options.journal.ring_bytes = 1 << 20;
  options.journal.max_group_bytes = 64 << 10;
  options.journal.files = &disk;
  options.failed = [](const absl::Status& status) { ADD_FAILURE() << status; };
  options.open_state = [&]() -> absl::StatusOr<std::unique_ptr<StateStore>> {
    return std::make_unique<WatchedStateStore>(state, append_and_read);
  };
  auto made = OpenedStore::Open(std::move(options));
  ASSERT_TRUE(made.ok()) << made.status();
  store = made->get();
  is_armed = true;
  ASSERT_TRUE(store->KeepOwner(Owner{1}, "first").ok());
  const uint64_t seen_at = seen.get_future().get();
  store->Close();
  reader.join();
  EXPECT_NE(end, 0);
  EXPECT_GE(seen_at, end);
}

}  // namespace
}  // namespace actord::runtime
