// A disk in memory whose syncs wait while its gate is closed: records are
// written and not durable for as long as a test wants.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/files/file_system.h"
#include "tests/support/simulated_disk.h"

namespace actord::daemon {

class GatedDisk final : public runtime::FileSystem {
 public:
  void CloseGate() { Set(false); }
  void OpenGate() { Set(true); }
  // Waits until a sync waits at the closed gate.
  void AwaitSync() {
    const absl::MutexLock lock(&mutex_);
    const auto waits = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return waiting_ > 0;
    };
    mutex_.Await(absl::Condition(&waits));
  }

  absl::StatusOr<std::unique_ptr<runtime::File>> Open(
      const std::string& path, runtime::OpenMode mode) override {
    auto file = disk_.Open(path, mode);
    if (!file.ok()) return file.status();
    return std::make_unique<GatedFile>(*this, *std::move(file));
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return disk_.Rename(from, to);
  }
  absl::Status Unlink(const std::string& path) override {
    return disk_.Unlink(path);
  }
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& directory) override {
    return disk_.List(directory);
  }
  absl::Status MakeDirectory(const std::string& path) override {
    return disk_.MakeDirectory(path);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    return disk_.SyncDirectory(path);
  }
  absl::StatusOr<runtime::DiskSpace> Space(const std::string& path) override {
    return disk_.Space(path);
  }
  absl::StatusOr<std::unique_ptr<runtime::DirectoryLock>> LockDirectory(
      const std::string& path) override {
    return disk_.LockDirectory(path);
  }

 private:
  class GatedFile final : public runtime::File {
   public:
    GatedFile(GatedDisk& disk, std::unique_ptr<runtime::File> file)
        : disk_(disk), file_(std::move(file)) {}
    absl::StatusOr<size_t> WriteSome(uint64_t offset,
                                     std::string_view bytes) override {
      return file_->WriteSome(offset, bytes);
    }
    absl::StatusOr<size_t> ReadSome(uint64_t offset, size_t bytes,
                                    char* into) override {
      return file_->ReadSome(offset, bytes, into);
    }
    absl::Status SyncData() override {
      disk_.PassGate();
      return file_->SyncData();
    }
    absl::Status Allocate(uint64_t bytes) override {
      return file_->Allocate(bytes);
    }
    absl::StatusOr<uint64_t> Size() override { return file_->Size(); }

   private:
    GatedDisk& disk_;
    const std::unique_ptr<runtime::File> file_;
  };

  void Set(bool is_open) {
    const absl::MutexLock lock(&mutex_);
    is_open_ = is_open;
  }
  void PassGate() {
    const absl::MutexLock lock(&mutex_);
    ++waiting_;
    mutex_.Await(absl::Condition(&is_open_));
    --waiting_;
  }

  runtime::SimulatedDisk disk_{1};
  absl::Mutex mutex_;
  bool is_open_ ABSL_GUARDED_BY(mutex_) = true;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace actord::daemon
