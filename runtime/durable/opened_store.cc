#include "runtime/durable/opened_store.h"

#include <algorithm>
#include <utility>

#include "runtime/records/record_codec.h"
#include "runtime/store/record_bodies.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/store/state_keys.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

// The share of the reserve that is kept from segments. The state store needs it
// to make room.
constexpr uint64_t kReserveShareOfState = 2;
constexpr uint64_t kMaxReserveBytes = uint64_t{512} << 20;
// Minimum size of one memory table of the state store.
constexpr uint64_t kMinBufferBytes = 1 << 20;
constexpr uint64_t kMaxBufferBytes = 64 << 20;

std::string ParentOf(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The part of a process's keys after the kind.
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
      reads_(StateReads::Ask{.now = [this] { AskForRead(); },
                             .soon = [this] { AskForReadSoon(); }}),
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

absl::Status OpenedStore::OpenState() {
  absl::StatusOr<std::unique_ptr<StateStore>> state;
  if (options_.open_state) {
    state = options_.open_state();
  } else {
    // Removes the leftovers of a backup that a crash has interrupted.
    const std::string& directory = options_.journal.directory;
    absl::Status removed = StoreBackup::RemoveLeftovers(directory);
    if (!removed.ok()) return removed;
    // RocksDB waits until the disk has room for everything that it writes at
    // once.
    state =
        RocksStateStore::Open({.directory = directory + "/state",
                               .write_buffer_bytes = std::clamp(
                                   reserve_bytes_ / (2 * kReserveShareOfState),
                                   kMinBufferBytes, kMaxBufferBytes),
                               .await_room = [this] { return AwaitRoom(); }});
  }
  if (!state.ok()) return state.status();
  state_ = *std::move(state);
  return absl::OkStatus();
}

absl::Status OpenedStore::ChooseReserve() {
  reserve_bytes_ = options_.disk_reserve_bytes;
  if (reserve_bytes_ != 0) return absl::OkStatus();
  // The directory may be a mount point, or may not exist yet.
  FileSystem& files = *options_.journal.files;
  auto space = files.Space(options_.journal.directory);
  if (absl::IsNotFound(space.status())) {
    const std::string parent = ParentOf(options_.journal.directory);
    space = files.Space(parent);
    if (absl::IsNotFound(space.status())) {
      return absl::NotFoundError(absl::StrCat(
          parent, " does not exist; make it, and the store is made in it"));
    }
  }
  if (!space.ok()) return space.status();
  reserve_bytes_ = std::min(space->total / 20, kMaxReserveBytes);
  return absl::OkStatus();
}

absl::Status OpenedStore::Start() {
  if (absl::Status chosen = ChooseReserve(); !chosen.ok()) return chosen;
  JournalOptions journal_options = options_.journal;
  journal_options.keep_free_bytes = reserve_bytes_ / kReserveShareOfState;
  // So that they do not bring about what LookForRoom calls low.
  journal_options.keep_free_of_spares_bytes =
      reserve_bytes_ + reserve_bytes_ / 4;
  auto journal = Journal::Open(std::move(journal_options), releases_);
  if (!journal.ok()) return journal.status();
  journal_ = *std::move(journal);
  releases_.OnWait(
      [this](uint64_t position) { journal_->Want(position); },
      [this](uint64_t position) { return journal_->CommitHere(position); });
  if (options_.marked_threads != 0) {
    auto marks = StepMarks::Open({.files = options_.journal.files,
                                  .directory = options_.journal.directory,
                                  .threads = options_.marked_threads,
                                  .max_crashes = options_.max_crashes});
    if (!marks.ok()) return marks.status();
    marks_ = *std::move(marks);
  }
  if (absl::Status opened = OpenState(); !opened.ok()) return opened;
  source_ = std::make_unique<JournalSource>(*journal_);
  auto applier = JournalApplier::Open(*state_, *source_, options_.applier);
  if (!applier.ok()) return applier.status();
  applier_ = *std::move(applier);
  rounds_ = std::make_unique<StoreRounds>(*journal_, *applier_);
  const uint64_t before = applier_->applied();
  absl::Status status = CatchUp();
  // A daemon that is restarted often ends its rounds here.
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
  round_lsn_ = applier_->applied();
  round_ns_ = clock.MonotonicNs();
  status = LookForRoom();
  if (!status.ok()) return status;
  if (options_.journal.threads) {
    releases_.Start();
    {
      const MutexLock lock(mutex_);
      runs_ = true;
    }
    reads_.Start(*state_);
    rounds_thread_ = SystemThread([this] {
      RunRounds();
      reads_.Stop();
    });
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
  // The system may have refused the thread of the rounds.
  reads_.Stop();
  journal_->Close();
  releases_.Stop();
  const MutexLock lock(mutex_);
  if (marks_ != nullptr && !failed_) marks_->EndCleanly();
}

void OpenedStore::Fail(const absl::Status& status) {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(failed_, true)) return;
  }
  if (options_.failed) options_.failed(status);
}

absl::StatusOr<StoredBody> OpenedStore::BodyOf(const Mail& mail,
                                               uint64_t position,
                                               JournalSource& source,
                                               BufferCache& buffers) {
  if (mail.body.has_value()) return *mail.body;
  const absl::StatusOr<SourceRecord> found = source.At(mail.lsn);
  if (!found.ok()) return found.status();
  std::optional<records::Any> record;
  absl::Status status =
      records::Decode(found->kind, found->flags, found->payload, record);
  if (!status.ok()) return absl::DataLossError(status.message());
  if (!record.has_value()) return absl::DataLossError("journal: no such body");
  return BodyIn(*record, position - mail.lsn, buffers);
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
        return true;
      });
  status.Update(failed);
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
        if (entry->is_open || entry->expires_ns > opened_at_ns_) {
          StoredRequest request{.kind = IdKindIn(key),
                                .owner = OwnerIn(key),
                                .id = std::string(IdIn(key)),
                                .yield = {},
                                .entry = *std::move(entry)};
          if (request.kind == kYieldId) request.yield = YieldOfId(request.id);
          use(std::move(request));
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
  // The id itself must not be used, because it is the key of the chain of
  // groups.
  const StoreId id = journal_->id();
  const SipKey key{id.high, id.low};
  return {SipHash(key, {{1}}), SipHash(key, {{2}})};
}

bool OpenedStore::Work() {
  bool did = false;
  if (absl::Status status = LookForRoom(); !status.ok()) Fail(status);
  while (journal_->Work()) did = true;
  while (releases_.Run()) did = true;
  return did;
}

}  // namespace actord::runtime
