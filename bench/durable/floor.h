// The floor of durable work: a program that does nothing but append bytes to a
// file that was filled with zeros, and sync. Writers that wait for a sync are
// written together by the next one.
//
// Every error ends the program with a message.
//
// Thread-safety: one thread, unless a function says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/files/file_system.h"

namespace actord::bench {

// A file of `bytes` zeros that are on the disk.
std::unique_ptr<runtime::File> ZeroFilledFile(const std::string& path,
                                              uint64_t bytes);

class Floor {
 public:
  // Makes a file of 64 MiB in `directory`. It is written from the beginning
  // again when it is full.
  explicit Floor(const std::string& directory);

  // Returns when the bytes are on the disk. Any thread.
  void Append(std::string_view bytes);

  struct Rate {
    double appends_per_second = 0;
    double p50_us = 0;
    double p99_us = 0;
  };
  // `writers` threads make `appends` appends of `bytes` bytes in all. Each
  // waits for its append before the next.
  Rate Run(int writers, size_t bytes, uint64_t appends);

 private:
  // Writes and syncs what waits.
  void Commit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<runtime::File> file_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  std::string waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t synced_ ABSL_GUARDED_BY(mutex_) = 0;
  // Only the busy thread uses these.
  uint64_t place_ = 0;
  std::string writing_;
};

}  // namespace actord::bench
