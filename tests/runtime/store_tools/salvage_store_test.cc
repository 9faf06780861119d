// The parts of a damaged store that a salvage takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runtime/store/state_keys.h"
#include "tests/runtime/store_tools/store_items_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
    EXPECT_GT(report->position, before);
    before = report->position;
    EXPECT_TRUE(IsIntact(made_));
    fs::remove_all(made_);
  }
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
  EXPECT_THAT(report->lost[0], HasSubstr("no MANIFEST"));
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
              HasSubstr("nothing can be taken"));
  EXPECT_TRUE(fs::is_empty(directory_));
}

}  // namespace
}  // namespace actord::runtime
