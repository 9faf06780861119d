#include "runtime/store_tools/examine_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/store/journal_applier.h"
#include "runtime/store/state_keys.h"
#include "runtime/store/state_values.h"
#include "runtime/store_tools/overlay_state.h"
#include "runtime/store_tools/read_only_files.h"
#include "runtime/store_tools/state_check.h"
#include "tests/runtime/durable/durable_fixture.h"
#include "tests/runtime/store/history.h"
#include "tests/runtime/store/memory_state_store.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A state store that can be read alone: a write fails the test.
class Readable final : public StateStore {
 public:
  explicit Readable(StateStore& below) : below_(below) {}
  absl::StatusOr<std::optional<std::string>> Get(
      std::string_view key) override {
    return below_.Get(key);
  }
  absl::Status Write(std::span<const StateWrite> /*writes*/) override {
    ADD_FAILURE() << "the state store was written";
    return absl::InternalError("written");
  }
  absl::Status Flush() override {
    ADD_FAILURE() << "the state store was flushed";
    return absl::InternalError("flushed");
  }
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override {
    return below_.Scan(first, last, use);
  }

 private:
  StateStore& below_;
};

class ExamineStoreTest : public ::testing::Test {
 protected:
  absl::StatusOr<StoreReport> Examine(bool is_thorough = true) {
    return ExamineStore({.directory = "/srv/store",
                         .is_thorough = is_thorough,
                         .files = &world.disk,
                         .open_state = [this] {
                           return absl::StatusOr<std::unique_ptr<StateStore>>(
                               std::make_unique<Readable>(world.state));
                         }});
  }
  // The text of all that is wrong.
  std::string Findings() {
    const absl::StatusOr<StoreReport> report = Examine();
    if (!report.ok()) return report.status().ToString();
    std::string all;
    for (const StoreReport::Finding& finding : report->findings) {
      all += (finding.is_damage ? "damage: " : "note: ") + finding.text + "\n";
    }
    return all;
  }
  // Two accounts, a name, and a message that waits; then a clean stop.
  void Fill() {
    ASSERT_TRUE(world.Start().ok());
    pid = world.NewAccount(10, "first");
    world.NewAccount(20);
    world.Tell(pid, "add", "5");
    world.SubmitOnce("request", "1");
    world.Settle();
  }
  void Flip(const std::string& path, uint64_t offset) {
    auto file = world.disk.Open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(file.ok()) << file.status();
    char byte = 0;
    ASSERT_TRUE((*file)->Read(offset, 1, &byte).ok());
    byte = static_cast<char>(byte ^ 1);
    ASSERT_TRUE((*file)->Write(offset, {&byte, 1}).ok());
  }
  void Put(const std::string& key, const std::string& value) {
    const StateWrite write{key, value};
    ASSERT_TRUE(world.state.Write({&write, 1}).ok());
  }

  DurableWorld world;
  Pid pid;
};

TEST_F(ExamineStoreTest, CountsWhatTheNextStartFinds) {
  Fill();
  world.Stop();
  for (const bool is_thorough : {true, false}) {
    const absl::StatusOr<StoreReport> report = Examine(is_thorough);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(report->findings, IsEmpty());
    EXPECT_FALSE(report->is_damaged());
    EXPECT_EQ(report->journal.format, kJournalFormat);
    EXPECT_EQ(report->journal.incarnation, 1U);
    EXPECT_EQ(report->journal.first, kFirstLsn);
    EXPECT_GT(report->journal.end, report->state.applied);
    EXPECT_EQ(report->journal.segments, 3U);
    EXPECT_EQ(report->journal.spare_segments, 2U);
    EXPECT_EQ(report->journal.bytes, 3U << 20);
    EXPECT_EQ(report->state.processes, 3U);
    EXPECT_EQ(report->state.names, 1U);
    EXPECT_EQ(report->state.request_ids, 1U);
    EXPECT_THAT(report->types,
                ElementsAre(Field(&StoreReport::ProcessType::name, "account")));
    EXPECT_EQ(report->types.front().processes, 3U);
  }
}

// The state store has applied nothing of it yet.
TEST_F(ExamineStoreTest, CountsMessagesThatWait) {
  Fill();
  world.Send(pid, "add", "1");
  world.Send(pid, "add", "2");
  world.store->Work();
  world.Crash(/*keep_cache=*/true);
  const absl::StatusOr<StoreReport> report = Examine();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->findings, IsEmpty());
  EXPECT_EQ(report->state.messages, 2U);
}

// Its record refers to the body in an earlier record.
TEST_F(ExamineStoreTest, ReadsTheBodyOfALetterThatWasSentAgain) {
  Fill();
  world.SendALetterAgain(world.NewPuppet());
  world.Crash(/*keep_cache=*/true);
  EXPECT_EQ(Findings(), "");
}

TEST_F(ExamineStoreTest, ChangesNothing) {
  Fill();
  world.Stop();
  ASSERT_TRUE(Examine().ok());
  // It starts as if nobody had looked.
  ASSERT_TRUE(world.Start().ok());
  EXPECT_EQ(world.BalanceOf(pid), "15");

  ReadOnlyFiles files(world.disk);
  EXPECT_TRUE(absl::IsPermissionDenied(
      files.Open("/srv/new", OpenMode::kCreate).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(files.Rename("/srv/a", "/srv/b")));
  EXPECT_TRUE(absl::IsPermissionDenied(files.Unlink("/srv/store/META-0")));
  EXPECT_TRUE(absl::IsPermissionDenied(files.MakeDirectory("/srv/new")));
  EXPECT_TRUE(absl::IsPermissionDenied(files.SyncDirectory("/srv")));
}

TEST_F(ExamineStoreTest, FolderWithoutAStoreStaysUnchanged) {
  ASSERT_TRUE(world.disk.MakeDirectory("/srv/store").ok());
  EXPECT_TRUE(absl::IsNotFound(Examine().status())) << Examine().status();
  const auto names = world.disk.List("/srv/store");
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(*names, IsEmpty());
}

TEST_F(ExamineStoreTest, StoreInUseIsRefused) {
  Fill();
  EXPECT_TRUE(absl::IsFailedPrecondition(Examine().status()));
}

TEST_F(ExamineStoreTest, DamagedGroupIsNamedWithItsPlace) {
  Fill();
  world.Stop();
  // The second group of the first segment.
  Flip("/srv/store/journal/0000000000000000.seg", 2 * kBlockBytes + 100);
  EXPECT_THAT(Findings(),
              HasSubstr("/srv/store/journal/0000000000000000.seg, offset 8192: "
                        "the group with position"));
  const absl::StatusOr<StoreReport> report = Examine();
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->is_damaged());
}

TEST_F(ExamineStoreTest, DamagedCopyOfMetaIsNoDamage) {
  Fill();
  world.Stop();
  Flip("/srv/store/META-1", 20);
  EXPECT_THAT(Findings(), HasSubstr("note: /srv/store/META-1 is missing or"));
  Flip("/srv/store/META-0", 20);
  EXPECT_THAT(Findings(), HasSubstr("damage: /srv/store/META-0"));
}

TEST_F(ExamineStoreTest, StateBehindTheJournalIsDamage) {
  Fill();
  world.Stop();
  StoreMeta meta;
  meta.applied = meta.trim = meta.round = meta.previous_round = 1 << 20;
  Put(KeyOf(KeyKind::kMeta), ValueOf(meta));
  EXPECT_THAT(Findings(), HasSubstr("stands for the records before position "
                                    "1048576, but the journal holds"));
}

TEST_F(ExamineStoreTest, RecordThatContradictsTheStateIsDamage) {
  Fill();
  world.Stop();
  // The process lives already when the journal submits it.
  ProcessEntry entry;
  entry.process_type = "account";
  Put(KeyOf(KeyKind::kProcess, pid), ValueOf(entry));
  EXPECT_THAT(Findings(),
              HasSubstr(".seg, offset 8192: journal: the SUBMITTED record"));
}

TEST_F(ExamineStoreTest, EntriesThatDoNotFitTogetherAreDamage) {
  Fill();
  world.Stop();
  ASSERT_TRUE(world.Start().ok());  // All is in the state store.
  world.Stop();
  const Pid nobody{pid.node, 99, 99, 99};
  Mail mail;
  mail.lsn = 1 << 20;
  Put(KeyOf(KeyKind::kMail, nobody, uint64_t{8}), ValueOf(mail));
  Put(KeyOf(KeyKind::kMail, pid, uint64_t{1 << 20}), ValueOf(mail));
  Put(KeyOf(KeyKind::kOutcome, nobody), "\xff");
  Put(KeyOf(KeyKind::kBody, uint64_t{9}), KeyOf(KeyKind::kMail, nobody));
  Put(std::string("\x7f\x01", 2), "");
  const std::string found = Findings();
  EXPECT_THAT(found, HasSubstr("it belongs to process " + FormatPid(nobody) +
                               ", which does not live"));
  EXPECT_THAT(found, HasSubstr("its body is at position 1048576"));
  EXPECT_THAT(found, HasSubstr("but a body of the journal names it"));
  EXPECT_THAT(found, HasSubstr("does not know its kind"));
  EXPECT_THAT(found, HasSubstr("000a"));  // of the outcome
}

TEST_F(ExamineStoreTest, BodyThatTheJournalLacksIsDamage) {
  Fill();
  world.Stop();
  ASSERT_TRUE(world.Start().ok());
  world.Stop();
  Mail mail;
  mail.lsn = kFirstLsn;  // of OPENED, which has no body
  Put(KeyOf(KeyKind::kMail, pid, kFirstLsn), ValueOf(mail));
  EXPECT_THAT(Findings(), HasSubstr("a mailbox needs body 0 of the record at "
                                    "position 8, which has no such body"));
}

TEST_F(ExamineStoreTest, OverlayShowsBothAndChangesNothing) {
  Put("b", "1");
  Put("d", "1");
  OverlayState overlay(&world.state);
  const StateWrite writes[] = {
      {"a", "2"}, {"b", "2"}, {"c", "2"}, {"d", std::nullopt}, {"e", "2"}};
  ASSERT_TRUE(overlay.Write(writes).ok());
  std::string seen;
  ASSERT_TRUE(overlay
                  .Scan("a", "e",
                        [&](std::string_view key, std::string_view value) {
                          seen += std::string(key) + std::string(value);
                          return key != "c";
                        })
                  .ok());
  EXPECT_EQ(seen, "a2b2c2");
  EXPECT_EQ(*overlay.Get("d"), std::nullopt);
  EXPECT_EQ(*overlay.Get("b"), "2");
  EXPECT_EQ(*world.state.Get("d"), "1");
}

// Every state that the applier makes fits together, after each round.
TEST(StateCheck, FindsNothingInValidHistories) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    History history = History::Random(seed, 300);
    MemoryStateStore state;
    auto opened = JournalApplier::Open(state, history, {});
    ASSERT_TRUE(opened.ok()) << opened.status();
    JournalApplier& applier = **opened;
    uint64_t count = 0;
    for (const Act& act : history.acts()) {
      ASSERT_TRUE(applier.Apply(act.view()).ok());
      if (++count % 50 != 0) continue;
      const absl::Status status =
          count % 100 == 0 ? applier.EndRound() : applier.Commit();
      ASSERT_TRUE(status.ok()) << status;
      StoreReport report;
      StateCheck check(state, applier.trim(), applier.applied(), report);
      ASSERT_TRUE(check.Run().ok());
      for (const StoreReport::Finding& finding : report.findings) {
        // The histories use owners without names.
        EXPECT_THAT(finding.text, HasSubstr("its name is missing"));
      }
    }
  }
}

}  // namespace
}  // namespace actord::runtime
