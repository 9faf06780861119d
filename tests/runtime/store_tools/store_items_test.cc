// Items that are taken out of a store and put into another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/store/journal_applier.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/store_tools/items/read_items.h"
#include "tests/runtime/store/history.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/runtime/store/store_text.h"
#include "tests/runtime/store_tools/store_items_fixture.h"

namespace actord::runtime {
namespace {

namespace fs = std::filesystem;

// The facts in the store, but for its incarnation.
std::vector<std::string> FactsOf(StateStore& store, RecordSource& source) {
  std::vector<std::string> lines = TextOf(store, source);
  std::erase_if(lines, [](const std::string& line) {
    return line.compare(0, 12, "incarnation ") == 0;
  });
  return lines;
}

TEST_F(StoreItems, KeepAllFactsOfRandomHistories) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    History history = History::Random(seed, 300);
    MemoryStateStore before;
    auto applier = JournalApplier::Open(before, history, {});
    ASSERT_TRUE(applier.ok());
    for (const Act& act : history.acts()) {
      ASSERT_TRUE((*applier)->Apply(act.view()).ok());
    }
    ASSERT_TRUE((*applier)->Commit().ok());
    ItemReader reader(before, nullptr);
    ASSERT_TRUE(reader
                    .LoadBodies([&](auto take) {
                      for (const Act& act : history.acts()) {
                        if (!take(act.view()).ok()) break;
                      }
                      return absl::OkStatus();
                    })
                    .ok());
    const std::string directory = directory_ + "/" + std::to_string(seed);
    auto writer = StoreWriter::Begin(directory, FileSystem::System());
    ASSERT_TRUE(writer.ok()) << writer.status();
    const auto add = [&](AnyItem&& item) { return (*writer)->Add(item); };
    const StoreMeta meta = *reader.Meta();
    ASSERT_EQ((*writer)->Add(StoreItem{.position = (*applier)->applied(),
                                       .incarnation = 1,
                                       .store_ns = meta.store_ns}),
              absl::OkStatus());
    ASSERT_EQ(reader.ReadHead(add), absl::OkStatus());
    ASSERT_EQ(reader.ReadProcesses(
                  [](const Pid&, const ProcessEntry&) { return true; }, add),
              absl::OkStatus());
    ASSERT_EQ(reader.ReadTail(add), absl::OkStatus());
    // Random owners have no names, which the check of the whole store minds.
    for (uint16_t owner = 1; owner < 8; ++owner) {
      static_cast<void>(
          (*writer)->Add(OwnerItem{.number = Owner{owner}, .name = "x"}));
    }
    ASSERT_EQ((*writer)->End(), absl::OkStatus());
    auto after = RocksStateStore::OpenToRead(directory + "/state");
    ASSERT_TRUE(after.ok()) << after.status();
    std::vector<std::string> facts = FactsOf(**after, history);
    std::erase_if(facts, [](const std::string& line) {
      return line.compare(0, 6, "owner ") == 0;
    });
    std::vector<std::string> expected = FactsOf(before, history);
    std::erase_if(expected, [](const std::string& line) {
      return line.compare(0, 6, "owner ") == 0;
    });
    EXPECT_EQ(absl::StrJoin(facts, "\n"), absl::StrJoin(expected, "\n"));
  }
}

TEST_F(StoreItems, WriterRefusesWhatDoesNotFit) {
  const StoreItem whole{.position = 800, .incarnation = 2};
  EXPECT_TRUE(absl::IsInvalidArgument(Put({}, made_)));
  EXPECT_TRUE(absl::IsInvalidArgument(Put({OwnerItem{}}, made_)));
  EXPECT_TRUE(absl::IsInvalidArgument(Put({whole, whole}, made_)));
  EXPECT_TRUE(absl::IsInvalidArgument(Put({StoreItem{.position = 7}}, made_)));
  ProcessItem process;
  process.pid = HomePid(3, 2, 1, 1);
  process.entry.process_type = "account";
  EXPECT_TRUE(absl::IsInvalidArgument(Put({whole, process, process}, made_)));
  ProcessItem later = process;
  later.pid = HomePid(3, 3, 1, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(Put({whole, later}, made_)));
  ProcessItem waits = process;
  waits.mailbox.push_back({.position = 800, .mail = {}});
  waits.mailbox[0].mail.body.emplace();
  EXPECT_TRUE(absl::IsInvalidArgument(Put({whole, waits}, made_)));
  IdItem call{.kind = kCallId, .id = "id"};
  call.entry.lsn = 8;
  EXPECT_TRUE(absl::IsInvalidArgument(Put({whole, call}, made_)));
  // Nobody has its owner.
  process.entry.runtime.owner = Owner{4};
  EXPECT_TRUE(absl::IsDataLoss(Put({whole, process}, made_)));
  // Each failure left no file.
  EXPECT_TRUE(fs::is_empty(directory_));
  EXPECT_EQ(
      Put({whole, OwnerItem{.number = Owner{4}, .name = "a"}, process}, made_),
      absl::OkStatus());
  EXPECT_TRUE(IsIntact(made_));
  EXPECT_TRUE(absl::IsAlreadyExists(Put({whole}, made_)));
}

TEST_F(StoreOfAWorld, IsTheSameAfterExportAndImport) {
  Fill();
  Crash();
  std::vector<AnyItem> items;
  const auto report =
      ExportStore({.store = {.directory = "/srv/store",
                             .files = &world.disk,
                             .open_state = [this] { return OpenState(); }}},
                  [&](AnyItem&& item) {
                    items.push_back(std::move(item));
                    return absl::OkStatus();
                  });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->is_damaged());
  ASSERT_EQ(Put(items, made_), absl::OkStatus());
  EXPECT_TRUE(IsIntact(made_));
  EXPECT_EQ(ImageOf(first), "15");
  EXPECT_EQ(EventsOf(second), 2u);
  const std::vector<AnyItem> again = ItemsOf(made_);
  ASSERT_EQ(again.size(), items.size());
  StoreItem expected = std::get<StoreItem>(items[0]);
  expected.incarnation += 65'536;
  EXPECT_EQ(std::get<StoreItem>(again[0]), expected);
}

TEST_F(StoreOfAWorld, ExportOfADamagedStoreGivesNothing) {
  Fill();
  Crash();
  Flip(2 * kBlockBytes + 100);
  size_t items = 0;
  const auto report =
      ExportStore({.store = {.directory = "/srv/store",
                             .files = &world.disk,
                             .open_state = [this] { return OpenState(); }}},
                  [&](AnyItem&&) {
                    ++items;
                    return absl::OkStatus();
                  });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->is_damaged());
  EXPECT_EQ(items, 0u);
}

}  // namespace
}  // namespace actord::runtime
