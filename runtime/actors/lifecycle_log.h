// A bounded log of the starts and ends of processes, in one order, for watches
// from outside. Readers use cursors.
//
// Without watches nothing is recorded, and a start or an end costs a load.
// Recording begins with the first reader, and continues for a while after the
// last reader has left, so that a reader that comes back misses nothing. When
// there is no room, the oldest events are dropped, and a reader whose cursor
// points to dropped events is told.
//
// A reader first takes the end of the log, then walks over the table (slot by
// slot, at any pace), and then applies every event from that end on. Its view
// is the processes that the walk finds; STARTED adds a process, and ENDED
// removes it. Once all events are applied, the view is exactly the set of live
// processes. Proof:
//  (1) At a start, the turn makes the process visible, then reads whether the
//      log records, and then appends STARTED. At an end, the turn makes the
//      process invisible, then reads whether the log records, and then appends
//      ENDED. Both happen in turns of the process, so STARTED comes first.
//  (2) A walk begins after the store that switches recording on, and examines
//      each slot after that store. These operations are seq_cst: the change
//      that makes a process visible (the word loses `ended`), the change that
//      makes it invisible (the generation becomes even), the turn's read
//      whether the log records, the store that switches recording on, and the
//      first two loads of the walk in a slot (word, generation). So either the
//      turn reads that the log records, or the walk examines the slot after the
//      change and sees it; they cannot both miss each other. And if the walk
//      finds a process live, it has examined the slot before the end of the
//      process, so that end is recorded.
//  (3) The append and the read of the end of the log are under one lock. So a
//      STARTED that is not among the events from that end on was appended
//      before the walk, and the walk sees the process unless it has ended
//      since. If the walk has seen a process, its ENDED comes after that end of
//      the log.
//
// Thread-safety: any thread. Starts a thread of its own for the first reader.
// Order of locks: the lock of this class is the last; listeners are called
// without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/actors/label_table.h"
#include "runtime/counters/stats.h"
#include "runtime/process/outcome.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/process/process_info.h"
#include "runtime/settings/limits.h"
#include "runtime/system/atomic.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

struct LifecycleEvent {
  enum class Kind : uint8_t { kStarted, kEnded };
  Kind kind = Kind::kStarted;
  Pid pid;
  Pid parent;  // empty: submitted from outside
  Owner owner = Owner::kNobody;
  std::string process_type;
  SharedLabels labels;  // null: none
  uint64_t started_unix_ns = 0;

  // Fields of kStarted, which means that Init has succeeded.
  std::string method;
  int priority = kDefaultPriority;

  // Fields of kEnded. A process whose Init failed or was never called has no
  // kStarted.
  EndKind end = EndKind::kResult;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;  // cut, see kMaxMessageBytes
  uint64_t steps = 0;
  uint64_t ended_unix_ns = 0;
};

// Woken when Read may return events. Called on the log's own thread, without
// its lock; must not block.
class LifecycleListener {
 public:
  virtual ~LifecycleListener() = default;
  virtual void Wake() = 0;
};

class LifecycleLog {
 public:
  using ReaderId = uint64_t;

  static constexpr size_t kMaxLookedAt = 1 << 16;
  // Maximum length of the kept text of a failure, which is cut between UTF-8
  // characters.
  static constexpr size_t kMaxMessageBytes = 256;

  // Limits of one Read.
  struct ReadLimits {
    size_t events = 1000;
    size_t bytes = size_t{256} << 10;  // at least one event is read
  };
  struct Reading {
    // In the order of the log.
    std::vector<LifecycleEvent> events;
    // The cursor for the next Read.
    uint64_t next = 0;
    // There are no events after `next` now, and the listener will be woken.
    bool waits = false;
    // The events at the cursor are gone: nothing was read, and `next` is the
    // cursor.
    bool lost = false;
    // These fields count if `lost`. `known`: the events from the cursor to
    // `oldest` were recorded and are gone. Otherwise some events were not
    // recorded, or the cursor is not of this log.
    bool known = false;
    uint64_t oldest = 0;
    uint64_t end = 0;  // the end of the log
  };

  // `labels`: of the processes; null: none has labels. Borrowed.
  LifecycleLog(const LiveLimits& limits, const Clock& clock,
               const LabelTable* labels = nullptr);
  // Precondition: no reader is open.
  ~LifecycleLog();
  LifecycleLog(const LifecycleLog&) = delete;
  LifecycleLog& operator=(const LifecycleLog&) = delete;

  // Called after a change, see (1) and (2).
  [[nodiscard]] bool IsRecording() const {
    FailPoint();
    return recording_.load(std::memory_order_seq_cst);
  }
  // Called in the turn of the process. Precondition: IsRecording has returned
  // true after the change. IsRecording is a separate function, so that the path
  // without watches stays short.
  void Started(const Process& process, const Pid& pid);
  void Ended(const Process& process, const Pid& pid, const Outcome& outcome);

  // Opens a reader. All events are recorded while the reader is open.
  // RESOURCE_EXHAUSTED (WATCH_LIMIT): the limit of open readers is reached,
  // which is counted, or the system has no more threads; then there is no new
  // reader.
  absl::StatusOr<ReaderId> Open(std::shared_ptr<LifecycleListener> listener);
  // Closes a reader. Its listener may be called once more.
  void Close(ReaderId reader);
  // The sequence number of the next event. It is a cursor for readers that are
  // open by then; a recording that begins later may skip it.
  [[nodiscard]] uint64_t end() const;
  // Whether the log holds all events from `cursor` on.
  [[nodiscard]] bool Holds(uint64_t cursor) const;
  // Reads the next events from `cursor` on of processes that match `filter`,
  // except for its state. If the log has no more events and none was read, the
  // listener is woken once when there is an event of any process. One call
  // examines at most kMaxLookedAt events, so it may return no events although
  // some are left.
  Reading Read(ReaderId reader, uint64_t cursor, const ProcessFilter& filter,
               const ReadLimits& limits);
  // Counts events that a reader has reported as missing.
  void CountMissed(uint64_t count);

  // Drops the events above the limits. Called when the limits have changed. The
  // events are dropped in pieces, so that no turn that records waits for all of
  // them.
  void Trim();
  // Writes the number of readers and the counts of recorded and kept events.
  void AddTo(RuntimeStats& stats) const;

 private:
  // Limits of one critical section.
  static constexpr size_t kLookedAtOnce = 64;
  static constexpr size_t kForgottenAtOnce = 256;

  struct Reader {
    std::shared_ptr<LifecycleListener> listener;
    bool waits = false;  // to be woken
  };

  static size_t ChargeOf(const LifecycleEvent& event);
  void Append(LifecycleEvent event);

  [[nodiscard]] uint64_t End() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return first_ + events_.size();
  }
  [[nodiscard]] bool HoldsLocked(uint64_t cursor) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return cursor >= first_ && cursor <= End();
  }
  // Reads more events. False: the batch is complete, or no events are left.
  bool ReadSome(ReaderId reader, const ProcessFilter& filter,
                const ReadLimits& limits, size_t& bytes, Reading& reading);
  // Drops the events above the limits, at most `max_forgotten`, because they
  // are freed under the lock. False: more are above the limits.
  bool Forget(size_t max_forgotten) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the last reader left longer ago than the retention time.
  // Precondition: no reader is open.
  [[nodiscard]] bool IsStale() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Leaves the kept events to the log's thread to free, because the caller may
  // be a worker.
  void StopRecording() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunThread();
  // The work that the thread does without the lock.
  struct Duty {
    std::vector<std::shared_ptr<LifecycleListener>> woken;
    std::vector<std::deque<LifecycleEvent>> discarded;
    bool stops = false;
  };
  // Waits until there is work for the thread.
  Duty AwaitDuty();

  const LiveLimits& limits_;
  const Clock& clock_;
  const LabelTable* const labels_;
  // Written under the lock. See (2).
  Atomic<bool> recording_{false};

  mutable Mutex mutex_;
  ConditionVariable changed_;  // for the thread
  std::deque<LifecycleEvent> events_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t first_ ABSL_GUARDED_BY(mutex_) = 1;  // sequence of events_[0]
  // The sequence number from which on events have been recorded without a gap.
  uint64_t recorded_since_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<ReaderId, Reader> readers_ ABSL_GUARDED_BY(mutex_);
  ReaderId last_reader_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t left_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // when the last reader left
  uint64_t recorded_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t missed_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::deque<LifecycleEvent>> discarded_ ABSL_GUARDED_BY(mutex_);
  bool some_wait_ ABSL_GUARDED_BY(mutex_) = false;  // a reader waits
  bool wakes_ ABSL_GUARDED_BY(mutex_) = false;  // a waiting reader has an event
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  SystemThread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
