// Records from outside of steps: inputs, built-in commands, dead letters,
// external tasks.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/store/journal_applier.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

absl::Status JournalApplier::Take(const records::Input& record) {
  meta_.store_ns = std::max(meta_.store_ns, record.at_ns);
  if (record.kind == records::InputKind::kCompletion) {
    absl::Status status = KeepAnswer(record);
    if (!status.ok()) return status;
    return Complete(record.to, record.tag, record.status, lsn_);
  }
  const bool is_call = record.kind == records::InputKind::kCall;
  if (is_call) {
    KeepCall(record);
  } else {
    KeepRequest(record.is_submit ? kSubmitId : kMessageId, record.owner,
                record.request, record.to, /*is_submitted=*/false);
  }
  for (size_t i = 0; i < record.messages.size(); ++i) {
    Mail mail;
    if (is_call) mail.kind = MailKind::kCall;
    mail.lsn = lsn_;
    mail.from = record.messages[i].from;
    absl::Status status = Deliver(record.to, lsn_ + i, std::move(mail));
    if (!status.ok()) return status;
  }
  if (is_call || record.kind == records::InputKind::kMessages) {
    return absl::OkStatus();
  }
  const absl::StatusOr<Resident*> found = residents_.Find(record.to);
  if (!found.ok() || *found == nullptr) return found.status();
  Mail mail;
  mail.kind = MailKind::kTerminate;
  mail.lsn = lsn_;
  mail.body.emplace();
  mail.body->payload = record.payload;
  if (record.kind == records::InputKind::kCancel) {
    mail.kind = MailKind::kCancel;
    (*found)->runtime().NoteCancel(record.deadline_ns, record.at_ns);
    (*found)->changed = true;
  }
  return Deliver(record.to, lsn_, std::move(mail));
}

absl::Status JournalApplier::Take(const records::Done& record) {
  const absl::StatusOr<Resident*> found = residents_.Find(record.pid);
  if (!found.ok()) return found.status();
  if (*found == nullptr) {
    // The step that yielded the command was the last step of its process. The
    // effects of the command on others happen all the same.
    return record.status == ACTORD_OK
               ? CarryOutForOthers(record.pid, Owner::kAny, record)
               : absl::OkStatus();
  }
  if (record.status == ACTORD_OK) {
    absl::Status status = CarryOut(**found, record);
    if (!status.ok()) return status;
  }
  return Complete(record.pid, record.tag, record.status, lsn_);
}

absl::Status JournalApplier::CarryOut(Resident& process,
                                      const records::Done& record) {
  auto& groups = process.runtime().groups;
  const auto group = std::find(groups.begin(), groups.end(), record.name);
  std::string group_key = KeyOf(KeyKind::kGroup, process.owner(), record.name,
                                std::string_view("\0", 1), process.pid);
  switch (record.command) {
    case records::Command::kOther:
      return absl::OkStatus();
    case records::Command::kRegisterName:
      return Hold(process, record.name);
    case records::Command::kReleaseName:
      return Release(process, record.name);
    case records::Command::kJoinGroup:
      if (group != groups.end()) return absl::OkStatus();
      groups.push_back(record.name);
      process.changed = true;
      batch_.PutNew(std::move(group_key), "");
      return absl::OkStatus();
    case records::Command::kLeaveGroup:
      if (group == groups.end()) return Contradiction("it is not a member");
      groups.erase(group);
      process.changed = true;
      batch_.Erase(std::move(group_key));
      return absl::OkStatus();
    case records::Command::kSend:
    case records::Command::kCancel:
    case records::Command::kTerminate:
      return CarryOutForOthers(Pid(process.pid), process.owner(), record);
    case records::Command::kSpawn:
      return TieChild(process, record);
  }
  return absl::OkStatus();
}

absl::Status JournalApplier::TieChild(Resident& process,
                                      const records::Done& record) {
  if (record.link) {
    absl::Status status = AddWatch(process, record.target, 0);
    if (!status.ok()) return status;
  }
  return record.monitor ? AddWatch(process, record.target, record.tag)
                        : absl::OkStatus();
}

absl::Status JournalApplier::CarryOutForOthers(const Pid& from, Owner owner,
                                               const records::Done& record) {
  if (record.command == records::Command::kSend) {
    return SendAll(from, owner, record);
  }
  if (record.command != records::Command::kCancel &&
      record.command != records::Command::kTerminate) {
    return absl::OkStatus();
  }
  const absl::StatusOr<Resident*> target = residents_.Find(record.target);
  if (!target.ok() || *target == nullptr) return target.status();
  Mail mail;
  mail.lsn = lsn_;
  mail.from = from;
  mail.kind = MailKind::kTerminate;
  if (!record.message.has_value()) mail.body.emplace();
  if (record.command == records::Command::kCancel) {
    mail.kind = MailKind::kCancel;
    (*target)->runtime().cancel_requested = true;
    (*target)->changed = true;
  }
  return Deliver(record.target, lsn_ + 1, std::move(mail));
}

absl::Status JournalApplier::SendAll(const Pid& from, Owner owner,
                                     const records::Done& record) {
  if (!record.message.has_value()) return Contradiction("it sends nothing");
  const auto send = [&](const Pid& to, uint64_t position) {
    Mail mail;
    mail.lsn = lsn_;
    mail.from = from;
    return DeliverFrom(owner, to, position, std::move(mail));
  };
  absl::Status status = send(record.target, lsn_ + 1);
  for (size_t i = 0; status.ok() && i < record.others.size(); ++i) {
    status = send(record.others[i], lsn_ + 2 + i);
  }
  return status;
}

// ---- Dead letters

absl::Status JournalApplier::Take(const records::Dropped& record) {
  for (const Position& position : record.positions.list) {
    absl::Status status = DropOne(position.lsn, record);
    if (!status.ok()) return status;
  }
  if (record.positions.list.empty()) return absl::OkStatus();
  const uint8_t kind = record.is_call     ? kCallId
                       : record.is_submit ? kSubmitId
                                          : kMessageId;
  return ForgetRequest(
      kind, record.owner, record.request,
      [lsn = record.positions.list.front().lsn](const RequestEntry& entry) {
        return entry.lsn == lsn;
      });
}

absl::Status JournalApplier::DropOne(uint64_t position,
                                     const records::Dropped& record) {
  const absl::StatusOr<Resident*> found = residents_.Find(record.to);
  if (!found.ok()) return found.status();
  absl::StatusOr<std::optional<Mail>> mail = std::optional<Mail>();
  if (*found != nullptr) mail = TakeMail(**found, position);
  if (!mail.ok()) return mail.status();
  if (mail->has_value()) {
    if ((*mail)->kind == MailKind::kCall) {
      return FailCall((*mail)->from, (*mail)->tag, position);
    }
    if ((*mail)->kind != MailKind::kMessage || record.is_told) {
      return absl::OkStatus();
    }
    return AddLetter(record.to, position, std::move(**mail), record.reason,
                     (*found)->owner());
  }
  // The end of the process has already made the message a dead letter; or it
  // was a call, which has failed.
  std::string key = KeyOf(KeyKind::kLetter, position);
  absl::StatusOr<std::optional<Letter>> letter = batch_.Read<Letter>(key);
  if (!letter.ok() || !letter->has_value()) return letter.status();
  if (record.is_told) return ForgetLetter(position);
  (*letter)->reason = record.reason;
  if (record.request.empty() && record.owner != Owner::kNobody) {
    (*letter)->owner = record.owner;
  }
  batch_.Put(std::move(key), ValueOf(**letter));
  return absl::OkStatus();
}

absl::Status JournalApplier::ForgetLetter(uint64_t position) {
  std::string key = KeyOf(KeyKind::kLetter, position);
  const absl::StatusOr<std::optional<Letter>> letter = batch_.Read<Letter>(key);
  // A missing letter was forgotten before.
  if (!letter.ok() || !letter->has_value()) return letter.status();
  if (!(*letter)->mail.body.has_value()) ForgetBody(position);
  batch_.Erase(std::move(key));
  return absl::OkStatus();
}

absl::Status JournalApplier::Take(const records::Resent& record) {
  std::string key = KeyOf(KeyKind::kLetter, record.letter.lsn);
  absl::StatusOr<std::optional<Letter>> letter = batch_.Read<Letter>(key);
  if (!letter.ok()) return letter.status();
  if (!letter->has_value())
    return Contradiction("there is no such dead letter");
  Mail mail = std::move((*letter)->mail);
  if (!mail.body.has_value()) {
    ForgetBody(record.letter.lsn);
    absl::StatusOr<StoredBody> body =
        LoadBody(mail.lsn, record.letter.lsn - mail.lsn);
    if (!body.ok()) return body.status();
    mail.body = *std::move(body);
  }
  mail.lsn = lsn_;
  batch_.Erase(std::move(key));
  return Deliver(record.to, lsn_, std::move(mail));
}

absl::Status JournalApplier::Take(const records::Forgotten& record) {
  for (const Position& position : record.letters.list) {
    absl::Status status = ForgetLetter(position.lsn);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// ---- Tasks

absl::Status JournalApplier::Take(const records::Attempt& record) {
  const absl::StatusOr<Resident*> found = residents_.Find(record.pid);
  if (!found.ok() || *found == nullptr) return found.status();
  records::YieldImage* const yield = FindYield(**found, record.tag);
  // A timeout or a cancel, which has no record, came first.
  if (yield == nullptr) return absl::OkStatus();
  if (record.attempt <= yield->attempts) {
    return Contradiction(absl::StrCat("attempt ", record.attempt,
                                      " follows attempt ", yield->attempts));
  }
  yield->attempts = record.attempt;
  yield->worker = record.worker;
  yield->lease_ns = record.lease_ns;
  yield->worker_owner = record.worker_owner;
  (*found)->changed = true;
  return absl::OkStatus();
}

absl::Status JournalApplier::Take(const records::YieldOver& record) {
  return Complete(record.pid, record.tag, record.status, lsn_);
}

// ---- The store itself

absl::Status JournalApplier::Take(const records::Plugin& record) {
  batch_.Put(KeyOf(KeyKind::kPlugin, record.number), ValueOf(record));
  return absl::OkStatus();
}

absl::Status JournalApplier::Take(const records::OwnerName& record) {
  batch_.Put(KeyOf(KeyKind::kOwner, record.owner), record.name);
  return absl::OkStatus();
}

absl::Status JournalApplier::Take(const records::Time& record) {
  if (record.store_ns < meta_.time_ns) {
    return Contradiction("the store's clock goes back");
  }
  meta_.unix_ns = record.unix_ns;
  meta_.time_ns = record.store_ns;
  // Another thread may have read the clock later and written earlier.
  meta_.store_ns = std::max(meta_.store_ns, record.store_ns);
  return absl::OkStatus();
}

absl::Status JournalApplier::Take(const records::Checkpoint& /*record*/) {
  return absl::OkStatus();  // the store keeps this itself
}

}  // namespace actord::runtime
