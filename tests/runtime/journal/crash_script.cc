#include "tests/runtime/journal/crash_script.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::runtime {

namespace {

constexpr std::array<uint64_t, 10> kSizes = {0,    1,     60,    120,   300,
                                             3000, 20000, 40000, 80000, 200000};
constexpr uint64_t kWriters = 4;

}  // namespace

CrashScript::CrashScript(SimulatedDisk& disk, uint64_t seed)
    : disk_(disk), random_(seed), options_(SmallJournal(disk, clock_)) {}

std::string CrashScript::PayloadOf(uint64_t writer, uint64_t bytes) {
  std::string payload =
      absl::StrCat("writer ", writer, " number ", next_number_++, " ");
  const char filler = static_cast<char>('a' + next_number_ % 26);
  if (payload.size() < bytes) payload.resize(bytes, filler);
  return payload;
}

std::string CrashScript::Open() {
  events_ = std::make_unique<RecordedEvents>();
  absl::StatusOr<std::unique_ptr<Journal>> journal =
      Journal::Open(options_, *events_);
  if (!journal.ok()) {
    // A refusal is right only if the disk was told to fail.
    if (disk_.has_crashed() || disk_.has_failed()) return "";
    return absl::StrCat("refused: ", journal.status().ToString());
  }
  journal_ = *std::move(journal);
  if (journal_->report().incarnation <= incarnation_) {
    return absl::StrCat("incarnation ", journal_->report().incarnation,
                        " was used before");
  }
  incarnation_ = journal_->report().incarnation;
  return Check();
}

void CrashScript::NoteDurable() {
  acknowledged_ = std::max(acknowledged_, journal_->DurableLsn());
}

void CrashScript::Append(size_t records) {
  std::vector<std::string> payloads;
  for (size_t i = 0; i < records; ++i) {
    const uint64_t bytes = kSizes[random_.Next() % kSizes.size()];
    payloads.push_back(PayloadOf(random_.Next() % kWriters, bytes));
  }
  std::vector<Record> reserved;
  for (const std::string& payload : payloads) {
    reserved.push_back({kTestKind, 0, payload});
  }
  // Without threads nobody would make room.
  if (journal_->Tail() + JournalRing::BytesOf(reserved) >
      journal_->DurableLsn() + options_.ring_bytes) {
    return;
  }
  Journal::Reservation reservation;
  if (!journal_->Reserve(reserved, reservation).ok()) return;
  uint64_t lsn = reservation.lsn();
  journal_->Publish(std::move(reservation), reserved);
  for (std::string& payload : payloads) {
    const uint64_t bytes = RecordBytes(payload.size());
    appended_.push_back({lsn, std::move(payload)});
    lsn += bytes;
  }
}

std::string CrashScript::Play() {
  for (int i = 0; i < kOperations; ++i) {
    // If segments are used up slowly, two spares are enough.
    clock_.AdvanceNs(is_fast_ ? kSecond / 50 : kSecond);
    const uint64_t choice = random_.Next() % 100;
    if (choice < 2) {
      is_fast_ = !is_fast_;
    } else if (choice < 4) {
      is_short_ = !is_short_;
      journal_->SetShort(is_short_);
    } else if (choice < 45) {
      Append(1);
    } else if (choice < 50) {
      Append(1 + random_.Next() % 3);
    } else if (choice < 75) {
      (void)journal_->Work();
    } else if (choice < 87) {
      while (journal_->Work()) {
      }
    } else if (choice < 92) {
      // A position within the acknowledged records.
      const uint64_t first = journal_->FirstLsn();
      const uint64_t to =
          first + random_.Next() % (journal_->DurableLsn() - first + 1);
      trimmed_ = std::max(trimmed_, to);
      (void)journal_->Trim(to);
    } else if (choice < 96) {
      journal_->Seal();
    } else {
      journal_->Close();
      NoteDurable();
      journal_.reset();
      if (std::string wrong = Open(); !wrong.empty()) return wrong;
    }
    if (journal_ == nullptr) return "";
    NoteDurable();
    if (disk_.has_crashed() || !events_->failures().empty()) return "";
  }
  return "";
}

std::string CrashScript::Check() {
  if (journal_->DurableLsn() < acknowledged_) {
    return absl::StrCat("ends at ", journal_->DurableLsn(), ", and ",
                        acknowledged_, " was acknowledged");
  }
  const uint64_t first = journal_->FirstLsn();
  if (first > std::max(trimmed_, kFirstLsn)) {
    return absl::StrCat("begins at ", first, ", and only ", trimmed_,
                        " was given up");
  }
  while (!appended_.empty() && appended_.front().lsn < first) {
    appended_.pop_front();
  }
  JournalReader reader = journal_->Read(first);
  size_t count = 0;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next();
    if (!more.ok()) {
      // The disk may have been told to fail here.
      if (disk_.has_crashed() || disk_.has_failed()) return "";
      return absl::StrCat("unreadable: ", more.status().ToString());
    }
    if (!*more) break;
    const RecordView& record = reader.record();
    if (record.kind == kOpenedKind) continue;
    if (count == appended_.size() || appended_[count].lsn != record.lsn ||
        appended_[count].payload != record.payload) {
      return absl::StrCat("position ", record.lsn,
                          " holds a record that nobody appended there");
    }
    ++count;
  }
  // Missing records must be at the end, and not acknowledged.
  if (count < appended_.size() && appended_[count].lsn < acknowledged_) {
    return absl::StrCat("position ", appended_[count].lsn,
                        " was acknowledged and is missing");
  }
  appended_.resize(count);
  NoteDurable();
  return "";
}

std::string CrashScript::AppendOne() {
  Append(1);
  while (journal_->Work()) {
  }
  NoteDurable();
  if (journal_->DurableLsn() != journal_->Tail()) {
    return "a record does not become durable";
  }
  return "";
}

}  // namespace actord::runtime
