// Spare segments on a disk that is short of room.
#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/journal/journal_fixture.h"

namespace actord::runtime {
namespace {

constexpr size_t kAlways = 2;  // JournalOptions::spare_segments
constexpr size_t kMost = 8;

class SpareSegments : public JournalFixture {
 protected:
  // Writes so fast that the journal makes as many spare segments as it may.
  void Write(int records) {
    const std::string payload(200'000, 'x');
    for (int i = 0; i < records; ++i) {
      (void)Append(payload);
      clock_.AdvanceNs(kSecond / 1000);
      while (journal_->Work()) {
      }
    }
  }
  size_t Files() {
    size_t count = 0;
    for (const std::string& path : disk_.Files()) {
      count += path.starts_with(std::string(kStore) + "/journal/") ? 1 : 0;
    }
    return count;
  }
};

TEST_F(SpareSegments, AreGivenBackWhenTheDiskIsShort) {
  Open();
  Write(60);
  ASSERT_TRUE(journal_->Trim(journal_->DurableLsn()).ok());
  while (journal_->Work()) {
  }
  ASSERT_EQ(Files(), 1 + kMost + kAlways)
      << "one is in use, some are for reuse";
  journal_->SetShort(true);
  while (journal_->Work()) {
  }
  EXPECT_EQ(Files(), 1 + kAlways);
  Kill();
  Open();
  EXPECT_EQ(Files(), 1 + kAlways);
  AppendDurably("goes on");
  EXPECT_EQ(Payloads().back(), "goes on");
}

TEST_F(SpareSegments, OldSegmentsAreRemovedWhileTheDiskIsShort) {
  Open();
  journal_->SetShort(true);
  Write(60);
  ASSERT_TRUE(journal_->Trim(journal_->DurableLsn()).ok());
  while (journal_->Work()) {
  }
  EXPECT_EQ(Files(), 1 + kAlways);
  journal_->SetShort(false);
  Write(60);
  EXPECT_GT(Files(), 1 + kMost) << "they are made again";
}

TEST_F(SpareSegments, FurtherOnesLeaveMoreRoom) {
  constexpr uint64_t kCapacity = 40 << 20;
  disk_.set_capacity(kCapacity);
  options_.keep_free_bytes = 2 << 20;
  options_.keep_free_of_spares_bytes = 20 << 20;
  Open();
  Write(60);  // 12 segments
  const auto space = disk_.Space(kStore);
  ASSERT_TRUE(space.ok());
  EXPECT_GE(space->available, uint64_t{20} << 20);
  EXPECT_LT(Files(), 13 + kMost);
  // The segments that are always there may have the rest.
  Write(80);
  EXPECT_EQ(journal_->DurableLsn(), journal_->Tail());
}

}  // namespace
}  // namespace actord::runtime
