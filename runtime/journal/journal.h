// The journal of a store: an append-only log of records, in one order, durable
// in groups. docs/journal-format.md describes its files.
//
//   1. A thread encodes a record, and then appends it: Reserve draws its
//      position, which is its place in the order, and Publish copies it.
//   2. Code that must not act before a record is durable says so (Want), and
//      waits for its position: by JournalEvents::Durable, DurableLsn or
//      AwaitDurable.
//   3. The commit thread writes the published and contiguous records, up to
//      1 MiB, as one group, syncs, moves the durable position, and begins
//      again. While one sync runs, the next group forms. As long as nobody
//      waits for a record of the group, the group waits for more records
//      (JournalOptions::linger_ns).
//   4. A caller that is alone may commit its record itself (CommitHere), while
//      the commit thread rests.
//
// If the process or the machine dies, a suffix of the records is lost, and no
// record before the durable position.
//
// Thread-safety: any thread, unless a function says otherwise. Lifetime: the
// events outlive the journal; readers and threads that append end before it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/journal/committer.h"
#include "runtime/journal/format.h"
#include "runtime/journal/meta.h"
#include "runtime/journal/options.h"
#include "runtime/journal/reader.h"
#include "runtime/journal/recovery.h"
#include "runtime/journal/ring.h"
#include "runtime/journal/segments.h"
#include "runtime/system/atomic.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

class Journal {
 public:
  // Locks the directory, recovers what it holds, and appends an OPENED record,
  // which is durable when this returns. Errors, with what the operator can do:
  // INVALID_ARGUMENT for wrong options, FAILED_PRECONDITION for a directory in
  // use or a newer format, RESOURCE_EXHAUSTED if there is no room for segments,
  // and DATA_LOSS for a store that is refused (recovery.h). Nothing is appended
  // to a refused store.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(JournalOptions options,
                                                       JournalEvents& events);
  // The same as Close.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // ---- Appending ---------------------------------------------------------

  // The place of records that were reserved together. The caller must publish
  // it at once.
  class [[nodiscard]] Reservation {
   public:
    Reservation() = default;
    // Position of the first record; the others follow in their order.
    [[nodiscard]] uint64_t lsn() const { return place_.lsn(); }

   private:
    friend class Journal;
    JournalRing::Reservation place_;
    std::vector<std::unique_ptr<std::string>> large_;
  };
  // Draws the positions of these records, and with them their order. Waits if
  // the ring has no room: the caller holds no lock that the durable position
  // may depend on, and no reservation. Between Reserve and Publish the caller
  // takes no lock, allocates nothing, calls no plugin and reserves nothing.
  // INVALID_ARGUMENT: a record above max_record_bytes, or all of them above
  // half of the ring. UNAVAILABLE: the journal has failed or is closed, or
  // there is no room after RefuseWaits.
  absl::Status Reserve(std::span<const Record> records,
                       Reservation& reservation);
  // Copies the same records to their place.
  void Publish(Reservation reservation, std::span<const Record> records);
  [[nodiscard]] uint64_t max_record_bytes() const {
    return options_.max_record_bytes;
  }
  // Reserve and Publish of one record; returns its position.
  absl::StatusOr<uint64_t> Append(const Record& record);

  // ---- Durable records ---------------------------------------------------

  // All records before this position are durable. Never goes back.
  [[nodiscard]] uint64_t DurableLsn() const {
    return durable_.load(std::memory_order_acquire);
  }
  // The position behind all reservations.
  [[nodiscard]] uint64_t Tail() const { return ring_->tail(); }
  // Says that somebody waits until the record at `lsn` is durable: its group is
  // written as soon as the disk is free. Without this call the group may be
  // written up to JournalOptions::linger_ns later. Any thread; does not wait.
  void Want(uint64_t lsn);
  // Says that this thread will want its next record, so that the commit thread
  // need not fall asleep before. A hint only.
  void Expect();
  // For a caller that waits for the record at `lsn` and holds no lock: writes
  // and syncs on this thread the records that are published, if the last
  // callers came one at a time (LoneCallers) and the disk is free. Returns the
  // durable position, which is behind `lsn`; JournalEvents::Durable was not
  // called for that position. 0: the record is not durable, and the caller must
  // Want it. Waits for one sync at most.
  [[nodiscard]] uint64_t CommitHere(uint64_t lsn);
  // Wants that all records before `lsn` are durable, and waits for it.
  // UNAVAILABLE: the journal has failed before that; whether they are durable
  // is unknown. OUT_OF_RANGE: `lsn` lies behind the tail.
  absl::Status AwaitDurable(uint64_t lsn);
  // True: more than max_unsynced_bytes are not durable, or HasNoRoom, or
  // HoldBack was called. Code that can wait should begin nothing new until
  // JournalEvents::CaughtUp, which comes when half of these bytes are free
  // again.
  [[nodiscard]] bool Behind() const {
    return behind_.load(std::memory_order_seq_cst) || HasNoRoom() ||
           held_back_.load(std::memory_order_seq_cst);
  }
  // The reader of the journal is too far behind it, or is so no longer. One
  // thread at a time.
  void HoldBack(bool is_held_back);
  // True: the disk has no room for the next segment. The existing segments take
  // the records in flight. Becomes false by itself when there is room.
  [[nodiscard]] bool HasNoRoom() const {
    return no_room_.load(std::memory_order_seq_cst);
  }
  // True: half of the ring is not durable. Code that may refuse work should
  // append nothing, because Reserve is going to wait.
  [[nodiscard]] bool IsFilling() const {
    // In this order, so that the tail is not below the durable position.
    const uint64_t durable = DurableLsn();
    return Tail() - durable > options_.ring_bytes / 2;
  }

  // ---- Reading and trimming ----------------------------------------------

  // Reads from the record at `from`, or the first one behind it.
  [[nodiscard]] JournalReader Read(uint64_t from) const;
  // Position of the first record that is kept.
  [[nodiscard]] uint64_t FirstLsn() const;
  // Gives up records before `to`: whole segments, and never the current one.
  // Durable when it returns. No reader may be before `to`. An error of the disk
  // also calls JournalEvents::Failed. One thread at a time.
  absl::Status Trim(uint64_t to);
  // True: the disk is short of room, so the journal gives back the segments
  // that it can do without.
  void SetShort(bool is_short);
  // As long as a TrimHold lives, Trim gives up nothing. Lifetime: ends before
  // the journal.
  class TrimHold {
   public:
    explicit TrimHold(Journal& journal);
    ~TrimHold();
    TrimHold(const TrimHold&) = delete;
    TrimHold& operator=(const TrimHold&) = delete;

   private:
    Journal& journal_;
  };
  // The segments with groups (Segments::InUse).
  [[nodiscard]] std::vector<std::shared_ptr<const Segment>> SegmentsInUse()
      const {
    return segments_->InUse();
  }

  // ---- The end -----------------------------------------------------------

  // From now on appends fail instead of waiting for room in the ring, so that
  // no thread keeps the end of the program waiting.
  void RefuseWaits() { ring_->RefuseWaits(); }
  // Makes all published records durable, seals the journal, and ends the
  // threads. Appends from now on fail. Idempotent; one thread at a time.
  void Close();

  // The id of the store, which never changes; secret.
  [[nodiscard]] StoreId id() const { return committer_->store(); }
  [[nodiscard]] JournalStats Stats() const;
  [[nodiscard]] const RecoveryReport& report() const { return report_; }

  // Without threads (JournalOptions::threads): commits one group if anything is
  // published, and makes one segment if one is wanted. False: there was nothing
  // to do.
  bool Work();
  // Without threads: seals the last group, unless it is sealed.
  void Seal();

 private:
  Journal(JournalOptions options, JournalEvents& events);

  absl::Status Start();
  absl::Status Begin(Recovered& recovered);
  absl::Status MakeSpares();
  void RunCommits();
  // Waits for more records as long as nobody waits for a record.
  void Linger();
  // Whether there are records that may linger.
  [[nodiscard]] bool HasRecords();
  // The journal stops, and no record will come after the waiting ones.
  [[nodiscard]] bool IsAtTheEnd();
  // Ends Linger, if its group is due.
  void WakeCommits();
  void RaiseWanted(uint64_t lsn);
  // Whether the next group is to be written now.
  [[nodiscard]] bool IsDue() const;
  void RunMaker();
  // Commits the published records, or waits. False: there are none.
  bool CommitOne();
  void WaitForRecords();
  // Waits until a record is published, or a caller has taken all of them.
  void WaitForPublication();
  bool SealNow();
  // Waits for a segment for `bytes` bytes of records. False: there is no
  // segment, because the journal has failed, is closed or has no threads.
  bool WaitForSegment(uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // `by_caller`: CommitHere calls the events.
  bool WriteGroup(uint32_t records, bool by_caller)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // False: nothing was committed.
  bool CommitForCaller() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Tells the events that the disk has failed, once.
  void Fail(const absl::Status& status);
  [[nodiscard]] bool HasFailed() const {
    return failed_.load(std::memory_order_acquire);
  }
  // Makes one segment if one is wanted.
  bool MakeOne();
  void AskMaker();
  // Clears the state that Behind reports, if it has ended.
  void MayHaveCaughtUp();

  const JournalOptions options_;
  // A group of this size, in bytes, does not linger.
  const uint64_t linger_bytes_;
  JournalEvents& events_;
  std::unique_ptr<DirectoryLock> directory_lock_;
  MetaFiles meta_files_;
  RecoveryReport report_;

  std::unique_ptr<Segments> segments_;
  // It is written to, and records are taken from the ring, under commit_mutex_.
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<JournalRing> ring_;

  // Written by the commit thread after a sync, release; readers acquire it, so
  // they see the links of the segments. A stale value is smaller.
  Atomic<uint64_t> durable_{0};
  // Set by a thread between Reserve and Publish, relaxed; cleared by the commit
  // thread after a sync, seq_cst. The commit that makes those records durable
  // comes after their Publish, so it sees the flag: nobody waits for ever.
  Atomic<bool> behind_{false};
  // Written by the maker, seq_cst. Commit thread, maker and the thread that
  // calls HoldBack each clear their own flag and then read the other flags, so
  // at least one of them calls CaughtUp.
  Atomic<bool> no_room_{false};
  Atomic<bool> held_back_{false};
  // The highest position that anybody waits for. Written by the threads that
  // wait, seq_cst, before they read lingers_.
  Atomic<uint64_t> wanted_{0};
  // The commit thread lingers. It writes this, seq_cst, and then reads wanted_
  // again, so either the commit thread or the waiting thread sees the other's
  // value.
  Atomic<bool> lingers_{false};
  // How many waits have begun, and how often CommitHere was called. Relaxed:
  // LoneCallers reads them.
  Atomic<uint64_t> waits_{0};
  Atomic<uint64_t> callers_{0};
  // The answer of LoneCallers. Written under commit_mutex_, relaxed: a hint.
  Atomic<bool> callers_may_commit_{false};
  // Groups that callers have committed, and when the last one was durable.
  // Written under commit_mutex_, relaxed; a stale value makes a record linger
  // less.
  Atomic<uint64_t> groups_by_callers_{0};
  Atomic<uint64_t> caller_committed_ns_{0};
  Atomic<bool> failed_{false};
  Atomic<bool> stopping_{false};
  Atomic<uint64_t> unpublished_stalls_{0};

  // Held by the thread that commits, also while the disk syncs. Locked before
  // mutex_.
  Mutex commit_mutex_;
  LoneCallers lone_callers_ ABSL_GUARDED_BY(commit_mutex_);
  // waits_ and callers_ when the last group was durable.
  uint64_t waits_before_ ABSL_GUARDED_BY(commit_mutex_) = 0;
  uint64_t callers_before_ ABSL_GUARDED_BY(commit_mutex_) = 0;
  // Records that were taken from the ring, and not written because there was no
  // room.
  JournalRing::Taken pending_ ABSL_GUARDED_BY(commit_mutex_);

  Mutex mutex_;
  // For AwaitDurable: durable_ or failed_ has changed.
  ConditionVariable changed_;
  // For the commit thread: the next group is due.
  ConditionVariable due_;
  // For the commit thread: a segment was made.
  ConditionVariable made_;
  // For the maker: maker_asked_ or maker_ends_ has changed.
  ConditionVariable maker_wakes_;
  // Whether the maker should look for work, and whether it is to end.
  bool maker_asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool maker_ends_ ABSL_GUARDED_BY(mutex_) = false;
  // No further record will become durable.
  bool commits_are_over_ ABSL_GUARDED_BY(mutex_) = false;

  // Used by the thread that opens the journal, then by the thread that trims
  // it.
  Meta meta_;
  // Held while the journal is trimmed.
  Mutex trim_mutex_;
  int trim_holds_ ABSL_GUARDED_BY(trim_mutex_) = 0;

  // Used by the maker: its last attempt has found no room.
  bool is_short_of_room_ = false;

  bool closed_ = false;
  SystemThread commits_;
  SystemThread maker_;
};

}  // namespace actord::runtime
