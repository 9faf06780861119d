#include "runtime/durable/opened_store.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/records/record_codec.h"
#include "runtime/store/record_bodies.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/store/state_keys.h"

namespace actord::runtime {
namespace {

// How often the state store catches up with the journal.
constexpr auto kCatchUpPause = std::chrono::milliseconds(500);
// How often a TIME is written while there is work.
constexpr uint64_t kTimePause = 1'000'000'000;

// Processes whose images and mailboxes are read with one scan each.
constexpr size_t kReadTogether = 1024;

// What the keys of a process have behind their kind.
std::string KeyOfPid(const Pid& pid) {
  std::string key;
  keys::Append(pid, key);
  return key;
}

template <typename T>
absl::StatusOr<T> Decoded(std::string_view bytes) {
  T value;
  absl::Status status = DecodeFields(bytes, value);
  if (!status.ok()) return absl::DataLossError(status.message());
  return value;
}

}  // namespace

OpenedStore::OpenedStore(Options options)
    : options_(std::move(options)),
      releases_([this](const absl::Status& status) { Fail(status); }),
      buffers_(pool_) {}

OpenedStore::~OpenedStore() { Close(); }

absl::StatusOr<std::unique_ptr<OpenedStore>> OpenedStore::Open(
    Options options) {
  options.journal.knows = records::Knows;
  std::unique_ptr<OpenedStore> store(new OpenedStore(std::move(options)));
  absl::Status status = store->Start();
  if (!status.ok()) return status;
  return store;
}

absl::Status OpenedStore::Start() {
  auto journal = Journal::Open(options_.journal, releases_);
  if (!journal.ok()) return journal.status();
  journal_ = *std::move(journal);
  releases_.OnWait([this](uint64_t position) { journal_->Want(position); });
  if (options_.open_state) {
    auto state = options_.open_state();
    if (!state.ok()) return state.status();
    state_ = *std::move(state);
  } else {
    auto state = RocksStateStore::Open(
        {.directory = options_.journal.directory + "/state"});
    if (!state.ok()) return state.status();
    state_ = *std::move(state);
  }
  source_ = std::make_unique<JournalSource>(*journal_);
  auto applier = JournalApplier::Open(*state_, *source_, options_.applier);
  if (!applier.ok()) return applier.status();
  applier_ = *std::move(applier);
  rounds_ = std::make_unique<StoreRounds>(*journal_, *applier_);
  const uint64_t before = applier_->applied();
  absl::Status status = rounds_->CatchUp();
  // A daemon that is started often ends its rounds here.
  if (status.ok() &&
      applier_->applied() - before >= options_.round_bytes / 16) {
    status = rounds_->EndRound();
  }
  if (!status.ok()) return status;
  const Clock& clock = *options_.journal.clock;
  opened_monotonic_ns_ = clock.MonotonicNs();
  opened_at_ns_ = applier_->StoreNsAt(clock.UnixNs());
  status = WriteTime();
  if (!status.ok()) return status;
  releases_.Durable(journal_->DurableLsn());
  if (options_.journal.threads) {
    releases_.Start();
    rounds_thread_ = SystemThread([this] { RunRounds(); });
  }
  return absl::OkStatus();
}

void OpenedStore::Close() {
  if (journal_ == nullptr) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (rounds_thread_.joinable()) rounds_thread_.join();
  journal_->Close();
  releases_.Stop();
}

void OpenedStore::Fail(const absl::Status& status) {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(failed_, true)) return;
  }
  if (options_.failed) options_.failed(status);
}

absl::StatusOr<StoredBody> OpenedStore::BodyOf(const Mail& mail,
                                               uint64_t position) {
  if (mail.body.has_value()) return *mail.body;
  const absl::StatusOr<SourceRecord> source = source_->At(mail.lsn);
  if (!source.ok()) return source.status();
  std::optional<records::Any> record;
  absl::Status status =
      records::Decode(source->kind, source->flags, source->payload, record);
  if (!status.ok()) return absl::DataLossError(status.message());
  if (!record.has_value()) return absl::DataLossError("journal: no such body");
  return BodyIn(*record, position - mail.lsn, buffers_);
}

absl::Status OpenedStore::ScanBeside(
    KeyKind kind, std::vector<StoredProcess>& processes,
    absl::FunctionRef<absl::Status(StoredProcess&, std::string_view key,
                                   std::string_view value)>
        use) {
  auto process = processes.begin();
  std::string at = KeyOfPid(process->pid);
  absl::Status failed;
  absl::Status status = state_->Scan(
      KeyOf(kind, processes.front().pid),
      BehindPrefix(KeyOf(kind, processes.back().pid)),
      [&](std::string_view key, std::string_view value) {
        const std::string_view pid = key.substr(kKeyKindBytes, kKeyPidBytes);
        while (at < pid) {
          if (++process == processes.end()) return false;
          at = KeyOfPid(process->pid);
        }
        if (at == pid) failed.Update(use(*process, key, value));
        return failed.ok();
      });
  status.Update(failed);
  return status;
}

absl::Status OpenedStore::ReadExits(StoredProcess& process) {
  const std::string prefix = KeyOf(KeyKind::kExit, process.pid);
  absl::Status failed;
  absl::Status status = state_->Scan(
      prefix, BehindPrefix(prefix),
      [&](std::string_view key, std::string_view value) {
        absl::StatusOr<ExitEntry> entry = Decoded<ExitEntry>(value);
        failed.Update(entry.status());
        if (!failed.ok()) return false;
        constexpr size_t kOf = kKeyKindBytes + kKeyPidBytes;
        process.exits.push_back({PidIn(key, kOf),
                                 NumberIn(key, kOf + kKeyPidBytes),
                                 *std::move(entry)});
        return true;
      });
  std::sort(process.exits.begin(), process.exits.end(),
            [](const StoredProcess::Exit& a, const StoredProcess::Exit& b) {
              return a.entry.lsn < b.entry.lsn;
            });
  status.Update(failed);
  return status;
}

absl::Status OpenedStore::ReadRest(std::vector<StoredProcess>& processes) {
  absl::Status status = ScanBeside(
      KeyKind::kImage, processes,
      [](StoredProcess& process, std::string_view, std::string_view value) {
        absl::StatusOr<ImageEntry> image = Decoded<ImageEntry>(value);
        if (image.ok()) process.image = std::move(image->image);
        return image.status();
      });
  if (!status.ok()) return status;
  return ScanBeside(KeyKind::kMail, processes,
                    [this](StoredProcess& process, std::string_view key,
                           std::string_view value) {
                      absl::StatusOr<Mail> mail = Decoded<Mail>(value);
                      if (!mail.ok()) return mail.status();
                      const uint64_t position =
                          NumberIn(key, kKeyKindBytes + kKeyPidBytes);
                      absl::StatusOr<StoredBody> body = BodyOf(*mail, position);
                      if (!body.ok()) return body.status();
                      mail->body = *std::move(body);
                      process.mailbox.push_back({position, *std::move(mail)});
                      return absl::OkStatus();
                    });
}

absl::Status OpenedStore::ReadHistory(StoredProcess& process) {
  const std::string prefix = KeyOf(KeyKind::kHistory, process.pid);
  absl::Status failed;
  absl::Status status = state_->Scan(
      prefix, BehindPrefix(prefix),
      [&](std::string_view /*key*/, std::string_view value) {
        absl::StatusOr<HistoryEntry> entry = Decoded<HistoryEntry>(value);
        failed.Update(entry.status());
        if (!failed.ok()) return false;
        StepOfHistory& step = process.history.emplace_back();
        absl::StatusOr<records::Step> decoded =
            Decoded<records::Step>(entry->step);
        failed.Update(decoded.status());
        if (!failed.ok()) return false;
        step.step = *std::move(decoded);
        step.consumed = std::move(entry->consumed);
        for (Consumed& one : step.consumed) {
          absl::StatusOr<StoredBody> body = BodyOf(one.mail, one.position);
          failed.Update(body.status());
          if (!failed.ok()) return false;
          one.mail.body = *std::move(body);
        }
        return true;
      });
  status.Update(failed);
  return status;
}

absl::Status OpenedStore::ForEachProcess(
    absl::FunctionRef<absl::Status(StoredProcess&&)> use) {
  const std::string prefix = KeyOf(KeyKind::kProcess);
  std::vector<StoredProcess> together;
  const auto use_all = [&] {
    if (together.empty()) return absl::OkStatus();
    absl::Status status = ReadRest(together);
    for (StoredProcess& process : together) {
      if (status.ok() &&
          process.entry.durability == records::Durability::kReplay) {
        status = ReadHistory(process);
      }
      if (status.ok() && !process.entry.runtime.watches.empty()) {
        status = ReadExits(process);
      }
      if (status.ok()) status = use(std::move(process));
    }
    together.clear();
    return status;
  };
  absl::Status failed;
  absl::Status status = state_->Scan(
      prefix, BehindPrefix(prefix),
      [&](std::string_view key, std::string_view value) {
        absl::StatusOr<ProcessEntry> entry = Decoded<ProcessEntry>(value);
        failed.Update(entry.status());
        if (!failed.ok()) return false;
        StoredProcess& process = together.emplace_back();
        process.pid = PidIn(key, kKeyKindBytes);
        process.entry = *std::move(entry);
        if (together.size() == kReadTogether) failed.Update(use_all());
        return failed.ok();
      });
  status.Update(failed);
  if (status.ok()) status = use_all();
  return status;
}

absl::Status OpenedStore::ForEachOutcome(
    absl::FunctionRef<void(const Pid&, OutcomeEntry&&)> use) {
  const std::string prefix = KeyOf(KeyKind::kOutcome);
  absl::Status failed;
  absl::Status status = state_->Scan(
      prefix, BehindPrefix(prefix),
      [&](std::string_view key, std::string_view value) {
        absl::StatusOr<OutcomeEntry> entry = Decoded<OutcomeEntry>(value);
        failed.Update(entry.status());
        if (failed.ok()) use(PidIn(key, kKeyKindBytes), *std::move(entry));
        return failed.ok();
      });
  status.Update(failed);
  return status;
}

absl::Status OpenedStore::ForEachRequest(
    absl::FunctionRef<void(StoredRequest&&)> use) {
  const std::string prefix = KeyOf(KeyKind::kRequest);
  absl::Status failed;
  absl::Status status = state_->Scan(
      prefix, BehindPrefix(prefix),
      [&](std::string_view key, std::string_view value) {
        absl::StatusOr<RequestEntry> entry = Decoded<RequestEntry>(value);
        failed.Update(entry.status());
        if (!failed.ok()) return false;
        if (entry->expires_ns > opened_at_ns_) {
          use({.is_submit = IdKindIn(key) == kSubmitId,
               .owner = OwnerIn(key),
               .id = std::string(IdIn(key)),
               .entry = *std::move(entry)});
        }
        return true;
      });
  status.Update(failed);
  return status;
}

RequestIdBounds OpenedStore::request_id_bounds() const {
  return {.ttl_ns = options_.applier.request_id_ttl_ns,
          .max = options_.applier.request_id_max};
}

SipKey OpenedStore::fingerprint_key() const {
  // Not the id itself, which is the key of the chain of groups.
  const StoreId id = journal_->id();
  const SipKey key{id.high, id.low};
  return {SipHash(key, {{1}}), SipHash(key, {{2}})};
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

absl::Status OpenedStore::KeepOwner(Owner owner, const std::string& name) {
  std::string payload;
  records::Encode(records::OwnerName{.owner = owner, .name = name}, payload);
  return journal_
      ->Append({static_cast<uint16_t>(records::Kind::kOwner),
                records::FlagsOf(records::Kind::kOwner), payload})
      .status();
}

bool OpenedStore::Work() {
  bool did = false;
  while (journal_->Work()) did = true;
  while (releases_.Run()) did = true;
  return did;
}

absl::Status OpenedStore::WriteTime() {
  std::string payload;
  records::Encode(records::Time{.unix_ns = options_.journal.clock->UnixNs(),
                                .store_ns = NowNs()},
                  payload);
  return journal_
      ->Append({static_cast<uint16_t>(records::Kind::kTime),
                records::FlagsOf(records::Kind::kTime), payload})
      .status();
}

void OpenedStore::RunRounds() {
  pthread_setname_np(pthread_self(), "store");
  const Clock& clock = *options_.journal.clock;
  uint64_t round_lsn = applier_->applied();
  uint64_t round_ns = clock.MonotonicNs();
  uint64_t time_ns = round_ns;
  uint64_t time_end = journal_->Tail();
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (!stopping_) wake_.wait_for(mutex_, kCatchUpPause);
      if (stopping_) return;
    }
    absl::Status status = rounds_->CatchUp();
    // Only with work: a store that rests writes nothing.
    if (status.ok() && clock.MonotonicNs() - time_ns >= kTimePause &&
        applier_->applied() > time_end) {
      status = WriteTime();
      time_ns = clock.MonotonicNs();
      time_end = journal_->Tail();
    }
    const uint64_t bytes = applier_->applied() - round_lsn;
    const uint64_t now_ns = clock.MonotonicNs();
    if (status.ok() &&
        (bytes >= options_.round_bytes ||
         (bytes != 0 && now_ns - round_ns >= options_.round_ns))) {
      status = rounds_->EndRound();
      round_lsn = applier_->applied();
      round_ns = now_ns;
    }
    if (!status.ok()) return Fail(status);
  }
}

}  // namespace actord::runtime
