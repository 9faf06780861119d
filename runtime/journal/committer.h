// Writes groups to the disk, one after the other: each is written when the sync
// of the one before has returned. So at most one group is not durable, and what
// a crash can take is the newest one alone.
//
// Thread-safety: one thread at a time, but for the numbers (relaxed counters:
// one thread writes, any reads).
#pragma once

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

class Committer {
 public:
  Committer(Segments& segments, const StoreId& store, const Clock& clock)
      : segments_(segments), store_(store), clock_(clock) {}

  // From where recovery has ended.
  void Begin(const Link& link, uint64_t next_place, uint64_t incarnation);

  // The buffer for the records of the next group.
  std::string& Buffer() { return writer_.Begin(); }
  // Finds room for a group with `bytes` bytes of records. False: no segment is
  // made yet that it may be written to.
  bool FindRoom(uint64_t bytes);
  // Writes what Buffer holds, and syncs. After an error nothing may be written
  // any more, and no sync may be repeated. Precondition: FindRoom was true.
  absl::Status Write(uint32_t records);

  // True: the last group is sealed: it is followed by an empty one.
  [[nodiscard]] bool is_sealed() const { return is_sealed_; }
  [[nodiscard]] uint64_t durable_lsn() const { return link_.lsn; }
  // Any thread.
  [[nodiscard]] const StoreId& store() const { return store_; }

  // Numbers since Begin.
  struct Counts {
    Atomic<uint64_t> groups{0};
    Atomic<uint64_t> records{0};
    Atomic<uint64_t> record_bytes{0};
    Atomic<uint64_t> written_bytes{0};
    Atomic<uint64_t> seals{0};
    // When the running Write began; 0: none is running.
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
