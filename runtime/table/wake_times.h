// The times at which dormant processes have to come back, because one of their
// timers is due. A time is an entry of 12 bytes in a tree, about 17 bytes with
// the free room of the tree.
//
// A process has an entry only while it is dormant, so there are at most as many
// entries as dormant processes. An entry whose process is no longer dormant
// does no harm: the thread that takes it finds the process awake.
//
// Thread-safety: any thread.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "runtime/process/pid.h"
#include "runtime/system/mutex.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

class WakeTimes {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  // The process of the PID has to be back at `due_ns`, on the store's clock.
  void Add(const Pid& pid, uint64_t due_ns) {
    const MutexLock lock(mutex_);
    entries_.insert(EntryOf(pid, due_ns));
    Publish();
  }
  // `due_ns`: as for Add. Does nothing if the entry was taken.
  void Remove(const Pid& pid, uint64_t due_ns) {
    const MutexLock lock(mutex_);
    entries_.erase(EntryOf(pid, due_ns));
    Publish();
  }
  // The slot of a home whose process has to be back.
  struct Due {
    uint32_t home = 0;
    uint32_t slot = 0;
  };
  // Takes the earliest entry, if it is due.
  std::optional<Due> TakeDue(uint64_t now_ns) {
    // Most calls find nothing.
    if (FirstNs() > now_ns) return std::nullopt;
    const MutexLock lock(mutex_);
    const auto first = entries_.begin();
    if (first == entries_.end() || first->due_ns() > now_ns) {
      return std::nullopt;
    }
    const Due due{first->place >> kSlotBits, first->place & kSlotMask};
    entries_.erase(first);
    Publish();
    return due;
  }
  // The time of the earliest entry; kNever: there is none.
  [[nodiscard]] uint64_t FirstNs() const {
    return first_ns_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] size_t size() const {
    const MutexLock lock(mutex_);
    return entries_.size();
  }

 private:
  static constexpr int kSlotBits = 20;
  static constexpr uint32_t kSlotMask = (uint32_t{1} << kSlotBits) - 1;
  static_assert(kHomes <= 1 << (32 - kSlotBits));

  // In parts of 4 bytes, so that an entry has no padding.
  struct Entry {
    uint32_t due_high = 0;
    uint32_t due_low = 0;
    uint32_t place = 0;  // home and slot
    [[nodiscard]] uint64_t due_ns() const {
      return uint64_t{due_high} << 32 | due_low;
    }
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  static_assert(sizeof(Entry) == 12);

  static Entry EntryOf(const Pid& pid, uint64_t due_ns) {
    return {static_cast<uint32_t>(due_ns >> 32), static_cast<uint32_t>(due_ns),
            HomeOf(pid) << kSlotBits | pid.slot};
  }
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    first_ns_.store(entries_.empty() ? kNever : entries_.begin()->due_ns(),
                    std::memory_order_relaxed);
  }

  mutable Mutex mutex_;
  absl::btree_set<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  // Written under `mutex_`. Relaxed: a reader that sees an old time looks again
  // soon.
  std::atomic<uint64_t> first_ns_{kNever};
};

}  // namespace actord::runtime
