#include "runtime/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tests/runtime/journal/journal_fixture.h"

namespace actord::runtime {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class JournalTest : public JournalFixture {};

TEST_F(JournalTest, ReadsWhatWasAppendedAfterARestart) {
  Open();
  EXPECT_TRUE(journal_->report().is_new);
  EXPECT_EQ(journal_->report().incarnation, 1u);
  const uint64_t first = Append("first");
  const uint64_t second = Append("second");
  EXPECT_EQ(second, first + RecordBytes(5));
  EXPECT_LE(journal_->DurableLsn(), first);
  EXPECT_THAT(Payloads(), IsEmpty()) << "only what is durable is read";
  WorkAll();
  EXPECT_EQ(journal_->DurableLsn(), second + RecordBytes(6));
  EXPECT_EQ(events_->durable(), journal_->DurableLsn());
  EXPECT_THAT(Payloads(), ElementsAre("first", "second"));
  Open();
  EXPECT_FALSE(journal_->report().is_new);
  EXPECT_EQ(journal_->report().incarnation, 2u);
  EXPECT_THAT(Payloads(), ElementsAre("first", "second"));
  AppendDurably("third");
  EXPECT_THAT(Payloads(), ElementsAre("first", "second", "third"));
}

TEST_F(JournalTest, GroupsArePutTogetherUpToTheirLimit) {
  Open();
  const uint64_t before = journal_->Stats().groups;
  for (int i = 0; i < 100; ++i) (void)Append(std::string(100, 'a'));
  WorkAll();
  EXPECT_EQ(journal_->Stats().groups, before + 1);
  // 20 records of 16 KiB are five groups of 64 KiB at most.
  for (int i = 0; i < 20; ++i) (void)Append(std::string((16 << 10) - 8, 'b'));
  WorkAll();
  EXPECT_EQ(journal_->Stats().groups, before + 6);
  // A record above the limit is a group of its own.
  (void)Append("small");
  (void)Append(std::string(200 << 10, 'c'));
  (void)Append("small");
  WorkAll();
  EXPECT_EQ(journal_->Stats().groups, before + 9);
}

TEST_F(JournalTest, LargeRecordsAreKeptWhole) {
  Open();
  std::vector<std::string> expected;
  for (const size_t bytes : {65535u, 65536u, 65537u, 100000u, 262144u}) {
    expected.emplace_back(bytes, static_cast<char>('a' + expected.size()));
    AppendDurably(expected.back());
  }
  Open();
  EXPECT_EQ(Payloads(), expected);
}

TEST_F(JournalTest, RefusesRecordsAboveTheLimit) {
  Open();
  const absl::StatusOr<uint64_t> lsn =
      journal_->Append({kTestKind, 0, std::string((256 << 10) + 1, 'x')});
  EXPECT_EQ(lsn.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(lsn.status().message()),
              HasSubstr("262145 bytes is above the limit of 262144"));
  AppendDurably("the next one");
  EXPECT_THAT(Payloads(), ElementsAre("the next one"));
}

TEST_F(JournalTest, RecordsThatAreReservedTogetherLieTogether) {
  Open();
  const std::string large(100 << 10, 'l');
  const std::vector<Record> records = {
      {kTestKind, 0, "one"}, {kTestKind, 0, large}, {kTestKind, 0, ""}};
  Journal::Reservation reservation;
  ASSERT_TRUE(journal_->Reserve(records, reservation).ok());
  const uint64_t after = Append("after");
  EXPECT_EQ(after, reservation.lsn() + JournalRing::BytesOf(records));
  EXPECT_FALSE(journal_->Work()) << "nothing passes what is not published";
  journal_->Publish(std::move(reservation), records);
  WorkAll();
  EXPECT_THAT(Payloads(), ElementsAre("one", large, "", "after"));
}

TEST_F(JournalTest, ReadsFromAPosition) {
  Open();
  std::vector<uint64_t> lsns;
  for (int i = 0; i < 300; ++i) {
    lsns.push_back(Append(std::string(9000, 'a') + std::to_string(i)));
    if (i % 3 == 0) WorkAll();
  }
  WorkAll();
  EXPECT_GT(journal_->Stats().segments_made, 4u);
  for (const int i : {0, 1, 150, 299}) {
    JournalReader reader = journal_->Read(lsns[i]);
    ASSERT_TRUE(*reader.Next());
    EXPECT_EQ(reader.record().lsn, lsns[i]);
    EXPECT_TRUE(reader.record().payload.ends_with("a" + std::to_string(i)));
  }
  JournalReader reader = journal_->Read(journal_->DurableLsn());
  EXPECT_FALSE(*reader.Next());
  (void)Append("later");
  WorkAll();
  ASSERT_TRUE(*reader.Next()) << "a reader goes on";
  EXPECT_EQ(reader.record().payload, "later");
  EXPECT_EQ(journal_->Read(journal_->Tail() + 8).Next().status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST_F(JournalTest, TrimGivesUpWholeSegmentsAndUsesThemAgain) {
  Open();
  std::vector<uint64_t> lsns;
  for (int i = 0; i < 400; ++i) {
    lsns.push_back(Append(std::string(10000, 'a')));
    WorkAll();
  }
  ASSERT_EQ(disk_.Files().size(), 2u + 7u) << "META, five used, two spares";
  ASSERT_TRUE(journal_->Trim(lsns[350]).ok());
  WorkAll();
  EXPECT_LE(journal_->FirstLsn(), lsns[350]);
  EXPECT_GT(journal_->FirstLsn(), lsns[200]);
  EXPECT_EQ(journal_->Read(lsns[0]).Next().status().code(),
            absl::StatusCode::kNotFound);
  const uint64_t made = journal_->Stats().segments_made;
  for (int i = 0; i < 400; ++i) {
    const uint64_t lsn = Append(std::string(10000, 'b'));
    WorkAll();
    ASSERT_TRUE(journal_->Trim(lsn).ok());
    WorkAll();
  }
  EXPECT_GT(journal_->Stats().segments_recycled, 2u);
  EXPECT_EQ(journal_->Stats().segments_made, made);
  EXPECT_LE(disk_.Files().size(), 2u + 3u + 2u) << "two to be used again";
  const std::vector<std::string> before = Payloads();
  Open();
  EXPECT_EQ(Payloads(), before);
  EXPECT_EQ(journal_->report().cut, "") << "old groups are no torn ones";
}

TEST_F(JournalTest, MakesMoreSegmentsAheadIfTheyAreUsedUpFast) {
  Open();
  // A segment in a second: two seconds of that, and one begun.
  for (int i = 0; i < 120; ++i) {
    (void)Append(std::string(10000, 'a'));
    clock_.AdvanceNs(kSecond / 100);
    while (journal_->Work()) {
    }
  }
  EXPECT_EQ(disk_.Files().size(), 2u + 2u + 3u);
  // At once: eight, and not more.
  for (int i = 0; i < 200; ++i) {
    (void)Append(std::string(10000, 'a'));
    while (journal_->Work()) {
    }
  }
  EXPECT_EQ(disk_.Files().size(), 2u + 4u + 8u);
}

// The reason for zero-filling: the sync of a commit writes data alone.
TEST_F(JournalTest, CommitsChangeNoMetadata) {
  Open();
  WorkAll();
  const uint64_t before = disk_.syncs_with_metadata();
  for (int i = 0; i < 60; ++i) {
    (void)Append(std::string(5000, 'a'));
    ASSERT_TRUE(journal_->Work());
  }
  ASSERT_EQ(journal_->Stats().segments_made, 3u);
  EXPECT_EQ(disk_.syncs_with_metadata(), before);
}

TEST_F(JournalTest, IsBehindAboveItsBoundUntilHalfOfItIsFree) {
  Open();
  EXPECT_FALSE(journal_->Behind());
  for (int i = 0; i < 20; ++i) (void)Append(std::string(16 << 10, 'a'));
  EXPECT_TRUE(journal_->Behind());
  EXPECT_EQ(events_->caught_up(), 0);
  ASSERT_TRUE(journal_->Work());
  ASSERT_TRUE(journal_->Work());
  EXPECT_TRUE(journal_->Behind()) << "most is still not durable";
  WorkAll();
  EXPECT_FALSE(journal_->Behind());
  EXPECT_EQ(events_->caught_up(), 1);
}

TEST_F(JournalTest, NoRoomForANewSegmentIsNoFailureWhicheverCallSaysIt) {
  using Call = SimulatedDisk::Call;
  for (const Call call : {Call::kAllocate, Call::kWrite, Call::kSync,
                          Call::kRename, Call::kSyncDirectory}) {
    options_.directory = "/store" + std::to_string(static_cast<int>(call));
    Open();
    WorkAll();
    // The name stays that of the file as it was opened.
    disk_.FailNext(call,
                   call == Call::kSyncDirectory ? "/journal"
                                                : SegmentName(4 << 20) + ".new",
                   ENOSPC);
    std::vector<std::string> expected;
    // Of 1 MiB each segment.
    for (int i = 0; i < 80; ++i) {
      expected.emplace_back(60'000, 'a');
      AppendDurably(expected.back());
    }
    EXPECT_TRUE(disk_.has_failed()) << static_cast<int>(call);
    EXPECT_THAT(events_->failures(), IsEmpty()) << static_cast<int>(call);
    EXPECT_THAT(disk_.Files(), testing::Not(Contains(HasSubstr(".new"))));
    EXPECT_EQ(Payloads(), expected);
    disk_.Restart(/*keep_cache=*/true, SimulatedDisk::kSectorBytes);
  }
}

TEST_F(JournalTest, IsBehindWhileItsReaderHoldsItBack) {
  Open();
  journal_->HoldBack(true);
  AppendDurably("in flight");
  EXPECT_TRUE(journal_->Behind());
  // Another reason: the last one to end tells.
  for (int i = 0; i < 20; ++i) (void)Append(std::string(16 << 10, 'a'));
  journal_->HoldBack(false);
  EXPECT_TRUE(journal_->Behind());
  EXPECT_EQ(events_->caught_up(), 0);
  journal_->HoldBack(true);
  WorkAll();
  EXPECT_TRUE(journal_->Behind());
  EXPECT_EQ(events_->caught_up(), 0);
  journal_->HoldBack(false);
  EXPECT_FALSE(journal_->Behind());
  EXPECT_EQ(events_->caught_up(), 1);
}

TEST_F(JournalTest, JournalWithoutRoomIsBehindAndResumesByItself) {
  Open();
  WorkAll();
  disk_.set_capacity(3 << 20 | 64 << 10);  // three segments, and META
  std::vector<std::string> expected;
  while (!journal_->Behind()) {
    expected.emplace_back(60000, 'a');
    (void)Append(expected.back());
    (void)journal_->Work();
    ASSERT_LT(expected.size(), 100u);
  }
  // Records in flight still become durable: two segments are there.
  expected.emplace_back("in flight");
  AppendDurably(expected.back());
  EXPECT_TRUE(journal_->Behind());
  while (journal_->DurableLsn() == journal_->Tail()) {
    expected.emplace_back(60000, 'b');
    (void)Append(expected.back());
    (void)journal_->Work();
    ASSERT_LT(expected.size(), 100u) << "there is no segment for so many";
  }
  EXPECT_THAT(events_->failures(), IsEmpty());
  EXPECT_THAT(disk_.Files(), testing::Not(Contains(HasSubstr(".new"))));
  const std::string newest = disk_.Contents(Segment(2 << 20));
  EXPECT_LT(newest.find_last_not_of('\0'), kSegmentHeaderBytes)
      << "the newest segment holds no group";
  disk_.set_capacity(SimulatedDisk::kNever);
  WorkAll();
  EXPECT_FALSE(journal_->Behind());
  EXPECT_EQ(events_->caught_up(), 1);
  EXPECT_EQ(Payloads(), expected);
  Open();
  EXPECT_EQ(Payloads(), expected);
}

TEST_F(JournalTest, SegmentsLeaveTheRoomThatOthersNeed) {
  options_.keep_free_bytes = 2 << 20;
  Open();
  WorkAll();
  const uint64_t made = journal_->Stats().segments_made;
  // Room for the used segments and one more, but not for the bytes to keep
  // free.
  disk_.set_capacity((made + 1) * (1 << 20) + (2 << 20) - (64 << 10));
  // Begins the second segment, so another one is wanted.
  for (int i = 0; i < 20; ++i) {
    (void)Append(std::string(60000, 'a'));
    WorkAll();
  }
  EXPECT_TRUE(journal_->HasNoRoom());
  EXPECT_EQ(journal_->Stats().segments_made, made);
  disk_.set_capacity((made + 1) * (1 << 20) + (2 << 20) + (64 << 10));
  WorkAll();
  EXPECT_EQ(journal_->Stats().segments_made, made + 1);
}

class JournalDiskErrorTest
    : public JournalFixture,
      public testing::WithParamInterface<SimulatedDisk::Call> {};

TEST_P(JournalDiskErrorTest, ErrorIsReportedOnceAndNeverRetried) {
  Open();
  AppendDurably("durable");
  const uint64_t durable = journal_->DurableLsn();
  disk_.FailNext(GetParam(), ".seg", EIO);
  (void)Append("in flight");
  EXPECT_FALSE(journal_->Work());
  ASSERT_THAT(events_->failures(), SizeIs(1));
  EXPECT_EQ(events_->failures()[0].code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(journal_->DurableLsn(), durable);
  const uint64_t writes = disk_.calls_of(SimulatedDisk::Call::kWrite);
  const uint64_t syncs = disk_.calls_of(SimulatedDisk::Call::kSync);
  EXPECT_FALSE(journal_->Work());
  journal_->Seal();
  EXPECT_EQ(journal_->Append({kTestKind, 0, "more"}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(journal_->AwaitDurable(journal_->Tail()).code(),
            absl::StatusCode::kUnavailable);
  journal_.reset();
  EXPECT_EQ(disk_.calls_of(SimulatedDisk::Call::kWrite), writes);
  EXPECT_EQ(disk_.calls_of(SimulatedDisk::Call::kSync), syncs);
  EXPECT_THAT(events_->failures(), SizeIs(1));
  EXPECT_EQ(events_->durable(), durable);
}

INSTANTIATE_TEST_SUITE_P(Calls, JournalDiskErrorTest,
                         testing::Values(SimulatedDisk::Call::kWrite,
                                         SimulatedDisk::Call::kSync));

TEST_F(JournalTest, AFailedTrimIsToldToo) {
  Open();
  for (int i = 0; i < 200; ++i) AppendDurably(std::string(10000, 'a'));
  disk_.FailNext(SimulatedDisk::Call::kSync, "META-1", EIO);
  EXPECT_FALSE(journal_->Trim(journal_->DurableLsn()).ok());
  EXPECT_THAT(events_->failures(), SizeIs(1));
  EXPECT_THAT(disk_.Files(), Contains(Segment(0)));
}

TEST_F(JournalTest, ADirectoryServesOneProgram) {
  Open();
  RecordedEvents others;
  const absl::Status status = Journal::Open(options_, others).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("in use"));
  AppendDurably("still works");
}

TEST_F(JournalTest, AStopSealsTheLastGroup) {
  Open();
  (void)Append("not yet written");
  journal_->Close();
  EXPECT_EQ(journal_->Stats().seals, 1u);
  EXPECT_EQ(journal_->Append({kTestKind, 0, "late"}).status().code(),
            absl::StatusCode::kUnavailable);
  journal_->Close();
  EXPECT_EQ(journal_->Stats().seals, 1u);
  Open();
  EXPECT_THAT(Payloads(), ElementsAre("not yet written"));
}

TEST_F(JournalTest, WritesInPiecesIfTheSystemDoes) {
  disk_.set_short_writes(true);
  Open();
  const std::string large(200 << 10, 'x');
  for (int i = 0; i < 10; ++i) AppendDurably(large);
  EXPECT_THAT(events_->failures(), IsEmpty());
  Kill(false);
  Open();
  EXPECT_EQ(Payloads(), std::vector<std::string>(10, large));
}

TEST_F(JournalTest, ChecksItsOptions) {
  const auto refuses = [&](void (*change)(JournalOptions&), const char* text) {
    options_ = SmallJournal(disk_, clock_);
    change(options_);
    const absl::Status status = options_.Check();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_EQ(TryOpen(), status);
  };
  refuses([](JournalOptions& o) { o.segment_bytes = (1 << 20) - 4096; },
          "between 1 and 256 MiB");
  refuses([](JournalOptions& o) { o.segment_bytes = 257 << 20; },
          "between 1 and 256 MiB");
  refuses([](JournalOptions& o) { o.max_record_bytes = (1 << 19) + 1; },
          "half of segment_bytes");
  refuses([](JournalOptions& o) { o.ring_bytes = 3 << 20; }, "power of two");
  refuses([](JournalOptions& o) { o.max_unsynced_bytes = 2 << 20; },
          "at most ring_bytes");
  refuses([](JournalOptions& o) { o.max_group_bytes = 1 << 20; },
          "max_group_bytes");
  refuses([](JournalOptions& o) { o.spare_segments = 1; }, "between 2 and 8");
  refuses([](JournalOptions& o) { o.directory = ""; }, "directory is empty");
}

}  // namespace
}  // namespace actord::runtime
