// Records the last steps of a few processes, for an operator who wants to see
// what they do. A process that is not recorded pays for the test of one bit of
// Process::wanted in each step.
//
// A recording begins when somebody asks for it, and ends with its process, or
// when somebody stops it. Its steps are kept in memory only. A failure of the
// process keeps them (process_failure.h).
//
// Bounds: kMaxProcesses processes with kMaxSteps steps each; the oldest
// recording of the same owner, or else of all, makes room for a new one, and
// the oldest step for a new one. A step takes at most 32 items of about 160
// bytes, so all recordings together take less than 3 MiB.
//
// Thread-safety: any thread. Ownership: borrows the table and the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/process/end_record.h"
#include "runtime/process/listed/noted_step.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

struct Recording {
  uint64_t since_unix_ns = 0;
  std::vector<NotedStep> steps;  // the oldest first
};

class Recordings {
 public:
  static constexpr size_t kMaxProcesses = 16;
  static constexpr size_t kMaxSteps = 32;

  Recordings(const ProcessTable& processes, const Clock& clock)
      : processes_(processes), clock_(clock) {}
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  // Records the steps of the process from its next one on. False: a recording
  // that has begun goes on. Errors: `by` does not find the process, or it is
  // durable (INVALID_FIELD).
  absl::StatusOr<bool> Begin(const Pid& pid, Owner by);
  // Ends the recording, and drops its steps. False: the process is not
  // recorded.
  bool End(const Pid& pid);
  // Nullopt: the process is not recorded.
  [[nodiscard]] std::optional<Recording> Find(const Pid& pid) const;

  // The step of a turn. It is dropped if the process is not recorded any more.
  void Add(const Pid& pid, NotedStep step);
  [[nodiscard]] const Clock& clock() const { return clock_; }

  // Observes ends (end_record.h).
  static constexpr uint8_t kEndWanted = Wanted::kRecorded;
  static constexpr bool kEndNeedsOutcome = false;
  void OnEnd(const EndRecord& end, Lane& lane);

 private:
  struct Entry {
    Pid pid;
    Owner owner = Owner::kNobody;  // of the process
    uint64_t since_unix_ns = 0;
    std::deque<NotedStep> steps = {};
  };
  using Entries = std::list<Entry>;

  [[nodiscard]] Entries::iterator At(const Pid& pid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The recording that makes room for the newest one: the oldest of the same
  // owner, so that no owner ends the recordings of others, or the oldest of
  // all.
  [[nodiscard]] Entries::iterator OldestFor()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the entry to `dropped`, and takes the bit of its process.
  void Drop(Entries::iterator entry, Entries& dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProcessTable& processes_;
  const Clock& clock_;
  mutable Mutex mutex_;
  // At most kMaxProcesses, the oldest first. Few, so a search is no cost.
  Entries entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
