#include "tests/support/simulated_disk.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {

namespace {

absl::Status Crashed() { return absl::AbortedError("the program has ended"); }

}  // namespace

class SimulatedFile final : public File {
 public:
  SimulatedFile(SimulatedDisk& disk, SimulatedDisk::InodeRef inode,
                std::string path)
      : disk_(disk),
        inode_(std::move(inode)),
        path_(std::move(path)),
        life_(disk.life_) {}

  absl::StatusOr<size_t> WriteSome(uint64_t offset,
                                   std::string_view bytes) override {
    const MutexLock lock(disk_.mutex_);
    if (life_ != disk_.life_) return Crashed();
    return disk_.WriteTo(*inode_, path_, offset, bytes);
  }
  absl::StatusOr<size_t> ReadSome(uint64_t offset, size_t bytes,
                                  char* into) override {
    const MutexLock lock(disk_.mutex_);
    if (life_ != disk_.life_) return Crashed();
    bool crashes = false;
    if (auto status = disk_.Enter(SimulatedDisk::Call::kRead, path_, crashes);
        !status.ok()) {
      return status;
    }
    if (crashes) return Crashed();
    for (const auto& [begin, length] : inode_->unreadable) {
      if (begin < offset + bytes && offset < begin + length) {
        return IoError(EIO, "pread", path_);
      }
    }
    if (offset >= inode_->cache.size()) return 0;
    const size_t count =
        std::min<uint64_t>(bytes, inode_->cache.size() - offset);
    inode_->cache.Read(offset, count, into);
    return count;
  }
  absl::Status SyncData() override {
    std::function<void(const std::string&)> before_sync;
    {
      const MutexLock lock(disk_.mutex_);
      before_sync = disk_.before_sync_;
    }
    if (before_sync) before_sync(path_);
    const MutexLock lock(disk_.mutex_);
    if (life_ != disk_.life_) return Crashed();
    return disk_.SyncInode(*inode_, path_);
  }
  absl::Status Allocate(uint64_t bytes) override {
    const MutexLock lock(disk_.mutex_);
    if (life_ != disk_.life_) return Crashed();
    return disk_.AllocateIn(*inode_, path_, bytes);
  }
  absl::StatusOr<uint64_t> Size() override {
    const MutexLock lock(disk_.mutex_);
    if (life_ != disk_.life_) return Crashed();
    bool crashes = false;
    if (auto status = disk_.Enter(SimulatedDisk::Call::kSize, path_, crashes);
        !status.ok()) {
      return status;
    }
    if (crashes) return Crashed();
    return inode_->cache.size();
  }

 private:
  SimulatedDisk& disk_;
  const SimulatedDisk::InodeRef inode_;
  const std::string path_;
  const uint64_t life_;
};

class SimulatedLock final : public DirectoryLock {
 public:
  SimulatedLock(SimulatedDisk& disk, std::string path)
      : disk_(disk), path_(std::move(path)), life_(disk.life_) {}
  ~SimulatedLock() override {
    const MutexLock lock(disk_.mutex_);
    if (life_ == disk_.life_) disk_.locked_.erase(path_);
  }

 private:
  SimulatedDisk& disk_;
  const std::string path_;
  const uint64_t life_;
};

absl::Status SimulatedDisk::Enter(Call call, const std::string& path,
                                  bool& crashes_here) {
  if (has_crashed_) return Crashed();
  crashes_here = calls_ == crash_at_;
  const bool fails_here = calls_ == fail_at_;
  ++calls_;
  ++calls_of_[call];
  if (crashes_here) {
    has_crashed_ = true;
    return absl::OkStatus();
  }
  if (fails_here) {
    has_failed_ = true;
    return IoError(fail_at_error_, "simulated call of", path);
  }
  const auto failure = std::find_if(
      failures_.begin(), failures_.end(), [&](const Failure& candidate) {
        return candidate.call == call &&
               path.find(candidate.part) != std::string::npos;
      });
  if (failure == failures_.end()) return absl::OkStatus();
  const int error_number = failure->error_number;
  failures_.erase(failure);
  has_failed_ = true;
  return IoError(error_number, "simulated call of", path);
}

std::string SimulatedDisk::ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void SimulatedDisk::Apply(Names& names, const NameChange& change) {
  if (!change.removed.empty()) names.erase(change.removed);
  if (!change.added.empty()) names[change.added] = change.inode;
}

void SimulatedDisk::ChangeName(NameChange change) {
  Apply(live_, change);
  const std::string& name =
      change.added.empty() ? change.removed : change.added;
  pending_[ParentOf(name)].push_back(std::move(change));
}

absl::StatusOr<DiskSpace> SimulatedDisk::Space(const std::string& /*path*/) {
  const MutexLock lock(mutex_);
  const uint64_t used = UsedBytes();
  return DiskSpace{.total = capacity_,
                   .available = capacity_ - std::min(capacity_, used)};
}

uint64_t SimulatedDisk::UsedBytes() const {
  uint64_t used = 0;
  for (const auto& [path, inode] : live_) used += inode->cache.size();
  return used;
}

absl::StatusOr<std::unique_ptr<File>> SimulatedDisk::Open(
    const std::string& path, OpenMode mode) {
  const MutexLock lock(mutex_);
  bool crashes = false;
  if (auto status = Enter(Call::kOpen, path, crashes); !status.ok()) {
    return status;
  }
  const auto found = live_.find(path);
  if (mode != OpenMode::kCreate) {
    if (crashes) return Crashed();
    if (found == live_.end()) return IoError(ENOENT, "open", path);
    return std::make_unique<SimulatedFile>(*this, found->second, path);
  }
  if (found != live_.end()) return IoError(EEXIST, "open", path);
  if (crashes && Coin()) return Crashed();
  auto inode = std::make_shared<Inode>();
  ChangeName({"", path, inode});
  if (crashes) return Crashed();
  return std::make_unique<SimulatedFile>(*this, std::move(inode), path);
}

absl::Status SimulatedDisk::Rename(const std::string& from,
                                   const std::string& to) {
  const MutexLock lock(mutex_);
  bool crashes = false;
  if (auto status = Enter(Call::kRename, from, crashes); !status.ok()) {
    return status;
  }
  const auto found = live_.find(from);
  if (found == live_.end()) return IoError(ENOENT, "rename", from);
  if (crashes && Coin()) return Crashed();
  ChangeName({from, to, InodeRef(found->second)});
  return crashes ? Crashed() : absl::OkStatus();
}

absl::Status SimulatedDisk::Unlink(const std::string& path) {
  const MutexLock lock(mutex_);
  bool crashes = false;
  if (auto status = Enter(Call::kUnlink, path, crashes); !status.ok()) {
    return status;
  }
  if (!live_.contains(path)) return IoError(ENOENT, "unlink", path);
  if (crashes && Coin()) return Crashed();
  ChangeName({path, "", nullptr});
  return crashes ? Crashed() : absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> SimulatedDisk::List(
    const std::string& directory) {
  const MutexLock lock(mutex_);
  bool crashes = false;
  if (auto status = Enter(Call::kList, directory, crashes); !status.ok()) {
    return status;
  }
  if (crashes) return Crashed();
  if (!live_.contains(directory)) return IoError(ENOENT, "opendir", directory);
  std::vector<std::string> names;
  for (const auto& [path, inode] : live_) {
    if (ParentOf(path) == directory) {
      names.push_back(path.substr(directory.size() + 1));
    }
  }
  return names;
}

absl::Status SimulatedDisk::MakeDirectory(const std::string& path) {
  const MutexLock lock(mutex_);
  bool crashes = false;
  if (auto status = Enter(Call::kMakeDirectory, path, crashes); !status.ok()) {
    return status;
  }
  if (live_.contains(path)) return crashes ? Crashed() : absl::OkStatus();
  if (crashes && Coin()) return Crashed();
  auto inode = std::make_shared<Inode>();
  inode->is_directory = true;
  ChangeName({"", path, std::move(inode)});
  return crashes ? Crashed() : absl::OkStatus();
}

absl::Status SimulatedDisk::SyncDirectory(const std::string& path) {
  const MutexLock lock(mutex_);
  bool crashes = false;
  if (auto status = Enter(Call::kSyncDirectory, path, crashes); !status.ok()) {
    return status;
  }
  if (crashes && Coin()) return Crashed();
  for (const NameChange& change : pending_[path]) Apply(durable_, change);
  pending_[path].clear();
  return crashes ? Crashed() : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DirectoryLock>> SimulatedDisk::LockDirectory(
    const std::string& path) {
  const MutexLock lock(mutex_);
  bool crashes = false;
  if (auto status = Enter(Call::kLock, path, crashes); !status.ok()) {
    return status;
  }
  if (crashes) return Crashed();
  if (!live_.contains(path)) return IoError(ENOENT, "open", path);
  if (!locked_.insert(path).second) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is in use by another program"));
  }
  return std::make_unique<SimulatedLock>(*this, path);
}

absl::StatusOr<size_t> SimulatedDisk::WriteTo(Inode& inode,
                                              const std::string& path,
                                              uint64_t offset,
                                              std::string_view bytes) {
  bool crashes = false;
  if (auto status = Enter(Call::kWrite, path, crashes); !status.ok()) {
    return status;
  }
  const uint64_t grown =
      std::max<uint64_t>(offset + bytes.size(), inode.cache.size()) -
      inode.cache.size();
  if (grown > 0 && UsedBytes() + grown > capacity_) {
    return IoError(ENOSPC, "pwrite", path);
  }
  size_t count = bytes.size();
  if (crashes || (short_writes_ && count > 1 && Coin())) {
    count = random_.Next() % bytes.size() + (crashes ? 0 : 1);
    count = std::min(count, bytes.size());
  }
  if (count > 0) {
    if (offset + count > inode.cache.size()) {
      inode.cache.Resize(offset + count);
      inode.metadata_dirty = true;
    }
    inode.cache.Write(offset, bytes.substr(0, count));
    inode.has_dirty = true;
    const uint64_t last = (offset + count - 1) / kSectorBytes;
    if (inode.sectors.size() <= last) inode.sectors.resize(last + 1);
    for (uint64_t sector = offset / kSectorBytes; sector <= last; ++sector) {
      if ((inode.sectors[sector] & kWritten) == 0) inode.metadata_dirty = true;
      inode.sectors[sector] = kWritten | kDirty;
    }
  }
  if (crashes) return Crashed();
  return count;
}

absl::Status SimulatedDisk::SyncInode(Inode& inode, const std::string& path) {
  bool crashes = false;
  if (auto status = Enter(Call::kSync, path, crashes); !status.ok()) {
    if (!has_crashed_) {
      if (failed_sync_ == FailedSync::kDropsPages) DropDirtyPages(inode);
      MarkClean(inode);
    }
    return status;
  }
  if (crashes && Coin()) return Crashed();
  if (inode.metadata_dirty) ++syncs_with_metadata_;
  inode.disk.Resize(inode.cache.size());
  for (uint64_t sector = 0; sector < inode.sectors.size(); ++sector) {
    const uint64_t at = sector * kSectorBytes;
    if ((inode.sectors[sector] & kDirty) == 0 || at >= inode.cache.size()) {
      continue;
    }
    inode.disk.CopyFrom(inode.cache, at,
                        std::min(kSectorBytes, inode.cache.size() - at));
  }
  MarkClean(inode);
  return crashes ? Crashed() : absl::OkStatus();
}

absl::Status SimulatedDisk::AllocateIn(Inode& inode, const std::string& path,
                                       uint64_t bytes) {
  bool crashes = false;
  if (auto status = Enter(Call::kAllocate, path, crashes); !status.ok()) {
    return status;
  }
  if (crashes && Coin()) return Crashed();
  if (bytes > inode.cache.size()) {
    if (UsedBytes() + bytes - inode.cache.size() > capacity_) {
      return IoError(ENOSPC, "fallocate", path);
    }
    inode.cache.Resize(bytes);
    inode.metadata_dirty = true;
  }
  return crashes ? Crashed() : absl::OkStatus();
}

}  // namespace actord::runtime
