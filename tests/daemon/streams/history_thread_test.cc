#include "daemon/streams/history_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "runtime/durable/opened_store.h"
#include "runtime/process/errors.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/support/simulated_disk.h"

namespace actord::daemon {
namespace {

constexpr runtime::Owner kOneOwner{1};
constexpr runtime::Owner kOtherOwner{2};

// A history that is read until it is stopped.
class EndlessWork final : public HistoryWork {
 public:
  Next Do() override {
    did_.fetch_add(1);
    return stopped_.load() ? Next::kOver : Next::kLater;
  }
  void Stop() { stopped_.store(true); }
  [[nodiscard]] int did() const { return did_.load(); }

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<int> did_{0};
};

class HistoryThreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk_.MakeDirectory("/srv").ok());
    runtime::OpenedStore::Options options;
    options.journal.directory = "/srv/store";
    options.journal.segment_bytes = 1 << 20;
    options.journal.max_record_bytes = 256 << 10;
    options.journal.max_unsynced_bytes = 256 << 10;
    options.journal.ring_bytes = 1 << 20;
    options.journal.max_group_bytes = 64 << 10;
    options.journal.threads = false;
    options.journal.files = &disk_;
    options.disk_reserve_bytes = 1;
    options.open_state = [] {
      return std::make_unique<runtime::MemoryStateStore>();
    };
    auto opened = runtime::OpenedStore::Open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    thread_ = std::make_unique<HistoryThread>(*store_, UINT64_MAX);
  }
  absl::Status Add(runtime::Owner owner) {
    works_.push_back(std::make_shared<EndlessWork>());
    return thread_->Add(works_.back(), owner);
  }
  // The number of histories that the owner can begin to read.
  size_t AddAll(runtime::Owner owner) {
    size_t added = 0;
    for (absl::Status status = Add(owner);; status = Add(owner)) {
      if (!status.ok()) {
        EXPECT_EQ(runtime::ReasonOf(status), runtime::reason::kHistoryLimit);
        works_.pop_back();
        return added;
      }
      ++added;
    }
  }

  runtime::SimulatedDisk disk_{1};
  std::unique_ptr<runtime::OpenedStore> store_;
  std::vector<std::shared_ptr<EndlessWork>> works_;
  std::unique_ptr<HistoryThread> thread_;
};

TEST_F(HistoryThreadTest, OneOwnerLeavesPlacesForOthers) {
  EXPECT_EQ(AddAll(kOneOwner), HistoryThread::kMaxOfOwner);
  EXPECT_EQ(AddAll(kOtherOwner), HistoryThread::kMaxOfOwner);
  // Callers without an owner share all places.
  EXPECT_EQ(AddAll(runtime::Owner::kNobody),
            HistoryThread::kMaxHistories - 2 * HistoryThread::kMaxOfOwner);
}

TEST_F(HistoryThreadTest, HistoryThatIsReadGivesItsPlaceBack) {
  ASSERT_EQ(AddAll(kOneOwner), HistoryThread::kMaxOfOwner);
  ASSERT_TRUE(thread_->Start().ok());
  works_[0]->Stop();
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (AddAll(kOneOwner) == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    thread_->Wake();
  }
  EXPECT_EQ(works_.size(), HistoryThread::kMaxOfOwner + 1);
  EXPECT_GT(works_[0]->did(), 0);
}

}  // namespace
}  // namespace actord::daemon
