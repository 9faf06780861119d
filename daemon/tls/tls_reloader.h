// Keeps the files of TLS in force: reads and checks them at the start, and
// again at each reload and after each interval. Valid changed files are in
// force for all later handshakes. Wrong files change nothing, and one line of
// the log gives the reason.
//
// Thread-safety: Start and Stop are for one thread; all others are for any
// thread. Ownership: owns its thread; borrows logger and clock.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/log/logging.h"
#include "daemon/settings/config.h"
#include "daemon/tls/tls_material.h"
#include "runtime/system/clock.h"
#include "runtime/system/parker.h"

namespace actord::daemon {

class TlsReloader {
 public:
  // Reads the files. INVALID_ARGUMENT: see CheckTlsSettings, ReadTlsFiles and
  // TlsMaterial::Check. Null if no file is set.
  static absl::StatusOr<std::unique_ptr<TlsReloader>> Open(
      const TlsSettings& settings, Logger& logger, const runtime::Clock& clock);
  ~TlsReloader();
  TlsReloader(const TlsReloader&) = delete;
  TlsReloader& operator=(const TlsReloader&) = delete;

  // Starts the thread that reads the files after each interval. `on_tick` runs
  // on that thread about once a second, and once after each change. INTERNAL:
  // the system has no thread left.
  absl::Status Start(std::function<void(bool has_changed)> on_tick);
  void Stop();

  // Reads the files now.
  void Reload();

  [[nodiscard]] std::shared_ptr<const TlsMaterial> current() const;
  [[nodiscard]] bool wants_client_certificates() const {
    return !settings_.client_ca.empty();
  }

 private:
  TlsReloader(const TlsSettings& settings, Logger& logger,
              const runtime::Clock& clock)
      : settings_(settings), logger_(logger), clock_(clock) {}

  [[nodiscard]] absl::Time Now() const;
  // Reads the files, and puts them in force if they are valid.
  void Pass() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pass_mutex_);
  void Refuse(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(pass_mutex_);
  // Logs the warnings, if a day has passed since the last time.
  void WarnDaily() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pass_mutex_);
  [[nodiscard]] uint64_t IntervalNs() const;
  void Run(uint64_t next_pass_ns);

  const TlsSettings settings_;
  Logger& logger_;
  const runtime::Clock& clock_;
  std::function<void(bool has_changed)> on_tick_;

  // One pass at a time.
  absl::Mutex pass_mutex_;
  // The last reason for refusing the files, so that the same error is logged
  // once; "": they are in force.
  std::string refused_ ABSL_GUARDED_BY(pass_mutex_);
  uint64_t next_warning_ns_ ABSL_GUARDED_BY(pass_mutex_) = 0;

  mutable absl::Mutex mutex_ ABSL_ACQUIRED_AFTER(pass_mutex_);
  std::shared_ptr<const TlsMaterial> current_ ABSL_GUARDED_BY(mutex_);
  bool has_changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // The thread waits here, regardless of jumps of the time of day. Notified
  // when one of the two above becomes true.
  runtime::Parker parker_;
  std::thread thread_;
};

}  // namespace actord::daemon
