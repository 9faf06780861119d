// What has started and what has ended, in one order, for whoever watches from
// outside: a bounded log, read with cursors.
//
// Nothing is recorded while nobody watches: a start or an end then costs a
// load. Recording begins with the first reader, and goes on for a while after
// the last one has left, so that a reader who comes back misses nothing. The
// oldest events are forgotten when there is no room; a reader whose cursor
// pointed there is told.
//
// A reader's view is the processes that a walk over the table finds (slot by
// slot, at any pace), and then every event from a sequence on that was the end
// of the log before the walk began; STARTED adds a process, ENDED removes it.
// Once all events are applied the view is exactly what lives. For
//  (1) A process is made visible, then it is asked whether anything is
//      recorded, then its STARTED is appended; likewise it is made invisible,
//      and then ENDED follows. All of that in turns of the process, so STARTED
//      comes first.
//  (2) A walk begins behind the store that switched recording on, and looks at
//      each slot behind that. What makes visible (the word loses `ended`), what
//      makes invisible (the generation becomes even), the question whether
//      anything is recorded, that store, and the first two loads of a look
//      (word, generation) are seq_cst. So either whoever asks is told that it
//      is recorded, or the look comes behind the change and sees it: not both
//      can miss each other. And a look that finds a process live comes before
//      its end, which therefore is recorded.
//  (3) The append, and the reading of the end of the log, are under one lock.
//      So a STARTED that is not among the events from that end on was appended
//      before the walk, which sees the process unless it has ended since; and
//      of a process that the walk has seen the ENDED comes behind that end.
//
// Thread-safety: any thread. Starts a thread of its own for the first reader.
// Order of locks: this one's is the last; listeners are called without it.
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
#include "runtime/process/outcome.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/process/process_info.h"
#include "runtime/process/stats.h"
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
  std::string process_type;
  uint64_t started_unix_ns = 0;

  // Of kStarted: its Init has returned well.
  std::string method;
  int priority = kDefaultPriority;

  // Of kEnded. One whose Init refused, or was never called, has no kStarted.
  EndKind end = EndKind::kResult;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;  // its beginning, see kMaxMessageBytes
  uint64_t steps = 0;
  uint64_t ended_unix_ns = 0;
};

// Is told that Read may have something. Called on a thread of the log's own,
// without its lock; must not block.
class LifecycleListener {
 public:
  virtual ~LifecycleListener() = default;
  virtual void Wake() = 0;
};

class LifecycleLog {
 public:
  using ReaderId = uint64_t;

  static constexpr size_t kMaxLookedAt = 1 << 16;
  // Of a failure's text that is kept; cut at a character of UTF-8.
  static constexpr size_t kMaxMessageBytes = 256;

  // Of one Read.
  struct ReadLimits {
    size_t events = 1000;
    size_t bytes = size_t{256} << 10;  // one event at least
  };
  struct Reading {
    // In their order.
    std::vector<LifecycleEvent> events;
    // Where to read on.
    uint64_t next = 0;
    // There is nothing from there on now, and the listener will be woken.
    bool waits = false;
    // There are no events from the cursor on any more: nothing was read, and
    // `next` is the cursor.
    bool lost = false;
    // If lost. Not known: not all there was has been recorded, or the cursor is
    // none of this log's; otherwise the events before `oldest` are gone.
    bool known = false;
    uint64_t oldest = 0;
    uint64_t end = 0;  // of the log
  };

  LifecycleLog(const LiveLimits& limits, const Clock& clock);
  // Precondition: no reader is open.
  ~LifecycleLog();
  LifecycleLog(const LifecycleLog&) = delete;
  LifecycleLog& operator=(const LifecycleLog&) = delete;

  // Asked behind a change, see (1) and (2).
  [[nodiscard]] bool IsRecording() const {
    FailPoint();
    return recording_.load(std::memory_order_seq_cst);
  }
  // For the turn of the process. Precondition: IsRecording said so behind the
  // change. Apart from that question, so that who is not watched stays short.
  void Started(const Process& process, const Pid& pid);
  void Ended(const Process& process, const Pid& pid, const Outcome& outcome);

  // Everything from now on is recorded, while this reader is open.
  // RESOURCE_EXHAUSTED: WATCH_LIMIT, and of this reader nothing is left; as
  // many are open as may be (which is counted), or the system has no more
  // threads.
  absl::StatusOr<ReaderId> Open(std::shared_ptr<LifecycleListener> listener);
  // The listener may be called once more.
  void Close(ReaderId reader);
  // The sequence of the next event. For a reader who is open.
  [[nodiscard]] uint64_t end() const;
  // Whether all events from `cursor` on are there.
  [[nodiscard]] bool Holds(uint64_t cursor) const;
  // The next events from `cursor` on of processes that match `filter` (but for
  // its state). If nothing is left, and nothing was read, the listener is woken
  // once when there is an event of any process. One call looks at kMaxLookedAt
  // events, so there may be none though some are left.
  Reading Read(ReaderId reader, uint64_t cursor, const ProcessFilter& filter,
               const ReadLimits& limits);
  // A reader has told somebody that so many events are missing.
  void CountMissed(uint64_t count);

  // The limits have changed: what is above them is forgotten, in pieces, so
  // that nobody who records waits for all of it.
  void Trim();
  // Writes how many read, and what was and is recorded.
  void AddTo(RuntimeStats& stats) const;

 private:
  // Under one lock.
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
  // Reads on; false: the batch is complete, or there is nothing left.
  bool ReadSome(ReaderId reader, const ProcessFilter& filter,
                const ReadLimits& limits, size_t& bytes, Reading& reading);
  // So many at most, for they are freed under the lock; false: there are more.
  bool Forget(size_t max_forgotten) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nobody reads, and nobody has for as long as it is recorded for those who
  // come back.
  [[nodiscard]] bool IsStale() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What is kept is for the thread to free: whoever calls this may be a worker.
  void StopRecording() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunThread();
  // What the thread does without the lock.
  struct Duty {
    std::vector<std::shared_ptr<LifecycleListener>> woken;
    std::vector<std::deque<LifecycleEvent>> discarded;
    bool stops = false;
  };
  // Waits until there is something.
  Duty AwaitDuty();

  const LiveLimits& limits_;
  const Clock& clock_;
  // Written under the lock. See (2).
  Atomic<bool> recording_{false};

  mutable Mutex mutex_;
  ConditionVariable changed_;  // for the thread
  std::deque<LifecycleEvent> events_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t first_ ABSL_GUARDED_BY(mutex_) = 1;  // sequence of events_[0]
  // Of the first event that could have been recorded without a gap.
  uint64_t recorded_since_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<ReaderId, Reader> readers_ ABSL_GUARDED_BY(mutex_);
  ReaderId last_reader_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t left_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // when the last reader did
  uint64_t recorded_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t missed_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::deque<LifecycleEvent>> discarded_ ABSL_GUARDED_BY(mutex_);
  bool some_wait_ ABSL_GUARDED_BY(mutex_) = false;  // a reader does
  bool wakes_ ABSL_GUARDED_BY(mutex_) = false;      // and there is something
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  SystemThread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
