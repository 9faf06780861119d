// Gives memory that is free after a burst back to the system.
//
// Checks each kLookNs. If much memory is free and no process is ready, it gives
// back the free pages of the runtime's buffers and of the C library's
// allocator. While processes are ready it waits, because a thread that
// allocates during this work may wait for the allocator's locks.
//
// The slots of processes and yields are not given back, because they are
// reused: 256 bytes for each process, for the largest number that lived at the
// same time.
//
// Thread-safety: Look from one thread at a time; Start and the destructor are
// for one thread. Ownership: owns its thread, borrows everything else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "daemon/log/logging.h"
#include "runtime/runtime.h"
#include "runtime/system/parker.h"

namespace actord::daemon {

class MemoryReturn {
 public:
  // Minimum growth of resident, or of free, memory since memory was last given
  // back.
  static constexpr size_t kMinBytes = size_t{32} << 20;
  static constexpr uint64_t kLookNs = 10'000'000'000;
  // Pause until the next check if there was memory to give back, and processes
  // were ready.
  static constexpr uint64_t kBusyLookNs = 100'000'000;

  // The functions that it calls.
  struct Parts {
    // Bytes of the daemon that are in memory. Called at each check.
    std::function<size_t()> resident_bytes;
    // Changes when processes have run. Called at each check.
    std::function<uint64_t()> steps;
    // Bytes that are free, and may be in memory. Takes the allocator's locks.
    std::function<size_t()> free_bytes;
    std::function<bool()> is_busy;
    std::function<void()> give_back;
  };
  static Parts PartsOf(runtime::Runtime& runtime);

  MemoryReturn(Parts parts, Logger& logger);
  ~MemoryReturn();
  MemoryReturn(const MemoryReturn&) = delete;
  MemoryReturn& operator=(const MemoryReturn&) = delete;

  // INTERNAL: the system has no thread left.
  absl::Status Start();
  // Gives memory back if it is time. Returns the pause until the next look, in
  // nanoseconds.
  uint64_t Look();

 private:
  void Run();

  const Parts parts_;
  Logger& logger_;
  // Resident bytes after memory was last given back; at first at the start.
  size_t resident_then_ = 0;
  size_t free_then_ = 0;
  // Resident bytes at the last check.
  size_t resident_before_ = 0;
  uint64_t steps_before_ = 0;
  // The destructor writes it, the thread reads it. Relaxed: the parker orders
  // the write before the read.
  std::atomic<bool> stopping_{false};
  runtime::Parker parker_;
  std::thread thread_;
};

}  // namespace actord::daemon
