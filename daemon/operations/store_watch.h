// Tells operators and load balancers when the disk of the store hangs or is
// full, and when the journal had to wait for a thread of the daemon. While the
// disk hangs, health checks say NOT_SERVING: answers for durable processes wait
// for the disk.
//
// Thread-safety: Look from one thread at a time; Start, Stop and the destructor
// are for one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "daemon/log/logging.h"
#include "runtime/durable/opened_store.h"
#include "runtime/system/parker.h"

namespace actord::daemon {

class StoreWatch {
 public:
  // The disk hangs when a write or sync has not returned for this long. The log
  // gets a line each time this has passed.
  static constexpr uint64_t kHangNs = 10'000'000'000;

  struct Parts {
    // How long the running write or sync has taken; 0: none is running.
    std::function<uint64_t()> sync_running_ns;
    std::function<bool()> is_full;
    // How often a reservation was not published for 100 ms (JournalStats).
    std::function<uint64_t()> unpublished_stalls;
    std::function<void(bool)> set_serving;
  };
  // `store` is borrowed.
  static Parts PartsOf(runtime::OpenedStore& store,
                       std::function<void(bool)> set_serving);

  StoreWatch(Parts parts, Logger& logger);
  ~StoreWatch();
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;

  // INTERNAL: the system has no thread left.
  absl::Status Start();
  // After Stop nothing is reported. Idempotent.
  void Stop();
  // Checks the store once.
  void Look();

 private:
  void Run();
  void LookForHang();
  void LookForRoom();
  void LookForStalls();

  const Parts parts_;
  Logger& logger_;
  bool hangs_ = false;
  // How long the write or sync had taken when the last line was logged.
  uint64_t logged_ns_ = 0;
  bool is_full_ = false;
  uint64_t stalls_ = 0;  // that the log has
  // Stop writes it, the thread reads it. Relaxed: the parker orders the write
  // before the read.
  std::atomic<bool> stopping_{false};
  runtime::Parker parker_;
  std::thread thread_;
};

}  // namespace actord::daemon
