#include "runtime/store/record_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/journal/journal_fixture.h"

namespace actord::runtime {
namespace {

class RecordSourceTest : public testing::Test {
 protected:
  RecordSourceTest() : disk_(1) {
    auto journal = Journal::Open(SmallJournal(disk_, clock_), events_);
    EXPECT_TRUE(journal.ok()) << journal.status();
    journal_ = *std::move(journal);
    source_ = std::make_unique<JournalSource>(*journal_);
  }

  // Appends groups of two records; returns the positions of the records.
  std::vector<uint64_t> Append(int groups) {
    std::vector<uint64_t> positions;
    for (int i = 0; i < groups; ++i) {
      for (int j = 0; j < 2; ++j) {
        const std::string text = std::to_string(i) + "/" + std::to_string(j);
        const auto lsn = journal_->Append({kTestKind, 0, text});
        EXPECT_TRUE(lsn.ok()) << lsn.status();
        positions.push_back(*lsn);
      }
      while (journal_->Work()) {
      }
    }
    return positions;
  }
  std::string At(uint64_t position) {
    const auto record = source_->At(position);
    return record.ok() ? record->payload : record.status().ToString();
  }
  static std::string TextOf(size_t number) {
    return std::to_string(number / 2) + "/" + std::to_string(number % 2);
  }

  SimulatedDisk disk_;
  ManualClock clock_;
  RecordedEvents events_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<JournalSource> source_;
};

TEST_F(RecordSourceTest, FindsEachRecordInAnyOrder) {
  const std::vector<uint64_t> positions = Append(100);
  for (size_t i = 0; i < positions.size(); ++i) {
    EXPECT_EQ(At(positions[i]), TextOf(i));
  }
  for (size_t i = positions.size(); i-- > 0;) {
    EXPECT_EQ(At(positions[i]), TextOf(i));
  }
  for (size_t i = 0; i < positions.size(); i += 7) {
    EXPECT_EQ(At(positions[i]), TextOf(i));
    EXPECT_EQ(At(positions[positions.size() - 1 - i]),
              TextOf(positions.size() - 1 - i));
    EXPECT_FALSE(source_->At(positions[i] + 1).ok());
  }
}

// Without the places it would read all groups before each record.
TEST_F(RecordSourceTest, ReadsFewGroupsForEachRecord) {
  constexpr int kGroups = 200;
  const std::vector<uint64_t> positions = Append(kGroups);
  EXPECT_EQ(At(positions.back()), TextOf(positions.size() - 1));
  const uint64_t before = disk_.calls();
  for (size_t i = positions.size(); i-- > 0;) {
    EXPECT_EQ(At(positions[i]), TextOf(i));
  }
  EXPECT_LE(disk_.calls() - before, 5 * positions.size());
}

TEST_F(RecordSourceTest, GoesOnBehindATrim) {
  std::vector<uint64_t> positions = Append(400);
  EXPECT_EQ(At(positions.front()), TextOf(0));
  EXPECT_EQ(At(positions.back()), TextOf(positions.size() - 1));
  ASSERT_TRUE(journal_->Trim(positions.back()).ok());
  ASSERT_GT(journal_->FirstLsn(), positions.front());
  EXPECT_FALSE(source_->At(positions.front()).ok());
  EXPECT_EQ(At(positions.back()), TextOf(positions.size() - 1));
}

TEST_F(RecordSourceTest, FileThatIsUsedAgainIsNotReadOn) {
  const std::vector<uint64_t> old = Append(400);
  EXPECT_EQ(At(old.front()), TextOf(0));
  ASSERT_TRUE(journal_->Trim(old.back()).ok());
  ASSERT_GT(journal_->FirstLsn(), old.front());
  const std::vector<uint64_t> positions = Append(600);
  EXPECT_EQ(At(positions.back()), TextOf(positions.size() - 1));
  EXPECT_EQ(At(positions.front()), TextOf(0));
}

}  // namespace
}  // namespace actord::runtime
