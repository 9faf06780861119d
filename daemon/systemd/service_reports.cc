#include "daemon/systemd/service_reports.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

constexpr absl::Duration kSendTimeout = absl::Seconds(1);
constexpr absl::Duration kLookInterval =
    absl::Seconds(Heartbeat::kSecondsBetweenLooks);
// systemd ignores an unlimited extension.
constexpr absl::Duration kLongestExtension = absl::Hours(24 * 365);

int64_t NumberIn(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string Take(const char* variable) {
  const char* const text = std::getenv(variable);
  std::string taken = text == nullptr ? "" : text;
  unsetenv(variable);
  return taken;
}

int OpenSocket() {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const timeval timeout = absl::ToTimeval(kSendTimeout);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  return fd;
}

}  // namespace

ServiceReports::Offer ServiceReports::TakeOffer() {
  Offer offer;
  offer.address = Take("NOTIFY_SOCKET");
  const std::string microseconds = Take("WATCHDOG_USEC");
  const std::string pid = Take("WATCHDOG_PID");
  if (offer.address.empty()) return offer;
  if (pid.empty() || NumberIn(pid) == getpid()) {
    offer.watchdog =
        absl::Microseconds(std::max<int64_t>(0, NumberIn(microseconds)));
  }
  return offer;
}

ServiceReports::ServiceReports(const Offer& offer, Logger& logger,
                               const runtime::Clock& clock)
    : offer_(offer),
      logger_(logger),
      clock_(clock),
      socket_(offer.address.empty() ? -1 : OpenSocket()) {}

ServiceReports::~ServiceReports() {
  StopWatchdog();
  if (socket_ >= 0) close(socket_);
}

void ServiceReports::Serving(std::string_view status) {
  Tell(absl::StrCat("READY=1\nSTATUS=", std::string(status)));
}

void ServiceReports::Reloading() {
  Tell(absl::StrCat("RELOADING=1\nMONOTONIC_USEC=",
                    clock_.MonotonicNs() / 1000));
}

void ServiceReports::Reloaded() { Tell("READY=1"); }

void ServiceReports::Ending(absl::Duration longest) {
  ending_ = true;
  Tell(absl::StrCat(
      "STOPPING=1\nSTATUS=ending: new processes are refused"
      "\nEXTEND_TIMEOUT_USEC=",
      absl::ToInt64Microseconds(std::min(longest, kLongestExtension))));
}

absl::Status ServiceReports::StartWatchdog(
    std::function<Heartbeat::Beat()> read) {
  if (offer_.watchdog == absl::ZeroDuration()) return absl::OkStatus();
  heartbeat_ = std::make_unique<Heartbeat>(std::move(read));
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread of the watchdog: ", error.what()));
  }
}

void ServiceReports::StopWatchdog() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  parker_.Notify();
  thread_.join();
  rounds_until_look_ = 0;
}

void ServiceReports::Run() {
  pthread_setname_np(pthread_self(), "watchdog");
  const auto pause_ns =
      static_cast<uint64_t>(absl::ToInt64Nanoseconds(RoundInterval(offer_)));
  while (!stopping_.load(std::memory_order_relaxed)) {
    Round();
    parker_.Wait(pause_ns);
  }
}

absl::Duration ServiceReports::RoundInterval(const Offer& offer) {
  return std::min(kLookInterval, offer.watchdog / 4);
}

void ServiceReports::Round() {
  if (--rounds_until_look_ <= 0) {
    heartbeat_->Look();
    rounds_until_look_ = static_cast<int>(
        absl::FDivDuration(kLookInterval, RoundInterval(offer_)));
  }
  const std::string problem = heartbeat_->Problem();
  if (problem.empty() || ending_) {
    withholds_ = false;
    TellAlive();
  } else if (!std::exchange(withholds_, true)) {
    logger_.Error(
        absl::StrCat("the service manager gets no sign of life, and may kill "
                     "the daemon: ",
                     problem));
  }
}

void ServiceReports::Tell(const std::string& message) {
  const std::string problem = Send(message);
  if (!problem.empty()) logger_.Warning(problem);
}

void ServiceReports::TellAlive() {
  const std::string problem = Send("WATCHDOG=1");
  if (!problem.empty() && !is_unheard_) logger_.Warning(problem);
  is_unheard_ = !problem.empty();
}

std::string ServiceReports::Send(const std::string& message) const {
  if (offer_.address.empty()) return "";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool fits = offer_.address.size() < sizeof address.sun_path;
  if (fits) {
    std::memcpy(address.sun_path, offer_.address.data(), offer_.address.size());
  }
  // An abstract name begins with a NUL, and has none at its end.
  const bool is_abstract = offer_.address.front() == '@';
  if (is_abstract) address.sun_path[0] = '\0';
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                             offer_.address.size() + (is_abstract ? 0 : 1));
  if (fits && sendto(socket_, message.data(), message.size(), MSG_NOSIGNAL,
                     reinterpret_cast<const sockaddr*>(&address), size) >= 0) {
    return "";
  }
  return absl::StrCat(
      "cannot tell the service manager at NOTIFY_SOCKET=", offer_.address, ": ",
      fits ? std::strerror(errno) : "the path is too long");
}

}  // namespace actord::daemon
