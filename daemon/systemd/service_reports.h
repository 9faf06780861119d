// Tells the service manager that started the daemon, such as systemd, when the
// daemon serves, reloads and ends, and regularly that its scheduler moves
// (sd_notify(3); Type=notify and WatchdogSec= in a unit).
//
// Thread-safety: StartWatchdog, StopWatchdog and the destructor are for one
// thread; the other functions may be called from any thread. A message blocks
// for up to a second if the service manager does not read. Ownership: borrows
// the logger.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/admin/heartbeat.h"
#include "daemon/log/logging.h"
#include "runtime/system/clock.h"
#include "runtime/system/parker.h"

namespace actord::daemon {

class ServiceReports {
 public:
  // The wishes of the service manager, which the environment holds.
  struct Offer {
    // Address of a Unix datagram socket: a path, or "@" and an abstract name.
    // "": no service manager asks for messages.
    std::string address;
    // The longest time between two signs of life; zero: it expects none.
    absl::Duration watchdog = absl::ZeroDuration();
  };
  // Reads the variables and removes them, so that programs which plugins start
  // do not inherit them. Call it before there is a second thread.
  static Offer TakeOffer();

  ServiceReports(const Offer& offer, Logger& logger,
                 const runtime::Clock& clock);
  ~ServiceReports();
  ServiceReports(const ServiceReports&) = delete;
  ServiceReports& operator=(const ServiceReports&) = delete;

  // `status` is one line, which systemctl status shows.
  void Serving(std::string_view status);
  void Reloading();
  void Reloaded();
  // The daemon ends within `longest`, and the service manager must not kill it
  // before.
  void Ending(absl::Duration longest);

  // Starts the thread of the watchdog, if the service manager expects signs of
  // life; else does nothing. A sign of life is withheld while the scheduler
  // stands still (heartbeat.h), but not once the daemon ends, because its exit
  // deadline bounds the end. `read` must be callable until StopWatchdog.
  // INTERNAL: the system has no thread left.
  absl::Status StartWatchdog(std::function<Heartbeat::Beat()> read);
  // Idempotent.
  void StopWatchdog();

  // One round of the thread. A round begins four times within the time of the
  // watchdog, and at least once a second.
  void Round();

 private:
  static absl::Duration RoundInterval(const Offer& offer);
  // A message that cannot be sent is logged.
  void Tell(const std::string& message);
  // Sends a sign of life. If several in a row cannot be sent, logs the first.
  void TellAlive();
  // "": sent; else the reason why it cannot be sent.
  [[nodiscard]] std::string Send(const std::string& message) const;
  void Run();

  const Offer offer_;
  Logger& logger_;
  const runtime::Clock& clock_;
  const int socket_;  // -1: there is no service manager
  std::atomic<bool> ending_{false};
  // For the rounds alone.
  std::unique_ptr<Heartbeat> heartbeat_;  // null: no watchdog
  int rounds_until_look_ = 0;
  bool withholds_ = false;
  bool is_unheard_ = false;  // the last sign of life could not be sent
  // StopWatchdog writes it, the thread reads it. Relaxed: the parker orders the
  // write before the read.
  std::atomic<bool> stopping_{false};
  runtime::Parker parker_;
  std::thread thread_;
};

}  // namespace actord::daemon
