// Steps: their events, their effects, and their effects on other processes.
#include <utility>
#include <variant>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "actord/abi.h"
#include "handlers/rules/log_text.h"
#include "runtime/history/process_trace.h"
#include "runtime/step/effect.h"
#include "runtime/step/verdict.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

const char* TextOf(records::EndReason reason) {
  switch (reason) {
    case records::EndReason::kResult:
      return "result";
    case records::EndReason::kFailed:
      return "failed";
    case records::EndReason::kThrew:
      return "threw";
    case records::EndReason::kInitRefused:
      return "init refused";
    case records::EndReason::kCancelled:
      return "cancelled";
    case records::EndReason::kTerminated:
      return "terminated";
    case records::EndReason::kLimit:
      return "limit";
  }
  return "";
}

std::string_view TopicOf(const Envelope& envelope) {
  std::string_view topic = envelope.topic();
  if (envelope.type == kEventCall) topic.remove_prefix(sizeof(CallHeader));
  return topic;
}

const ReserveChildAnswer* FindChild(const DecodedRecord& turn,
                                    const Pid& child) {
  for (const WorldAnswer& answer : turn.record.answers) {
    const auto* const reserved = std::get_if<ReserveChildAnswer>(&answer);
    if (reserved != nullptr && reserved->pid == child) return reserved;
  }
  return nullptr;
}

HistoryKind KindOf(TieEffect::Kind kind) {
  constexpr HistoryKind kKinds[] = {HistoryKind::kMonitor,
                                    HistoryKind::kDemonitor, HistoryKind::kLink,
                                    HistoryKind::kUnlink};
  return kKinds[static_cast<size_t>(kind)];
}

// The deadline of a yield or call of the step, on the store's clock; 0: none.
uint64_t DeadlineOf(const records::Step& record, uint64_t tag) {
  for (const records::Deadline& deadline : record.deadlines) {
    if (deadline.tag == tag) return deadline.at_ns;
  }
  return 0;
}

// `why`: null if the child was not refused.
void SetTie(HistoryItem& item, const TieEffect& tie) {
  item.kind = KindOf(tie.kind);
  item.peer = tie.other;
  item.tag = tie.tag;
}

// The content of a publication or a line of the log; null: another effect.
const Content* ToldBy(const Effect& effect) {
  if (const auto* const publish = std::get_if<PublishEffect>(&effect)) {
    return &publish->content;
  }
  const auto* const log = std::get_if<LogEffect>(&effect);
  return log == nullptr ? nullptr : &log->content;
}

// Precondition: ToldBy, and the content is set.
void SetTold(HistoryItem& item, const Effect& effect) {
  const auto* const log = std::get_if<LogEffect>(&effect);
  item.kind = log == nullptr ? HistoryKind::kPublish : HistoryKind::kLog;
  if (log == nullptr) return;
  item.name = rules::LogLevelName(log->level);
  item.payload.content_type = "text/plain";
}

void SetRefusal(HistoryItem& item, const char* why) {
  if (why == nullptr) return;
  item.code = ACTORD_NOT_FOUND;
  item.message = why;
}

}  // namespace

absl::Status ProcessTrace::Take(const records::Step& record, Items& items) {
  if (record.pid == pid_) return TakeOwnStep(record, items);
  DecodedRecord turn;
  absl::Status status = DecodeTurn(record.record, buffers_, turn);
  if (!status.ok()) return absl::DataLossError(std::string(status.message()));
  const absl::Cleanup free_contents = [&] { FreeContents(turn, buffers_); };
  if (record.at_ns != 0) last_ns_ = record.at_ns;
  TakeOtherStep(record, turn, items);
  return absl::OkStatus();
}

absl::Status ProcessTrace::TakeOwnStep(const records::Step& record,
                                       Items& items) {
  facts_.seen = true;
  facts_.last_step = record.turn.step;
  if (record.at_ns != 0) last_ns_ = record.at_ns;
  DecodedRecord turn;
  absl::Status status = DecodeTurn(record.record, buffers_, turn);
  if (!status.ok()) return absl::DataLossError(std::string(status.message()));
  const absl::Cleanup free_contents = [&] { FreeContents(turn, buffers_); };
  HistoryItem item = Item(HistoryKind::kStep, record.at_ns);
  item.step = record.turn.step;
  item.detail = VerdictName(record.turn.verdict);
  if (record.end.has_value() &&
      record.end->reason != records::EndReason::kResult) {
    item.code = record.end->code;
    item.message = record.end->message;
  }
  if (record.continued.has_value()) {
    item.detail = absl::StrCat(item.detail, " ", record.continued->method);
    SetPayload(item, record.continued->input);
  }
  items.push_back(std::move(item));
  TakeEvents(record, turn, items);
  for (size_t i = 0; i < turn.record.effects.size(); ++i) {
    TakeEffect(record, turn, i, items);
  }
  if (record.end.has_value()) EndItem(*record.end, record.turn.step, items);
  return absl::OkStatus();
}

void ProcessTrace::EndItem(const records::End& end, uint64_t step,
                           Items& items) {
  facts_.ended_ns = end.at_ns;
  HistoryItem item = Item(HistoryKind::kEnded, end.at_ns);
  if (end.unix_ns != 0) item.unix_ns = end.unix_ns;
  item.step = step;
  item.detail = TextOf(end.reason);
  item.code = end.code;
  item.message = end.message;
  SetPayload(item, end.result);
  items.push_back(std::move(item));
}

// ---- Events

void ProcessTrace::TakeEvents(const records::Step& record,
                              const DecodedRecord& turn, Items& items) {
  const auto& positions = record.consumed.list;
  const size_t count = positions.size() + turn.events.size();
  size_t consumed = 0;
  size_t whole = 0;
  // records::Step::order gives the order of the events.
  for (size_t i = 0; i < count; ++i) {
    bool has_position = consumed < positions.size();
    if (has_position && i / 8 < record.order.size()) {
      const auto byte = static_cast<unsigned char>(record.order[i / 8]);
      has_position = (byte >> (i % 8) & 1) != 0 || whole == turn.events.size();
    } else if (has_position && !record.order.empty()) {
      has_position = whole == turn.events.size();
    }
    if (has_position) {
      TakeConsumed(record, positions[consumed++].lsn, items);
    } else {
      TakeEvent(record, turn.events[whole++], items);
    }
  }
}

void ProcessTrace::TakeConsumed(const records::Step& record, uint64_t position,
                                Items& items) {
  HistoryItem item;
  if (const auto found = arrivals_.find(position); found != arrivals_.end()) {
    item = ItemOf(found->second, position);
    if (found->second.kind == MailKind::kCompletion) EndCall(item.tag);
    Forget(position);
  } else {
    item.kind = HistoryKind::kMessage;
    item.position = position;
    item.detail = "the journal no longer holds this event";
  }
  item.step = record.turn.step;
  items.push_back(std::move(item));
}

void ProcessTrace::TakeEvent(const records::Step& record,
                             const actord_event& event, Items& items) {
  HistoryItem item = Item(HistoryKind::kMessage, record.at_ns);
  item.step = record.turn.step;
  item.peer = FromAbi(event.from);
  item.tag = event.tag;
  item.code = event.status;
  SetPayload(item, FromAbi(event.payload));
  if (item.code != ACTORD_OK) item.message = item.payload.bytes;
  switch (event.type) {
    case ACTORD_EVENT_MESSAGE:
      if (event.call != 0) item.kind = HistoryKind::kCall;
      item.name = View(event.topic);
      break;
    case ACTORD_EVENT_COMPLETION:
      item.kind = HistoryKind::kCompletion;
      EndCall(event.tag);
      break;
    case ACTORD_EVENT_EXIT:
      item.kind = HistoryKind::kExit;
      break;
    default:
      item.kind = HistoryKind::kCancelSeen;
  }
  items.push_back(std::move(item));
}

// ---- Effects

void ProcessTrace::TakeEffect(const records::Step& record,
                              const DecodedRecord& turn, size_t index,
                              Items& items) {
  HistoryItem item = Item(HistoryKind::kSend, record.at_ns);
  item.position = lsn_ + index;
  item.step = record.turn.step;
  const auto set_content = [&](const Content& content) {
    if (!content) return;
    item.name = TopicOf(*content);
    SetPayload(item, FromAbi(content->payload()));
  };
  const auto set_deadline = [&] {
    const uint64_t at_ns = DeadlineOf(record, item.tag);
    if (at_ns != 0) item.deadline_unix_ns = UnixNs(at_ns);
  };
  const Effect& effect = turn.record.effects[index];
  if (const auto* const send = std::get_if<SendEffect>(&effect)) {
    item.peer = send->to;
    set_content(send->content);
    if (send->to == pid_) {
      Arrive(lsn_ + index, {.from = pid_, .topic = item.name},
             FromAbi(send->content->payload()));
    }
  } else if (const auto* const spawn = std::get_if<SpawnEffect>(&effect)) {
    item.kind = HistoryKind::kSpawn;
    item.peer = spawn->child;
    item.tag = spawn->monitor;
    set_content(spawn->content);
    if (const auto* const child = FindChild(turn, spawn->child)) {
      item.name = child->process_type;
      item.detail = child->method;
    }
    SetRefusal(item, TextOf(spawn->refusal));
  } else if (const auto* const yield = std::get_if<YieldEffect>(&effect)) {
    item.kind = HistoryKind::kYield;
    item.tag = yield->content->completion.tag;
    set_content(yield->content);
    set_deadline();
  } else if (const auto* const call = std::get_if<CallEffect>(&effect)) {
    item.kind = HistoryKind::kCallOut;
    item.peer = call->to;
    item.tag = call->content->ReadHeader<CallHeader>().call;
    set_content(call->content);
    set_deadline();
    if (IsHomePid(call->to)) calls_[lsn_ + index] = item.tag;
    if (call->to == pid_) {
      Arrive(lsn_ + index,
             {.kind = MailKind::kCall,
              .from = pid_,
              .tag = item.tag,
              .topic = item.name},
             FromAbi(call->content->payload()));
    }
  } else if (const auto* const reply = std::get_if<ReplyEffect>(&effect)) {
    item.kind = HistoryKind::kReply;
    item.code = reply->content->completion.status;
    set_content(reply->content);
    if (item.code != ACTORD_OK) item.message = item.payload.bytes;
  } else if (const Content* const told = ToldBy(effect)) {
    set_content(*told);
    SetTold(item, effect);
  } else if (const auto* const tie = std::get_if<TieEffect>(&effect)) {
    SetTie(item, *tie);
  } else {
    item.kind = HistoryKind::kCancelYield;
    item.tag = std::get<CancelEffect>(effect).tag;
    EndCall(item.tag);
  }
  items.push_back(std::move(item));
}

void ProcessTrace::TakeOtherStep(const records::Step& record,
                                 const DecodedRecord& turn, Items& items) {
  uint64_t position = lsn_;
  for (const Effect& effect : turn.record.effects) {
    if (const auto* const send = std::get_if<SendEffect>(&effect)) {
      if (send->to == pid_) {
        Arrive(
            position,
            {.from = record.pid, .topic = std::string(TopicOf(*send->content))},
            FromAbi(send->content->payload()));
      }
    } else if (const auto* const call = std::get_if<CallEffect>(&effect)) {
      if (call->to == pid_) {
        Arrive(position,
               {.kind = MailKind::kCall,
                .from = record.pid,
                .tag = call->content->ReadHeader<CallHeader>().call,
                .topic = std::string(TopicOf(*call->content))},
               FromAbi(call->content->payload()));
      }
    } else if (const auto* const reply = std::get_if<ReplyEffect>(&effect)) {
      const auto asked = calls_.find(reply->call);
      if (asked != calls_.end()) {
        Arrive(position,
               {.kind = MailKind::kCompletion,
                .from = record.pid,
                .tag = asked->second,
                .status = reply->content->completion.status},
               FromAbi(reply->content->payload()));
      }
    } else if (const auto* const spawn = std::get_if<SpawnEffect>(&effect)) {
      if (spawn->child == pid_) {
        facts_.seen = facts_.seen_begin = true;
        facts_.parent = record.pid;
        HistoryItem item = Item(HistoryKind::kSpawned, record.at_ns);
        item.position = position;
        item.peer = record.pid;
        if (const auto* const child = FindChild(turn, pid_)) {
          item.name = child->process_type;
          item.detail = child->method;
        }
        if (spawn->content) {
          SetPayload(item, FromAbi(spawn->content->payload()));
        }
        items.push_back(std::move(item));
      }
    }
    ++position;
  }
}

}  // namespace actord::runtime
