#include "runtime/history/process_trace.h"

#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "actord/abi.h"
#include "runtime/records/record_codec.h"
#include "runtime/step/record_bytes.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

bool HasBytes(std::string_view bytes, std::string_view part) {
  return memmem(bytes.data(), bytes.size(), part.data(), part.size()) !=
         nullptr;
}

// The PID as the fields of a record have it, without key and length.
std::string PidInFields(const Pid& pid) {
  constexpr size_t kKeyAndLength = 2;
  std::string fields;
  records::Encode(records::Ended{.pid = pid}, fields);
  return fields.substr(kKeyAndLength);
}

std::string PidInSteps(const Pid& pid) { return BytesOfField(pid); }

const char* TextOf(records::DropReason reason) {
  switch (reason) {
    case records::DropReason::kUnknownProcess:
      return "the process is unknown";
    case records::DropReason::kEnded:
      return "the process has ended";
    case records::DropReason::kMailboxFull:
      return "the mailbox is full";
    case records::DropReason::kDroppedAtEnd:
      return "the process has ended before it took them";
    case records::DropReason::kQuarantined:
      return "the process is in quarantine";
    case records::DropReason::kYieldLimit:
      return "their sender has too many outstanding yields";
  }
  return "";
}

const char* NameOf(records::Command command) {
  switch (command) {
    case records::Command::kOther:
      return "";
    case records::Command::kRegisterName:
      return "name.register";
    case records::Command::kReleaseName:
      return "name.release";
    case records::Command::kJoinGroup:
      return "group.join";
    case records::Command::kLeaveGroup:
      return "group.leave";
    case records::Command::kSend:
      return "process.send";
    case records::Command::kCancel:
      return "process.cancel";
    case records::Command::kTerminate:
      return "process.terminate";
    case records::Command::kSpawn:
      return "process.spawn";
  }
  return "";
}

}  // namespace

ProcessTrace::ProcessTrace(const Pid& pid, size_t max_payload_bytes)
    : pid_(pid),
      max_payload_bytes_(max_payload_bytes),
      pid_in_fields_(PidInFields(pid)),
      pid_in_steps_(PidInSteps(pid)),
      buffers_(pool_) {}

bool ProcessTrace::MayAnswerCall(std::string_view payload) const {
  if (calls_.size() > kSearchedCalls) return true;
  for (const auto& [call, tag] : calls_) {
    if (HasBytes(payload, BytesOfField(call))) return true;
  }
  return false;
}

bool ProcessTrace::Concerns(const RecordView& record) const {
  const std::string_view bytes = record.payload;
  switch (static_cast<records::Kind>(record.kind)) {
    case records::Kind::kTime:
    case records::Kind::kPlugin:
      return true;
    case records::Kind::kStep:
      return HasBytes(bytes, pid_in_fields_) ||
             HasBytes(bytes, pid_in_steps_) || MayAnswerCall(bytes);
    case records::Kind::kStarted:
    case records::Kind::kEnded:
      return !spawns_.empty() || HasBytes(bytes, pid_in_fields_);
    case records::Kind::kSubmitted:
    case records::Kind::kInput:
    case records::Kind::kDone:
    case records::Kind::kDropped:
    case records::Kind::kResent:
    case records::Kind::kAttempt:
    case records::Kind::kYieldOver:
    case records::Kind::kUpgraded:
      return HasBytes(bytes, pid_in_fields_);
    case records::Kind::kForgotten:
    case records::Kind::kCheckpoint:
    case records::Kind::kOwner:
      return false;
  }
  return false;
}

absl::Status ProcessTrace::Take(const RecordView& record, Items& items) {
  lsn_ = record.lsn;
  if (record.kind == kOpenedKind) {
    const std::optional<Opened> opened = DecodeOpened(record.payload);
    if (!opened.has_value()) return absl::DataLossError("no OPENED record");
    HistoryItem item = Item(HistoryKind::kDaemonStarted, 0);
    item.unix_ns = opened->unix_ns;
    item.detail = absl::StrCat(opened->incarnation);
    if (facts_.seen && !facts_.ended_ns) items.push_back(std::move(item));
    return absl::OkStatus();
  }
  if (!records::Knows(record.kind) || !Concerns(record)) {
    return absl::OkStatus();
  }
  std::optional<records::Any> decoded;
  absl::Status status = records::Decode(record, decoded);
  if (!status.ok()) return status;
  if (!decoded.has_value()) return absl::OkStatus();
  if (const auto* const step = std::get_if<records::Step>(&*decoded)) {
    return Take(*step, items);
  }
  std::visit(
      [&]<typename T>(const T& one) {
        if constexpr (!std::is_same_v<T, records::Step>) Take(one, items);
      },
      *decoded);
  return absl::OkStatus();
}

absl::Status ProcessTrace::TakeStored(uint64_t lsn, std::string_view payload,
                                      const std::vector<Consumed>& consumed,
                                      Items& items) {
  for (const Consumed& one : consumed) {
    Arrival arrival{.kind = one.mail.kind,
                    .from = one.mail.from,
                    .tag = one.mail.tag,
                    .status = one.mail.status};
    Payload body;
    if (one.mail.body.has_value()) {
      arrival.topic = one.mail.body->topic;
      body = one.mail.body->payload;
    }
    Arrive(one.position, std::move(arrival), body);
  }
  return Take(RecordView{.lsn = lsn,
                         .kind = static_cast<uint16_t>(records::Kind::kStep),
                         .flags = 0,
                         .payload = payload},
              items);
}

// ---- Beginning and end

void ProcessTrace::Take(const records::Submitted& record, Items& items) {
  if (record.at_ns != 0) last_ns_ = record.at_ns;
  if (record.pid == pid_) {
    facts_.seen = facts_.seen_begin = true;
    facts_.owner = record.owner;
    HistoryItem item = Item(HistoryKind::kSubmitted, record.at_ns);
    if (record.unix_ns != 0) item.unix_ns = record.unix_ns;
    item.peer = record.parent;
    item.name = record.process_type;
    item.detail = record.method;
    SetPayload(item, record.input);
    items.push_back(std::move(item));
    for (size_t i = 0; i < record.messages.size(); ++i) {
      const records::Body& body = record.messages[i];
      Arrive(lsn_ + i, {.from = body.from, .topic = body.topic}, body.payload);
    }
  } else if (record.parent == pid_ && record.yield != 0) {
    spawns_[record.pid] = record.yield;
  }
}

void ProcessTrace::Take(const records::Started& record, Items& items) {
  if (record.pid == pid_) {
    facts_.seen = true;
    items.push_back(Item(HistoryKind::kStarted, 0));
    return;
  }
  const auto spawn = spawns_.find(record.pid);
  if (spawn == spawns_.end()) return;
  Arrive(
      lsn_,
      {.kind = MailKind::kCompletion, .from = record.pid, .tag = spawn->second},
      {FormatPid(record.pid), "text/plain"});
  spawns_.erase(spawn);
}

void ProcessTrace::Take(const records::Ended& record, Items& items) {
  last_ns_ = record.end.at_ns;
  if (record.pid == pid_) {
    facts_.seen = true;
    EndItem(record.end, facts_.last_step, items);
    return;
  }
  const auto spawn = spawns_.find(record.pid);
  if (spawn == spawns_.end()) return;
  Arrive(lsn_,
         {.kind = MailKind::kCompletion,
          .from = record.pid,
          .tag = spawn->second,
          .status = record.end.code},
         {record.end.message, "text/plain"});
  spawns_.erase(spawn);
}

void ProcessTrace::Take(const records::Upgraded& record, Items& items) {
  if (record.pid != pid_) return;
  facts_.seen = true;
  HistoryItem item = Item(HistoryKind::kUpgraded, 0);
  item.step = facts_.last_step;
  const auto name = [this](records::PluginNumber number) {
    const auto plugin = plugins_.find(number);
    if (plugin != plugins_.end()) return plugin->second;
    return number == records::kNoPlugin ? "a version that is not known"
                                        : absl::StrCat("plugin ", number);
  };
  item.detail = absl::StrCat(name(record.from), " to ", name(record.to));
  items.push_back(std::move(item));
}

void ProcessTrace::SetPlugin(const records::Plugin& plugin) {
  plugins_[plugin.number] = absl::StrCat(plugin.name, " ", plugin.version);
}

void ProcessTrace::Take(const records::Plugin& record, Items& /*items*/) {
  SetPlugin(record);
}

// ---- Inputs from outside

void ProcessTrace::Take(const records::Input& record, Items& items) {
  if (record.at_ns != 0) last_ns_ = record.at_ns;
  if (record.to != pid_) return;
  facts_.seen = true;
  switch (record.kind) {
    case records::InputKind::kMessages:
      for (size_t i = 0; i < record.messages.size(); ++i) {
        const records::Body& body = record.messages[i];
        Arrive(lsn_ + i, {.from = body.from, .topic = body.topic},
               body.payload);
      }
      return;
    case records::InputKind::kCall:
      for (const records::Body& body : record.messages) {
        Arrive(lsn_, {.kind = MailKind::kCall, .topic = body.topic},
               body.payload);
      }
      return;
    case records::InputKind::kCompletion:
      EndCall(record.tag);
      return Arrive(lsn_,
                    {.kind = MailKind::kCompletion,
                     .tag = record.tag,
                     .status = record.status},
                    record.payload);
    case records::InputKind::kCancel:
    case records::InputKind::kTerminate:
      break;
  }
  const bool is_cancel = record.kind == records::InputKind::kCancel;
  HistoryItem item =
      Item(is_cancel ? HistoryKind::kCancelled : HistoryKind::kTerminated, 0);
  item.message = record.payload.bytes;
  items.push_back(std::move(item));
  if (is_cancel) Arrive(lsn_, {.kind = MailKind::kCancel}, record.payload);
}

void ProcessTrace::Take(const records::Done& record, Items& items) {
  const bool is_send = record.command == records::Command::kSend;
  const bool done = record.status == ACTORD_OK;
  if (record.pid == pid_) {
    facts_.seen = true;
    HistoryItem item = Item(HistoryKind::kCommandDone, 0);
    item.tag = record.tag;
    item.name = NameOf(record.command);
    item.detail = record.name;
    item.peer = record.target;
    item.code = record.status;
    SetPayload(item, record.result);
    if (!done) item.message = record.result.bytes;
    items.push_back(std::move(item));
    Arrive(lsn_,
           {.kind = MailKind::kCompletion,
            .tag = record.tag,
            .status = record.status},
           record.result);
  }
  if (!done) return;
  const auto arrive = [&](const Pid& to, uint64_t position) {
    if (to != pid_ || !record.message.has_value()) return;
    Arrive(position, {.from = record.pid, .topic = record.message->topic},
           record.message->payload);
  };
  if (is_send) {
    arrive(record.target, lsn_ + 1);
    for (size_t i = 0; i < record.others.size(); ++i) {
      arrive(record.others[i], lsn_ + 2 + i);
    }
    return;
  }
  const bool is_cancel = record.command == records::Command::kCancel;
  if (record.target != pid_ ||
      (!is_cancel && record.command != records::Command::kTerminate)) {
    return;
  }
  HistoryItem item =
      Item(is_cancel ? HistoryKind::kCancelled : HistoryKind::kTerminated, 0);
  item.peer = record.pid;
  Payload reason;
  if (record.message.has_value()) reason = record.message->payload;
  item.message = reason.bytes;
  items.push_back(std::move(item));
  if (is_cancel) {
    Arrive(lsn_ + 1, {.kind = MailKind::kCancel, .from = record.pid}, reason);
  }
}

void ProcessTrace::Take(const records::Dropped& record, Items& items) {
  if (record.to != pid_) return;
  for (const Position& position : record.positions.list) Forget(position.lsn);
  HistoryItem item = Item(HistoryKind::kDropped, 0);
  item.detail = absl::StrCat(record.positions.list.size(),
                             " messages: ", TextOf(record.reason));
  items.push_back(std::move(item));
}

void ProcessTrace::Take(const records::Resent& record, Items& /*items*/) {
  if (record.to != pid_) return;
  Arrival letter;
  if (const auto found = arrivals_.find(record.letter.lsn);
      found != arrivals_.end()) {
    letter = found->second;
  }
  letter.at_ns = last_ns_;
  const Payload payload = letter.payload;
  Arrive(lsn_, std::move(letter), payload);
}

void ProcessTrace::Take(const records::Attempt& record, Items& items) {
  if (record.pid != pid_) return;
  facts_.seen = true;
  HistoryItem item = Item(HistoryKind::kAttempt, 0);
  item.tag = record.tag;
  item.attempts = record.attempt;
  item.worker = record.worker;
  item.deadline_unix_ns = UnixNs(record.lease_ns);
  items.push_back(std::move(item));
}

void ProcessTrace::Take(const records::YieldOver& record, Items& /*items*/) {
  if (record.pid != pid_) return;
  facts_.seen = true;
  Arrive(lsn_,
         {.kind = MailKind::kCompletion,
          .tag = record.tag,
          .status = record.status},
         record.payload);
}

void ProcessTrace::Take(const records::Time& record, Items& /*items*/) {
  offset_ns_ = record.unix_ns - record.store_ns;
  last_ns_ = record.store_ns;
}

}  // namespace actord::runtime
