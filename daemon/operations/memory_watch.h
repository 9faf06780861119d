// Refuses work from outside while the daemon has little memory left.
// Completions, cancels, ends and the work of processes continue, so that memory
// becomes free.
//
// Two limits of the system count: `memory.max` of the control groups, and the
// limit on the address space (RLIMIT_AS). Without a limit there is no thread.
//
// Thread-safety: Look from one thread at a time; Start and the destructor are
// for one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/log/logging.h"
#include "runtime/system/cgroup.h"
#include "runtime/system/parker.h"

namespace actord::daemon {

class MemoryWatch {
 public:
  // Memory is low from the first percentage of a limit on, until less than the
  // second is used.
  static constexpr uint64_t kLowPercent = 85;
  static constexpr uint64_t kEnoughPercent = 80;
  static constexpr uint64_t kIntervalNs = 100'000'000;

  static uint64_t FreeInAllocator();

  // With a limit on the address space, the allocator gets few arenas: each one
  // reserves 64 MiB of addresses and gives them back at the end of the program.
  // To be called before there are threads.
  static void BoundArenas();

  // The limits that were found at the start.
  struct Limits {
    runtime::CgroupMemory groups;
    uint64_t max_address_space = 0;  // bytes; 0: no limit
    // Bytes of the address space that the allocator can use again. It seldom
    // gives address space back.
    uint64_t (*free_in_allocator)() = FreeInAllocator;
  };
  // `root`: "" in production.
  static Limits FindLimits(const std::string& root);

  // `set_low` is called when memory becomes low, and when there is enough
  // again.
  MemoryWatch(Limits limits, std::string root,
              std::function<void(bool low)> set_low, Logger& logger);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // INTERNAL: the system has no thread left.
  absl::Status Start();
  // Reads the use of memory once.
  void Look();
  // Any thread. The use of the limit that is nearest, at the last Look;
  // nullopt: there is no limit, or nothing could be read.
  [[nodiscard]] std::optional<runtime::MemoryUse> Use() const {
    const absl::MutexLock lock(&mutex_);
    return last_use_;
  }
  // Any thread. Whether memory was low when it was read last.
  [[nodiscard]] bool is_low() const {
    return is_low_.load(std::memory_order_relaxed);
  }

 private:
  void Run();
  // The use of the limit that is nearest; nullopt: nothing can be read.
  [[nodiscard]] std::optional<runtime::MemoryUse> Read(
      const char*& of_what) const;

  const Limits limits_;
  const std::string root_;
  const std::function<void(bool)> set_low_;
  Logger& logger_;
  mutable absl::Mutex mutex_;
  std::optional<runtime::MemoryUse> last_use_ ABSL_GUARDED_BY(mutex_);
  // Look writes it. Relaxed: other threads only show it.
  std::atomic<bool> is_low_{false};
  int looks_until_trim_ = 0;
  // The destructor writes it, the thread reads it. Relaxed: the parker orders
  // the write before the read.
  std::atomic<bool> stopping_{false};
  runtime::Parker parker_;
  std::thread thread_;
};

}  // namespace actord::daemon
