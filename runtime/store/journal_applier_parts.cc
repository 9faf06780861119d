// Parts of the state: mailboxes, dead letters, yields, names, watches.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/store/journal_applier.h"
#include "runtime/system/absl_text.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

absl::Status JournalApplier::Contradiction(std::string_view what) const {
  return absl::DataLossError(
      absl::StrCat("journal: the ", ToAbsl(name_), " record at position ", lsn_,
                   " contradicts the records before it: ", ToAbsl(what)));
}

absl::StatusOr<Resident*> JournalApplier::Living(const Pid& pid) {
  absl::StatusOr<Resident*> found = residents_.Find(pid);
  if (found.ok() && *found == nullptr) {
    return Contradiction(
        absl::StrCat("process ", FormatPid(pid), " does not live"));
  }
  return found;
}

// ---- Mail

absl::Status JournalApplier::Deliver(const Pid& to, uint64_t position,
                                     Mail&& mail) {
  if (!IsHomePid(to)) return absl::OkStatus();
  const absl::StatusOr<Resident*> receiver = residents_.Find(to);
  if (!receiver.ok()) return receiver.status();
  if (*receiver != nullptr) {
    (*receiver)->new_mail.Add(position, std::move(mail));
    return absl::OkStatus();
  }
  return DeliverToNobody(to, position, std::move(mail), Owner::kNobody);
}

absl::Status JournalApplier::DeliverFrom(Owner sender, const Pid& to,
                                         uint64_t position, Mail&& mail) {
  if (!IsHomePid(to)) return absl::OkStatus();
  const absl::StatusOr<Resident*> receiver = residents_.Find(to);
  if (!receiver.ok()) return receiver.status();
  if (*receiver != nullptr && Sees(sender, (*receiver)->owner())) {
    return Deliver(to, position, std::move(mail));
  }
  return DeliverToNobody(to, position, std::move(mail),
                         sender == Owner::kAny ? Owner::kNobody : sender);
}

absl::Status JournalApplier::DeliverToNobody(const Pid& to, uint64_t position,
                                             Mail&& mail, Owner owner) {
  if (mail.kind == MailKind::kCall) {
    return FailCall(mail.from, mail.tag, position);
  }
  if (mail.kind != MailKind::kMessage) return absl::OkStatus();
  return AddLetter(to, position, std::move(mail), records::DropReason::kEnded,
                   owner);
}

absl::Status JournalApplier::AddLetter(const Pid& to, uint64_t position,
                                       Mail&& mail, records::DropReason reason,
                                       Owner owner) {
  std::string key = KeyOf(KeyKind::kLetter, position);
  if (!mail.body.has_value()) NoteBody(position, key);
  Letter letter;
  letter.mail = std::move(mail);
  letter.to = to;
  letter.reason = reason;
  letter.owner = owner;
  letter.at_ns = meta_.store_ns;
  batch_.PutNew(std::move(key), ValueOf(letter));
  return absl::OkStatus();
}

absl::Status JournalApplier::FailCall(const Pid& caller, uint64_t tag,
                                      uint64_t position) {
  if (caller.empty()) return AnswerCall(position, {.callee_ended = true});
  if (!IsHomePid(caller)) return absl::OkStatus();
  const absl::StatusOr<Resident*> found = residents_.Find(caller);
  if (!found.ok()) return found.status();
  if (*found == nullptr) return absl::OkStatus();
  records::YieldImage* const yield = FindYield(**found, tag);
  if (yield == nullptr) return absl::OkStatus();
  yield->failed = true;
  (*found)->changed = true;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Mail>> JournalApplier::TakeMail(
    Resident& process, uint64_t position) {
  std::optional<Mail> mail = process.new_mail.Take(position);
  if (mail.has_value() || !process.may_have_stored_mail) return mail;
  std::string key = KeyOf(KeyKind::kMail, process.pid, position);
  absl::StatusOr<std::optional<Mail>> stored = batch_.Read<Mail>(key);
  if (!stored.ok() || !stored->has_value()) return stored;
  if (!(*stored)->body.has_value()) ForgetBody(position);
  batch_.Erase(std::move(key));
  return stored;
}

void JournalApplier::NoteBody(uint64_t position, const std::string& key) {
  new_bodies_.insert_or_assign(position, key);
}

void JournalApplier::ForgetBody(uint64_t position) {
  if (new_bodies_.erase(position) == 0) {
    batch_.Erase(KeyOf(KeyKind::kBody, position));
  }
}

// ---- Yields

records::YieldImage* JournalApplier::FindYield(Resident& process,
                                               uint64_t tag) {
  auto& yields = process.runtime().yields;
  const auto found = std::find_if(
      yields.begin(), yields.end(),
      [&](const records::YieldImage& yield) { return yield.tag == tag; });
  return found == yields.end() ? nullptr : &*found;
}

void JournalApplier::AddYield(Resident& process, records::YieldImage&& yield) {
  if (yield.deadline_ns != 0) {
    batch_.PutNew(
        KeyOf(KeyKind::kTimer, yield.deadline_ns, process.pid, yield.tag), "");
  }
  process.runtime().yields.push_back(std::move(yield));
  process.changed = true;
}

bool JournalApplier::RemoveYield(Resident& process, uint64_t tag) {
  const records::YieldImage* const yield = FindYield(process, tag);
  if (yield == nullptr) return false;
  if (yield->deadline_ns != 0) {
    batch_.Erase(KeyOf(KeyKind::kTimer, yield->deadline_ns, process.pid, tag));
  }
  auto& yields = process.runtime().yields;
  yields.erase(yields.begin() + (yield - yields.data()));
  process.changed = true;
  return true;
}

absl::Status JournalApplier::Complete(const Pid& pid, uint64_t tag,
                                      int32_t status, uint64_t position) {
  const absl::StatusOr<Resident*> found = residents_.Find(pid);
  if (!found.ok()) return found.status();
  if (*found == nullptr) return absl::OkStatus();
  // This completion came before an answer that is in the mailbox.
  if (const records::YieldImage* const yield = FindYield(**found, tag);
      yield != nullptr && yield->answer != 0) {
    const auto late = TakeMail(**found, yield->answer);
    if (!late.ok()) return late.status();
  }
  if (!RemoveYield(**found, tag)) {
    // The completion was on its way when the process began again.
    if (tag < (*found)->entry.life_from_tag) return absl::OkStatus();
    return Contradiction(absl::StrCat("yield ", tag, " of process ",
                                      FormatPid(pid), " is not outstanding"));
  }
  Mail mail;
  mail.kind = MailKind::kCompletion;
  mail.lsn = lsn_;
  mail.tag = tag;
  mail.status = status;
  return Deliver(pid, position, std::move(mail));
}

// ---- Names, lifetimes, images

absl::Status JournalApplier::Hold(Resident& process, const std::string& name) {
  std::string key = KeyOf(KeyKind::kName, process.owner(), name);
  std::string holder;
  keys::Append(process.pid, holder);
  const absl::StatusOr<std::optional<std::string>> before = batch_.Get(key);
  if (!before.ok()) return before.status();
  if (before->has_value()) {
    return **before == holder
               ? absl::OkStatus()
               : Contradiction("another process holds the name " + name);
  }
  batch_.PutNew(std::move(key), std::move(holder));
  process.runtime().names.push_back(name);
  process.changed = true;
  return absl::OkStatus();
}

absl::Status JournalApplier::Release(Resident& process,
                                     const std::string& name) {
  auto& names = process.runtime().names;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return Contradiction("the process does not hold the name " + name);
  }
  names.erase(found);
  process.changed = true;
  batch_.Erase(KeyOf(KeyKind::kName, process.owner(), name));
  return absl::OkStatus();
}

void JournalApplier::SetLifetime(Resident& process, uint64_t lifetime_ns) {
  uint64_t& now = process.runtime().lifetime_ns;
  const uint64_t no_tag = 0;
  if (now != 0) batch_.Erase(KeyOf(KeyKind::kTimer, now, process.pid, no_tag));
  if (lifetime_ns != 0) {
    batch_.PutNew(KeyOf(KeyKind::kTimer, lifetime_ns, process.pid, no_tag), "");
  }
  now = lifetime_ns;
  process.changed = true;
}

void JournalApplier::SetImage(Resident& process,
                              const std::optional<std::string>& image) {
  if (!image.has_value()) return;
  if (!process.image.has_value()) process.image.emplace();
  process.image->image = *image;
  process.image->lsn = lsn_;
  // The image replaces Init, too.
  process.entry.input = {};
  process.entry.init = {};
  process.changed = true;
}

// ---- Watches

absl::Status JournalApplier::AddWatch(Resident& process, const Pid& other,
                                      uint64_t tag) {
  auto& watches = process.runtime().watches;
  const records::Watch watch{other, tag};
  if (std::find(watches.begin(), watches.end(), watch) != watches.end()) {
    return absl::OkStatus();  // a second link to the same process
  }
  watches.push_back(watch);
  process.changed = true;
  if (!IsHomePid(other) || other == process.pid) return absl::OkStatus();
  const absl::StatusOr<Resident*> found = residents_.Find(other);
  if (!found.ok()) return found.status();
  if (*found == nullptr) {
    ExitEntry exit;
    exit.lsn = lsn_;
    exit.unknown_process = true;
    batch_.Put(KeyOf(KeyKind::kExit, process.pid, other, tag), ValueOf(exit));
    return absl::OkStatus();
  }
  Resident& watched = **found;
  if (tag != 0) {
    watched.runtime().watchers.push_back({process.pid, tag});
  } else {
    watched.runtime().watches.push_back({process.pid, 0});
  }
  watched.changed = true;
  return absl::OkStatus();
}

absl::Status JournalApplier::RemoveWatch(Resident& process, Pid other,
                                         uint64_t tag) {
  std::erase(process.runtime().watches, records::Watch{other, tag});
  process.changed = true;
  batch_.Erase(KeyOf(KeyKind::kExit, process.pid, other, tag));
  if (!IsHomePid(other)) return absl::OkStatus();
  const absl::StatusOr<Resident*> found = residents_.Find(other);
  if (!found.ok()) return found.status();
  if (*found == nullptr) return absl::OkStatus();
  const records::Watch back{process.pid, tag};
  auto& image = (*found)->runtime();
  std::erase(tag == 0 ? image.watches : image.watchers, back);
  (*found)->changed = true;
  return absl::OkStatus();
}

}  // namespace actord::runtime
