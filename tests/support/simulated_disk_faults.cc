// Crashes of the simulated disk, its faults, and its numbers.
#include <algorithm>
#include <utility>

#include "tests/support/simulated_disk.h"

namespace actord::runtime {

void SimulatedDisk::CrashAt(uint64_t call) {
  const MutexLock lock(mutex_);
  crash_at_ = call;
}

void SimulatedDisk::CrashNow() {
  const MutexLock lock(mutex_);
  has_crashed_ = true;
}

bool SimulatedDisk::has_crashed() const {
  const MutexLock lock(mutex_);
  return has_crashed_;
}

bool SimulatedDisk::has_failed() const {
  const MutexLock lock(mutex_);
  return has_failed_;
}

void SimulatedDisk::Restart(bool keep_cache, uint64_t tear_bytes) {
  const MutexLock lock(mutex_);
  ++life_;
  calls_ = 0;
  calls_of_.clear();
  crash_at_ = kNever;
  fail_at_ = kNever;
  has_failed_ = false;
  has_crashed_ = false;
  locked_.clear();
  failures_.clear();
  if (keep_cache) return;
  for (auto& [directory, changes] : pending_) {
    const size_t kept = random_.Next() % (changes.size() + 1);
    for (size_t i = 0; i < kept; ++i) Apply(durable_, changes[i]);
  }
  pending_.clear();
  live_ = durable_;
  // A file in a directory that is gone is gone, too.
  std::erase_if(live_, [&](const auto& entry) {
    const std::string parent = ParentOf(entry.first);
    return parent != "/" && parent != "." && !live_.contains(parent);
  });
  durable_ = live_;
  for (auto& [path, inode] : live_) LosePower(*inode, tear_bytes);
}

void SimulatedDisk::LosePower(Inode& inode, uint64_t tear_bytes) {
  if (!inode.has_dirty && !inode.metadata_dirty) {
    inode.cache = inode.disk;  // The same, unless a sync has lied.
    return;
  }
  const uint64_t size = Coin()
                            ? inode.cache.size()
                            : std::min(inode.cache.size(), inode.disk.size());
  SparseBytes after = inode.disk;
  after.Resize(size);
  const uint64_t sectors = tear_bytes / kSectorBytes;
  uint64_t decided = UINT64_MAX;
  bool is_new = false;
  for (uint64_t sector = 0; sector < inode.sectors.size(); ++sector) {
    if ((inode.sectors[sector] & kDirty) == 0) continue;
    // All sectors of a torn unit share its fate.
    if (sector / sectors != decided) {
      decided = sector / sectors;
      is_new = Coin();
    }
    const uint64_t at = sector * kSectorBytes;
    if (!is_new || at >= size) continue;
    const uint64_t count = std::min(kSectorBytes, size - at);
    after.CopyFrom(inode.cache, at, count);
  }
  inode.cache = after;
  inode.disk = std::move(after);
  MarkClean(inode);
}

void SimulatedDisk::MarkClean(Inode& inode) {
  inode.metadata_dirty = false;
  if (!inode.has_dirty) return;
  inode.has_dirty = false;
  for (uint8_t& sector : inode.sectors) sector &= kWritten;
}

void SimulatedDisk::DropDirtyPages(Inode& inode) {
  const uint64_t size = inode.cache.size();
  for (uint64_t sector = 0; sector < inode.sectors.size(); ++sector) {
    const uint64_t at = sector * kSectorBytes;
    if ((inode.sectors[sector] & kDirty) == 0 || at >= size) continue;
    inode.cache.CopyFrom(inode.disk, at, std::min(kSectorBytes, size - at));
  }
}

void SimulatedDisk::FailAt(uint64_t call, int error_number) {
  const MutexLock lock(mutex_);
  fail_at_ = call;
  fail_at_error_ = error_number;
}

void SimulatedDisk::FailNext(Call call, std::string part, int error_number) {
  const MutexLock lock(mutex_);
  failures_.push_back({call, std::move(part), error_number});
}

void SimulatedDisk::set_failed_sync(FailedSync kind) {
  const MutexLock lock(mutex_);
  failed_sync_ = kind;
}

void SimulatedDisk::set_short_writes(bool on) {
  const MutexLock lock(mutex_);
  short_writes_ = on;
}

void SimulatedDisk::set_capacity(uint64_t bytes) {
  const MutexLock lock(mutex_);
  capacity_ = bytes;
}

void SimulatedDisk::FailReads(const std::string& path, uint64_t offset,
                              uint64_t bytes) {
  const MutexLock lock(mutex_);
  live_.at(path)->unreadable[offset] = bytes;
}

void SimulatedDisk::Flip(const std::string& path, uint64_t offset,
                         unsigned char mask) {
  const MutexLock lock(mutex_);
  Inode& inode = *live_.at(path);
  for (SparseBytes* bytes : {&inode.cache, &inode.disk}) {
    if (offset < bytes->size()) bytes->Flip(offset, mask);
  }
}

void SimulatedDisk::Remove(const std::string& path) {
  const MutexLock lock(mutex_);
  live_.erase(path);
  durable_.erase(path);
}

uint64_t SimulatedDisk::calls() const {
  const MutexLock lock(mutex_);
  return calls_;
}

uint64_t SimulatedDisk::calls_of(Call call) const {
  const MutexLock lock(mutex_);
  const auto found = calls_of_.find(call);
  return found == calls_of_.end() ? 0 : found->second;
}

uint64_t SimulatedDisk::syncs_with_metadata() const {
  const MutexLock lock(mutex_);
  return syncs_with_metadata_;
}

std::vector<std::string> SimulatedDisk::Files() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, inode] : live_) {
    if (!inode->is_directory) paths.push_back(path);
  }
  return paths;
}

std::string SimulatedDisk::Contents(const std::string& path) const {
  const MutexLock lock(mutex_);
  return live_.at(path)->cache.ToString();
}

void SimulatedDisk::SetContents(const std::string& path,
                                const std::string& contents) {
  const MutexLock lock(mutex_);
  const auto inode = std::make_shared<Inode>();
  inode->cache = SparseBytes(contents);
  inode->disk = inode->cache;
  inode->sectors.assign(inode->cache.size() / kSectorBytes + 1, kWritten);
  live_[path] = inode;
  durable_[path] = inode;
}

}  // namespace actord::runtime
