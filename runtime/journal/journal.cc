#include "runtime/journal/journal.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kLingerBytes = 256 << 10;

}  // namespace

Journal::Journal(JournalOptions options, JournalEvents& events)
    : options_(std::move(options)),
      linger_bytes_(std::min(kLingerBytes, options_.ring_bytes / 4)),
      events_(events),
      meta_files_(*options_.files, options_.directory),
      callers_may_commit_(options_.lone_groups == 0),
      lone_callers_(options_.lone_groups) {}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(JournalOptions options,
                                                       JournalEvents& events) {
  if (auto status = options.Check(); !status.ok()) return status;
  std::unique_ptr<Journal> journal(new Journal(std::move(options), events));
  if (auto status = journal->Start(); !status.ok()) {
    journal->closed_ = true;  // Nothing was published, and no thread runs.
    return status;
  }
  return journal;
}

Journal::~Journal() { Close(); }

absl::Status Journal::Start() {
  FileSystem& files = *options_.files;
  if (auto status = files.MakeDirectory(options_.directory); !status.ok()) {
    return status;
  }
  // The directory's own name must be durable, too.
  const size_t slash = options_.directory.rfind('/');
  const std::string parent = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                          : options_.directory.substr(0, slash);
  if (auto status = files.SyncDirectory(parent); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<DirectoryLock>> lock =
      files.LockDirectory(options_.directory);
  if (!lock.ok()) return lock.status();
  directory_lock_ = *std::move(lock);
  absl::StatusOr<Recovered> recovered = ReadJournal(options_, meta_files_);
  if (!recovered.ok()) return recovered.status();
  if (auto status = SettleJournal(options_, meta_files_, *recovered);
      !status.ok()) {
    return status;
  }
  return Begin(*recovered);
}

absl::Status Journal::Begin(Recovered& recovered) {
  const StoreId store = recovered.meta.store;
  segments_ = std::make_unique<Segments>(options_, store);
  if (!recovered.segments.empty()) {
    segments_->Adopt(std::move(recovered.segments), recovered.current);
  }
  if (auto status = MakeSpares(); !status.ok()) return status;
  if (recovered.report.is_new) {
    if (no_room_.load(std::memory_order_relaxed)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          options_.directory, ": a new store needs three segments of ",
          options_.segment_bytes, " bytes; make room"));
    }
    const std::shared_ptr<Segment> first = segments_->First();
    first->first_link = recovered.link;
    recovered.next_place = first->first_group_place();
    recovered.meta.in_use = true;
    if (auto status = meta_files_.Write(recovered.meta); !status.ok()) {
      return status;
    }
  }
  report_ = std::move(recovered.report);
  const uint64_t incarnation = ++report_.incarnation;
  meta_ = recovered.meta;
  meta_.incarnation = incarnation;
  if (report_.is_new) report_.first_lsn = report_.end_lsn = recovered.link.lsn;
  committer_ = std::make_unique<Committer>(*segments_, store, *options_.clock);
  committer_->Begin(recovered.link, recovered.next_place, incarnation);
  ring_ =
      std::make_unique<JournalRing>(options_.ring_bytes, recovered.link.lsn);
  durable_.store(recovered.link.lsn, std::memory_order_release);
  const std::string opened =
      EncodeOpened({incarnation, options_.clock->UnixNs()});
  const absl::StatusOr<uint64_t> lsn = Append({kOpenedKind, 0, opened});
  if (!lsn.ok()) return lsn.status();
  const JournalRing::Taken taken =
      ring_->Take(options_.max_group_bytes, committer_->Buffer());
  if (!committer_->FindRoom(taken.bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        options_.directory, ": there is no room for another segment of ",
        options_.segment_bytes, " bytes; make room"));
  }
  if (auto status = committer_->Write(taken.records); !status.ok()) {
    return status;
  }
  durable_.store(committer_->durable_lsn(), std::memory_order_release);
  if (options_.threads) {
    commits_ = SystemThread([this] { RunCommits(); });
    maker_ = SystemThread([this] { RunMaker(); });
  }
  return absl::OkStatus();
}

absl::Status Journal::MakeSpares() {
  for (;;) {
    const absl::StatusOr<bool> made = segments_->MakeOne();
    // Enough segments may be there already.
    if (IsNoRoom(made.status()) && segments_->HasAny()) {
      is_short_of_room_ = true;
      no_room_.store(!segments_->HasSpares(), std::memory_order_seq_cst);
      return absl::OkStatus();
    }
    if (!made.ok()) return made.status();
    if (!*made) return absl::OkStatus();
  }
}

absl::Status Journal::Reserve(std::span<const Record> records,
                              Reservation& reservation) {
  for (const Record& record : records) {
    if (record.payload.size() > options_.max_record_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a record of ", record.payload.size(),
          " bytes is above the limit of ", options_.max_record_bytes));
    }
    if (record.payload.size() > JournalRing::kByPointerBytes) {
      reservation.large_.push_back(JournalRing::Copy(record));
    }
  }
  const uint64_t bytes = JournalRing::BytesOf(records);
  if (records.empty() || bytes > options_.ring_bytes / 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("records of ", bytes,
                     " bytes cannot be reserved together: at least "
                     "one record, and at most ",
                     options_.ring_bytes / 2, " bytes"));
  }
  if (HasFailed() || !ring_->Reserve(bytes, reservation.place_)) {
    return absl::UnavailableError("the journal has failed or is closed");
  }
  // No underflow: the durable position cannot pass this reservation.
  if (reservation.lsn() + bytes - durable_.load(std::memory_order_relaxed) >
      options_.max_unsynced_bytes) {
    behind_.store(true, std::memory_order_relaxed);
  }
  return absl::OkStatus();
}

void Journal::Publish(Reservation reservation,
                      std::span<const Record> records) {
  ring_->Publish(std::move(reservation.place_), records, reservation.large_);
  if (lingers_.load(std::memory_order_relaxed) && IsDue()) WakeCommits();
}

absl::StatusOr<uint64_t> Journal::Append(const Record& record) {
  Reservation reservation;
  if (auto status = Reserve({&record, 1}, reservation); !status.ok()) {
    return status;
  }
  const uint64_t lsn = reservation.lsn();
  Publish(std::move(reservation), {&record, 1});
  return lsn;
}

void Journal::Want(uint64_t lsn) {
  waits_.fetch_add(1, std::memory_order_relaxed);
  RaiseWanted(lsn);
}

void Journal::Expect() {
  if (!callers_may_commit_.load(std::memory_order_relaxed)) RaiseWanted(Tail());
}

void Journal::RaiseWanted(uint64_t lsn) {
  uint64_t before = wanted_.load(std::memory_order_relaxed);
  while (before < lsn &&
         !wanted_.compare_exchange_weak(before, lsn, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
  }
  if (lingers_.load(std::memory_order_seq_cst)) WakeCommits();
}

void Journal::WakeCommits() {
  const MutexLock lock(mutex_);
  due_.notify_all();
}

absl::Status Journal::AwaitDurable(uint64_t lsn) {
  if (lsn > Tail()) {
    return absl::OutOfRangeError(
        absl::StrCat("nothing is reserved at position ", lsn));
  }
  Want(lsn - 1);
  const MutexLock lock(mutex_);
  while (DurableLsn() < lsn) {
    if (HasFailed()) return absl::UnavailableError("the journal has failed");
    if (commits_are_over_) {
      return absl::UnavailableError("the journal is closed");
    }
    changed_.wait(mutex_);
  }
  return absl::OkStatus();
}

JournalReader Journal::Read(uint64_t from) const {
  const StoreId store = committer_->store();
  return {*segments_, store, durable_, from};
}

uint64_t Journal::FirstLsn() const {
  return segments_->First()->first_link.lsn;
}

absl::Status Journal::Trim(uint64_t to) {
  if (HasFailed()) return absl::UnavailableError("the journal has failed");
  const MutexLock lock(trim_mutex_);
  if (trim_holds_ != 0) return absl::OkStatus();
  const std::shared_ptr<Segment> first =
      segments_->Holding(std::min(to, DurableLsn()));
  if (first == nullptr || first->place <= meta_.first_place) {
    return absl::OkStatus();
  }
  meta_.first_place = first->place;
  meta_.first_link = first->first_link;
  // Both copies are durable before any file goes: segments.h (3).
  if (auto status = meta_files_.Write(meta_); !status.ok()) {
    Fail(status);
    return status;
  }
  segments_->DropBefore(first->place);
  AskMaker();
  return absl::OkStatus();
}

Journal::TrimHold::TrimHold(Journal& journal) : journal_(journal) {
  const MutexLock lock(journal_.trim_mutex_);
  ++journal_.trim_holds_;
}

Journal::TrimHold::~TrimHold() {
  const MutexLock lock(journal_.trim_mutex_);
  --journal_.trim_holds_;
}

void Journal::Fail(const absl::Status& status) {
  if (failed_.exchange(true, std::memory_order_acq_rel)) return;
  events_.Failed(status);
  ring_->Close();
  const MutexLock lock(mutex_);
  changed_.notify_all();
  made_.notify_all();
}

void Journal::Close() {
  if (closed_) return;
  closed_ = true;
  stopping_.store(true, std::memory_order_release);
  ring_->Close();
  if (options_.threads) {
    WakeCommits();
    // The maker ends last: the last group may need a segment.
    commits_.join();
    {
      const MutexLock lock(mutex_);
      commits_are_over_ = true;
      changed_.notify_all();
      maker_ends_ = true;
      maker_wakes_.notify_all();
    }
    maker_.join();
    return;
  }
  while (CommitOne()) {
  }
  Seal();
}

JournalStats Journal::Stats() const {
  JournalStats stats;
  const auto read = [](const Atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const Committer::Counts& counts = committer_->counts();
  stats.groups = read(counts.groups);
  stats.groups_by_callers = read(groups_by_callers_);
  stats.records = read(counts.records);
  stats.record_bytes = read(counts.record_bytes);
  stats.written_bytes = read(counts.written_bytes);
  stats.seals = read(counts.seals);
  const Segments::Counts made = segments_->counts();
  stats.segments_made = made.made;
  stats.segments_recycled = made.recycled;
  stats.zero_filled_bytes = made.zero_filled_bytes;
  stats.room_waits = ring_->room_waits();
  stats.unpublished_stalls = read(unpublished_stalls_);
  stats.ring_locked = ring_->locked();
  const uint64_t since = read(counts.since_ns);
  const uint64_t now = options_.clock->MonotonicNs();
  if (since != 0 && now > since) stats.sync_running_ns = now - since;
  return stats;
}

}  // namespace actord::runtime
