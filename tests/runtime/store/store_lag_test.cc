// A state store that is slower than the journal: the journal is held back, and
// goes on when the store has caught up.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "runtime/durable/opened_store.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/runtime/store/watched_state_store.h"
#include "tests/support/simulated_disk.h"

namespace actord::runtime {
namespace {

TEST(StoreLag, HoldsTheJournalBackAndLetsItGoOn) {
  constexpr int kOwners = 40;
  constexpr size_t kNameBytes = 10'000;
  SimulatedDisk disk(1);
  ASSERT_TRUE(disk.MakeDirectory("/srv").ok());
  ASSERT_TRUE(disk.SyncDirectory("/").ok());
  MemoryStateStore state;
  std::atomic<OpenedStore*> opened = nullptr;
  std::atomic<int> held_back = 0;
  OpenedStore::Options options;
  options.journal.directory = "/srv/store";
  options.journal.segment_bytes = 1 << 20;
  options.journal.max_record_bytes = 256 << 10;
  options.journal.max_unsynced_bytes = 1 << 20;
  options.journal.ring_bytes = 1 << 20;
  options.journal.max_group_bytes = 64 << 10;
  options.journal.files = &disk;
  options.max_unapplied_bytes = 10 * kNameBytes;
  options.round_bytes = 1;  // so each record is a piece
  options.failed = [](const absl::Status& status) { ADD_FAILURE() << status; };
  options.open_state = [&]() -> absl::StatusOr<std::unique_ptr<StateStore>> {
    return std::make_unique<WatchedStateStore>(state, [&] {
      OpenedStore* const store = opened.load();
      held_back += store != nullptr && store->journal().Behind() ? 1 : 0;
    });
  };
  auto made = OpenedStore::Open(std::move(options));
  ASSERT_TRUE(made.ok()) << made.status();
  OpenedStore& store = **made;
  opened = &store;
  for (int i = 1; i <= kOwners; ++i) {
    ASSERT_TRUE(store
                    .KeepOwner(Owner{static_cast<uint16_t>(i)},
                               std::to_string(i) + std::string(kNameBytes, 'x'))
                    .ok());
  }
  Journal& journal = store.journal();
  const uint64_t end = journal.Tail();
  ASSERT_TRUE(journal.AwaitDurable(end).ok());
  while (store.Applied() < end || journal.Behind()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Most of the records were applied while others waited behind the limit.
  EXPECT_GT(held_back, 10);
  store.Close();
}

}  // namespace
}  // namespace actord::runtime
