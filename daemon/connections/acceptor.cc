#include "daemon/connections/acceptor.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/connections/socket_facts.h"
#include "daemon/listening/peer_address.h"
#include "daemon/log/client_address.h"

namespace actord::daemon {
namespace {

// Connections taken from one listener before the next listener has its turn.
constexpr int kMaxAccepts = 64;
// Before it refuses a connection, the acceptor forgets the connections that
// have ended, at most once in this time.
constexpr uint64_t kSweepPauseNs = 20'000'000;
// The pause when the system has no memory for a connection.
constexpr timespec kPause{0, 10'000'000};
// Cut connections of one Unix socket that gRPC may hold before new ones wait.
// Each of them holds up to some 200 calls of 25 KiB.
constexpr size_t kMaxCutHeld = 8;
constexpr int kResumePauseMs = 5;
// While accepting is paused, one connection is accepted in this time, so that
// calls which gRPC never cleans up cannot close the socket.
constexpr uint64_t kMaxPauseNs = 100'000'000;
// While connections wait for their first bytes, their deadlines are checked
// this often.
constexpr int kDeadlinePauseMs = 100;

int OpenSpare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

void CloseAndForget(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

absl::Status NoDescriptor() {
  return absl::InternalError(absl::StrCat(
      "no descriptor for accepting connections: ", std::strerror(errno)));
}

}  // namespace

Acceptor::Acceptor(const ConnectionLimits& limits, absl::Duration patience,
                   ConnectionRegistry& registry, ConnectionCounts& counts,
                   Logger& logger, const runtime::Clock& clock)
    : limits_(limits),
      patience_(patience),
      registry_(registry),
      counts_(counts),
      clock_(clock),
      total_warning_(logger, clock),
      address_warning_(logger, clock),
      descriptors_warning_(logger, clock),
      first_bytes_(patience, limits.max_calls, registry, logger, clock) {}

Acceptor::~Acceptor() {
  Stop();
  CloseAndForget(epoll_);
  CloseAndForget(order_event_);
  CloseAndForget(spare_);
}

absl::Status Acceptor::Start(const std::vector<int>& listeners, bool has_tls,
                             HandOver hand_over) {
  has_tls_ = has_tls;
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  order_event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  spare_ = OpenSpare();
  if (epoll_ < 0 || order_event_ < 0 || spare_ < 0) return NoDescriptor();
  first_bytes_.Start(epoll_, [hand_over = std::move(hand_over)](
                                 const FirstBytes::Waiting& connection) {
    hand_over(connection.listener, connection.id, connection.fd,
              connection.is_tcp);
  });
  std::vector<int> waited = listeners;
  waited.push_back(order_event_);
  for (const int fd : has_tls ? listeners : std::vector<int>()) {
    NarrowWindow(fd);
  }
  for (const int fd : waited) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<uint64_t>(fd);
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
      return NoDescriptor();
    }
  }
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that accepts connections: ", error.what()));
  }
}

void Acceptor::Give(Order order) {
  order_.store(order, std::memory_order_release);
  eventfd_write(order_event_, 1);
}

void Acceptor::TurnAway(std::vector<int> abandoned) {
  if (!thread_.joinable() ||
      order_.load(std::memory_order_relaxed) != Order::kServe) {
    return;
  }
  abandoned_ = std::move(abandoned);
  Give(Order::kTurnAway);
  turns_away_.get_future().wait();
}

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  Give(Order::kStop);
  thread_.join();
  first_bytes_.CloseAll();
}

bool Acceptor::Obey() {
  eventfd_t count = 0;
  eventfd_read(order_event_, &count);
  if (order_.load(std::memory_order_acquire) == Order::kStop) return false;
  for (const PausedListener& paused : paused_) SetAccepting(paused.fd, true);
  paused_.clear();
  // Another process has these sockets, too, so that to close them here would
  // leave them in the epoll set.
  for (const int listener : abandoned_) {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, listener, nullptr);
  }
  first_bytes_.CloseAll();
  is_turning_away_ = true;
  turns_away_.set_value();
  return true;
}

void Acceptor::Run() {
  pthread_setname_np(pthread_self(), "accept");
  constexpr int kMaxEvents = 16;
  std::array<epoll_event, kMaxEvents> events;
  for (;;) {
    const int timeout_ms = !paused_.empty()        ? kResumePauseMs
                           : !first_bytes_.empty() ? kDeadlinePauseMs
                                                   : -1;
    const int count = epoll_wait(epoll_, events.data(), kMaxEvents, timeout_ms);
    ResumePaused();
    first_bytes_.CloseLate();
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      const int fd = static_cast<int>(event.data.u64);
      if ((event.data.u64 & FirstBytes::kEventBit) != 0) {
        first_bytes_.OnEvent(event.data.u64, event.events);
      } else if (fd == order_event_) {
        if (!Obey()) return;
      } else if (is_turning_away_) {
        TurnAwayFrom(fd);
      } else {
        AcceptFrom(fd);
      }
    }
  }
}

bool Acceptor::IsFlooded(int listener) {
  return registry_.CountCutOver(listener) >= kMaxCutHeld;
}

void Acceptor::SetAccepting(int listener, bool is_accepting) {
  epoll_event event{};
  event.events = is_accepting ? uint32_t{EPOLLIN} : 0;
  event.data.u64 = static_cast<uint64_t>(listener);
  epoll_ctl(epoll_, EPOLL_CTL_MOD, listener, &event);
}

void Acceptor::ResumePaused() {
  std::erase_if(paused_, [this](PausedListener& paused) {
    if (IsFlooded(paused.fd)) {
      const uint64_t now_ns = clock_.MonotonicNs();
      if (now_ns < paused.until_ns) return false;
      paused.until_ns = now_ns + kMaxPauseNs;
      AcceptOne(paused.fd);
      return false;
    }
    SetAccepting(paused.fd, true);
    return true;
  });
}

void Acceptor::AcceptFrom(int listener) {
  for (int i = 0; i < kMaxAccepts; ++i) {
    if (IsFlooded(listener)) {
      SetAccepting(listener, false);
      paused_.push_back({listener, clock_.MonotonicNs() + kMaxPauseNs});
      return;
    }
    if (!AcceptOne(listener)) return;
  }
}

void Acceptor::TurnAwayFrom(int listener) {
  for (int i = 0; i < kMaxAccepts; ++i) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
      close(fd);
    } else if (errno == EMFILE || errno == ENFILE) {
      return RefuseWithSpare(listener);
    } else if (errno != ECONNABORTED && errno != EINTR) {
      // A listener with a lasting error must not keep the thread busy.
      if (errno != EAGAIN) nanosleep(&kPause, nullptr);
      return;
    }
  }
}

bool Acceptor::AcceptOne(int listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  const int fd = accept4(listener, reinterpret_cast<sockaddr*>(&address),
                         &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    Take(listener, fd, address);
    return true;
  }
  switch (errno) {
    case EAGAIN:
      return false;
    case EMFILE:
    case ENFILE:
      RefuseWithSpare(listener);
      return false;
    case ENOBUFS:
    case ENOMEM:
      nanosleep(&kPause, nullptr);
      return false;
    default:
      // The client has gone, or the network broke this one connection.
      return true;
  }
}

void Acceptor::Take(int listener, int fd, const sockaddr_storage& address) {
  Connection connection;
  connection.fd = fd;
  connection.listener = listener;
  connection.peer = PeerName(address);
  connection.address_group = AddressGroup(address);
  const Refusal refusal = Decide(fd, connection.address_group);
  if (refusal != Refusal::kNone) {
    // Counted before the client can notice the refusal.
    Refuse(refusal, ClientAddress(connection.peer));
    close(fd);
    return;
  }
  connection.cookie = SocketCookie(fd);
  connection.since_unix_ns = clock_.UnixNs();
  const bool is_tcp = address.ss_family != AF_UNIX;
  if (!is_tcp) connection.credentials = ReadCredentials(fd);
  if (is_tcp && has_tls_) {
    connection.handshake =
        std::make_shared<TlsHandshake>(connection.peer, patience_, clock_);
  }
  const uint64_t id = registry_.Add(std::move(connection));
  ConnectionCounts::Count(counts_.accepted);
  first_bytes_.Await({.id = id,
                      .fd = fd,
                      .listener = listener,
                      .is_tcp = is_tcp,
                      .has_tls = is_tcp && has_tls_});
}

Refusal Acceptor::Decide(int fd, const std::string& group) {
  const auto decide = [&] {
    return Admit(limits_, fd, registry_.open(), !group.empty(),
                 registry_.OpenOf(group));
  };
  const Refusal refusal = decide();
  if (refusal == Refusal::kNone) return refusal;
  const uint64_t now_ns = clock_.MonotonicNs();
  if (now_ns < next_sweep_ns_) return refusal;
  registry_.Sweep(std::numeric_limits<size_t>::max());
  next_sweep_ns_ = clock_.MonotonicNs() + kSweepPauseNs;
  return decide();
}

void Acceptor::Refuse(Refusal refusal, const std::string& peer) {
  switch (refusal) {
    case Refusal::kNone:
      return;
    case Refusal::kTotal:
      ConnectionCounts::Count(counts_.refused_total);
      return total_warning_.Say(absl::StrCat(
          "connection of ", peer, " refused: ", limits_.max,
          " connections are open; raise connections.max, or the limit of open "
          "files (ulimit -n, LimitNOFILE)"));
    case Refusal::kAddress:
      ConnectionCounts::Count(counts_.refused_address);
      return address_warning_.Say(
          absl::StrCat("connection of ", peer, " refused: its address has ",
                       limits_.max_per_address,
                       " connections; raise connections.max_per_address"));
    case Refusal::kDescriptors:
      ConnectionCounts::Count(counts_.refused_descriptors);
      return descriptors_warning_.Say(absl::StrCat(
          "connection of ", peer,
          " refused: the free descriptors are the reserve of "
          "connections.reserved_descriptors; raise the limit of open files "
          "(ulimit -n, LimitNOFILE)"));
  }
}

void Acceptor::RefuseWithSpare(int listener) {
  CloseAndForget(spare_);
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) {
    Refuse(Refusal::kDescriptors, "a client");
    close(fd);
  } else {
    // Another thread has taken the spare descriptor.
    nanosleep(&kPause, nullptr);
  }
  spare_ = OpenSpare();
}

}  // namespace actord::daemon
