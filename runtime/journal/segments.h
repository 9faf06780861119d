// The segments of the journal in their order: first the segments with groups,
// the newest of which is the current segment, and then the spare segments, made
// ahead of need.
//
//   (1) A segment in the list is durable: its zeros, its header and its name.
//   (2) The committer enters a segment only if another one is made behind it.
//       So a store whose newest file holds a group lacks a file.
//   (3) A segment leaves the list when META says durably that the journal
//       begins behind it.
// tests/runtime/journal/crash_test.cc checks (1) to (3).
//
// A spare segment's blocks were written before, with zeros or with old groups.
// So a commit writes only data: no block is allocated, no extent is converted,
// and the sync need not write an inode. Old groups are recognised by their
// places.
//
// The last spare segments may go again: (2) needs one of them.
//
// Thread-safety: any thread; MakeOne by one thread at a time. The lock is held
// for changes of the list, never for a call of the file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/journal/options.h"
#include "runtime/journal/segment.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class Segments {
 public:
  struct Counts {
    uint64_t made = 0;
    uint64_t recycled = 0;
    uint64_t zero_filled_bytes = 0;
  };

  Segments(const JournalOptions& options, const StoreId& store);
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  // "DIRECTORY/journal"
  static std::string FolderOf(const JournalOptions& options);

  // For recovery: sets the list and the current segment.
  void Adopt(std::vector<std::shared_ptr<Segment>> segments, size_t current);

  // ---- The committer's ---------------------------------------------------
  [[nodiscard]] std::shared_ptr<Segment> Current() const;
  // Makes the next segment the current one. Null: (2) forbids it.
  std::shared_ptr<Segment> Advance(const Link& link);

  // ---- For readers -------------------------------------------------------
  // The segment in which the group with this position must be looked for. Null:
  // that segment is no longer kept.
  [[nodiscard]] std::shared_ptr<Segment> Holding(uint64_t lsn) const;
  // The segments with groups, the oldest first. As long as anybody holds a
  // segment, its file is not used again, even if it has left the list.
  [[nodiscard]] std::vector<std::shared_ptr<const Segment>> InUse() const;
  // The next segment that is not spare; null: there is none.
  [[nodiscard]] std::shared_ptr<Segment> After(const Segment& segment) const;

  // ---- The maker's -------------------------------------------------------
  // Makes one segment, or cleans up a segment that has left the list. False:
  // there is nothing to do. RESOURCE_EXHAUSTED: no room, or less room than
  // JournalOptions::keep_free_bytes; the unfinished file is removed. Any other
  // error: the disk.
  absl::StatusOr<bool> MakeOne();
  [[nodiscard]] bool HasAny() const;
  // True: there are at least as many spare segments as the options ask for.
  [[nodiscard]] bool HasSpares() const;
  // True: MakeOne has something to do.
  [[nodiscard]] bool WantsWork() const;
  // True: the disk is short of room, so MakeOne removes the spare segments
  // beyond JournalOptions::spare_segments, and keeps no others for reuse.
  void SetShort(bool is_short);

  // ---- Trimming ----------------------------------------------------------
  // The oldest segment.
  [[nodiscard]] std::shared_ptr<Segment> First() const;
  // Removes all segments before `place` from the list.
  void DropBefore(uint64_t place);

  [[nodiscard]] Counts counts() const;

 private:
  static constexpr size_t kMostSpares = 8;
  // There are enough spare segments for the use of this much time.
  static constexpr uint64_t kAheadNs = 2'000'000'000;

  [[nodiscard]] size_t Spares() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return list_.size() - 1 - current_;
  }
  [[nodiscard]] size_t Wanted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_short_ ? options_.spare_segments : wanted_;
  }
  // How many segments that have left the list are kept for reuse.
  [[nodiscard]] size_t Kept() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_short_ ? 0 : options_.spare_segments;
  }
  // A file that is to be removed, or that the next segment is made of if
  // `is_wanted`; null: there is none.
  std::shared_ptr<Segment> TakeOld(bool is_wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CleanUp(const Segment& segment);
  absl::StatusOr<std::shared_ptr<Segment>> Make(uint64_t place,
                                                uint64_t keep_free_bytes);
  [[nodiscard]] absl::Status CheckSpace(uint64_t keep_free_bytes) const;
  absl::StatusOr<std::shared_ptr<Segment>> Recycle(const Segment& old,
                                                   uint64_t place);
  absl::Status Fill(File& file);
  // Writes the header, syncs, renames and syncs the directory: (1).
  absl::StatusOr<std::shared_ptr<Segment>> Complete(
      std::unique_ptr<File> file, const std::string& unfinished,
      uint64_t place);

  const JournalOptions& options_;
  const StoreId store_;
  const std::string folder_;

  mutable Mutex mutex_;
  std::deque<std::shared_ptr<Segment>> list_ ABSL_GUARDED_BY(mutex_);
  // Index of the current segment in list_.
  size_t current_ ABSL_GUARDED_BY(mutex_) = 0;
  // Segments that have left the list and whose files still exist. A few are
  // kept for reuse.
  std::deque<std::shared_ptr<Segment>> dropped_ ABSL_GUARDED_BY(mutex_);
  // Wanted number of spare segments.
  size_t wanted_ ABSL_GUARDED_BY(mutex_);
  bool is_short_ ABSL_GUARDED_BY(mutex_) = false;
  // Time at which the current segment was entered.
  uint64_t entered_ns_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
