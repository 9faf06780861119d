// Writes groups to the disk, one after the other: it writes a group when the
// sync of the group before has returned. So at most one group is not durable,
// and a crash can lose only the newest group.
//
// LoneCallers decides whether a caller may commit on its own thread.
//
// Thread-safety: one thread at a time, except for the numbers (relaxed
// counters: one thread writes them, any thread reads them).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "runtime/journal/format.h"
#include "runtime/journal/segment.h"
#include "runtime/journal/segments.h"
#include "runtime/system/atomic.h"
#include "runtime/system/clock.h"

namespace actord::runtime {

// Whether a caller that waits for its record commits it on its own thread
// (Journal::CommitHere). That saves two wake-ups of threads, but it keeps that
// thread from other calls, which might have shared the sync. So it is allowed
// only while each group has one caller that waits. From time to time the commit
// thread writes a group, to see whether that is still the case.
class LoneCallers {
 public:
  // Maximum number of groups that callers commit in a row.
  static constexpr uint32_t kCallersInARow = 64;
  // If the disk takes longer for a group, callers do not commit.
  static constexpr uint64_t kSlowNs = 1'000'000;

  // `needed`: groups of one caller in a row, written by the commit thread,
  // before a caller may commit.
  explicit LoneCallers(uint32_t needed) : needed_(needed) {}

  struct Group {
    // The waits that have begun since the group before, and how many of them
    // were by callers that could have committed.
    uint64_t waits = 0;
    uint64_t callers = 0;
    // A caller has committed the group.
    bool by_caller = false;
    // Duration of the write and the sync.
    uint64_t took_ns = 0;
  };
  // To be called when a group is durable.
  void Committed(const Group& group) {
    by_callers_ = group.by_caller ? by_callers_ + 1 : 0;
    if (group.waits > 1 || group.waits != group.callers ||
        group.took_ns > kSlowNs) {
      lone_groups_ = 0;
    } else if (group.waits == 1 && !group.by_caller) {
      lone_groups_ = std::min(lone_groups_ + 1, needed_);
    }
  }
  [[nodiscard]] bool MayCommit() const {
    return lone_groups_ == needed_ && by_callers_ < kCallersInARow;
  }

 private:
  const uint32_t needed_;
  uint32_t lone_groups_ = 0;
  uint32_t by_callers_ = 0;
};

class Committer {
 public:
  Committer(Segments& segments, const StoreId& store, const Clock& clock)
      : segments_(segments), store_(store), clock_(clock) {}

  // Begins at the place where recovery has ended.
  void Begin(const Link& link, uint64_t next_place, uint64_t incarnation);

  // The buffer for the records of the next group.
  std::string& Buffer() { return writer_.Begin(); }
  // True: FindRoom would return true, and would need no other segment.
  [[nodiscard]] bool HasRoom(uint64_t bytes) const {
    return place_ + GroupBytesOnDisk(bytes) <= segment_->end();
  }
  // Finds room for a group with `bytes` bytes of records. False: the segment
  // for it is not made yet.
  bool FindRoom(uint64_t bytes);
  // Writes the contents of Buffer, and syncs. After an error the caller may
  // neither write nor sync again. Precondition: FindRoom returned true.
  absl::Status Write(uint32_t records);

  // True: the last group is sealed: an empty group follows it.
  [[nodiscard]] bool is_sealed() const { return is_sealed_; }
  [[nodiscard]] uint64_t durable_lsn() const { return link_.lsn; }
  // Any thread.
  [[nodiscard]] const StoreId& store() const { return store_; }

  // Counts since Begin.
  struct Counts {
    Atomic<uint64_t> groups{0};
    Atomic<uint64_t> records{0};
    Atomic<uint64_t> record_bytes{0};
    Atomic<uint64_t> written_bytes{0};
    Atomic<uint64_t> seals{0};
    // Start of the running Write; 0: none is running.
    Atomic<uint64_t> since_ns{0};
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  static void Count(Atomic<uint64_t>& counter, uint64_t by) {
    counter.store(counter.load(std::memory_order_relaxed) + by,
                  std::memory_order_relaxed);
  }

  Segments& segments_;
  const StoreId store_;
  const Clock& clock_;
  GroupWriter writer_;
  std::shared_ptr<Segment> segment_;
  Link link_;
  uint64_t place_ = 0;
  uint64_t incarnation_ = 0;
  bool is_sealed_ = true;
  Counts counts_;
};

}  // namespace actord::runtime
