#include "runtime/history/history_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/store/state_keys.h"

namespace actord::runtime {
namespace {

// Maximum number of lines that wait for the number of the first step.
constexpr size_t kMaxHeld = 10'000;
// Maximum number of steps that one read of the state store takes, and maximum
// of their bytes.
constexpr size_t kStoredTogether = 256;
constexpr size_t kStoredBytes = 4 << 20;

template <typename T>
absl::StatusOr<std::optional<T>> ReadValue(StateStore& state,
                                           const std::string& key) {
  const absl::StatusOr<std::optional<std::string>> bytes = state.Get(key);
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) return std::optional<T>();
  std::optional<T> value(std::in_place);
  const absl::Status status = DecodeFields(**bytes, *value);
  if (!status.ok()) return absl::DataLossError(status.message());
  return value;
}

// Whether the line gives the number of its own step or of the step before it.
bool TellsStep(const HistoryItem& item) {
  return item.kind == HistoryKind::kStep || item.kind == HistoryKind::kStarted;
}

}  // namespace

HistoryReader::HistoryReader(DurableStore& store, const HistoryOrder& order)
    : store_(store), order_(order) {}

absl::Status HistoryReader::NotFound() const {
  return Error(
      absl::StatusCode::kNotFound, reason::kProcessNotFound,
      absl::StrCat("the store has no history of process ",
                   FormatPid(order_.pid),
                   ": it never was, ended too long ago, or its records "
                   "are no longer in the journal"));
}

absl::Status HistoryReader::ReadBase(StateStore& state) {
  auto entry =
      ReadValue<ProcessEntry>(state, KeyOf(KeyKind::kProcess, order_.pid));
  if (!entry.ok()) return entry.status();
  entry_ = *std::move(entry);
  auto outcome =
      ReadValue<OutcomeEntry>(state, KeyOf(KeyKind::kOutcome, order_.pid));
  if (!outcome.ok()) return outcome.status();
  outcome_ = *std::move(outcome);
  const auto meta = ReadValue<StoreMeta>(state, KeyOf(KeyKind::kMeta));
  if (!meta.ok()) return meta.status();
  if (meta->has_value()) {
    offset_unix_ns_ = (*meta)->unix_ns;
    offset_store_ns_ = (*meta)->time_ns;
  }
  absl::Status damage;
  std::string prefix = KeyOf(KeyKind::kPlugin);
  absl::Status status =
      state.Scan(prefix, BehindPrefix(prefix),
                 [&](std::string_view /*key*/, std::string_view value) {
                   damage.Update(DecodeFields(value, plugins_.emplace_back()));
                   return damage.ok();
                 });
  if (!damage.ok()) return absl::DataLossError(damage.message());
  if (!status.ok() || !entry_.has_value()) return status;
  prefix = KeyOf(KeyKind::kMail, order_.pid);
  status = state.Scan(prefix, BehindPrefix(prefix),
                      [&](std::string_view key, std::string_view value) {
                        more_waiting_ = mailbox_.size() == kMaxWaiting;
                        if (more_waiting_) return false;
                        auto& [position, mail] = mailbox_.emplace_back();
                        position = NumberIn(key, kKeyKindBytes + kKeyPidBytes);
                        damage.Update(DecodeFields(value, mail));
                        return damage.ok();
                      });
  if (!damage.ok()) return absl::DataLossError(damage.message());
  return status;
}

absl::Status HistoryReader::Begin() {
  absl::Status status =
      store_.ReadState([&](StateStore& state, uint64_t applied) {
        end_ = applied;
        return ReadBase(state);
      });
  if (!status.ok()) return status;
  Rewind();
  stage_ = Stage::kSurvey;
  if (!entry_.has_value()) return absl::OkStatus();
  if (!Sees(order_.by, entry_->runtime.owner)) return NotFound();
  stage_ = entry_->durability == records::Durability::kReplay ? Stage::kStored
                                                              : Stage::kJournal;
  return absl::OkStatus();
}

void HistoryReader::Rewind() {
  trace_.emplace(order_.pid, order_.max_payload_bytes);
  trace_->SetOffset(offset_unix_ns_, offset_store_ns_);
  for (const records::Plugin& plugin : plugins_) trace_->SetPlugin(plugin);
  first_ = next_ = store_.journal().FirstLsn();
  reader_.emplace(store_.journal().Read(first_));
}

absl::Status HistoryReader::CheckSurvey() {
  const ProcessTrace::Facts& facts = trace_->facts();
  if (!facts.seen && !outcome_.has_value()) return NotFound();
  std::optional<Owner> owner = facts.owner;
  if (outcome_.has_value()) owner = outcome_->owner;
  if (!owner.has_value() && !facts.parent.empty()) {
    absl::Status status = store_.ReadState([&](StateStore& state, uint64_t) {
      const auto parent = ReadValue<ProcessEntry>(
          state, KeyOf(KeyKind::kProcess, facts.parent));
      if (parent.ok() && parent->has_value()) {
        owner = (*parent)->runtime.owner;
      }
      return parent.status();
    });
    if (!status.ok()) return status;
  }
  // An unknown owner may be another owner.
  if (order_.by != Owner::kAny &&
      (!owner.has_value() || !Sees(order_.by, *owner))) {
    return NotFound();
  }
  std::optional<uint64_t> ended_ns = facts.ended_ns;
  if (outcome_.has_value()) ended_ns = outcome_->end.at_ns;
  const uint64_t now_ns = store_.NowNs();
  if (ended_ns.has_value() && now_ns > *ended_ns &&
      now_ns - *ended_ns > order_.retention_ns) {
    return NotFound();
  }
  // Only the outcome is left.
  if (!facts.seen) return NotFound();
  Rewind();
  stage_ = Stage::kJournal;
  return absl::OkStatus();
}

absl::Status HistoryReader::GoOnBehindTrim(const absl::Status& why,
                                           std::vector<HistoryItem>& items) {
  const uint64_t first = store_.journal().FirstLsn();
  if (first <= next_) return why;
  HistoryItem gap = trace_->Item(HistoryKind::kGap, 0);
  gap.position = first;
  items.push_back(std::move(gap));
  next_ = first;
  reader_.emplace(store_.journal().Read(first));
  return absl::OkStatus();
}

absl::StatusOr<bool> HistoryReader::Walk(uint64_t end,
                                         std::vector<HistoryItem>& items) {
  const uint64_t until = next_ + kMaxBytes;
  std::vector<HistoryItem> lines;
  while (next_ < end && next_ < until && items.size() < kMaxItems) {
    lines.clear();
    const absl::StatusOr<bool> more = reader_->Next();
    if (!more.ok()) {
      absl::Status status = GoOnBehindTrim(more.status(), lines);
      if (!status.ok()) return status;
    } else if (!*more) {
      return true;
    } else {
      const RecordView& record = reader_->record();
      if (record.lsn >= end) return true;
      next_ = record.lsn + RecordBytes(record.payload.size());
      absl::Status status = trace_->Take(record, lines);
      if (!status.ok()) return status;
    }
    Emit(std::move(lines), items, false);
  }
  return next_ >= end;
}

void HistoryReader::Emit(std::vector<HistoryItem>&& lines,
                         std::vector<HistoryItem>& items, bool is_end) {
  if (has_begun_) {
    std::move(lines.begin(), lines.end(), std::back_inserter(items));
    return;
  }
  std::move(lines.begin(), lines.end(), std::back_inserter(held_));
  if (held_.empty() && !is_end) return;
  if (!trace_->facts().seen_begin) {
    const auto known = std::find_if(held_.begin(), held_.end(), TellsStep);
    if (known == held_.end() && !is_end && held_.size() < kMaxHeld) return;
    HistoryItem begins;
    begins.kind = HistoryKind::kBegins;
    begins.position = first_;
    if (entry_.has_value()) {
      begins.name = entry_->process_type;
      begins.detail = entry_->method;
      begins.peer = entry_->runtime.parent;
    }
    if (!held_.empty()) {
      begins.position = std::min(first_, held_.front().position);
      begins.unix_ns = held_.front().unix_ns;
    }
    if (known != held_.end()) {
      const bool is_step = known->kind == HistoryKind::kStep;
      begins.step = known->step - (is_step ? 1 : 0);
    } else {
      begins.step = entry_.has_value() ? entry_->runtime.turn.step
                                       : trace_->facts().last_step;
    }
    items.push_back(std::move(begins));
  }
  has_begun_ = true;
  std::move(held_.begin(), held_.end(), std::back_inserter(items));
  held_.clear();
}

absl::StatusOr<bool> HistoryReader::ReadStored(
    std::vector<HistoryItem>& items) {
  std::vector<std::pair<uint64_t, HistoryEntry>> steps;
  absl::Status damage;
  absl::Status status = store_.ReadState([&](StateStore& state, uint64_t) {
    size_t bytes = 0;
    return state.Scan(KeyOf(KeyKind::kHistory, order_.pid, stored_from_),
                      KeyOf(KeyKind::kHistory, order_.pid, first_),
                      [&](std::string_view key, std::string_view value) {
                        auto& [lsn, entry] = steps.emplace_back();
                        lsn = NumberIn(key, kKeyKindBytes + kKeyPidBytes);
                        damage.Update(DecodeFields(value, entry));
                        bytes += value.size();
                        return damage.ok() && steps.size() < kStoredTogether &&
                               bytes < kStoredBytes;
                      });
  });
  if (!status.ok()) return status;
  if (!damage.ok()) return absl::DataLossError(damage.message());
  for (const auto& [lsn, entry] : steps) {
    std::vector<HistoryItem> lines;
    status = trace_->TakeStored(lsn, entry.step, entry.consumed, lines);
    if (!status.ok()) return status;
    Emit(std::move(lines), items, false);
    stored_from_ = lsn + 1;
  }
  return steps.empty();
}

void HistoryReader::ShowPending(std::vector<HistoryItem>& items) {
  Emit({}, items, true);
  if (!entry_.has_value() || trace_->facts().ended_ns.has_value()) return;
  const auto item_at_end = [&](HistoryKind kind) {
    HistoryItem item = trace_->Item(kind, 0);
    item.position = end_;
    return item;
  };
  const records::RuntimeImage& runtime = entry_->runtime;
  for (const records::YieldImage& yield : runtime.yields) {
    const bool is_call = yield.kind == records::YieldKind::kCall;
    HistoryItem item = item_at_end(is_call ? HistoryKind::kPendingCall
                                           : HistoryKind::kPendingYield);
    item.unix_ns = trace_->UnixNs(yield.begun_ns);
    item.tag = yield.tag;
    item.name = yield.command;
    item.peer = yield.callee;
    trace_->SetPayload(item, yield.payload);
    item.deadline_unix_ns = trace_->UnixNs(yield.deadline_ns);
    item.attempts = yield.attempts;
    item.worker = yield.worker;
    if (yield.answer != 0) item.detail = "its answer is in the mailbox";
    if (yield.cancelled) item.detail = "given up";
    if (yield.failed) item.detail = "no process can answer";
    items.push_back(std::move(item));
  }
  for (const records::OwedCall& owed : runtime.owed_calls) {
    HistoryItem item = item_at_end(HistoryKind::kOwedCall);
    item.unix_ns = 0;
    item.peer = owed.caller;
    item.position = owed.call;
    items.push_back(std::move(item));
  }
  for (const auto& [position, mail] : mailbox_) {
    items.push_back(trace_->Waiting(position, mail));
  }
  if (more_waiting_) items.push_back(item_at_end(HistoryKind::kMoreWaiting));
  HistoryItem here = item_at_end(HistoryKind::kUpToHere);
  here.step = runtime.turn.step;
  items.push_back(std::move(here));
}

absl::StatusOr<HistoryReader::Progress> HistoryReader::Next(
    std::vector<HistoryItem>& items) {
  absl::Status status;
  absl::StatusOr<bool> done;
  std::vector<HistoryItem> unseen;
  switch (stage_) {
    case Stage::kBegin:
      status = Begin();
      if (!status.ok()) return status;
      return Progress::kGoesOn;
    case Stage::kSurvey:
      has_begun_ = true;  // nobody sees these lines
      done = Walk(end_, unseen);
      if (!done.ok()) return done.status();
      if (*done) {
        has_begun_ = false;
        status = CheckSurvey();
        if (!status.ok()) return status;
      }
      return Progress::kGoesOn;
    case Stage::kStored:
      done = ReadStored(items);
      if (!done.ok()) return done.status();
      if (*done) stage_ = Stage::kJournal;
      return Progress::kGoesOn;
    case Stage::kJournal:
      done = Walk(end_, items);
      if (!done.ok()) return done.status();
      if (*done) stage_ = Stage::kPending;
      return Progress::kGoesOn;
    case Stage::kPending:
      ShowPending(items);
      stage_ = Stage::kFollow;
      return order_.follow && !trace_->facts().ended_ns.has_value()
                 ? Progress::kGoesOn
                 : Progress::kOver;
    case Stage::kFollow:
      break;
  }
  done = Walk(UINT64_MAX, items);
  if (!done.ok()) return done.status();
  if (trace_->facts().ended_ns.has_value()) return Progress::kOver;
  return *done ? Progress::kWaits : Progress::kGoesOn;
}

}  // namespace actord::runtime
