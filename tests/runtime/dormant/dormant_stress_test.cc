// Threads that send to durable processes while others make them dormant as
// often as they can. A seed prints with each failure; the schedule of the
// threads cannot be replayed.
#include <actord/plugin.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/durable/opened_store.h"
#include "runtime/runtime.h"
#include "runtime/store/state_keys.h"
#include "runtime/system/clock.h"
#include "runtime/system/random.h"
#include "tests/runtime/durable/account.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/support/simulated_disk.h"

namespace actord::runtime {
namespace {

constexpr std::chrono::seconds kDuration{3};

// An account of a replay type.
class Ledger : public Account {
 public:
  static constexpr const char* kName = "ledger";
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;
};

// A state store in memory that several threads can read.
class SharedState final : public StateStore {
 public:
  absl::StatusOr<std::optional<std::string>> Get(
      std::string_view key) override {
    const std::lock_guard lock(mutex_);
    return state_.Get(key);
  }
  absl::Status Write(std::span<const StateWrite> writes) override {
    const std::lock_guard lock(mutex_);
    return state_.Write(writes);
  }
  absl::Status Flush() override {
    const std::lock_guard lock(mutex_);
    return state_.Flush();
  }
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override {
    absl::Status status;
    {
      const std::lock_guard lock(mutex_);
      status = state_.Scan(first, last, use);
    }
    if (first.starts_with(KeyOf(KeyKind::kHistory)) && history_was_read) {
      std::exchange(history_was_read, nullptr)();
    }
    return status;
  }

  // Called once, on the thread that has scanned a history, behind the scan.
  static inline thread_local std::function<void()> history_was_read;

 private:
  std::mutex mutex_;
  MemoryStateStore state_;
};

class DormantStress : public ::testing::Test {
 protected:
  static constexpr size_t kAccounts = 64;

  explicit DormantStress(uint64_t round_bytes = 256 << 20) : disk_(1) {
    EXPECT_TRUE(disk_.MakeDirectory("/srv").ok());
    OpenedStore::Options of_store;
    of_store.journal.directory = "/srv/store";
    of_store.journal.segment_bytes = 1 << 20;
    of_store.journal.max_record_bytes = 256 << 10;
    of_store.journal.max_unsynced_bytes = 256 << 10;
    of_store.journal.ring_bytes = 1 << 20;
    of_store.journal.max_group_bytes = 64 << 10;
    of_store.journal.files = &disk_;
    of_store.journal.clock = &Clock::System();
    of_store.disk_reserve_bytes = 1;
    of_store.round_bytes = round_bytes;
    of_store.failed = [this](const absl::Status&) { failed_ = true; };
    of_store.open_state = [] { return std::make_unique<SharedState>(); };
    auto opened = OpenedStore::Open(std::move(of_store));
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    EXPECT_TRUE(
        catalog_.AddProcessType(&actord::kProcessType<Account>, "t").ok());
    EXPECT_TRUE(
        catalog_.AddProcessType(&actord::kProcessType<Ledger>, "t").ok());
    RuntimeOptions options;
    options.workers = 2;
    options.seed = seed_;
    options.store = store_.get();
    options.durable.passivate_after = absl::Milliseconds(2);
    auto runtime = Runtime::Create(options, catalog_);
    EXPECT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = *std::move(runtime);
    EXPECT_TRUE(runtime_->Start().ok());
  }

  Pid NewAccount(bool is_replayed) {
    SubmitRequest request{
        is_replayed ? "ledger" : "account", "", {"0", ""}, {}};
    request.durable = true;
    std::promise<Pid> made;
    runtime_->Submit(request, [&made](absl::StatusOr<Pid> pid) {
      EXPECT_TRUE(pid.ok()) << pid.status();
      made.set_value(pid.value_or(Pid{}));
    });
    return made.get_future().get();
  }
  std::string Ask(const Pid& pid) {
    std::promise<std::string> answer;
    runtime_->Call(pid, {"get", {}}, [&answer](absl::StatusOr<Payload> got) {
      answer.set_value(got.ok() ? got->bytes : got.status().ToString());
    });
    return answer.get_future().get();
  }

  const uint64_t seed_ = Random::SystemSeed();
  SimulatedDisk disk_;
  std::atomic<bool> failed_{false};
  std::unique_ptr<OpenedStore> store_;
  Catalog catalog_;
  std::unique_ptr<Runtime> runtime_;
};

// Rounds are short, so that bodies of histories soon move from the journal to
// the state store, and files of the journal are given up.
class DormantReads : public DormantStress {
 protected:
  DormantReads() : DormantStress(64 << 10) {}
};

TEST_F(DormantReads, HistoryIsReadWhileItsBodiesMove) {
  const Pid pid = NewAccount(/*is_replayed=*/true);
  ASSERT_TRUE(runtime_->Send(pid, {"add", {"7", ""}}).ok());
  ASSERT_EQ(Ask(pid), "7");
  const auto catch_up = [&] {
    ASSERT_TRUE(
        store_
            ->ReadState([](StateStore&, uint64_t) { return absl::OkStatus(); })
            .ok());
  };
  catch_up();
  const auto read = [&] {
    return store_->ReadProcess(pid, DurableStore::WithState);
  };
  // The question has no position.
  const auto message_of = [](const StoredProcess& process) {
    std::vector<Mail> consumed;
    for (const StepOfHistory& step : process.history) {
      for (const Consumed& one : step.consumed) consumed.push_back(one.mail);
    }
    return consumed.size() == 1 ? consumed[0] : Mail();
  };
  const auto before = read();
  ASSERT_TRUE(before.ok()) << before.status();
  const uint64_t body = message_of(*before).lsn;
  ASSERT_NE(body, 0u);
  // Behind the first look at the history, two rounds move the body out of the
  // journal, and its file is given up.
  SharedState::history_was_read = [&] {
    const std::string name(60 << 10, 'n');
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (uint16_t owner = 1000; store_->journal().FirstLsn() <= body; ++owner) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      ASSERT_TRUE(store_->KeepOwner(Owner{owner}, name).ok());
      catch_up();
    }
  };
  const auto moved = read();
  ASSERT_EQ(SharedState::history_was_read, nullptr);
  ASSERT_TRUE(moved.ok()) << moved.status();
  ASSERT_EQ(message_of(*moved).lsn, body);
  EXPECT_EQ(message_of(*moved).body->payload.bytes, "7");
  // While the disk is behind, a call is refused.
  Journal& journal = store_->journal();
  ASSERT_TRUE(journal.AwaitDurable(journal.Tail()).ok());
  EXPECT_EQ(Ask(pid), "7");
  EXPECT_FALSE(failed_);
}

// The sender of a message to a dormant process reads its history. It must not
// wait until the disk has synced the cut of the journal.
TEST_F(DormantReads, HistoryIsReadWhileATrimWaitsForTheDisk) {
  const Pid pid = NewAccount(/*is_replayed=*/true);
  std::promise<void> trims;
  std::promise<void> goes_on;
  std::atomic<bool> waits{false};
  disk_.SetBeforeSync(
      [&, on = goes_on.get_future().share()](const std::string& path) {
        if (path.find("META") == std::string::npos || waits.exchange(true))
          return;
        trims.set_value();
        on.wait();
      });
  // The newest body is in the journal, because a round moves a body when the
  // next round ends. The last reads of the state wait for the trim.
  std::thread writes([&] {
    const std::string name(60 << 10, 'n');
    for (uint16_t owner = 1000; !waits; ++owner) {
      EXPECT_TRUE(store_->KeepOwner(Owner{owner}, name).ok());
      // The journal may be behind for a moment.
      const absl::Status sent = runtime_->Send(pid, {"add", {"7", ""}});
      EXPECT_TRUE(sent.ok() || absl::IsUnavailable(sent)) << sent;
      EXPECT_TRUE(store_
                      ->ReadState([](StateStore&, uint64_t) {
                        return absl::OkStatus();
                      })
                      .ok());
    }
  });
  const bool has_begun =
      trims.get_future().wait_for(std::chrono::seconds(120)) ==
      std::future_status::ready;
  EXPECT_TRUE(has_begun);
  waits = true;
  auto read = std::async(std::launch::async, [&] {
    return store_->ReadProcess(pid, DurableStore::WithState);
  });
  const bool is_read =
      read.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(is_read) << "the read waits for a sync";
  goes_on.set_value();
  writes.join();
  const auto stored = read.get();
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_FALSE(stored->history.empty());
  disk_.SetBeforeSync(nullptr);
  EXPECT_FALSE(failed_);
}

TEST_F(DormantStress, EveryMessageArrivesOnce) {
  std::vector<Pid> accounts;
  for (size_t i = 0; i < kAccounts; ++i) {
    accounts.push_back(NewAccount(/*is_replayed=*/i % 8 == 0));
  }
  std::atomic<bool> over{false};
  std::atomic<int64_t> added{0};
  std::atomic<uint64_t> refused{0};
  const auto send = [&](uint64_t number) {
    Random random(seed_ + number);
    while (!over) {
      // A few accounts at a time, so that the others fall asleep.
      const size_t first = random.Next() % kAccounts;
      for (int i = 0; i < 5; ++i) {
        const Pid& to = accounts[(first + random.Next() % 3) % kAccounts];
        const Pid& other = accounts[random.Next() % kAccounts];
        const bool pays = random.Next() % 4 == 0;
        const Message message{pays ? "pay" : "add",
                              {pays ? FormatPid(other) + " 1" : "1", ""}};
        const absl::Status sent = runtime_->Send(to, message);
        if (sent.ok() && !pays) ++added;
        if (!sent.ok() && !absl::IsUnavailable(sent)) ++refused;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  // How often accounts and ledgers were seen in the store alone.
  std::atomic<uint64_t> seen_accounts{0};
  std::atomic<uint64_t> seen_ledgers{0};
  uint64_t listed_wrong = 0;
  const auto look = [&] {
    while (!over) {
      size_t listed = 0;
      uint32_t place = 0;
      do {
        const ProcessPage page = runtime_->ListProcesses({}, place, 10);
        listed += page.processes.size();
        for (const ProcessInfo& info : page.processes) {
          if (info.state != ProcessState::kDormant) continue;
          ++(info.process_type == Ledger::kName ? seen_ledgers : seen_accounts);
        }
        place = page.next_slot;
      } while (place != 0);
      listed_wrong += listed == kAccounts ? 0 : 1;
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 2; ++i) threads.emplace_back(send, i);
  threads.emplace_back(look);
  const auto end = std::chrono::steady_clock::now() + kDuration;
  // On a busy machine the store is behind for a long time, and nobody can
  // leave.
  const auto last = end + std::chrono::seconds(60);
  const auto has_seen_both = [&] {
    return seen_accounts != 0 && seen_ledgers != 0;
  };
  while (std::chrono::steady_clock::now() < (has_seen_both() ? end : last)) {
    // The store catches up all the time, so that it has the last images.
    EXPECT_TRUE(
        store_
            ->ReadState([](StateStore&, uint64_t) { return absl::OkStatus(); })
            .ok());
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  // A payment is in nobody's balance while it is on its way.
  int64_t sum = 0;
  for (int i = 0; i < 1000 && sum != added; ++i) {
    sum = 0;
    for (const Pid& account : accounts) sum += std::stoll(Ask(account));
  }
  EXPECT_EQ(sum, added) << "seed " << seed_;
  EXPECT_EQ(refused, 0u) << "seed " << seed_;
  EXPECT_EQ(listed_wrong, 0u) << "seed " << seed_;
  EXPECT_EQ(runtime_->Stats().dead_letters, 0u) << "seed " << seed_;
  EXPECT_GT(seen_accounts, 0u);
  EXPECT_GT(seen_ledgers, 0u);
  EXPECT_GT(added, 1000);
  EXPECT_FALSE(failed_);
  RecordProperty("added", std::to_string(added));
  RecordProperty("accounts", std::to_string(seen_accounts.load()));
  RecordProperty("ledgers", std::to_string(seen_ledgers.load()));
}

}  // namespace
}  // namespace actord::runtime
