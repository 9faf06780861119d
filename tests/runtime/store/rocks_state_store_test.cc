// The state store in a directory, and beside a journal.
#include "runtime/store/rocks_state_store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/journal/journal.h"
#include "runtime/records/record_codec.h"
#include "runtime/store/journal_applier.h"
#include "runtime/store/store_rounds.h"
#include "runtime/table/home_pid.h"
#include "tests/runtime/journal/journal_fixture.h"
#include "tests/runtime/store/expected_state.h"
#include "tests/runtime/store/history.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/runtime/store/store_text.h"

namespace actord::runtime {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

class RocksStore : public testing::Test {
 protected:
  RocksStore() {
    std::string path = testing::TempDir() + "/state_store_XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    Open();
  }
  ~RocksStore() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }
  void Open() {
    store_.reset();
    auto store = RocksStateStore::Open({.directory = directory_ + "/state"});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  Entries All() {
    Entries entries;
    const absl::Status status =
        store_->Scan(std::string("\0", 1), "\xff",
                     [&](std::string_view key, std::string_view value) {
                       entries.emplace_back(key, value);
                       return true;
                     });
    EXPECT_TRUE(status.ok()) << status;
    return entries;
  }
  void Write(std::vector<StateWrite> writes) {
    ASSERT_TRUE(store_->Write(writes).ok());
  }

  std::string directory_;
  std::unique_ptr<RocksStateStore> store_;
};

TEST_F(RocksStore, KeepsWhatWasFlushedAndLosesTheRest) {
  Write({{"a", "1"}, {"b", "2"}});
  ASSERT_TRUE(store_->Flush().ok());
  Write({{"a", std::nullopt}, {"c", "3"}});
  EXPECT_EQ(All(), (Entries{{"b", "2"}, {"c", "3"}}));
  Open();
  EXPECT_EQ(All(), (Entries{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(store_->Get("b").value(), "2");
  EXPECT_EQ(store_->Get("c").value(), std::nullopt);
}

TEST_F(RocksStore, IsReadWithoutAChangeAndDamageIsFound) {
  Write({{"a", "1"}});
  ASSERT_TRUE(store_->Flush().ok());
  store_.reset();
  const std::string state = directory_ + "/state";
  const auto names = [&] { return FileSystem::System().List(state).value(); };
  const std::vector<std::string> before = names();
  {
    auto read = RocksStateStore::OpenToRead(state);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ((*read)->Get("a").value(), "1");
    EXPECT_TRUE((*read)->VerifyFiles().ok());
    const StateWrite write{"a", "2"};
    EXPECT_FALSE((*read)->Write({&write, 1}).ok());
  }
  EXPECT_EQ(names(), before);
  for (const std::string& name : before) {
    if (!name.ends_with(".sst")) continue;
    auto file =
        FileSystem::System().Open(state + "/" + name, OpenMode::kReadWrite);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Write(3, "\xff").ok());
  }
  auto read = RocksStateStore::OpenToRead(state);
  ASSERT_TRUE(read.ok()) << read.status();
  const absl::Status damaged = (*read)->VerifyFiles();
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
  EXPECT_NE(damaged.ToString().find(".sst"), std::string::npos) << damaged;
}

TEST_F(RocksStore, ScansARangeUntilItIsToldToStop) {
  Write({{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}});
  std::string seen;
  ASSERT_TRUE(store_
                  ->Scan("b", "d",
                         [&](std::string_view key, std::string_view /*value*/) {
                           seen += key;
                           return true;
                         })
                  .ok());
  EXPECT_EQ(seen, "bc");
  ASSERT_TRUE(store_
                  ->Scan("a", "d",
                         [&](std::string_view key, std::string_view /*value*/) {
                           seen += key;
                           return key < "b";
                         })
                  .ok());
  EXPECT_EQ(seen, "bcab");
}

TEST_F(RocksStore, BelongsToOneProgram) {
  const auto second =
      RocksStateStore::Open({.directory = directory_ + "/state"});
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
}

TEST_F(RocksStore, HoldsWhatTheStoreInMemoryHolds) {
  History history = History::Random(4711, 300);
  MemoryStateStore memory;
  for (StateStore* const store : {static_cast<StateStore*>(store_.get()),
                                  static_cast<StateStore*>(&memory)}) {
    history.Trim(0);
    auto applier = JournalApplier::Open(*store, history, {});
    ASSERT_TRUE(applier.ok());
    size_t count = 0;
    for (const Act& act : history.acts()) {
      ASSERT_TRUE((*applier)->Apply(act.view()).ok());
      if (++count % 50 != 0) continue;
      ASSERT_TRUE((*applier)->EndRound().ok());
      history.Trim((*applier)->trim());
    }
    ASSERT_TRUE((*applier)->EndRound().ok());
  }
  Open();
  EXPECT_EQ(All(), Entries(memory.entries().begin(), memory.entries().end()));
}

// A journal on a simulated disk, a store in memory, and the program that keeps
// one up with the other.
class Rounds : public JournalFixture {
 protected:
  Rounds() {
    options_.knows = &records::Knows;
    options_.seed = 5;
  }
  void Start() {
    Open();
    source_ = std::make_unique<JournalSource>(*journal_);
    auto applier = JournalApplier::Open(store_, *source_, {});
    ASSERT_TRUE(applier.ok());
    applier_ = *std::move(applier);
    rounds_ = std::make_unique<StoreRounds>(*journal_, *applier_);
  }
  void Crash(size_t kept_batches) {
    rounds_.reset();
    applier_.reset();
    source_.reset();
    Kill();
    store_.Crash(kept_batches);
  }
  void Write(const records::Any& record) {
    std::string payload;
    records::Encode(record, payload);
    const auto kind =
        std::visit([](const auto& one) { return one.kKind; }, record);
    const absl::StatusOr<uint64_t> lsn = journal_->Append(
        {static_cast<uint16_t>(kind), records::FlagsOf(kind), payload});
    ASSERT_TRUE(lsn.ok()) << lsn.status();
  }
  void Mail(const std::string& text) {
    Write(records::Input{.to = pid_,
                         .messages = {{.topic = "in", .payload = {text, ""}}}});
  }
  std::vector<std::string> MailLines() {
    std::vector<std::string> lines = TextOf(store_, *source_);
    std::erase_if(lines, [](const std::string& line) {
      return line.compare(0, 5, "mail ") != 0;
    });
    return lines;
  }

  const Pid pid_ = HomePid(1, 1, 1, 1);
  MemoryStateStore store_;
  std::unique_ptr<JournalSource> source_;
  std::unique_ptr<JournalApplier> applier_;
  std::unique_ptr<StoreRounds> rounds_;
};

TEST_F(Rounds, TrimTheJournalAndLoseNothingInACrash) {
  Start();
  Write(records::Submitted{.pid = pid_, .process_type = "counter"});
  Write(records::Started{.pid = pid_});
  const std::string large(10'000, 'x');
  size_t sent = 0;
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 20; ++i) {
      Mail(large + std::to_string(++sent));
      WorkAll();
    }
    absl::Status status = rounds_->CatchUp();
    ASSERT_TRUE(status.ok()) << status;
    status = rounds_->EndRound();
    ASSERT_TRUE(status.ok()) << status;
    WorkAll();
    if (round % 4 == 3) {
      Mail(large + std::to_string(++sent));
      WorkAll();
      ASSERT_TRUE(rounds_->CatchUp().ok());
      Crash(0);
      Start();
      status = rounds_->CatchUp();
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  EXPECT_GT(journal_->FirstLsn(), kFirstLsn) << "nothing was trimmed";
  const std::vector<std::string> mail = MailLines();
  ASSERT_EQ(mail.size(), sent);
  for (const std::string& line : mail) {
    EXPECT_NE(line.find(" text x"), std::string::npos) << line;
  }
}

// A writer that is faster than the state store: each batch of the store takes
// as long as one more record takes to become durable.
TEST_F(Rounds, EndAlthoughTheJournalGrowsMeanwhile) {
  class Growing final : public StateStore {
   public:
    Growing(StateStore& store, std::function<void()> grow)
        : store_(store), grow_(std::move(grow)) {}
    absl::StatusOr<std::optional<std::string>> Get(
        std::string_view key) override {
      return store_.Get(key);
    }
    absl::Status Write(std::span<const StateWrite> writes) override {
      grow_();
      return store_.Write(writes);
    }
    absl::Status Flush() override { return store_.Flush(); }
    absl::Status Scan(std::string_view first, std::string_view last,
                      Use use) override {
      return store_.Scan(first, last, use);
    }

   private:
    StateStore& store_;
    const std::function<void()> grow_;
  };
  Start();
  Write(records::Submitted{.pid = pid_, .process_type = "counter"});
  Write(records::Started{.pid = pid_});
  for (int i = 0; i < 10; ++i) Mail("before");
  WorkAll();
  const uint64_t durable = journal_->DurableLsn();
  int grown = 0;
  Growing growing(store_, [&] {
    if (++grown > 1000) return;
    Mail("meanwhile");
    WorkAll();
  });
  auto applier =
      JournalApplier::Open(growing, *source_, {.max_batch_bytes = 1});
  ASSERT_TRUE(applier.ok());
  StoreRounds rounds(*journal_, **applier);
  // A piece is not much larger than it was asked to be.
  ASSERT_TRUE(rounds.CatchUp(/*max_bytes=*/1).ok());
  EXPECT_EQ(grown, 2);  // one record, and the end of the piece
  ASSERT_TRUE(rounds.CatchUp().ok());
  EXPECT_GE((*applier)->applied(), durable);
  EXPECT_LT(grown, 30);
  EXPECT_LT((*applier)->applied(), journal_->DurableLsn());
}

TEST_F(Rounds, RefuseAStoreThatIsAheadOfTheJournal) {
  Start();
  Write(records::Submitted{.pid = pid_, .process_type = "counter"});
  WorkAll();
  ASSERT_TRUE(rounds_->CatchUp().ok());
  ASSERT_TRUE(store_.Flush().ok());
  // Another journal, with less in it.
  rounds_.reset();
  applier_.reset();
  source_.reset();
  options_.directory = "/other";
  Start();
  const absl::Status status = rounds_->CatchUp();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

}  // namespace
}  // namespace actord::runtime
