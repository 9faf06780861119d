// Single rules of the applier.
#include "runtime/store/journal_applier.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/store/state_keys.h"
#include "runtime/store/state_values.h"
#include "runtime/table/home_pid.h"
#include "tests/runtime/store/history.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/runtime/store/store_text.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kDayNs = uint64_t{24 * 3600} * 1'000'000'000;

class Applier : public testing::Test {
 protected:
  Applier() { Open(); }

  void Open() {
    absl::StatusOr<std::unique_ptr<JournalApplier>> applier =
        JournalApplier::Open(store_, history_, options_);
    ASSERT_TRUE(applier.ok()) << applier.status();
    applier_ = *std::move(applier);
  }
  // Appends the record and applies it. Returns its position, or why it was
  // refused.
  absl::StatusOr<uint64_t> Do(records::Any record,
                              std::vector<ActEffect> effects = {},
                              std::vector<ActEvent> events = {}) {
    history_.Add(std::move(record), std::move(effects), std::move(events));
    const Act& act = history_.acts().back();
    const absl::Status status = applier_->Apply(act.view());
    if (!status.ok()) return status;
    return act.lsn;
  }
  uint64_t Must(records::Any record, std::vector<ActEffect> effects = {},
                std::vector<ActEvent> events = {}) {
    const absl::StatusOr<uint64_t> lsn =
        Do(std::move(record), std::move(effects), std::move(events));
    EXPECT_TRUE(lsn.ok()) << lsn.status();
    return lsn.value_or(0);
  }
  // "" or what contradicts. A refused record is taken back.
  std::string Refusal(records::Any record, std::vector<ActEvent> events = {}) {
    EXPECT_TRUE(applier_->Commit().ok());
    const absl::StatusOr<uint64_t> lsn =
        Do(std::move(record), {}, std::move(events));
    if (lsn.ok()) return "";
    history_.RemoveLast();
    Open();
    EXPECT_TRUE(absl::IsDataLoss(lsn.status()));
    const std::string text(lsn.status().message());
    const size_t why = text.find("before it: ");
    return why == std::string::npos ? text : text.substr(why + 11);
  }
  void Begin(const Pid& pid) {
    Must(records::Submitted{
        .pid = pid, .process_type = "counter", .keep_result = true});
    Must(records::Started{.pid = pid, .image = "0"});
  }
  uint64_t Send(const Pid& to, const std::string& text) {
    return Must(records::Input{
        .to = to, .messages = {{.topic = "in", .payload = {text, ""}}}});
  }
  records::Step StepOf(const Pid& pid, uint64_t number) {
    return {.pid = pid, .turn = {.step = number}};
  }
  std::vector<std::string> Lines(const std::string& prefix) {
    EXPECT_TRUE(applier_->Commit().ok());
    std::vector<std::string> lines = TextOf(store_, history_);
    std::erase_if(lines, [&](const std::string& line) {
      return line.compare(0, prefix.size(), prefix) != 0;
    });
    return lines;
  }

  bool Has(const std::string& key) {
    EXPECT_TRUE(applier_->Commit().ok());
    return store_.Get(key).value().has_value();
  }
  ProcessEntry EntryOf(const Pid& pid) {
    EXPECT_TRUE(applier_->Commit().ok());
    ProcessEntry entry;
    EXPECT_TRUE(
        DecodeFields(store_.Get(KeyOf(KeyKind::kProcess, pid)).value().value(),
                     entry)
            .ok());
    return entry;
  }
  size_t CountOf(KeyKind kind) {
    EXPECT_TRUE(applier_->Commit().ok());
    size_t count = 0;
    const std::string prefix = KeyOf(kind);
    EXPECT_TRUE(store_
                    .Scan(prefix, BehindPrefix(prefix),
                          [&](std::string_view, std::string_view) {
                            ++count;
                            return true;
                          })
                    .ok());
    return count;
  }

  const Pid a_ = HomePid(1, 1, 1, 1);
  const Pid b_ = HomePid(2, 1, 2, 1);
  History history_;
  MemoryStateStore store_;
  ApplierOptions options_;
  std::unique_ptr<JournalApplier> applier_;
};

TEST_F(Applier, ConsumesABodyOnce) {
  Begin(a_);
  records::Step step = StepOf(a_, 1);
  step.consumed.list = {{.lsn = Send(a_, "x")}};
  Must(step);
  ++step.turn.step;
  EXPECT_EQ(Refusal(step), "its mailbox has nothing from position " +
                               std::to_string(step.consumed.list[0].lsn));
}

TEST_F(Applier, TakesTheStepsInTheirOrder) {
  Begin(a_);
  Must(StepOf(a_, 1));
  EXPECT_EQ(Refusal(StepOf(a_, 1)), "it is step 1 behind step 1");
  EXPECT_EQ(Refusal(StepOf(a_, 3)), "it is step 3 behind step 1");
}

TEST_F(Applier, CompletesAYieldOnce) {
  Begin(a_);
  Must(StepOf(a_, 1), {{.kind = ActEffect::Kind::kYield, .tag = 1},
                       {.kind = ActEffect::Kind::kYield, .tag = 2}});
  const records::Input completion{
      .to = a_, .kind = records::InputKind::kCompletion, .tag = 1};
  Must(completion);
  EXPECT_NE(Refusal(completion).find("is not outstanding"), std::string::npos);
  Must(StepOf(a_, 2), {}, {{.tag = 2}});
  EXPECT_EQ(Refusal(StepOf(a_, 3), {{.tag = 2}}), "yield 2 is completed twice");
}

TEST_F(Applier, BeginsAProcessAgain) {
  Begin(a_);
  records::Step step = StepOf(a_, 1);
  step.turn.next_tag = 3;
  step.deadlines = {{.tag = 1, .at_ns = 500}};
  Must(step, {{.kind = ActEffect::Kind::kYield, .tag = 1},
              {.kind = ActEffect::Kind::kYield, .tag = 2}});
  const records::Input completion{
      .to = a_, .kind = records::InputKind::kCompletion, .tag = 2};
  for (const bool in_store : {true, false}) {
    if (in_store) Must(completion);
    EXPECT_EQ(Lines("timer ").size(), in_store ? 1u : 0u);
    const uint64_t kept = Send(a_, "kept");
    step = StepOf(a_, in_store ? 2 : 3);
    step.turn.next_tag = 3;
    step.continued = records::Continued{
        .method = "other", .input = {"input", ""}, .unseen = TurnOfExits(3)};
    Must(step);
    EXPECT_EQ(Lines("timer ").size(), 0u);
    // Only the messages are left in the mailbox.
    const std::vector<std::string> mail = Lines("mail ");
    ASSERT_EQ(mail.size(), in_store ? 1u : 2u);
    EXPECT_EQ(mail.back().find("mail " + std::to_string(kept)), 0u) << mail[0];
    EXPECT_FALSE(Has(KeyOf(KeyKind::kImage, a_)));
    const ProcessEntry entry = EntryOf(a_);
    EXPECT_FALSE(entry.started);
    EXPECT_EQ(entry.method, "other");
    EXPECT_EQ(entry.input.bytes, "input");
    EXPECT_EQ(entry.unseen_positions.list.size(), in_store ? 3u : 6u);
    EXPECT_EQ(entry.life_after_step, step.turn.step);
    EXPECT_EQ(Refusal(StepOf(a_, step.turn.step + 1)), "Init has not returned");
    Must(records::Started{.pid = a_,
                          .turn = {.next_tag = 3, .step = step.turn.step},
                          .image = "1"});
    EXPECT_TRUE(EntryOf(a_).started);
    EXPECT_TRUE(Has(KeyOf(KeyKind::kImage, a_)));
  }
  // The completion was on its way. A completion of this life would be a
  // contradiction.
  Must(completion);
  EXPECT_NE(
      Refusal(records::Input{
                  .to = a_, .kind = records::InputKind::kCompletion, .tag = 3})
          .find("is not outstanding"),
      std::string::npos);
  EXPECT_EQ(Lines("mail ").size(), 2u);
  Must(StepOf(a_, 4), {}, {{.is_exit = true}});
  Must(StepOf(a_, 5), {}, std::vector(5, ActEvent{.is_exit = true}));
  EXPECT_EQ(EntryOf(a_).unseen, "");
}

TEST_F(Applier, BeginsTheHistoryOfAReplayTypeAgain) {
  Must(records::Submitted{.pid = a_,
                          .process_type = "saga",
                          .durability = records::Durability::kReplay});
  Must(records::Started{
      .pid = a_, .durability = records::Durability::kReplay, .record = {}});
  records::Step step = StepOf(a_, 1);
  step.consumed.list = {{.lsn = Send(a_, "one")}};
  Must(step);
  ASSERT_TRUE(applier_->Commit().ok());
  step = StepOf(a_, 2);
  step.consumed.list = {{.lsn = Send(a_, "two")}};
  Must(step);
  EXPECT_EQ(CountOf(KeyKind::kHistory), 2u);
  step = StepOf(a_, 3);
  step.consumed.list = {{.lsn = Send(a_, "three")}};
  step.continued = records::Continued{.method = "run"};
  Must(step);
  EXPECT_EQ(CountOf(KeyKind::kHistory), 0u);
  EXPECT_EQ(CountOf(KeyKind::kBody), 0u);
  Must(records::Started{.pid = a_,
                        .turn = {.step = 3},
                        .durability = records::Durability::kReplay,
                        .record = {}});
  Must(StepOf(a_, 4));
  EXPECT_EQ(CountOf(KeyKind::kHistory), 1u);
}

TEST_F(Applier, CountsAttemptsUpwards) {
  Begin(a_);
  Must(StepOf(a_, 1), {{.kind = ActEffect::Kind::kYield, .tag = 1}});
  const records::Attempt attempt{.pid = a_, .tag = 1, .attempt = 1};
  Must(attempt);
  EXPECT_EQ(Refusal(attempt), "attempt 1 follows attempt 1");
}

TEST_F(Applier, GivesANameToOneProcess) {
  Must(records::Submitted{.pid = a_, .name = "name"});
  EXPECT_EQ(Refusal(records::Submitted{.pid = b_, .name = "name"}),
            "another process holds the name name");
}

TEST_F(Applier, NeverTurnsTheClockBack) {
  Must(records::Time{.store_ns = 5});
  EXPECT_EQ(Refusal(records::Time{.store_ns = 4}),
            "the store's clock goes back");
}

TEST_F(Applier, RefusesAProcessThatDoesNotLive) {
  EXPECT_NE(Refusal(StepOf(a_, 1)).find("does not live"), std::string::npos);
  EXPECT_NE(Refusal(records::Ended{.pid = a_}).find("does not live"),
            std::string::npos);
}

TEST_F(Applier, RefusesAGapInTheJournal) {
  Begin(a_);
  RecordView later = history_.acts().back().view();
  later.lsn = applier_->applied() + 8;
  EXPECT_TRUE(absl::IsDataLoss(applier_->Apply(later)));
}

TEST_F(Applier, SkipsWhatTheStoreStandsForAlready) {
  Begin(a_);
  Send(a_, "x");
  ASSERT_TRUE(applier_->Commit().ok());
  const auto before = store_.entries();
  Open();
  for (const Act& act : history_.acts()) {
    EXPECT_TRUE(applier_->Apply(act.view()).ok());
  }
  ASSERT_TRUE(applier_->Commit().ok());
  EXPECT_EQ(store_.entries(), before);
}

TEST_F(Applier, FreesTheNameOfAnEndedProcess) {
  Must(records::Submitted{.pid = a_, .name = "name"});
  ASSERT_EQ(Lines("name").size(), 1u);
  Must(records::Ended{.pid = a_});
  EXPECT_EQ(Lines("name"), std::vector<std::string>());
  Must(records::Submitted{.pid = b_, .name = "name"});
  EXPECT_EQ(Lines("name").size(), 1u);
}

// The bodies of the last two rounds are in the journal alone.
TEST_F(Applier, TrimsTwoRoundsBehind) {
  Begin(a_);
  const uint64_t old = Send(a_, "old");
  ASSERT_TRUE(applier_->EndRound().ok());
  EXPECT_LE(applier_->trim(), old);
  const uint64_t young = Send(a_, "young");
  ASSERT_TRUE(applier_->EndRound().ok());
  EXPECT_LE(applier_->trim(), old);
  ASSERT_TRUE(applier_->EndRound().ok());
  EXPECT_GT(applier_->trim(), old);
  EXPECT_LE(applier_->trim(), young);
  history_.Trim(applier_->trim());
  const std::vector<std::string> mail = Lines("mail");
  ASSERT_EQ(mail.size(), 2u);
  EXPECT_NE(mail[0].find("text old"), std::string::npos) << mail[0];
  EXPECT_NE(mail[1].find("text young"), std::string::npos) << mail[1];
}

TEST_F(Applier, RemovesResultsAndIdsAfterTheirTime) {
  Must(records::Submitted{
      .pid = a_, .request = {.id = "id"}, .keep_result = true, .at_ns = 1});
  Must(records::Started{.pid = a_, .image = ""});
  Must(records::Ended{.pid = a_, .end = {.at_ns = 2}});
  const auto has = [&](KeyKind kind) {
    EXPECT_TRUE(applier_->EndRound().ok());
    return store_.entries().lower_bound(KeyOf(kind)) !=
           store_.entries().lower_bound(BehindPrefix(KeyOf(kind)));
  };
  EXPECT_TRUE(has(KeyKind::kRequest));
  Must(records::Time{.store_ns = kDayNs + 2});
  EXPECT_FALSE(has(KeyKind::kRequest));
  EXPECT_TRUE(has(KeyKind::kOutcome));
  Must(records::Time{.store_ns = 7 * kDayNs + 3});
  EXPECT_FALSE(has(KeyKind::kOutcome));
  EXPECT_FALSE(has(KeyKind::kExpiry));
}

// A repeated id starts its time again.
TEST_F(Applier, KeepsAnIdThatWasUsedAgain) {
  Must(records::Submitted{.pid = a_, .request = {.id = "id"}, .at_ns = 1});
  Must(records::Submitted{
      .pid = b_, .request = {.id = "id"}, .at_ns = kDayNs / 2});
  Must(records::Time{.store_ns = kDayNs + 2});
  EXPECT_TRUE(applier_->EndRound().ok());
  EXPECT_EQ(Lines("request").size(), 1u);
}

TEST_F(Applier, LeavesAsManyIdsAsItMay) {
  options_.request_id_max = 2;
  Open();
  for (uint64_t i = 1; i <= 3; ++i) {
    const std::string text = std::to_string(i);
    Must(records::Input{.to = a_, .request = {.id = "m" + text}, .at_ns = i});
    Must(records::Input{.to = a_,
                        .request = {.id = "s" + text},
                        .at_ns = i,
                        .is_submit = true});
  }
  EXPECT_EQ(Lines("request").size(), 6u) << "until the end of the round";
  ASSERT_TRUE(applier_->EndRound().ok());
  const auto has = [&](const std::string& id) {
    for (const std::string& line : Lines("request")) {
      if (line.find(" " + id + " ") != std::string::npos) return true;
    }
    return false;
  };
  for (const char* kind : {"m", "s"}) {
    EXPECT_FALSE(has(kind + std::string("1")));
    EXPECT_TRUE(has(kind + std::string("2")));
    EXPECT_TRUE(has(kind + std::string("3")));
  }
  EXPECT_EQ(Lines("LOST"), std::vector<std::string>());
}

// A request that was refused had no effect, so its id may be used again.
TEST_F(Applier, ForgetsTheIdOfARefusedRequest) {
  Must(records::Submitted{.pid = a_, .request = {.id = "refused"}});
  Must(records::Ended{.pid = a_,
                      .end = {.reason = records::EndReason::kInitRefused}});
  Begin(b_);
  const uint64_t full = Must(records::Input{.to = b_,
                                            .messages = {{}},
                                            .request = {.id = "full"},
                                            .owner = Owner{3}});
  Must(records::Dropped{.to = b_,
                        .positions = {{{.lsn = full}}},
                        .reason = records::DropReason::kMailboxFull,
                        .request = "full",
                        .owner = Owner{3}});
  EXPECT_EQ(Lines("request"), std::vector<std::string>());
  EXPECT_EQ(Lines("LOST"), std::vector<std::string>());
}

TEST_F(Applier, KeepsTheIdOfAProcessThatHasBegunAndEnded) {
  Must(records::Submitted{.pid = a_, .request = {.id = "id"}});
  Must(records::Started{.pid = a_, .image = ""});
  Must(records::Ended{.pid = a_});
  EXPECT_EQ(Lines("request").size(), 1u);
}

// 1,000 steps of a process cost one image.
TEST_F(Applier, WritesTheLastImageOfABatchAlone) {
  Begin(a_);
  ASSERT_TRUE(applier_->Commit().ok());
  const std::string image(1000, 'x');
  for (uint64_t step = 1; step <= 1000; ++step) {
    records::Step record = StepOf(a_, step);
    record.image = image + std::to_string(step);
    Must(record);
  }
  EXPECT_EQ(store_.unflushed(), 1u) << "a batch was written in between";
  EXPECT_NE(Lines("process").at(0).find("x1000 step 1000 "), std::string::npos);
}

}  // namespace
}  // namespace actord::runtime
