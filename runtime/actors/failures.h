// Keeps the newest failures of processes, within limits of their number and of
// their memory. The oldest are dropped first. Failures can be listed, and found
// by the PID. Counts the failures of each type, kept or not.
//
// A process has failed if it ended without a result and nobody had asked for
// the end (IsFailure). A submission whose first Init refuses is not kept,
// because its submitter gets the error.
//
// The end of a process adds its failure before others can notice the end. So a
// thread that no longer finds the process finds its failure, as long as the
// failure is kept.
//
// A process that ends by Done, a cancel or a termination never touches this
// class. A flood of failures from all workers shares one lock, so a failure is
// made before the lock is taken, and dropped after it is released.
//
// Thread-safety: any thread. Ownership: borrows its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/actors/names.h"
#include "runtime/actors/process_failure.h"
#include "runtime/actors/ties.h"
#include "runtime/process/listed/failed_step.h"
#include "runtime/process/outcome.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/settings/limits.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

struct FailureQuery {
  std::string process_type = {};  // "": any
  Pid pid = {};                   // empty: any
  uint64_t since_unix_ns = 0;     // of the end; 0: any
  uint64_t after = 0;             // only failures with a greater id
  bool newest_first = false;
  // The beginning of the page: `next` of the previous page; 0: the first page.
  uint64_t first = 0;
  size_t page_size = 0;
  Owner by = Owner::kAny;  // only the failures that `by` sees
};

struct FailurePage {
  std::vector<std::shared_ptr<const ProcessFailure>> failures;
  uint64_t next = 0;  // where the next page begins; 0: this was the last page
};

class Failures {
 public:
  // A longer text of a failure is cut.
  static constexpr size_t kMaxMessageBytes = 1024;
  // Whether the text of a failure may be the beginning of a longer one. (A cut
  // leaves whole characters.)
  static bool MayBeCut(std::string_view message) {
    constexpr size_t kMaxCharacterBytes = 4;
    return message.size() + kMaxCharacterBytes > kMaxMessageBytes;
  }
  // Of the last steps of a failure, the newest are kept within these bytes.
  static constexpr size_t kMaxStepBytes = 8192;
  // The failures of further types are counted together, under kOtherTypes.
  static constexpr size_t kMaxCountedTypes = 200;
  static constexpr const char* kOtherTypes = "(other)";

  // `told` is called with each failure and the log lines of its failed step, on
  // the thread of the process, and must not block; null: nothing is called.
  using Told = std::function<void(const ProcessFailure&, const StepLines&)>;

  Failures(const LiveLimits& limits, const Clock& clock, const Names& names,
           const Ties& ties, Told told)
      : limits_(limits),
        clock_(clock),
        names_(names),
        ties_(ties),
        told_(std::move(told)) {}
  Failures(const Failures&) = delete;
  Failures& operator=(const Failures&) = delete;

  // Called in the turn that ends the process, while the process still has its
  // names and ties. Precondition: IsFailure(cause.kind).
  // `last_steps`: see ProcessFailure; they are dropped if there is no room for
  // them. `lines` are told and not kept.
  void Add(const Process& process, const Pid& pid, const EndCause& cause,
           std::vector<NotedStep> last_steps = {}, const StepLines& lines = {});

  // The failure of the process. Null: it is not kept, or `by` does not see it.
  [[nodiscard]] std::shared_ptr<const ProcessFailure> Find(
      const Pid& pid, Owner by = Owner::kAny) const;
  // A failure that is kept during the whole walk over all pages is listed
  // exactly once. One call examines at most kMaxLookedAt failures, so a page
  // before the last may be short or empty.
  [[nodiscard]] FailurePage List(const FailureQuery& query) const;

  // The failures of each type since the start, sorted by type. The type of a
  // process that was spawned with a type that does not exist is kOtherTypes.
  [[nodiscard]] std::map<std::string, uint64_t> CountsByType() const;

  // Drops the failures above the limits. Called when the limits have changed.
  void Trim();

 private:
  using Kept = std::shared_ptr<const ProcessFailure>;

  // Limits of one critical section.
  static constexpr size_t kLookedAtOnce = 256;

  static size_t ChargeOf(const ProcessFailure& failure);
  static bool Matches(const FailureQuery& query, const ProcessFailure& failure);

  // The id that the next failure will get.
  [[nodiscard]] uint64_t End() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return first_ + kept_.size();
  }
  // Examines the next failures from `at` on and moves `at`. False: the page is
  // complete.
  bool ListSome(const FailureQuery& query, uint64_t& at,
                FailurePage& page) const;
  void CountType(const std::string& type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the oldest failures to `dropped` until at most `max_count` failures
  // and `max_bytes` bytes are left.
  void Forget(size_t max_count, size_t max_bytes, std::vector<Kept>& dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LiveLimits& limits_;
  const Clock& clock_;
  const Names& names_;
  const Ties& ties_;
  const Told told_;

  mutable Mutex mutex_;
  uint64_t first_ ABSL_GUARDED_BY(mutex_) = 1;  // id of kept_.front()
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Pid, uint64_t> ids_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // At most kMaxCountedTypes, and kOtherTypes.
  std::map<std::string, uint64_t> of_types_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
