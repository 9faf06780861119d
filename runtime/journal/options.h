// Settings of a journal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "runtime/files/file_system.h"
#include "runtime/system/clock.h"

namespace actord::runtime {

struct JournalOptions {
  // The directory of the store. It is made if it does not exist; its parent
  // must exist.
  std::string directory;
  // Size of each new file: 1 to 256 MiB, a multiple of 4 KiB.
  uint64_t segment_bytes = 64 << 20;
  // Maximum size of one record's payload: at most half a segment, and a quarter
  // of the ring. A larger record is refused.
  uint64_t max_record_bytes = 16 << 20;
  // With more bytes than this reserved and not durable, the journal is behind.
  uint64_t max_unsynced_bytes = 16 << 20;
  // Size of the ring, in resident memory: a power of two, at least four times
  // max_record_bytes.
  uint64_t ring_bytes = 64 << 20;
  // Maximum size of a group. A larger record has a group of its own.
  uint64_t max_group_bytes = 1 << 20;
  // How long records that nobody waits for (Journal::Want) may wait for a
  // group, so that they share the sync of the next one. At most a few hundred
  // KiB of records wait.
  uint64_t linger_ns = 2'000'000;
  // After this many groups that one caller alone has waited for, such a caller
  // may commit its record itself (Journal::CommitHere).
  uint32_t lone_groups = 8;
  // Time without a record after which the last group is sealed.
  uint64_t seal_after_ns = 1'000'000'000;
  // Minimum number of segments that are made ahead; at most eight if they are
  // used up faster.
  uint64_t spare_segments = 2;
  // Room on the disk that new segments must leave free. 0: none.
  uint64_t keep_free_bytes = 0;
  // The same for spare segments beyond `spare_segments`. 0: keep_free_bytes.
  uint64_t keep_free_of_spares_bytes = 0;
  // False: the journal starts no thread, and its owner calls Journal::Work.
  bool threads = true;
  // The kinds of records that the journal's owner can read, besides OPENED.
  // A store with a record of another kind is refused, unless it is skippable.
  std::function<bool(uint16_t)> knows;

  FileSystem* files = &FileSystem::System();
  const Clock* clock = &Clock::System();
  // For tests: if not 0, the id of a new store is made from this number.
  uint64_t seed = 0;

  // INVALID_ARGUMENT names the wrong setting, and the right values.
  [[nodiscard]] absl::Status Check() const;
};

// Counts since the journal was opened.
struct JournalStats {
  uint64_t groups = 0;
  // The groups among them that callers have committed (Journal::CommitHere).
  uint64_t groups_by_callers = 0;
  uint64_t records = 0;
  // Bytes of records, and bytes written with headers and padding.
  uint64_t record_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t seals = 0;
  uint64_t segments_made = 0;
  uint64_t segments_recycled = 0;
  // Zeros that were written ahead of need, not counted in written_bytes.
  uint64_t zero_filled_bytes = 0;
  // How often a thread has waited for room in the ring.
  uint64_t room_waits = 0;
  // How often a reservation was not published for 100 ms.
  uint64_t unpublished_stalls = 0;
  // Nanoseconds since the running write or sync began; 0: none is running.
  uint64_t sync_running_ns = 0;
  // False: the ring can be swapped out; RLIMIT_MEMLOCK is too small.
  bool ring_locked = false;
};

// The findings when the journal was opened.
struct RecoveryReport {
  // True: the store was made.
  bool is_new = false;
  uint64_t incarnation = 0;
  uint64_t groups = 0;
  // Positions of the first record that is kept, and behind the last one.
  uint64_t first_lsn = 0;
  uint64_t end_lsn = 0;
  // The place of a torn group that was cut off, of which no client was told;
  // empty: none was.
  std::string cut;
  // The copy of META that was repaired; empty: none.
  std::string repaired;
};

// Calls of the journal to its owner, on the journal's threads or on the thread
// of Trim. The functions must be short, and must not call Trim or Close.
class JournalEvents {
 public:
  virtual ~JournalEvents() = default;
  // All records before `lsn` are durable.
  virtual void Durable(uint64_t lsn) = 0;
  // The journal is no longer behind. May be called on two threads at once, and
  // once too often.
  virtual void CaughtUp() = 0;
  // Called once: the disk has failed. No further record becomes durable, and
  // nobody knows which bytes the disk has. The program must end with status 74.
  virtual void Failed(const absl::Status& status) = 0;
};

}  // namespace actord::runtime
