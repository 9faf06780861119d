// The thread that applies the journal to the state store, ends rounds, and
// checks the room on the disk.
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "runtime/durable/opened_store.h"
#include "runtime/records/record_codec.h"

namespace actord::runtime {
namespace {

// How often the state store catches up with the journal.
constexpr auto kCatchUpPause = std::chrono::milliseconds(500);
// How long a round that reads have asked for waits for more of them. So a flood
// of reads costs a bounded number of rounds.
constexpr auto kGatherPause = std::chrono::milliseconds(5);
// How often the state store tries to write when the disk has no room for it.
constexpr auto kNoRoomPause = std::chrono::milliseconds(200);
// A round is applied in this many pieces. After each piece the thread checks
// how far the state store is behind.
constexpr uint64_t kPiecesOfRound = 8;
// How often a TIME is written while there is work.
constexpr uint64_t kTimePause = 1'000'000'000;

}  // namespace

absl::Status OpenedStore::CatchUp() {
  absl::Status status = rounds_->CatchUp();
  if (status.ok()) {
    applied_.store(applier_->applied(), std::memory_order_release);
  }
  return status;
}

absl::Status OpenedStore::ApplyUntil(uint64_t end) {
  const uint64_t piece =
      std::max<uint64_t>(options_.round_bytes / kPiecesOfRound, 1);
  for (;;) {
    absl::Status status = rounds_->CatchUp(piece);
    if (!status.ok()) return status;
    const uint64_t applied = applier_->applied();
    applied_.store(applied, std::memory_order_release);
    const uint64_t unapplied = journal_->DurableLsn() - applied;
    if (unapplied > options_.max_unapplied_bytes) {
      journal_->HoldBack(true);
    } else if (unapplied <= options_.max_unapplied_bytes / 2) {
      journal_->HoldBack(false);
    }
    if (applied >= end) return absl::OkStatus();
    status = MayEndRound();
    if (!status.ok()) return status;
  }
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

absl::Status OpenedStore::LookForRoom() {
  const auto space = options_.journal.files->Space(options_.journal.directory);
  if (!space.ok()) return space.status();
  free_bytes_.store(space->available, std::memory_order_relaxed);
  // A little more room is required, so that the answer does not change all the
  // time.
  const uint64_t margin =
      is_low_.load(std::memory_order_relaxed) ? reserve_bytes_ / 8 : 0;
  const bool is_low = space->available < reserve_bytes_ + margin;
  if (is_low != is_low_.exchange(is_low, std::memory_order_relaxed)) {
    journal_->SetShort(is_low);
  }
  return absl::OkStatus();
}

bool OpenedStore::AwaitRoom() {
  const MutexLock lock(mutex_);
  if (!runs_ || stopping_) return false;
  awaits_room_.store(true, std::memory_order_relaxed);
  wake_.wait_for(mutex_, kNoRoomPause);
  return !stopping_;
}

absl::Status OpenedStore::MayEndRound() {
  const uint64_t now_ns = options_.journal.clock->MonotonicNs();
  const uint64_t bytes = applier_->applied() - round_lsn_;
  // When there is no room for a segment, two rounds give up all segments that
  // are not needed, and the journal uses these again. Below the reserve a round
  // ends as soon as it can give up a segment.
  const bool frees_segments =
      (journal_->HasNoRoom() && applier_->trim() < applier_->applied()) ||
      (is_low_.load(std::memory_order_relaxed) &&
       bytes >= options_.journal.segment_bytes);
  if (bytes < options_.round_bytes && !frees_segments &&
      (bytes == 0 || now_ns - round_ns_ < options_.round_ns)) {
    // A backup may have held back the trim of the last round.
    return journal_->HasNoRoom() ? journal_->Trim(applier_->trim())
                                 : absl::OkStatus();
  }
  absl::Status status = rounds_->EndRound();
  round_lsn_ = applier_->applied();
  round_ns_ = now_ns;
  const MutexLock lock(bodies_mutex_);
  bodies_.reset();
  return status;
}

void OpenedStore::RunRounds() {
  pthread_setname_np(pthread_self(), "store");
  const Clock& clock = *options_.journal.clock;
  uint64_t time_ns = clock.MonotonicNs();
  uint64_t time_end = journal_->Tail();
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (!stopping_ && !is_read_ && !is_read_soon_) {
        wake_.wait_for(mutex_, kCatchUpPause);
      }
      if (!stopping_ && !is_read_ && is_read_soon_) {
        wake_.wait_for(mutex_, kGatherPause);
      }
      if (stopping_) return;
      is_read_ = is_read_soon_ = false;
    }
    absl::Status status = LookForRoom();
    const uint64_t caught_up = journal_->DurableLsn();
    if (status.ok()) status = ApplyUntil(caught_up);
    if (status.ok()) reads_.Serve(*state_, applier_->applied(), caught_up);
    // Only when there is work, so that an idle store writes nothing. An append
    // must not wait here for room, because the rounds make that room.
    if (status.ok() && clock.MonotonicNs() - time_ns >= kTimePause &&
        applier_->applied() > time_end && !journal_->Behind()) {
      status = WriteTime();
      time_ns = clock.MonotonicNs();
      time_end = journal_->Tail();
    }
    if (status.ok()) status = MayEndRound();
    if (!status.ok()) {
      {
        const MutexLock lock(mutex_);
        // The next start makes the lost state again from the journal.
        if (stopping_ && IsNoRoom(status)) return;
      }
      return Fail(status);
    }
    awaits_room_.store(false, std::memory_order_relaxed);
  }
}

}  // namespace actord::runtime
