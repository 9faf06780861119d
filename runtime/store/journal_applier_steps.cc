// Steps and their effects.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/store/journal_applier.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

StoredBody BodyOf(const Content& content) {
  StoredBody body;
  body.topic = content->topic();
  body.payload = FromAbi(content->payload());
  return body;
}

// The events that a former life has handed on come before all other messages
// and exits, and like them have no position.
void TakeUnseen(ProcessEntry& entry, const DecodedRecord& turn) {
  const auto taken =
      std::ranges::count_if(turn.events, [](const actord_event& event) {
        return event.type == ACTORD_EVENT_MESSAGE ||
               event.type == ACTORD_EVENT_EXIT;
      });
  entry.unseen_left -=
      std::min(entry.unseen_left, static_cast<uint64_t>(taken));
  if (entry.unseen_left != 0) return;
  entry.unseen.clear();
  entry.unseen_positions.list.clear();
}

}  // namespace

absl::Status JournalApplier::Take(const records::Step& record) {
  const absl::StatusOr<Resident*> found = Living(record.pid);
  if (!found.ok()) return found.status();
  Resident& process = **found;
  if (!process.entry.started) return Contradiction("Init has not returned");
  if (record.turn.step != process.runtime().turn.step + 1) {
    return Contradiction(absl::StrCat("it is step ", record.turn.step,
                                      " behind step ",
                                      process.runtime().turn.step));
  }
  DecodedRecord& turn = decoded_turn_;
  absl::Status status = DecodeTurn(record.record, buffers_, turn);
  if (!status.ok()) return Contradiction(std::string(status.message()));
  const absl::Cleanup free_contents = [&] { FreeContents(turn, buffers_); };
  meta_.store_ns = std::max(meta_.store_ns, record.at_ns);
  TakeUnseen(process.entry, turn);
  HistoryEntry history;
  for (const Position& position : record.consumed.list) {
    status = Consume(process, position, history);
    if (!status.ok()) return status;
  }
  status = KeepHistory(process, record, history);
  if (!status.ok()) return status;
  for (const actord_event& event : turn.events) {
    status = SeeEvent(process, event);
    if (!status.ok()) return status;
  }
  process.runtime().turn = record.turn;
  process.changed = true;
  SetImage(process, record.image);
  status = ApplyEffects(process, record, turn);
  if (!status.ok()) return status;
  if (record.continued.has_value()) {
    return BeginAgain(
        process, record,
        records::UnseenPosition(lsn_, turn.record.effects.size()));
  }
  return record.end.has_value() ? EndProcess(process, *record.end)
                                : absl::OkStatus();
}

absl::Status JournalApplier::BeginAgain(Resident& process,
                                        const records::Step& record,
                                        uint64_t first_unseen) {
  auto& yields = process.runtime().yields;
  while (!yields.empty()) RemoveYield(process, yields.back().tag);
  absl::Status status = DropCompletions(process);
  if (!status.ok()) return status;
  status = HandOn(process.entry, record.continued->unseen, first_unseen);
  if (!status.ok()) return status;
  process.image.reset();
  process.drops_image = true;
  ProcessEntry& entry = process.entry;
  entry.started = false;
  entry.method = record.continued->method;
  entry.input = record.continued->input;
  entry.init = {};
  entry.life_after_step = record.turn.step;
  entry.life_from_tag = record.turn.next_tag;
  process.changed = true;
  return status;
}

absl::Status JournalApplier::HandOn(ProcessEntry& entry,
                                    const std::string& unseen,
                                    uint64_t first_unseen) {
  DecodedRecord next;
  DecodedRecord former;
  const absl::Cleanup free_contents = [&] {
    FreeContents(next, buffers_);
    FreeContents(former, buffers_);
  };
  absl::Status status = DecodeTurn(unseen, buffers_, next);
  if (status.ok()) status = DecodeTurn(entry.unseen, buffers_, former);
  if (!status.ok()) return Contradiction(std::string(status.message()));
  Positions positions;
  std::vector<const actord_event*> events;
  for (const actord_event& event : next.events) {
    positions.list.push_back({.lsn = first_unseen + events.size()});
    events.push_back(&event);
  }
  // Events that no step of the life before has got stay, behind the new ones.
  const size_t all = former.events.size();
  for (size_t i = all - std::min(all, entry.unseen_left); i < all; ++i) {
    events.push_back(&former.events[i]);
    if (i < entry.unseen_positions.list.size()) {
      positions.list.push_back(entry.unseen_positions.list[i]);
    }
  }
  std::string joined;
  if (!events.empty()) EncodeTurn(events, StepRecord{}, joined);
  entry.unseen = std::move(joined);
  entry.unseen_left = events.size();
  entry.unseen_positions = std::move(positions);
  return status;
}

absl::Status JournalApplier::DropUnseen(Resident& process,
                                        const Positions& consumed) {
  const ProcessEntry& entry = process.entry;
  if (entry.unseen_left == 0) return absl::OkStatus();
  DecodedRecord unseen;
  absl::Status status = DecodeTurn(entry.unseen, buffers_, unseen);
  const absl::Cleanup free_contents = [&] { FreeContents(unseen, buffers_); };
  if (!status.ok()) return Contradiction(std::string(status.message()));
  const size_t all = unseen.events.size();
  for (size_t i = all - std::min(all, entry.unseen_left);
       i < std::min(all, entry.unseen_positions.list.size()); ++i) {
    const actord_event& event = unseen.events[i];
    const Position& position = entry.unseen_positions.list[i];
    // A call that was handed on is no letter: its caller gets an error.
    if (event.type != ACTORD_EVENT_MESSAGE || event.call != 0 ||
        std::ranges::find(consumed.list, position) != consumed.list.end()) {
      continue;
    }
    Mail mail;
    mail.lsn = position.lsn;
    mail.from = FromAbi(event.from);
    mail.body = StoredBody{.topic = std::string(View(event.topic)),
                           .payload = FromAbi(event.payload)};
    status = AddLetter(process.pid, position.lsn, std::move(mail),
                       records::DropReason::kDroppedAtEnd, process.owner());
    if (!status.ok()) return status;
  }
  return status;
}

absl::Status JournalApplier::KeepHistory(const Resident& process,
                                         const records::Step& record,
                                         const HistoryEntry& history) {
  if (process.entry.durability != records::Durability::kReplay) {
    return absl::OkStatus();
  }
  // An image replaces the history up to its step, and a new life begins with
  // Init.
  if (record.image.has_value() || record.continued.has_value()) {
    return EndHistory(process);
  }
  std::string key = KeyOf(KeyKind::kHistory, process.pid, lsn_);
  for (const Consumed& one : history.consumed) {
    if (!one.mail.body.has_value()) NoteBody(one.position, key);
  }
  HistoryEntry entry;
  entry.step = payload_;
  entry.consumed = history.consumed;
  batch_.PutNew(std::move(key), ValueOf(entry));
  return absl::OkStatus();
}

absl::Status JournalApplier::Consume(Resident& process,
                                     const Position& position,
                                     HistoryEntry& history) {
  if (!position.is_short()) return Contradiction("it consumes a foreign body");
  absl::StatusOr<std::optional<Mail>> mail = TakeMail(process, position.lsn);
  if (!mail.ok()) return mail.status();
  if (!mail->has_value()) {
    return Contradiction(
        absl::StrCat("its mailbox has nothing from position ", position.lsn));
  }
  switch ((*mail)->kind) {
    case MailKind::kCall:
      process.runtime().owed_calls.push_back(
          {position.lsn, (*mail)->from, (*mail)->tag});
      break;
    case MailKind::kCompletion:
      RemoveYield(process, (*mail)->tag);  // if it was an answer to a call
      break;
    case MailKind::kMessage:
    case MailKind::kCancel:
    case MailKind::kTerminate:
      break;
  }
  if (process.entry.durability == records::Durability::kReplay) {
    history.consumed.push_back({position.lsn, *std::move(*mail)});
  }
  return absl::OkStatus();
}

absl::Status JournalApplier::SeeEvent(Resident& process,
                                      const actord_event& event) {
  if (event.type == ACTORD_EVENT_EXIT) {
    return RemoveWatch(process, FromAbi(event.from), event.tag);
  }
  if (event.type != ACTORD_EVENT_COMPLETION) return absl::OkStatus();
  const records::YieldImage* const yield = FindYield(process, event.tag);
  if (yield == nullptr) {
    return Contradiction(
        absl::StrCat("yield ", event.tag, " is completed twice"));
  }
  // An answer came too late.
  if (const uint64_t answer = yield->answer; answer != 0) {
    const auto late = TakeMail(process, answer);
    if (!late.ok()) return late.status();
  }
  RemoveYield(process, event.tag);
  return absl::OkStatus();
}

absl::Status JournalApplier::ApplyEffects(Resident& process,
                                          const records::Step& record,
                                          const DecodedRecord& turn) {
  step_ = &record;
  turn_ = &turn;
  uint64_t position = lsn_;
  for (const Effect& effect : turn.record.effects) {
    absl::Status status = std::visit(
        [&](const auto& one) { return Do(process, one, position); }, effect);
    if (!status.ok()) return status;
    ++position;
  }
  return absl::OkStatus();
}

uint64_t JournalApplier::DeadlineOf(uint64_t tag) const {
  for (const records::Deadline& deadline : step_->deadlines) {
    if (deadline.tag == tag) return deadline.at_ns;
  }
  return 0;
}

absl::Status JournalApplier::Do(Resident& process, const SendEffect& send,
                                uint64_t position) {
  Mail mail;
  mail.lsn = lsn_;
  mail.from = process.pid;
  return DeliverFrom(process.owner(), send.to, position, std::move(mail));
}

absl::Status JournalApplier::Do(Resident& process, const SpawnEffect& spawn,
                                uint64_t /*position*/) {
  if (IsHomePid(spawn.child)) {
    const ReserveChildAnswer* reserved = nullptr;
    uint64_t unix_ns = 0;
    for (const WorldAnswer& answer : turn_->record.answers) {
      if (const auto* const time = std::get_if<UnixTimeAnswer>(&answer)) {
        unix_ns = time->unix_ns;
      }
      const auto* const child = std::get_if<ReserveChildAnswer>(&answer);
      if (child != nullptr && child->pid == spawn.child) reserved = child;
    }
    if (reserved == nullptr) {
      return Contradiction("it spawns a child that it has not reserved");
    }
    const absl::StatusOr<Resident*> before = residents_.Find(spawn.child);
    if (!before.ok()) return before.status();
    if (*before != nullptr) return Contradiction("the child lives already");
    Resident& child = residents_.Add(spawn.child);
    child.changed = true;
    child.entry.process_type = reserved->process_type;
    child.entry.method = reserved->method;
    if (spawn.content) child.entry.input = BodyOf(spawn.content).payload;
    records::RuntimeImage& image = child.runtime();
    image.owner = process.owner();
    image.priority = reserved->priority;
    image.keep_result = spawn.keep_result;
    image.parent = process.pid;
    image.started_unix_ns = unix_ns;
  }
  if (spawn.link) {
    absl::Status status = AddWatch(process, spawn.child, 0);
    if (!status.ok()) return status;
  }
  return spawn.monitor == 0 ? absl::OkStatus()
                            : AddWatch(process, spawn.child, spawn.monitor);
}

absl::Status JournalApplier::Do(Resident& process, const YieldEffect& yield,
                                uint64_t /*position*/) {
  records::YieldImage image;
  image.tag = yield.content->completion.tag;
  StoredBody body = BodyOf(yield.content);
  image.command = std::move(body.topic);
  image.payload = std::move(body.payload);
  if (yield.policy) image.policy = BodyOf(yield.policy).payload.bytes;
  image.deadline_ns = DeadlineOf(image.tag);
  image.begun_ns = step_->at_ns;
  AddYield(process, std::move(image));
  return absl::OkStatus();
}

absl::Status JournalApplier::Do(Resident& process, const CallEffect& call,
                                uint64_t position) {
  records::YieldImage image;
  image.tag = call.content->ReadHeader<CallHeader>().call;
  image.kind = records::YieldKind::kCall;
  image.callee = call.to;
  image.deadline_ns = DeadlineOf(image.tag);
  image.begun_ns = step_->at_ns;
  image.failed = call.to.empty();  // no process held the name
  const uint64_t tag = image.tag;
  AddYield(process, std::move(image));
  Mail mail;
  mail.kind = MailKind::kCall;
  mail.lsn = lsn_;
  mail.from = process.pid;
  mail.tag = tag;
  return DeliverFrom(process.owner(), call.to, position, std::move(mail));
}

absl::Status JournalApplier::Do(Resident& process, const ReplyEffect& reply,
                                uint64_t position) {
  auto& owed_calls = process.runtime().owed_calls;
  const auto owed = std::find_if(
      owed_calls.begin(), owed_calls.end(),
      [&](const records::OwedCall& call) { return call.call == reply.call; });
  if (owed == owed_calls.end()) return absl::OkStatus();  // answered before
  const records::OwedCall call = *owed;
  owed_calls.erase(owed);
  if (call.caller.empty()) {
    return AnswerCall(call.call,
                      {.status = reply.content->completion.status,
                       .payload = FromAbi(reply.content->payload())});
  }
  if (!IsHomePid(call.caller)) return absl::OkStatus();
  const absl::StatusOr<Resident*> found = residents_.Find(call.caller);
  if (!found.ok()) return found.status();
  if (*found == nullptr) return absl::OkStatus();
  // The caller may have seen the end of the call already.
  records::YieldImage* const yield = FindYield(**found, call.tag);
  if (yield == nullptr) return absl::OkStatus();
  yield->answer = position;
  (*found)->changed = true;
  Mail mail;
  mail.kind = MailKind::kCompletion;
  mail.lsn = lsn_;
  mail.from = process.pid;
  mail.tag = call.tag;
  mail.status = reply.content->completion.status;
  return Deliver(call.caller, position, std::move(mail));
}

absl::Status JournalApplier::Do(Resident& process, const TieEffect& tie,
                                uint64_t /*position*/) {
  switch (tie.kind) {
    case TieEffect::Kind::kMonitor:
      return AddWatch(process, tie.other, tie.tag);
    case TieEffect::Kind::kLink:
      return AddWatch(process, tie.other, 0);
    case TieEffect::Kind::kUnlink:
      return RemoveWatch(process, tie.other, 0);
    case TieEffect::Kind::kDemonitor:
      break;
  }
  const auto& watches = process.runtime().watches;
  const auto watch = std::find_if(
      watches.begin(), watches.end(),
      [&](const records::Watch& one) { return one.tag == tie.tag; });
  return watch == watches.end() ? absl::OkStatus()
                                : RemoveWatch(process, watch->other, tie.tag);
}

absl::Status JournalApplier::Do(Resident& process, const CancelEffect& cancel,
                                uint64_t /*position*/) {
  records::YieldImage* const yield = FindYield(process, cancel.tag);
  if (yield != nullptr) yield->cancelled = true;
  return absl::OkStatus();
}

}  // namespace actord::runtime
