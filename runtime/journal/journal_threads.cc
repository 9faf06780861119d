// The work of the journal's threads: commits, and segments made ahead.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/journal/journal.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

namespace {

// A reservation that stays unpublished for longer is counted as a stall.
constexpr uint64_t kStallNs = 100'000'000;
// Pause between two checks of an unpublished reservation, after kLooks checks.
constexpr int kLooks = 200;
constexpr uint64_t kUnpublishedRestNs = 50'000;
// Pause between two attempts to make a segment when there is no room for it.
constexpr std::chrono::milliseconds kNoRoomRest(200);
constexpr int kNice = -10;
// A caller does not write more bytes than this for others.
constexpr uint64_t kCallersBytes = 64 << 10;

// Raises the priority of the commit thread, because everybody waits for it.
// Without the permission to do so, it keeps the priority of the other threads.
void PreferThisThread() {
#ifdef ACTORD_FAIL_POINTS
  if (interleaver != nullptr) return;  // many simulated threads share this one
#endif
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  (void)setpriority(PRIO_PROCESS, thread, kNice);
}

}  // namespace

bool Journal::IsDue() const {
  const uint64_t durable = durable_.load(std::memory_order_relaxed);
  return wanted_.load(std::memory_order_seq_cst) >= durable ||
         ring_->tail() - durable > linger_bytes_ ||
         stopping_.load(std::memory_order_acquire);
}

bool Journal::HasRecords() {
  const MutexLock lock(commit_mutex_);
  return pending_.records == 0 && ring_->HasPublished();
}

void Journal::Linger() {
  if (!HasRecords() || IsDue()) return;
  const MutexLock lock(mutex_);
  lingers_.store(true, std::memory_order_seq_cst);
  uint64_t wait_ns = options_.linger_ns;
  for (;;) {
    const uint64_t groups = groups_by_callers_.load(std::memory_order_relaxed);
    const bool is_due = due_.wait_for(mutex_, std::chrono::nanoseconds(wait_ns),
                                      [this] { return IsDue(); });
    if (is_due ||
        groups_by_callers_.load(std::memory_order_relaxed) == groups) {
      break;
    }
    // A caller has taken the records that lingered.
    const uint64_t since = options_.clock->MonotonicNs() -
                           caller_committed_ns_.load(std::memory_order_relaxed);
    wait_ns = options_.linger_ns - std::min(since, options_.linger_ns);
  }
  lingers_.store(false, std::memory_order_relaxed);
}

bool Journal::IsAtTheEnd() {
  if (!stopping_.load(std::memory_order_acquire)) return false;
  const MutexLock lock(commit_mutex_);
  return pending_.records != 0 || ring_->tail() == ring_->taken();
}

void Journal::RunCommits() {
  pthread_setname_np(pthread_self(), "journal");
  PreferThisThread();
  while (!HasFailed()) {
    Linger();
    if (CommitOne()) continue;
    if (IsAtTheEnd()) {
      (void)SealNow();
      return;
    }
    WaitForRecords();
  }
}

void Journal::WaitForRecords() {
  if (ring_->tail() != ring_->taken()) {
    WaitForPublication();
    return;
  }
  const Clock& clock = *options_.clock;
  const uint64_t since = clock.MonotonicNs();
  ring_->Sleep(options_.seal_after_ns);
  if (clock.MonotonicNs() - since >= options_.seal_after_ns &&
      ring_->tail() == ring_->taken()) {
    (void)SealNow();
  }
}

void Journal::WaitForPublication() {
  // Some thread is between Reserve and Publish.
  const Clock& clock = *options_.clock;
  const uint64_t since = clock.MonotonicNs();
  bool counted = false;
  for (int looks = 0; ring_->tail() != ring_->taken() && !HasRecords();
       ++looks) {
    if (looks < kLooks) {
      YieldThread();
    } else {
      const MutexLock lock(mutex_);
      made_.wait_for(mutex_, std::chrono::nanoseconds(kUnpublishedRestNs));
    }
    if (!counted && clock.MonotonicNs() - since >= kStallNs) {
      counted = true;
      unpublished_stalls_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

bool Journal::CommitOne() {
  const MutexLock lock(commit_mutex_);
  if (HasFailed()) return false;
  if (pending_.records == 0) {
    pending_ = ring_->Take(options_.max_group_bytes, committer_->Buffer());
  }
  if (pending_.records == 0) return false;
  if (!WaitForSegment(pending_.bytes)) return false;
  const uint32_t records = std::exchange(pending_, {}).records;
  return WriteGroup(records, /*by_caller=*/false);
}

uint64_t Journal::CommitHere(uint64_t lsn) {
  uint64_t durable = DurableLsn();
  if (durable > lsn) return durable;
  callers_.fetch_add(1, std::memory_order_relaxed);
  if (!options_.threads || !commit_mutex_.try_lock()) return 0;
  const bool committed = CommitForCaller();
  commit_mutex_.unlock();
  if (!committed) return 0;
  durable = DurableLsn();
  if (durable > lsn) return durable;
  // A record before it was not published.
  events_.Durable(durable);
  return 0;
}

bool Journal::CommitForCaller() {
  if (!lone_callers_.MayCommit() || pending_.records != 0 || HasFailed() ||
      stopping_.load(std::memory_order_acquire)) {
    return false;
  }
  const uint64_t bytes = ring_->tail() - ring_->taken();
  if (bytes == 0 || bytes > kCallersBytes || !committer_->HasRoom(bytes)) {
    return false;
  }
  const JournalRing::Taken taken = ring_->Take(bytes, committer_->Buffer());
  if (taken.records == 0) return false;
  waits_.fetch_add(1, std::memory_order_relaxed);
  if (!WriteGroup(taken.records, /*by_caller=*/true)) return false;
  caller_committed_ns_.store(options_.clock->MonotonicNs(),
                             std::memory_order_relaxed);
  groups_by_callers_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool Journal::WriteGroup(uint32_t records, bool by_caller) {
  FailPoint();
  const uint64_t since_ns = options_.clock->MonotonicNs();
  if (auto status = committer_->Write(records); !status.ok()) {
    // A sync is never repeated: see SyncData in file_system.h.
    Fail(status);
    return false;
  }
  const uint64_t waits = waits_.load(std::memory_order_relaxed);
  const uint64_t callers = callers_.load(std::memory_order_relaxed);
  lone_callers_.Committed(
      {.waits = waits - std::exchange(waits_before_, waits),
       .callers = callers - std::exchange(callers_before_, callers),
       .by_caller = by_caller,
       .took_ns = options_.clock->MonotonicNs() - since_ns});
  callers_may_commit_.store(lone_callers_.MayCommit(),
                            std::memory_order_relaxed);
  const uint64_t lsn = committer_->durable_lsn();
  ACTORD_ASSERT(lsn == ring_->taken(),
                "journal.h: a group holds all that was taken from the ring");
  ACTORD_ASSERT(lsn >= durable_.load(std::memory_order_relaxed),
                "journal.h: the durable position never goes back");
  {
    // Under the mutex, so that AwaitDurable misses no change.
    const MutexLock lock(mutex_);
    durable_.store(lsn, std::memory_order_release);
    changed_.notify_all();
  }
  if (!by_caller) events_.Durable(lsn);
  MayHaveCaughtUp();
  return true;
}

void Journal::MayHaveCaughtUp() {
  if (!behind_.load(std::memory_order_relaxed)) return;
  if (ring_->tail() - durable_.load(std::memory_order_relaxed) >
      options_.max_unsynced_bytes / 2) {
    return;
  }
  behind_.store(false, std::memory_order_seq_cst);
  if (!Behind()) events_.CaughtUp();
}

void Journal::HoldBack(bool is_held_back) {
  const bool was_held_back =
      held_back_.exchange(is_held_back, std::memory_order_seq_cst);
  if (was_held_back && !is_held_back && !Behind()) events_.CaughtUp();
}

bool Journal::WaitForSegment(uint64_t bytes) {
  while (!committer_->FindRoom(bytes)) {
    if (!options_.threads) {
      if (!MakeOne()) return false;
      continue;
    }
    const MutexLock lock(mutex_);
    if (HasFailed()) return false;
    // A stop does not wait for room. No client was told of these records.
    if (stopping_.load(std::memory_order_acquire) &&
        no_room_.load(std::memory_order_seq_cst)) {
      return false;
    }
    maker_asked_ = true;
    maker_wakes_.notify_all();
    made_.wait_for(mutex_, kNoRoomRest);
  }
  AskMaker();
  return true;
}

bool Journal::SealNow() {
  const MutexLock lock(commit_mutex_);
  if (HasFailed() || pending_.records != 0 || committer_->is_sealed()) {
    return false;
  }
  (void)committer_->Buffer();
  if (!WaitForSegment(0)) return false;
  return WriteGroup(0, /*by_caller=*/false);
}

void Journal::Seal() { (void)SealNow(); }

void Journal::AskMaker() {
  if (!options_.threads || !segments_->WantsWork()) return;
  const MutexLock lock(mutex_);
  maker_asked_ = true;
  maker_wakes_.notify_all();
}

void Journal::SetShort(bool is_short) {
  segments_->SetShort(is_short);
  AskMaker();
}

bool Journal::MakeOne() {
  if (HasFailed()) return false;
  const absl::StatusOr<bool> made = segments_->MakeOne();
  if (!made.ok() && !IsNoRoom(made.status())) {
    Fail(made.status());
    return false;
  }
  is_short_of_room_ = !made.ok();
  // The segments that are always there have room; only further segments must
  // wait for room.
  const bool has_room = made.ok() || segments_->HasSpares();
  const bool had_room =
      !no_room_.exchange(!has_room, std::memory_order_seq_cst);
  if (has_room && !had_room && !Behind()) events_.CaughtUp();
  if (!made.ok()) return false;
  if (*made) {
    const MutexLock lock(mutex_);
    made_.notify_all();
  }
  return *made;
}

void Journal::RunMaker() {
  pthread_setname_np(pthread_self(), "segments");
  for (;;) {
    while (MakeOne()) {
    }
    const MutexLock lock(mutex_);
    if (is_short_of_room_ && !maker_ends_) {
      maker_wakes_.wait_for(mutex_, kNoRoomRest);
      maker_asked_ = true;
    }
    while (!maker_asked_ && !maker_ends_) maker_wakes_.wait(mutex_);
    if (maker_ends_) return;
    maker_asked_ = false;
  }
}

bool Journal::Work() {
  const bool committed = CommitOne();
  return MakeOne() || committed;
}

}  // namespace actord::runtime
