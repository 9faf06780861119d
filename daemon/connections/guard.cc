#include "daemon/connections/guard.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/connections/http2_frames.h"
#include "daemon/connections/peer_text.h"

namespace actord::daemon {
namespace {

constexpr int kTickMs = 10;
constexpr uint64_t kMsInNs = 1'000'000;
constexpr uint64_t kGuardSweepPauseNs = 100 * kMsInNs;
constexpr uint64_t kForgetPauseNs = 1000 * kMsInNs;
// When a flood has been over for this long, memory goes back to the system.
constexpr uint64_t kTrimAfterNs = 500 * kMsInNs;
constexpr size_t kMaxSwept = 2000;
// Active connections that one tick examines; the others wait for the next tick.
constexpr size_t kMaxActive = 1024;
// Connections about which one tick asks gRPC.
constexpr size_t kMaxAsked = 32;
constexpr size_t kMaxUnixAsked = 16;
// Unread bytes of a connection that are examined: if gRPC is asked about it,
// and otherwise.
constexpr size_t kPeekBytes = 32 << 10;
constexpr size_t kFirstPeekBytes = 16 << 10;
// kSuspectResets calls that are begun and reset take more bytes than this.
constexpr uint64_t kSuspectBytes = 22 * kSuspectResets;
static_assert(kSuspectBytes <= 17 * 2 * kMaxUnreadPings);

bool IsUnix(const Connection& connection) {
  return connection.address_group.empty();
}

bool IsEncrypted(const Connection& connection) {
  return connection.handshake != nullptr;
}

absl::Status NoGuardDescriptor() {
  return absl::InternalError(absl::StrCat(
      "no descriptor for watching connections: ", std::strerror(errno)));
}

}  // namespace

ConnectionGuard::ConnectionGuard(const GuardLimits& limits,
                                 ConnectionRegistry& registry,
                                 GrpcSockets& sockets, ConnectionCounts& counts,
                                 Logger& logger, const runtime::Clock& clock)
    : limits_(limits),
      registry_(registry),
      sockets_(sockets),
      counts_(counts),
      clock_(clock),
      peeked_(kPeekBytes),
      resets_warning_(logger, clock),
      bytes_warning_(logger, clock) {}

ConnectionGuard::~ConnectionGuard() {
  Stop();
  if (epoll_ >= 0) close(epoll_);
  if (event_ >= 0) close(event_);
}

absl::Status ConnectionGuard::Start() {
  sockets_.FindServer();
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (epoll_ < 0 || event_ < 0 ||
      epoll_ctl(epoll_, EPOLL_CTL_ADD, event_, &event) != 0) {
    return NoGuardDescriptor();
  }
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that watches connections: ", error.what()));
  }
}

void ConnectionGuard::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  eventfd_write(event_, 1);
  thread_.join();
}

void ConnectionGuard::Watch(uint64_t id, int fd, uint64_t cookie) {
  epoll_event event{};
  // Edge-triggered: one event for all arrivals since the last one. EPOLLOUT
  // makes the kernel report the socket also if gRPC has read everything by
  // then.
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.u64 = id;
  // gRPC may have closed a Unix socket already. The sweep notices that.
  if (SocketCookie(fd) != cookie ||
      epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    eventfd_write(event_, 1);
  }
}

void ConnectionGuard::CutAllIn(absl::Duration patience) {
  const int64_t ns = std::max<int64_t>(0, absl::ToInt64Nanoseconds(patience));
  cut_all_ns_.store(clock_.MonotonicNs() + static_cast<uint64_t>(ns),
                    std::memory_order_relaxed);
  if (event_ >= 0) eventfd_write(event_, 1);
}

void ConnectionGuard::Run() {
  pthread_setname_np(pthread_self(), "guard");
  while (!stopping_.load(std::memory_order_relaxed)) {
    std::vector<uint64_t> active = AwaitActivity();
    Tick(clock_.MonotonicNs());
    active.insert(active.end(), suspects_.begin(), suspects_.end());
    if (active.empty()) continue;
    Look(active);
    // All events until the next tick count as one activity.
    pollfd event{.fd = event_, .events = POLLIN, .revents = 0};
    poll(&event, 1, kTickMs);
  }
}

std::vector<uint64_t> ConnectionGuard::AwaitActivity() {
  constexpr int kSweepMs = static_cast<int>(kGuardSweepPauseNs / kMsInNs);
  std::array<epoll_event, kMaxActive> events;
  const bool is_due = !suspects_.empty();
  const bool has_work =
      registry_.open() > 0 || trim_ns_ != UINT64_MAX ||
      cut_all_ns_.load(std::memory_order_relaxed) != UINT64_MAX;
  const int timeout_ms = is_due ? 0 : has_work ? kSweepMs : -1;
  const int count = epoll_wait(epoll_, events.data(), kMaxActive, timeout_ms);
  std::vector<uint64_t> active;
  for (int i = 0; i < count; ++i) {
    const uint64_t id = events[static_cast<size_t>(i)].data.u64;
    if (id != 0) {
      active.push_back(id);
    } else {
      eventfd_t ignored = 0;
      eventfd_read(event_, &ignored);
    }
  }
  return active;
}

void ConnectionGuard::Tick(uint64_t now_ns) {
  if (now_ns >= cut_all_ns_.load(std::memory_order_relaxed)) {
    registry_.CutAll(Cut::kEnd);
  }
  if (now_ns >= next_sweep_ns_) {
    registry_.Sweep(kMaxSwept);
    next_sweep_ns_ = now_ns + kGuardSweepPauseNs;
  }
  if (now_ns >= next_forget_ns_) {
    ForgetEnded();
    next_forget_ns_ = now_ns + kForgetPauseNs;
  }
  if (now_ns >= trim_ns_) {
    trim_ns_ = UINT64_MAX;
    malloc_trim(0);
  }
}

void ConnectionGuard::Look(const std::vector<uint64_t>& active) {
  suspects_.clear();
  is_refreshed_ = false;
  tcp_sharers_.resetting = 0;
  unix_sharers_.resetting = 0;
  for (auto& [address, sharers] : tls_sharers_) {
    sharers.resetting_before = std::exchange(sharers.resetting, 0);
  }
  std::vector<Candidate> of_tcp;
  std::vector<Candidate> of_unix;
  absl::flat_hash_map<uint64_t, Suspicion> facts;
  for (const uint64_t id : active) {
    if (facts.contains(id)) continue;
    std::optional<Suspicion> suspicion = Suspect(id);
    if (!suspicion.has_value()) continue;
    if (suspicion->unread.pings > kMaxUnreadPings) {
      CutFlood(suspicion->connection, Verdict::kBytes, watched_[id]);
      continue;
    }
    if (HasTooManyResets(id, *suspicion)) {
      CutFlood(suspicion->connection, Verdict::kResets, watched_[id]);
      continue;
    }
    (IsUnix(suspicion->connection) ? of_unix : of_tcp)
        .push_back({.id = id, .bytes = suspicion->bytes});
    facts[id] = *std::move(suspicion);
  }
  KeepBusiest(kMaxAsked, of_tcp);
  KeepBusiest(kMaxUnixAsked, of_unix);
  of_tcp.insert(of_tcp.end(), of_unix.begin(), of_unix.end());
  for (const Candidate& candidate : of_tcp) {
    const Suspicion& suspicion = facts[candidate.id];
    Ask(candidate.id, suspicion.connection, suspicion.traffic);
  }
}

std::optional<ConnectionGuard::Suspicion> ConnectionGuard::Suspect(
    uint64_t id) {
  const auto fd = registry_.FindDescriptor(id);
  if (!fd.has_value()) return std::nullopt;
  const Watched& watched = watched_[id];
  if (watched.is_cut) return std::nullopt;
  const std::optional<Traffic> traffic = ReadTraffic(*fd);
  if (!traffic.has_value()) {
    auto connection = registry_.Find(id);
    if (!connection.has_value()) return std::nullopt;
    const uint64_t unread = CountUnread(*fd);
    const UnreadFrames frames = CountFrames(*connection, unread);
    return Suspicion{*std::move(connection), {}, unread, frames};
  }
  const uint64_t before = watched.history.last().traffic.received_bytes;
  // A socket that took the descriptor meanwhile may have received less.
  if (traffic->received_bytes < before) return std::nullopt;
  const uint64_t bytes = traffic->received_bytes - before;
  const uint64_t unread = traffic->received_bytes - traffic->read_bytes;
  const bool is_askable =
      bytes >= watched.history.ask_bytes() || watched.history.is_suspect();
  if (!is_askable && unread < kSuspectBytes) return std::nullopt;
  auto connection = registry_.Find(id);
  if (!connection.has_value()) return std::nullopt;
  const bool is_slow = IsEncrypted(*connection) && unread >= kSuspectBytes;
  if (is_slow) {
    // gRPC does not keep up with it, and may not know it yet.
    ++SharersOf(*connection).resetting;
    suspects_.push_back(id);
  }
  const UnreadFrames frames = CountFrames(*connection, unread);
  if (!is_askable && !is_slow && frames.resets <= kSuspectResets &&
      frames.pings <= kMaxUnreadPings) {
    return std::nullopt;
  }
  return Suspicion{*std::move(connection), *traffic, bytes, frames};
}

ConnectionGuard::Sharers& ConnectionGuard::SharersOf(
    const Connection& connection) {
  if (IsUnix(connection)) return unix_sharers_;
  return IsEncrypted(connection) ? tls_sharers_[connection.address_group]
                                 : tcp_sharers_;
}

ConnectionGuard::UnreadFrames ConnectionGuard::CountFrames(
    const Connection& connection, uint64_t unread_bytes) {
  if (unread_bytes < kSuspectBytes || IsEncrypted(connection)) {
    return {};
  }
  const std::string_view bytes =
      PeekBytes(connection.fd, kFirstPeekBytes, peeked_);
  return {.resets = CountCallsResetAtOnce(bytes, MaxResets(connection) + 1),
          .pings = CountPings(bytes, kMaxUnreadPings + 1)};
}

bool ConnectionGuard::HasTooManyResets(uint64_t id,
                                       const Suspicion& suspicion) {
  if (suspicion.unread.resets <= kSuspectResets) return false;
  ++SharersOf(suspicion.connection).resetting;
  suspects_.push_back(id);
  return suspicion.unread.resets > MaxResets(suspicion.connection);
}

uint64_t ConnectionGuard::MaxResets(const Connection& connection) {
  Sharers& sharers = SharersOf(connection);
  const uint64_t suspects =
      std::max(sharers.resetting, sharers.resetting_before) +
      sharers.cuts.Get(clock_.MonotonicNs());
  // Of an encrypted flood gRPC has parsed all calls that are counted.
  return MaxResetsOfEach(
      limits_, IsEncrypted(connection) ? kSharers * suspects : suspects);
}

GuardLimits ConnectionGuard::LimitsOf(const Connection& connection,
                                      const Watched& watched) {
  GuardLimits limits = limits_;
  if (IsEncrypted(connection)) {
    limits.max_unread_calls =
        std::min(limits.max_unread_calls,
                 MaxResets(connection) + watched.history.earned_calls());
  }
  return limits;
}

void ConnectionGuard::JudgeEncrypted(const Connection& connection,
                                     Watched& watched) {
  if (watched.history.is_suspect()) {
    ++SharersOf(connection).resetting;
  } else if (!watched.is_wide && watched.history.is_proved()) {
    watched.is_wide = true;
    WidenWindow(connection.fd, connection.cookie);
  }
}

void ConnectionGuard::Ask(uint64_t id, const Connection& connection,
                          const Traffic& traffic) {
  Watched& watched = watched_[id];
  // This does not wait for gRPC's parser, which may be far behind. It is
  // useless for encrypted bytes.
  const uint64_t waiting_calls =
      IsEncrypted(connection)
          ? 0
          : EstimateResets(PeekBytes(connection.fd, kPeekBytes, peeked_),
                           CountUnread(connection.fd));
  if (waiting_calls > MaxResets(connection)) {
    return CutFlood(connection, Verdict::kResets, watched);
  }
  if (watched.socket == 0) {
    // A newer TCP connection may have the peer of an older one. The name of a
    // Unix connection is never used again.
    // Once in each look, because it asks gRPC about all connections.
    if (!IsUnix(connection) && !std::exchange(is_refreshed_, true)) {
      sockets_.Refresh();
    }
    watched.socket = sockets_.Find(connection.peer);
  }
  const auto counts =
      watched.socket == 0 ? std::nullopt : Channelz::Read(watched.socket);
  if (!counts.has_value()) {
    // gRPC does not have the connection yet, or no longer, and another one has
    // its peer.
    watched.socket = 0;
    sockets_.Forget(connection.peer);
    return;
  }
  const Verdict verdict = watched.history.Judge(
      LimitsOf(connection, watched), {.counts = *counts,
                                      .traffic = traffic,
                                      .waiting_calls = waiting_calls,
                                      .time_ns = clock_.MonotonicNs()});
  if (IsEncrypted(connection)) JudgeEncrypted(connection, watched);
  if (verdict != Verdict::kNone) {
    CutFlood(connection, verdict, watched);
  } else if (watched.history.is_suspect()) {
    suspects_.push_back(id);
  }
}

void ConnectionGuard::CutFlood(const Connection& connection, Verdict verdict,
                               Watched& watched) {
  watched.is_cut = registry_.CutOne(connection.id, Cut::kReset);
  if (!watched.is_cut) return;
  ConnectionCounts::Count(counts_.cut);
  const uint64_t now_ns = clock_.MonotonicNs();
  trim_ns_ = now_ns + kTrimAfterNs;
  if (verdict == Verdict::kResets) {
    SharersOf(connection).cuts.Add(now_ns);
    resets_warning_.Say(absl::StrCat(
        "connection of ", PeerText(connection),
        " cut: it has begun or reset more calls than the daemon can read; ",
        "server.max_concurrent_streams limits the open calls"));
  } else {
    bytes_warning_.Say(absl::StrCat(
        "connection of ", PeerText(connection),
        " cut: it sends bytes that are neither a call nor a message, or a "
        "message far above limits.max_payload_bytes"));
  }
}

void ConnectionGuard::ForgetEnded() {
  absl::erase_if(watched_, [this](const auto& entry) {
    return !registry_.FindDescriptor(entry.first).has_value();
  });
  const uint64_t now_ns = clock_.MonotonicNs();
  absl::erase_if(tls_sharers_, [now_ns](auto& entry) {
    Sharers& sharers = entry.second;
    return sharers.resetting == 0 && sharers.cuts.Get(now_ns) == 0;
  });
  sockets_.Shrink(registry_.open());
}

}  // namespace actord::daemon
