// Reads of the state store while it is open, and the names of owners.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/durable/opened_store.h"
#include "runtime/process/errors.h"
#include "runtime/records/record_codec.h"
#include "runtime/store/state_keys.h"

namespace actord::runtime {
namespace {

// Number of processes whose images and mailboxes are read with one scan each.
constexpr size_t kReadTogether = 1024;
// Maximum number of bodies that are read in one pass over the journal.
constexpr size_t kBodiesTogether = 65'536;

absl::Status TakeImage(std::string_view value, StoredProcess& process) {
  ImageEntry entry;
  absl::Status status = DecodeFields(value, entry);
  if (!status.ok()) return absl::DataLossError(status.message());
  process.image = std::move(entry.image);
  return absl::OkStatus();
}

// A message or an event of a history whose body is in the journal.
struct Missing {
  Mail* mail = nullptr;
  uint64_t position = 0;
};

void AddMissing(StoredProcess& process, std::vector<Missing>& missing) {
  for (StoredProcess::Event& event : process.mailbox) {
    if (!event.mail.body) missing.push_back({&event.mail, event.position});
  }
  for (StepOfHistory& step : process.history) {
    for (Consumed& one : step.consumed) {
      if (!one.mail.body) missing.push_back({&one.mail, one.position});
    }
  }
}

template <typename T>
std::optional<T> ValueAt(StateStore& state, const std::string& key) {
  const absl::StatusOr<std::optional<std::string>> bytes = state.Get(key);
  std::optional<T> value(std::in_place);
  if (!bytes.ok() || !bytes->has_value() ||
      !DecodeFields(**bytes, *value).ok()) {
    return std::nullopt;
  }
  return value;
}

std::optional<StoredAnswer> AnswerIn(StateStore& state, const RequestId& call) {
  const auto entry = ValueAt<RequestEntry>(
      state, KeyOf(KeyKind::kRequest, call.owner, kCallId, call.id));
  if (!entry || entry->is_open || entry->fingerprint != call.fingerprint) {
    return std::nullopt;
  }
  auto answer = ValueAt<CallAnswer>(state, KeyOf(KeyKind::kAnswer, entry->lsn));
  if (!answer) return std::nullopt;
  return StoredAnswer{entry->pid, *std::move(answer)};
}

// Null: the store is closed.
absl::StatusOr<std::optional<OutcomeEntry>> OutcomeIn(StateStore* state,
                                                      const Pid& pid) {
  if (state == nullptr) {
    return Retryable(absl::StatusCode::kUnavailable, reason::kStopped,
                     absl::StrCat("the outcome of process ", FormatPid(pid),
                                  " cannot be read from the store, because the "
                                  "daemon ends"),
                     absl::Seconds(1));
  }
  const absl::StatusOr<std::optional<std::string>> bytes =
      state->Get(KeyOf(KeyKind::kOutcome, pid));
  absl::Status status = bytes.status();
  if (status.ok()) {
    if (!bytes->has_value()) return std::optional<OutcomeEntry>();
    std::optional<OutcomeEntry> entry(std::in_place);
    status = DecodeFields(**bytes, *entry);
    if (status.ok()) return entry;
  }
  return absl::DataLossError(
      absl::StrCat("the outcome of process ", FormatPid(pid),
                   " cannot be read from the store: ", status.message()));
}

}  // namespace

absl::Status OpenedStore::ReadRest(WantsState wants_state,
                                   std::vector<StoredProcess>& processes) {
  absl::Status status = ScanBeside(
      KeyKind::kMail, processes,
      [](StoredProcess& process, std::string_view key, std::string_view value) {
        StoredProcess::Event& event = process.mailbox.emplace_back();
        event.position = NumberIn(key, kKeyKindBytes + kKeyPidBytes);
        const absl::Status decoded = DecodeFields(value, event.mail);
        return decoded.ok() ? decoded : absl::DataLossError(decoded.message());
      });
  for (StoredProcess& process : processes) {
    if (!status.ok()) return status;
    if (!process.entry.runtime.watches.empty()) status = ReadExits(process);
    if (!status.ok()) return status;
    process.has_state = wants_state(process);
    if (process.has_state &&
        process.entry.durability == records::Durability::kReplay) {
      status = ReadHistory(process);
    }
  }
  if (!status.ok() ||
      std::ranges::none_of(processes, &StoredProcess::has_state)) {
    return status;
  }
  return ScanBeside(KeyKind::kImage, processes,
                    [](StoredProcess& process, std::string_view /*key*/,
                       std::string_view value) {
                      return process.has_state ? TakeImage(value, process)
                                               : absl::OkStatus();
                    });
}

absl::Status OpenedStore::ReadBodies(std::span<StoredProcess> processes,
                                     JournalSource& source,
                                     BufferCache& buffers) {
  std::vector<Missing> missing;
  for (StoredProcess& process : processes) AddMissing(process, missing);
  // In the order of the journal, so that each of its groups is read once.
  std::ranges::sort(missing, [](const Missing& a, const Missing& b) {
    return a.mail->lsn != b.mail->lsn ? a.mail->lsn < b.mail->lsn
                                      : a.position < b.position;
  });
  for (const Missing& one : missing) {
    absl::StatusOr<StoredBody> body =
        BodyOf(*one.mail, one.position, source, buffers);
    if (!body.ok()) return body.status();
    one.mail->body = *std::move(body);
  }
  return absl::OkStatus();
}

absl::Status OpenedStore::ReadWholeHistory(StoredProcess& process) {
  for (;;) {
    // A round moves bodies into the state store before it gives up their place
    // in the journal. A body that is in neither was moved behind the first
    // read, and the next attempt finds it in the state store. (No lock: a trim
    // syncs, and the sender of a message must not wait for that.)
    const uint64_t first = journal_->FirstLsn();
    process.history.clear();
    absl::Status status = ReadHistory(process);
    std::vector<Missing> missing;
    AddMissing(process, missing);
    if (!status.ok() || missing.empty()) return status;
    {
      const MutexLock lock(bodies_mutex_);
      if (!bodies_) bodies_.emplace(*journal_);
      BufferPool pool;
      BufferCache buffers(pool);
      status = ReadBodies({&process, 1}, *bodies_, buffers);
      if (!status.ok()) bodies_.reset();
    }
    // Each attempt but the last one meets a trim.
    if (status.ok() || journal_->FirstLsn() == first) return status;
  }
}

absl::Status OpenedStore::ForEachProcess(
    WantsState wants_state,
    absl::FunctionRef<absl::Status(StoredProcess&&)> use) {
  pass_.emplace(*journal_);
  const absl::Cleanup end_pass = [this] { pass_.reset(); };
  std::vector<StoredProcess> together;
  // Processes whose bodies are in the journal, and the number of these bodies.
  std::vector<StoredProcess> waiting;
  size_t bodies = 0;
  const auto use_waiting = [&] {
    absl::Status status = ReadBodies(waiting, pass_->source, buffers_);
    for (StoredProcess& process : waiting) {
      if (status.ok()) status = use(std::move(process));
    }
    waiting.clear();
    bodies = 0;
    return status;
  };
  const auto read_all = [&] {
    if (together.empty()) return absl::OkStatus();
    absl::Status status = ReadRest(wants_state, together);
    for (StoredProcess& process : together) {
      if (!status.ok()) break;
      std::vector<Missing> missing;
      AddMissing(process, missing);
      if (missing.empty()) {
        status = use(std::move(process));
      } else {
        bodies += missing.size();
        waiting.push_back(std::move(process));
        if (bodies >= kBodiesTogether) status = use_waiting();
      }
    }
    together.clear();
    return status;
  };
  absl::Status failed;
  const std::string prefix = KeyOf(KeyKind::kProcess);
  absl::Status status = state_->Scan(
      prefix, BehindPrefix(prefix),
      [&](std::string_view key, std::string_view value) {
        StoredProcess& process = together.emplace_back();
        process.pid = PidIn(key, kKeyKindBytes);
        const absl::Status decoded = DecodeFields(value, process.entry);
        if (!decoded.ok()) failed = absl::DataLossError(decoded.message());
        if (failed.ok() && together.size() == kReadTogether) {
          failed = read_all();
        }
        return failed.ok();
      });
  status.Update(failed);
  if (status.ok()) status = read_all();
  return status.ok() ? use_waiting() : status;
}

absl::StatusOr<StoredProcess> OpenedStore::ReadProcess(const Pid& pid,
                                                       WantsState wants_state) {
  auto value = state_->Get(KeyOf(KeyKind::kProcess, pid));
  if (!value.ok()) return value.status();
  if (!*value) {
    return absl::NotFoundError(
        absl::StrCat("the store has no process ", FormatPid(pid)));
  }
  StoredProcess process;
  process.pid = pid;
  absl::Status status = DecodeFields(**value, process.entry);
  if (!status.ok()) return absl::DataLossError(status.message());
  process.has_state = wants_state(process);
  if (!process.has_state) return process;
  value = state_->Get(KeyOf(KeyKind::kImage, pid));
  if (!value.ok()) return value.status();
  if (*value) status = TakeImage(**value, process);
  if (status.ok() && process.entry.durability == records::Durability::kReplay) {
    status = ReadWholeHistory(process);
  }
  if (!status.ok()) return status;
  return process;
}

void OpenedStore::AskForRead() {
  const MutexLock lock(mutex_);
  is_read_ = true;
  wake_.notify_all();
}

void OpenedStore::AskForReadSoon() {
  const MutexLock lock(mutex_);
  // A second one must not cut the pause short in which others may come.
  if (!std::exchange(is_read_soon_, true)) wake_.notify_all();
}

absl::Status OpenedStore::ReadState(StateReads::Use use) {
  if (options_.journal.threads) {
    return reads_.Read(journal_->DurableLsn(), use);
  }
  absl::Status status = CatchUp();
  return status.ok() ? use(*state_, applier_->applied()) : status;
}

void OpenedStore::ReadAnswerLater(
    const RequestId& call,
    absl::AnyInvocable<void(std::optional<StoredAnswer>) &&> use) {
  StateReads::Later read = [call,
                            use = std::move(use)](StateStore* state) mutable {
    std::move(use)(state == nullptr ? std::nullopt : AnswerIn(*state, call));
  };
  ReadLater(std::move(read));
}

void OpenedStore::ReadOutcomeLater(
    const Pid& pid,
    absl::AnyInvocable<void(absl::StatusOr<std::optional<OutcomeEntry>>) &&>
        use) {
  ReadLater([pid, use = std::move(use)](StateStore* state) mutable {
    std::move(use)(OutcomeIn(state, pid));
  });
}

void OpenedStore::ReadLater(StateReads::Later read) {
  if (options_.journal.threads) {
    return reads_.ReadLater(journal_->DurableLsn(), std::move(read));
  }
  std::move(read)(CatchUp().ok() ? state_.get() : nullptr);
}

absl::Status OpenedStore::ForEachOwner(
    absl::FunctionRef<void(Owner, std::string_view name)> use) {
  const std::string prefix = KeyOf(KeyKind::kOwner);
  return state_->Scan(prefix, BehindPrefix(prefix),
                      [&](std::string_view key, std::string_view name) {
                        use(OwnerIn(key), name);
                        return true;
                      });
}

absl::Status OpenedStore::ForEachPlugin(
    absl::FunctionRef<void(records::Plugin&&)> use) {
  const std::string prefix = KeyOf(KeyKind::kPlugin);
  absl::Status damage;
  absl::Status status =
      state_->Scan(prefix, BehindPrefix(prefix),
                   [&](std::string_view /*key*/, std::string_view value) {
                     records::Plugin plugin;
                     damage.Update(DecodeFields(value, plugin));
                     if (damage.ok()) use(std::move(plugin));
                     return damage.ok();
                   });
  return damage.ok() ? status
                     : absl::DataLossError(absl::StrCat(
                           "the entry of a plugin: ", damage.message()));
}

std::string OpenedStore::TextOfPlugin(records::PluginNumber number) {
  const auto value = state_->Get(KeyOf(KeyKind::kPlugin, number));
  records::Plugin plugin;
  if (!value.ok() || !*value || !DecodeFields(**value, plugin).ok()) return {};
  return absl::StrCat(plugin.name, " ", plugin.version);
}

template <typename OneRecord>
absl::Status OpenedStore::Append(const OneRecord& record) {
  std::string payload;
  records::Encode(record, payload);
  return journal_
      ->Append({static_cast<uint16_t>(OneRecord::kKind),
                records::FlagsOf(OneRecord::kKind), payload})
      .status();
}

absl::Status OpenedStore::KeepOwner(Owner owner, const std::string& name) {
  return Append(records::OwnerName{.owner = owner, .name = name});
}

absl::Status OpenedStore::KeepPlugin(const records::Plugin& plugin) {
  return Append(plugin);
}

}  // namespace actord::runtime
