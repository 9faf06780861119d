// How processes, and lives of processes, begin and end.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/store/journal_applier.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

absl::Status JournalApplier::Take(const records::Submitted& record) {
  const absl::StatusOr<Resident*> before = residents_.Find(record.pid);
  if (!before.ok()) return before.status();
  if (*before != nullptr) return Contradiction("the process lives already");
  Resident& process = residents_.Add(record.pid);
  process.changed = true;
  ProcessEntry& entry = process.entry;
  entry.process_type = record.process_type;
  entry.method = record.method;
  entry.durability = record.durability;
  entry.input = record.input;
  entry.yield = record.yield;
  records::RuntimeImage& image = entry.runtime;
  image.owner = record.owner;
  image.priority = record.priority;
  image.keep_result = record.keep_result;
  image.parent = record.parent;
  image.started_unix_ns = record.unix_ns;
  image.labels = record.labels;
  meta_.store_ns = std::max(meta_.store_ns, record.at_ns);
  if (!record.name.empty()) {
    absl::Status status = Hold(process, record.name);
    if (!status.ok()) return status;
  }
  entry.request = record.request;
  KeepRequest(kSubmitId, record.owner, record.request, record.pid,
              /*is_submitted=*/true);
  for (size_t i = 0; i < record.messages.size(); ++i) {
    Mail mail;
    mail.lsn = lsn_;
    mail.from = record.messages[i].from;
    absl::Status status = Deliver(record.pid, lsn_ + i, std::move(mail));
    if (!status.ok()) return status;
  }
  if (record.monitor == 0 && !record.link) return absl::OkStatus();
  const absl::StatusOr<Resident*> parent = residents_.Find(record.parent);
  if (!parent.ok() || *parent == nullptr) return parent.status();
  if (record.link) {
    absl::Status status = AddWatch(**parent, record.pid, 0);
    if (!status.ok()) return status;
  }
  return record.monitor == 0 ? absl::OkStatus()
                             : AddWatch(**parent, record.pid, record.monitor);
}

absl::Status JournalApplier::CompleteSpawn(Resident& process, int32_t status,
                                           std::string_view text) {
  const uint64_t tag = std::exchange(process.entry.yield, 0);
  if (tag == 0 || !IsHomePid(process.runtime().parent)) return absl::OkStatus();
  const absl::StatusOr<Resident*> parent =
      residents_.Find(process.runtime().parent);
  if (!parent.ok() || *parent == nullptr) return parent.status();
  // The parent may have seen the end of the yield already.
  records::YieldImage* const yield = FindYield(**parent, tag);
  if (yield == nullptr) return absl::OkStatus();
  yield->answer = lsn_;
  (*parent)->changed = true;
  Mail mail;
  mail.kind = MailKind::kCompletion;
  mail.lsn = lsn_;
  mail.from = process.pid;
  mail.tag = tag;
  mail.status = status;
  mail.body.emplace();
  mail.body->payload = {std::string(text), "text/plain"};
  return Deliver((*parent)->pid, lsn_, std::move(mail));
}

absl::Status JournalApplier::Take(const records::Started& record) {
  const absl::StatusOr<Resident*> found = Living(record.pid);
  if (!found.ok()) return found.status();
  Resident& process = **found;
  if (process.entry.started) return Contradiction("Init has returned before");
  process.entry.started = true;
  process.entry.request = {};
  process.entry.durability = record.durability;
  process.entry.init = record.record;
  process.entry.plugin = record.plugin;
  process.runtime().turn = record.turn;
  process.runtime().traps_exits = record.traps_exits;
  process.changed = true;
  SetLifetime(process, record.lifetime_ns);
  SetImage(process, record.image);
  return CompleteSpawn(process, ACTORD_OK, FormatPid(process.pid));
}

absl::Status JournalApplier::DropCompletions(Resident& process) {
  std::vector<uint64_t> dropped;
  if (process.may_have_stored_mail) {
    absl::Status status;
    absl::Status scanned = batch_.Scan(
        KeyOf(KeyKind::kMail, process.pid),
        [&](std::string_view key, std::string_view value) {
          Mail mail;
          status = DecodeFields(value, mail);
          if (mail.kind == MailKind::kCompletion) {
            dropped.push_back(NumberIn(key, kKeyKindBytes + kKeyPidBytes));
          }
          return status.ok();
        });
    if (!scanned.ok()) return scanned;
    if (!status.ok()) return StateBatch::Damaged(status);
  }
  process.new_mail.ForEach([&](const NewMail::Entry& entry) {
    if (entry.mail.kind == MailKind::kCompletion) {
      dropped.push_back(entry.position);
    }
  });
  for (const uint64_t position : dropped) {
    const absl::StatusOr<std::optional<Mail>> mail =
        TakeMail(process, position);
    if (!mail.ok()) return mail.status();
  }
  return absl::OkStatus();
}

absl::Status JournalApplier::Take(const records::Ended& record) {
  const absl::StatusOr<Resident*> found = Living(record.pid);
  if (!found.ok()) return found.status();
  return EndProcess(**found, record.end, record.consumed);
}

absl::Status JournalApplier::Take(const records::Upgraded& record) {
  const absl::StatusOr<Resident*> found = Living(record.pid);
  if (!found.ok()) return found.status();
  Resident& process = **found;
  if (process.entry.plugin != record.from) {
    return Contradiction("the process has another plugin");
  }
  process.entry.plugin = record.to;
  process.runtime().traps_exits = record.traps_exits;
  process.changed = true;
  SetImage(process, record.image);
  return record.image.has_value() ? EndHistory(process) : absl::OkStatus();
}

absl::Status JournalApplier::EmptyMailbox(Resident& process,
                                          const Positions& consumed) {
  const auto is_consumed = [&](uint64_t position) {
    return std::any_of(
        consumed.list.begin(), consumed.list.end(),
        [&](const Position& one) { return one.lsn == position; });
  };
  std::vector<NewMail::Entry> left;
  if (process.may_have_stored_mail) {
    absl::Status status;
    absl::Status scanned =
        batch_.Scan(KeyOf(KeyKind::kMail, process.pid),
                    [&](std::string_view key, std::string_view value) {
                      auto& [position, mail] = left.emplace_back();
                      position = NumberIn(key, kKeyKindBytes + kKeyPidBytes);
                      status = DecodeFields(value, mail);
                      return status.ok();
                    });
    if (!scanned.ok()) return scanned;
    if (!status.ok()) return StateBatch::Damaged(status);
    for (const auto& [position, mail] : left) {
      if (!mail.body.has_value()) ForgetBody(position);
      batch_.Erase(KeyOf(KeyKind::kMail, process.pid, position));
    }
  }
  std::ranges::move(process.new_mail.TakeAll(), std::back_inserter(left));
  for (auto& [position, mail] : left) {
    absl::Status status;
    if (mail.kind == MailKind::kCall) {
      status = FailCall(mail.from, mail.tag, position);
    } else if (mail.kind == MailKind::kMessage && !is_consumed(position)) {
      status = AddLetter(process.pid, position, std::move(mail),
                         records::DropReason::kDroppedAtEnd, process.owner());
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status JournalApplier::EndHistory(const Resident& process) {
  if (process.entry.durability != records::Durability::kReplay) {
    return absl::OkStatus();
  }
  std::vector<std::string> steps;
  std::vector<uint64_t> bodies;
  absl::Status status;
  absl::Status scanned =
      batch_.Scan(KeyOf(KeyKind::kHistory, process.pid),
                  [&](std::string_view key, std::string_view value) {
                    steps.emplace_back(key);
                    HistoryEntry entry;
                    status = DecodeFields(value, entry);
                    for (const Consumed& one : entry.consumed) {
                      if (!one.mail.body.has_value()) {
                        bodies.push_back(one.position);
                      }
                    }
                    return status.ok();
                  });
  if (!scanned.ok()) return scanned;
  if (!status.ok()) return StateBatch::Damaged(status);
  for (std::string& key : steps) batch_.Erase(std::move(key));
  for (const uint64_t position : bodies) ForgetBody(position);
  return absl::OkStatus();
}

absl::Status JournalApplier::EndWatches(const Resident& process,
                                        const records::End& end) {
  const records::RuntimeImage& image = process.entry.runtime;
  const auto tell = [&](const Pid& watcher, uint64_t tag) {
    ExitEntry exit;
    exit.lsn = lsn_;
    exit.end = end;
    // The result is in the outcome, and a link does not need it.
    if (tag == 0) exit.end.result = {};
    batch_.Put(KeyOf(KeyKind::kExit, watcher, process.pid, tag), ValueOf(exit));
  };
  for (const records::Watch& watcher : image.watchers) {
    tell(watcher.other, watcher.tag);
  }
  for (const records::Watch& watch : image.watches) {
    if (!IsHomePid(watch.other)) continue;
    const absl::StatusOr<Resident*> found = residents_.Find(watch.other);
    if (!found.ok()) return found.status();
    if (*found == nullptr) continue;
    if (watch.tag == 0) {
      if (end.reason != records::EndReason::kResult ||
          (*found)->runtime().traps_exits) {
        tell(watch.other, 0);
        continue;
      }
      // A link to a process that does not trap exits passes only failures.
      std::erase((*found)->runtime().watches, records::Watch{process.pid, 0});
      (*found)->changed = true;
    } else {
      std::erase((*found)->runtime().watchers,
                 records::Watch{process.pid, watch.tag});
      (*found)->changed = true;
    }
  }
  // An exit that was not delivered belongs to a watch.
  if (image.watches.empty()) return absl::OkStatus();
  std::vector<std::string> untold;
  absl::Status status =
      batch_.Scan(KeyOf(KeyKind::kExit, process.pid),
                  [&](std::string_view key, std::string_view /*value*/) {
                    untold.emplace_back(key);
                    return true;
                  });
  for (std::string& key : untold) batch_.Erase(std::move(key));
  return status;
}

absl::Status JournalApplier::EndProcess(Resident& process,
                                        const records::End& end,
                                        const Positions& consumed) {
  const Pid pid = process.pid;
  records::RuntimeImage& image = process.runtime();
  meta_.store_ns = std::max(meta_.store_ns, end.at_ns);
  absl::Status status = CompleteSpawn(process, end.code, end.message);
  if (!status.ok()) return status;
  // The submitter is told of a failure.
  status = ForgetRequest(
      kSubmitId, image.owner, process.entry.request.id,
      [&pid](const RequestEntry& entry) { return entry.pid == pid; });
  if (!status.ok()) return status;
  std::string first_name =
      image.names.empty() ? std::string() : image.names.front();
  while (!image.names.empty()) {
    const std::string name = image.names.back();
    status = Release(process, name);
    if (!status.ok()) return status;
  }
  for (const std::string& group : image.groups) {
    batch_.Erase(KeyOf(KeyKind::kGroup, image.owner, group,
                       std::string_view("\0", 1), pid));
  }
  while (!image.yields.empty()) RemoveYield(process, image.yields.back().tag);
  SetLifetime(process, 0);
  for (const records::OwedCall& owed : image.owed_calls) {
    status = FailCall(owed.caller, owed.tag, owed.call);
    if (!status.ok()) return status;
  }
  status = DropUnseen(process, consumed);
  if (status.ok()) status = EmptyMailbox(process, consumed);
  if (!status.ok()) return status;
  status = EndHistory(process);
  if (!status.ok()) return status;
  status = EndWatches(process, end);
  if (!status.ok()) return status;
  if (image.keep_result) {
    OutcomeEntry outcome;
    outcome.end = end;
    outcome.steps = image.turn.step;
    outcome.started_unix_ns = image.started_unix_ns;
    outcome.owner = image.owner;
    outcome.process_type = process.entry.process_type;
    outcome.name = std::move(first_name);
    outcome.labels = image.labels;
    outcome.expires_ns = end.at_ns + options_.result_ttl_ns;
    std::string key = KeyOf(KeyKind::kOutcome, pid);
    batch_.PutNew(KeyOf(KeyKind::kExpiry, outcome.expires_ns, key), "");
    batch_.Put(std::move(key), ValueOf(outcome));
  }
  residents_.Remove(pid);
  return absl::OkStatus();
}

}  // namespace actord::runtime
