// A file system in memory that may lose, tear, reorder and refuse writes like a
// real one, under a seed. A crash keeps the page cache (the program was killed)
// or drops it (the power failed).
//
// After a power failure, data that was not synced is in this state:
//   contents     of each written sector (512 bytes) or block (4 KiB), at
//                random, the old bytes or the new ones; so the order of writes
//                is lost, and any write may be torn
//   sizes        the old one or the new one, at random
//   directories  a random prefix of the creations, renames and unlinks
//
// Thread-safety: any thread; the order of calls of several threads is not under
// the seed. Ownership: files and locks must end before the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/files/file_system.h"
#include "runtime/system/mutex.h"
#include "runtime/system/random.h"
#include "tests/support/sparse_bytes.h"

namespace actord::runtime {

class SimulatedDisk final : public FileSystem {
 public:
  enum class Call {
    kOpen,
    kWrite,
    kRead,
    kSync,
    kAllocate,
    kSize,
    kRename,
    kUnlink,
    kList,
    kMakeDirectory,
    kSyncDirectory,
    kLock,
  };
  // The effect of a failed sync on earlier writes. In both cases the kernel
  // takes the pages for clean, so a second sync succeeds and does nothing.
  enum class FailedSync { kDropsPages, kKeepsPages };

  static constexpr uint64_t kNever = UINT64_MAX;
  static constexpr uint64_t kSectorBytes = 512;
  static constexpr uint8_t kDirty = 1;
  static constexpr uint8_t kWritten = 2;

  explicit SimulatedDisk(uint64_t seed) : random_(seed) {}

  // ---- Faults ------------------------------------------------------------

  // The call with this number (the first one is 0) and all later ones fail, as
  // if the program had ended there. A call that changes something has all, none
  // or a part of its effect.
  void CrashAt(uint64_t call);
  // All calls from now on fail, as if the program had ended between two calls.
  void CrashNow();
  [[nodiscard]] bool has_crashed() const;
  // FailAt or FailNext has let a call fail since the last Restart.
  [[nodiscard]] bool has_failed() const;
  // Sets the contents with which the next program begins. `tear_bytes`:
  // kSectorBytes or
  // 4096. Calls are counted anew.
  void Restart(bool keep_cache, uint64_t tear_bytes);

  // The call with this number fails; the next ones do not.
  void FailAt(uint64_t call, int error_number);
  // The next call of this kind whose path contains `part` fails with the
  // number.
  void FailNext(Call call, std::string part, int error_number);
  void set_failed_sync(FailedSync kind);
  // Writes above this many bytes are cut short at random.
  void set_short_writes(bool on);
  // Allocated and written bytes of all files together; ENOSPC above it.
  void set_capacity(uint64_t bytes);
  // Reads of this part of the file fail with EIO.
  void FailReads(const std::string& path, uint64_t offset, uint64_t bytes);
  // Changes a byte, on the disk and in the cache.
  void Flip(const std::string& path, uint64_t offset, unsigned char mask);
  void Remove(const std::string& path);
  // Called with the path before each sync of a file, on the thread that syncs,
  // which may wait in it.
  void SetBeforeSync(std::function<void(const std::string& path)> before_sync) {
    const MutexLock lock(mutex_);
    before_sync_ = std::move(before_sync);
  }

  // ---- For checks --------------------------------------------------------

  [[nodiscard]] uint64_t calls() const;
  // How often each kind of call was made.
  [[nodiscard]] uint64_t calls_of(Call call) const;
  // Syncs that had to write more than data: after the first write to an
  // allocated block, or a change of the size.
  [[nodiscard]] uint64_t syncs_with_metadata() const;
  // The full paths of all files, as a program sees them.
  [[nodiscard]] std::vector<std::string> Files() const;
  [[nodiscard]] std::string Contents(const std::string& path) const;
  void SetContents(const std::string& path, const std::string& contents);

  // ---- FileSystem --------------------------------------------------------

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path,
                                             OpenMode mode) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Unlink(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& directory) override;
  absl::Status MakeDirectory(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& path) override;
  // Not counted as a call, because it changes nothing.
  absl::StatusOr<DiskSpace> Space(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDirectory(
      const std::string& path) override;

 private:
  friend class SimulatedFile;
  friend class SimulatedLock;

  struct Inode {
    bool is_directory = false;
    // The content for programs, and the part that survives a power failure.
    SparseBytes cache;
    SparseBytes disk;
    // By sector: kDirty if its bytes in `cache` were not synced, kWritten if it
    // was ever written (the others are allocated at most).
    std::vector<uint8_t> sectors;
    bool metadata_dirty = false;
    bool has_dirty = false;
    // Offset and length of what cannot be read.
    std::map<uint64_t, uint64_t> unreadable;
  };
  using InodeRef = std::shared_ptr<Inode>;
  using Names = std::map<std::string, InodeRef>;
  // A change of names: `removed` goes, then `added` comes. Either may be empty.
  struct NameChange {
    std::string removed;
    std::string added;
    InodeRef inode;
  };

  // Counts a call and decides about it. Sets `crashes_here` if the program ends
  // in this call; then the caller applies a part of the effect.
  absl::Status Enter(Call call, const std::string& path, bool& crashes_here);
  static void Apply(Names& names, const NameChange& change);
  void ChangeName(NameChange change);
  static std::string ParentOf(const std::string& path);
  [[nodiscard]] uint64_t UsedBytes() const;
  bool Coin() { return (random_.Next() >> 32 & 1) != 0; }

  absl::StatusOr<size_t> WriteTo(Inode& inode, const std::string& path,
                                 uint64_t offset, std::string_view bytes);
  absl::Status SyncInode(Inode& inode, const std::string& path);
  absl::Status AllocateIn(Inode& inode, const std::string& path,
                          uint64_t bytes);
  void LosePower(Inode& inode, uint64_t tear_bytes);
  static void DropDirtyPages(Inode& inode);
  static void MarkClean(Inode& inode);

  mutable Mutex mutex_;
  Random random_;
  Names live_;
  Names durable_;
  // Changes of names that are not durable, in their order, by directory.
  std::map<std::string, std::vector<NameChange>> pending_;
  std::set<std::string> locked_;

  uint64_t calls_ = 0;
  std::map<Call, uint64_t> calls_of_;
  uint64_t crash_at_ = kNever;
  bool has_crashed_ = false;
  // Counts restarts: files and locks of a program that has ended do nothing.
  uint64_t life_ = 0;
  struct Failure {
    Call call;
    std::string part;
    int error_number;
  };
  std::vector<Failure> failures_;
  uint64_t fail_at_ = kNever;
  int fail_at_error_ = 0;
  bool has_failed_ = false;
  FailedSync failed_sync_ = FailedSync::kDropsPages;
  bool short_writes_ = false;
  uint64_t capacity_ = kNever;
  uint64_t syncs_with_metadata_ = 0;
  std::function<void(const std::string& path)> before_sync_;
};

}  // namespace actord::runtime
