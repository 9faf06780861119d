// The parts of a damaged store that a salvage takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/store/rocks_state_store.h"
#include "runtime/store/state_keys.h"
#include "tests/runtime/store_tools/store_items_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;

using Salvage = StoreOfAWorld;

TEST_F(Salvage, IntactStoreLosesNothing) {
  Fill();
  Crash();
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->lost, IsEmpty());
  EXPECT_EQ(report->processes, 4u);
  EXPECT_EQ(report->events, 2u);
  EXPECT_EQ(report->ids, 3u);
  EXPECT_TRUE(IsIntact(made_));
  EXPECT_EQ(ImageOf(first), "15");
}

TEST_F(Salvage, TakesALetterThatWasSentAgain) {
  Fill();
  const Pid sender = world.NewPuppet();
  world.SendALetterAgain(sender);
  world.Tell(sender, "send", FormatPid(sender) + " note last");
  Crash();
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->lost, IsEmpty());
  EXPECT_EQ(ImageOf(first), "15");
}

// Each group of the journal in turn: a prefix of the records is taken.
TEST_F(Salvage, TakesTheRecordsBeforeTheDamage) {
  Fill();
  Crash();
  uint64_t before = kFirstLsn;
  for (uint64_t block = 2; block < 7; ++block) {
    SCOPED_TRACE(block);
    Flip(block * kBlockBytes + 20);
    const auto report = Run();
    Flip(block * kBlockBytes + 20);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->lost.size(), 1u);
    EXPECT_THAT(report->lost[0],
                HasSubstr("the records from position " +
                          std::to_string(report->position) + " on: /srv"));
    EXPECT_THAT(report->lost[0],
                AllOf(Not(HasSubstr("verify")), Not(HasSubstr("backup"))));
    EXPECT_GT(report->position, before);
    before = report->position;
    EXPECT_TRUE(IsIntact(made_));
    fs::remove_all(made_);
  }
}

// The state has records behind the damage of the journal: they are not undone.
TEST_F(Salvage, NothingThatTheStateHasIsUndone) {
  Fill();
  TrimJournal();
  size_t damaged = 0;
  for (uint64_t block = 1; block < 256; ++block) {
    SCOPED_TRACE(block);
    Flip(block * kBlockBytes + 20);
    const auto report = Run();
    Flip(block * kBlockBytes + 20);
    fs::remove_all(made_);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->processes, 4u);
    if (report->lost.empty()) continue;
    const std::string position = std::to_string(report->position);
    EXPECT_THAT(report->lost,
                ElementsAre(HasSubstr("the records from position " + position +
                                      " on: the journal cannot be read from "
                                      "position "),
                            AllOf(HasSubstr("the history from position "),
                                  HasSubstr(" to " + position + ": "))));
    if (++damaged == 2) return;
  }
  FAIL() << "no block is part of the journal";
}

// RocksDB cannot open the state store, and the file with the entry about the
// whole store is lost.
TEST_F(Salvage, LostPositionAndClockComeFromTheJournal) {
  world.directory = directory_ + "/store";
  world.files = &FileSystem::System();
  Fill();
  TrimJournal();
  const std::string state_directory = world.directory + "/state";
  {
    auto state = RocksStateStore::Open(
        {.directory = state_directory, .await_room = nullptr});
    ASSERT_TRUE(state.ok()) << state.status();
    std::vector<StateWrite> entries;
    ASSERT_TRUE(
        world.state
            .Scan(std::string(kKeyKindBytes, '\0'), "\xff",
                  [&](std::string_view key, std::string_view value) {
                    if (key != KeyOf(KeyKind::kMeta)) {
                      entries.push_back({std::string(key), std::string(value)});
                    }
                    return true;
                  })
            .ok());
    ASSERT_EQ((*state)->Write(entries), absl::OkStatus());
    ASSERT_EQ((*state)->Flush(), absl::OkStatus());
  }
  fs::remove(state_directory + "/CURRENT");
  const auto report =
      SalvageStore({.directory = world.directory, .new_directory = made_});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->processes, 4u);
  EXPECT_GT(report->position, kFirstLsn);
  EXPECT_TRUE(IsIntact(made_));
  EXPECT_EQ(ImageOf(first), "77");
  const auto whole = std::get<StoreItem>(ItemsOf(made_).at(0));
  EXPECT_NE(whole.clock_unix_ns, 0u);
}

class BadState : public StoreOfAWorld {
 protected:
  absl::StatusOr<std::unique_ptr<StateStore>> OpenState() override {
    if (cannot_be_opened) return absl::DataLossError("no MANIFEST");
    return std::make_unique<OverlayForTest>(world.state, bad);
  }
  bool cannot_be_opened = false;
  std::string bad;
};

TEST_F(BadState, IsMadeAgainFromAWholeJournal) {
  Fill();
  Crash();
  cannot_be_opened = true;
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->lost.size(), 1u);
  EXPECT_THAT(report->lost[0],
              AllOf(HasSubstr("could not be opened: no MANIFEST"),
                    HasSubstr("made again from the journal")));
  EXPECT_EQ(report->processes, 4u);
  EXPECT_EQ(ImageOf(first), "15");
  EXPECT_EQ(EventsOf(second), 2u);
}

TEST_F(BadState, IsTakenWithoutItsUnreadableProcesses) {
  Fill();
  TrimJournal();
  bad = KeyOf(KeyKind::kImage, second);
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(IsIntact(made_));
  EXPECT_THAT(report->lost,
              Contains(HasSubstr("process " + FormatPid(second))));
  EXPECT_EQ(report->processes, 3u);
  EXPECT_EQ(ImageOf(second), "none");
  EXPECT_EQ(ImageOf(first), "77");
}

TEST_F(BadState, WithoutTheFirstRecordsNothingIsTaken) {
  Fill();
  TrimJournal();
  cannot_be_opened = true;
  const auto report = Run();
  EXPECT_TRUE(absl::IsDataLoss(report.status())) << report.status();
  EXPECT_THAT(std::string(report.status().message()),
              AllOf(HasSubstr("nothing can be taken: the state store cannot "
                              "be read: no MANIFEST; and the journal begins"),
                    HasSubstr("/srv/store: keep it, and restore a backup")));
  EXPECT_TRUE(fs::is_empty(directory_));
}

}  // namespace
}  // namespace actord::runtime
