// A state store that is slower than the journal: the journal is held back, and
// goes on when the store has caught up.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "runtime/durable/opened_store.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/support/simulated_disk.h"

namespace actord::runtime {
namespace {

// Calls a function before each batch.
class Watched final : public StateStore {
 public:
  Watched(StateStore& store, std::function<void()> before_write)
      : store_(store), before_write_(std::move(before_write)) {}
  absl::StatusOr<std::optional<std::string>> Get(
      std::string_view key) override {
    return store_.Get(key);
  }
  absl::Status Write(std::span<const StateWrite> writes) override {
    before_write_();
    return store_.Write(writes);
  }
  absl::Status Flush() override { return store_.Flush(); }
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override {
    return store_.Scan(first, last, use);
  }

 private:
  StateStore& store_;
  const std::function<void()> before_write_;
};

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
    return std::make_unique<Watched>(state, [&] {
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
