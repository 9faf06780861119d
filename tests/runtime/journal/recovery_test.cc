#include "runtime/journal/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "runtime/journal/crc32c.h"
#include "tests/runtime/journal/journal_fixture.h"

namespace actord::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Places of groups: OPENED at 4096, then one block each.
constexpr uint64_t kBlock = kBlockBytes;

class RecoveryTest : public JournalFixture {
 protected:
  // Three groups behind OPENED, not sealed.
  void WriteThreeGroups() {
    Open();
    AppendDurably("one");
    AppendDurably("two");
    AppendDurably("three");
  }
  void ExpectRefused(absl::StatusCode code,
                     const testing::Matcher<std::string>& message) {
    const std::vector<std::string> files = disk_.Files();
    std::vector<std::string> contents;
    for (const std::string& file : files) {
      contents.push_back(disk_.Contents(file));
    }
    const absl::Status status = TryOpen();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), message);
    EXPECT_EQ(disk_.Files(), files);
    for (size_t i = 0; i < files.size(); ++i) {
      EXPECT_EQ(disk_.Contents(files[i]), contents[i]) << files[i];
    }
  }
};

TEST_F(RecoveryTest, CutsATornGroupThatNobodyWasToldOf) {
  WriteThreeGroups();
  Kill();
  // The last group's records are torn; nothing lies behind it.
  disk_.Flip(Segment(0), 4 * kBlock + kGroupHeaderBytes + 9, 1);
  Open();
  EXPECT_EQ(journal_->report().cut, Segment(0) + ", offset 16384");
  EXPECT_THAT(Payloads(), ElementsAre("one", "two"));
  AppendDurably("four");
  Open();
  EXPECT_EQ(journal_->report().cut, "");
  EXPECT_THAT(Payloads(), ElementsAre("one", "two", "four"));
}

TEST_F(RecoveryTest, RefusesRotOfAcknowledgedRecords) {
  WriteThreeGroups();
  const std::string lsn =
      std::to_string(journal_->FirstLsn() + RecordBytes(16) + RecordBytes(3));
  Kill();
  disk_.Flip(Segment(0), 3 * kBlock + kGroupHeaderBytes + 9, 1);
  ExpectRefused(absl::StatusCode::kDataLoss,
                AllOf(HasSubstr(Segment(0) + ", offset 12288"),
                      HasSubstr("position " + lsn), HasSubstr("backup")));
}

TEST_F(RecoveryTest, RefusesRotOfAHeader) {
  WriteThreeGroups();
  Kill();
  disk_.Flip(Segment(0), 3 * kBlock + 20, 1);
  ExpectRefused(absl::StatusCode::kDataLoss,
                HasSubstr(Segment(0) + ", offset 12288"));
}

TEST_F(RecoveryTest, ASealedGroupCannotBeTakenForATornOne) {
  WriteThreeGroups();
  journal_->Seal();
  Kill();
  disk_.Flip(Segment(0), 4 * kBlock + kGroupHeaderBytes + 9, 1);
  ExpectRefused(absl::StatusCode::kDataLoss,
                HasSubstr(Segment(0) + ", offset 16384"));
}

TEST_F(RecoveryTest, TheNextStartSealsTheLastGroup) {
  WriteThreeGroups();
  Kill();
  Open();
  Kill();
  disk_.Flip(Segment(0), 4 * kBlock + kGroupHeaderBytes + 9, 1);
  ExpectRefused(absl::StatusCode::kDataLoss,
                HasSubstr(Segment(0) + ", offset 16384"));
}

TEST_F(RecoveryTest, RefusesAGroupThatDoesNotContinueTheOneBefore) {
  WriteThreeGroups();
  Kill();
  const std::string old = disk_.Contents(Segment(0));
  // Another history from the second group on, then files of both are mixed.
  Open();
  AppendDurably("other");
  Kill();
  std::string mixed = disk_.Contents(Segment(0));
  JournalOptions other = options_;
  SimulatedDisk other_disk(2);
  other.files = &other_disk;
  RecordedEvents events;
  {
    auto journal = Journal::Open(other, events);
    ASSERT_TRUE(journal.ok());
    ASSERT_TRUE((*journal)->Append({kTestKind, 0, "uno"}).ok());
    ASSERT_TRUE((*journal)->Work());
  }
  // The same store id (the seed's), the same place, another content.
  mixed.replace(2 * kBlock, kBlock,
                other_disk.Contents(Segment(0)).substr(2 * kBlock, kBlock));
  disk_.SetContents(Segment(0), mixed);
  ExpectRefused(absl::StatusCode::kDataLoss,
                AllOf(HasSubstr(Segment(0) + ", offset 8192"),
                      HasSubstr("does not continue")));
}

TEST_F(RecoveryTest, AnErrorOfTheDiskIsNotTheEndOfTheJournal) {
  WriteThreeGroups();
  Kill();
  disk_.FailReads(Segment(0), 4 * kBlock, 512);
  ExpectRefused(absl::StatusCode::kDataLoss,
                AllOf(HasSubstr(Segment(0) + ", offset 16384"),
                      HasSubstr("cannot be read")));
}

TEST_F(RecoveryTest, AnErrorBehindTheEndRefusesToo) {
  WriteThreeGroups();
  Kill();
  // The unreadable block might have been a group.
  disk_.FailReads(Segment(0), 9 * kBlock, 512);
  ExpectRefused(absl::StatusCode::kDataLoss, HasSubstr("cannot be read"));
}

class MissingSegmentTest : public RecoveryTest,
                           public testing::WithParamInterface<int> {};

TEST_P(MissingSegmentTest, IsRefused) {
  Open();
  for (int i = 0; i < 250; ++i) AppendDurably(std::string(10000, 'a'));
  Kill();
  // Three with groups, two spares. The last spare alone is not needed.
  ASSERT_EQ(disk_.Files().size(), 2u + 5u);
  for (int i = GetParam(); i < 5; ++i) {
    disk_.Remove(Segment(static_cast<uint64_t>(i) << 20));
    if (i < 3 && GetParam() != 2) break;
  }
  ExpectRefused(absl::StatusCode::kDataLoss, HasSubstr("missing"));
}

INSTANTIATE_TEST_SUITE_P(Files, MissingSegmentTest,
                         testing::Values(0, 1, 2, 3));

TEST_F(RecoveryTest, AMissingSpareIsMadeAgain) {
  WriteThreeGroups();
  Kill();
  disk_.Remove(Segment(2 << 20));
  Open();
  EXPECT_THAT(Payloads(), ElementsAre("one", "two", "three"));
  EXPECT_EQ(journal_->Stats().segments_made, 1u);
}

TEST_F(RecoveryTest, RefusesATruncatedSegment) {
  WriteThreeGroups();
  Kill();
  disk_.SetContents(Segment(0), disk_.Contents(Segment(0)).substr(0, 16384));
  ExpectRefused(absl::StatusCode::kDataLoss,
                AllOf(HasSubstr(Segment(0)), HasSubstr("16384 bytes long")));
}

TEST_F(RecoveryTest, RefusesFilesOfAnotherStore) {
  WriteThreeGroups();
  Kill();
  JournalOptions other = options_;
  SimulatedDisk other_disk(2);
  other.files = &other_disk;
  other.seed = 99;
  RecordedEvents events;
  ASSERT_TRUE(Journal::Open(other, events).ok());
  disk_.SetContents(Segment(1 << 20), other_disk.Contents(Segment(1 << 20)));
  ExpectRefused(absl::StatusCode::kDataLoss, HasSubstr("another store"));
  const std::string meta = std::string(kStore) + "/META-1";
  disk_.SetContents(Segment(1 << 20), "");
  disk_.SetContents(meta, other_disk.Contents(meta));
  ExpectRefused(absl::StatusCode::kDataLoss, HasSubstr("of two stores"));
}

TEST_F(RecoveryTest, ForeignFilesAreNotTouched) {
  WriteThreeGroups();
  Kill();
  disk_.SetContents(std::string(kStore) + "/journal/notes.txt", "mine");
  ExpectRefused(absl::StatusCode::kDataLoss, HasSubstr("notes.txt"));
}

TEST_F(RecoveryTest, RefusesARecordOfAnUnknownKindUnlessItIsSkippable) {
  Open();
  (void)journal_->Append({9, kSkippable, "skippable"});
  AppendDurably("known");
  Open();
  EXPECT_THAT(Payloads(), ElementsAre("skippable", "known"));
  (void)journal_->Append({9, 0, "critical"});
  WorkAll();
  Kill();
  ExpectRefused(absl::StatusCode::kFailedPrecondition,
                AllOf(HasSubstr("of kind 9"), HasSubstr("newer version")));
}

TEST_F(RecoveryTest, RefusesOtherFormats) {
  WriteThreeGroups();
  Kill();
  const std::string meta_path = std::string(kStore) + "/META-0";
  const std::string meta = disk_.Contents(meta_path);
  const auto set = [&](size_t at, char format) {
    std::string other = meta;
    other[at] = format;
    const uint32_t crc = Crc32c(std::string_view(other).substr(0, 96));
    other.replace(96, 4, reinterpret_cast<const char*>(&crc), 4);
    disk_.SetContents(meta_path, other);
  };
  set(10, kJournalFormat + 1);  // the oldest format whose readers can read it
  ExpectRefused(absl::StatusCode::kFailedPrecondition,
                AllOf(HasSubstr("META-0"), HasSubstr("newer version")));
  set(8, kJournalFormat - 1);
  ExpectRefused(absl::StatusCode::kFailedPrecondition,
                AllOf(HasSubstr("META-0"), HasSubstr("before its first")));
}

class MetaTest : public RecoveryTest, public testing::WithParamInterface<int> {
 protected:
  [[nodiscard]] std::string Path() const {
    return std::string(kStore) + "/META-" + std::to_string(GetParam());
  }
};

TEST_P(MetaTest, ADamagedCopyIsRepaired) {
  WriteThreeGroups();
  Kill();
  disk_.Flip(Path(), 50, 1);
  Open();
  EXPECT_EQ(journal_->report().repaired, Path());
  EXPECT_THAT(Payloads(), ElementsAre("one", "two", "three"));
  Open();
  EXPECT_EQ(journal_->report().repaired, "");
}

// A write of the other copy may be torn, so this one must be intact by then.
TEST_P(MetaTest, TheIntactCopyIsWrittenLast) {
  WriteThreeGroups();
  Kill();
  disk_.Flip(Path(), 50, 1);
  const std::string intact =
      std::string(kStore) + "/META-" + std::to_string(1 - GetParam());
  disk_.FailNext(SimulatedDisk::Call::kWrite, intact, EIO);
  EXPECT_FALSE(TryOpen().ok());
  Kill(false);
  disk_.Flip(intact, 50, 1);
  Open();
  EXPECT_EQ(journal_->report().repaired, intact);
}

TEST_P(MetaTest, AMissingCopyIsMadeAgain) {
  WriteThreeGroups();
  Kill();
  disk_.Remove(Path());
  Open();
  EXPECT_EQ(journal_->report().repaired, Path());
  Open();
  EXPECT_EQ(journal_->report().repaired, "");
}

INSTANTIATE_TEST_SUITE_P(Copies, MetaTest, testing::Values(0, 1));

TEST_F(RecoveryTest, RefusesAStoreWithoutMeta) {
  WriteThreeGroups();
  Kill();
  for (const char* name : {"/META-0", "/META-1"}) {
    disk_.Flip(kStore + std::string(name), 50, 1);
  }
  ExpectRefused(absl::StatusCode::kDataLoss, HasSubstr("META-1 are damaged"));
  for (const char* name : {"/META-0", "/META-1"}) {
    disk_.Remove(kStore + std::string(name));
  }
  ExpectRefused(absl::StatusCode::kDataLoss, HasSubstr("are missing"));
}

// A sync that failed has marked the pages as clean: the group is in the page
// cache alone, and no later sync writes it.
TEST_F(RecoveryTest, TheLastGroupIsWrittenAgain) {
  Open();
  AppendDurably("durable");
  disk_.set_failed_sync(SimulatedDisk::FailedSync::kKeepsPages);
  disk_.FailNext(SimulatedDisk::Call::kSync, ".seg", EIO);
  (void)Append("in the cache alone");
  EXPECT_FALSE(journal_->Work());
  Kill(true);
  Open();
  EXPECT_THAT(Payloads(), ElementsAre("durable", "in the cache alone"));
  AppendDurably("acknowledged");
  Kill(false);
  Open();
  EXPECT_THAT(Payloads(),
              ElementsAre("durable", "in the cache alone", "acknowledged"));
}

TEST_F(RecoveryTest, IncarnationsNeverRepeat) {
  for (uint64_t i = 1; i <= 5; ++i) {
    Open();
    EXPECT_EQ(journal_->report().incarnation, i);
    Kill(i % 2 == 0);
  }
  Open();
  for (int i = 0; i < 250; ++i) AppendDurably(std::string(10000, 'a'));
  ASSERT_TRUE(journal_->Trim(journal_->DurableLsn()).ok());
  Kill(false);
  Open();
  EXPECT_EQ(journal_->report().incarnation, 7u);
}

TEST_F(RecoveryTest, ANewStoreThatFindsNoRoomIsMadeLater) {
  disk_.set_capacity(2 << 20);
  const absl::Status status = TryOpen();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  disk_.set_capacity(SimulatedDisk::kNever);
  Open();
  EXPECT_TRUE(journal_->report().is_new);
  AppendDurably("works");
  Open();
  EXPECT_FALSE(journal_->report().is_new);
  EXPECT_THAT(Payloads(), ElementsAre("works"));
}

}  // namespace
}  // namespace actord::runtime
