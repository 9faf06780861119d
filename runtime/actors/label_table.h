// The labels of live processes. A process without labels is not in the table,
// and pays nothing for it.
//
// Labels are put before anybody can find their process, and are taken out at
// its end, before its PID is free. Wanted::kLabelled says whether to look; a
// dormant process has its labels here, too.
//
// Bounds: kMaxLabels for each live process. Their bytes count for the quota of
// bytes in mailboxes of the process's owner.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/process/end_record.h"
#include "runtime/process/listed/labels.h"
#include "runtime/process/owner.h"
#include "runtime/process/owner_limits.h"
#include "runtime/system/assert.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class LabelTable {
 public:
  // `bytes_of`: gets back what a process is charged for. Borrowed.
  explicit LabelTable(OwnerLimits& bytes_of) : bytes_of_(bytes_of) {}
  LabelTable(const LabelTable&) = delete;
  LabelTable& operator=(const LabelTable&) = delete;

  // `charged`: the owner of which ChargeBytes were taken; kNobody: none.
  // Precondition: the process is not in the table, and `labels` are not empty.
  void Put(const Pid& pid, Labels labels, Owner charged) {
    ACTORD_ASSERT(!labels.empty(), "label_table.h: there are labels");
    auto shared = std::make_shared<const Labels>(std::move(labels));
    const MutexLock lock(mutex_);
    const bool is_new =
        entries_.emplace(pid, Entry{std::move(shared), charged}).second;
    ACTORD_ASSERT(is_new, "label_table.h: the process is not in the table");
  }
  // Null: the process has no labels.
  [[nodiscard]] SharedLabels Find(const Pid& pid) const {
    const MutexLock lock(mutex_);
    const auto it = entries_.find(pid);
    return it == entries_.end() ? nullptr : it->second.labels;
  }
  // The same for a process of which only a turn, or nobody, has the slot.
  [[nodiscard]] SharedLabels Of(const Process& process, const Pid& pid) const {
    const uint8_t wanted = process.wanted.load(std::memory_order_relaxed);
    if ((wanted & Wanted::kLabelled) == 0) {
      return nullptr;
    }
    return Find(pid);
  }
  // Drops the labels of a process that has not begun, without giving back.
  void Drop(const Pid& pid) {
    const MutexLock lock(mutex_);
    entries_.erase(pid);
  }

  // Observes ends (end_record.h).
  static constexpr uint8_t kEndWanted = Wanted::kLabelled;
  static constexpr bool kEndNeedsOutcome = false;
  void OnEnd(const EndRecord& end, Lane& /*lane*/) {
    Entry ended;
    {
      const MutexLock lock(mutex_);
      const auto it = entries_.find(end.pid);
      if (it == entries_.end()) return;
      ended = std::move(it->second);
      entries_.erase(it);
    }
    bytes_of_.Give(ended.charged, ended.labels->ChargeBytes());
  }

  [[nodiscard]] size_t size() const {
    const MutexLock lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    SharedLabels labels;
    Owner charged = Owner::kNobody;
  };

  OwnerLimits& bytes_of_;
  mutable Mutex mutex_;
  absl::flat_hash_map<Pid, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
