#include "daemon/connections/first_bytes.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "daemon/connections/http2_frames.h"
#include "daemon/connections/peer_text.h"
#include "daemon/connections/socket_facts.h"

namespace actord::daemon {
namespace {

// Enough bytes to tell protocols apart.
constexpr size_t kEnoughBytes = 32;

// RFC 9113, section 6.5: length 6, type 4, no flags, stream 0, and the setting
// 3 (MAX_CONCURRENT_STREAMS).
std::string SettingsFrame(uint32_t max_calls) {
  std::string frame("\0\0\6\4\0\0\0\0\0\0\3", kOneSettingBytes - 4);
  for (const int shift : {24, 16, 8, 0}) {
    frame.push_back(static_cast<char>(max_calls >> shift & 0xff));
  }
  return frame;
}

}  // namespace

FirstBytes::FirstBytes(absl::Duration patience, uint32_t max_calls,
                       ConnectionRegistry& registry, Logger& logger,
                       const runtime::Clock& clock)
    : patience_(patience),
      settings_(SettingsFrame(max_calls)),
      registry_(registry),
      clock_(clock),
      tls_warning_(logger, clock),
      http1_warning_(logger, clock),
      garbage_warning_(logger, clock),
      silence_warning_(logger, clock),
      buffer_(kEnoughBytes) {}

void FirstBytes::Start(int epoll, HandOver hand_over) {
  epoll_ = epoll;
  hand_over_ = std::move(hand_over);
}

void FirstBytes::Await(const Waiting& connection) {
  if (!connection.has_tls) SendSettings(connection.fd);
  if (IsDecided(connection)) return hand_over_(connection);
  epoll_event event{};
  // Edge-triggered, so that half a preface does not keep the thread busy.
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  event.data.u64 = kEventBit | connection.id;
  // Without memory for the event, gRPC waits for the bytes.
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event) != 0) {
    return hand_over_(connection);
  }
  waiting_.emplace(connection.id, connection);
  ends_.emplace_back(
      clock_.MonotonicNs() +
          static_cast<uint64_t>(absl::ToInt64Nanoseconds(patience_)),
      connection.id);
}

void FirstBytes::OnEvent(uint64_t data, uint32_t events) {
  const auto found = waiting_.find(data & ~kEventBit);
  if (found == waiting_.end()) return;
  const Waiting connection = found->second;
  const bool is_decided = IsDecided(connection);
  const bool has_ended = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  if (!is_decided && !has_ended) return;
  waiting_.erase(found);
  if (!is_decided) return Close(connection);
  // gRPC's descriptor is the same one, so its later events would come here.
  epoll_ctl(epoll_, EPOLL_CTL_DEL, connection.fd, nullptr);
  hand_over_(connection);
}

void FirstBytes::SendSettings(int fd) const {
  (void)send(fd, settings_.data(), settings_.size(),
             MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool FirstBytes::IsDecided(const Waiting& connection) {
  const std::string_view bytes =
      PeekBytes(connection.fd, kEnoughBytes, buffer_);
  if (connection.has_tls) return !bytes.empty();
  if (!AreEnoughBytes(bytes)) return false;
  WarnOfOtherProtocol(connection, bytes);
  return true;
}

void FirstBytes::CloseLate() {
  const uint64_t now_ns = clock_.MonotonicNs();
  while (!ends_.empty() && ends_.front().first <= now_ns) {
    const auto found = waiting_.find(ends_.front().second);
    ends_.pop_front();
    if (found == waiting_.end()) continue;
    const Waiting connection = found->second;
    waiting_.erase(found);
    WarnOfSilence(connection);
    Close(connection);
  }
}

void FirstBytes::CloseAll() {
  for (const auto& [id, connection] : waiting_) Close(connection);
  waiting_.clear();
  ends_.clear();
}

void FirstBytes::Close(const Waiting& connection) {
  registry_.Remove(connection.id);
  close(connection.fd);
}

void FirstBytes::WarnOfOtherProtocol(const Waiting& connection,
                                     std::string_view bytes) {
  switch (ProtocolOf(bytes)) {
    case Protocol::kHttp2:
      return;
    case Protocol::kTls:
      return tls_warning_.Say(absl::StrCat(
          "connection of ", PeerOf(connection),
          " closed: it speaks TLS, and this address has no TLS; connect "
          "without TLS (actorctl: without --tls-ca)",
          connection.is_tcp ? ", or set tls.certificate and tls.key" : ""));
    case Protocol::kHttp1:
      return http1_warning_.Say(absl::StrCat(
          "connection of ", PeerOf(connection),
          " closed: it speaks HTTP/1.1, and this address serves gRPC over "
          "HTTP/2 alone; use actorctl or a client of gRPC"));
    case Protocol::kOther:
      return garbage_warning_.Say(absl::StrCat(
          "connection of ", PeerOf(connection),
          " closed: its first bytes are not those of HTTP/2; use actorctl or a "
          "client of gRPC"));
  }
}

void FirstBytes::WarnOfSilence(const Waiting& connection) {
  const bool is_silent = PeekBytes(connection.fd, 1, buffer_).empty();
  silence_warning_.Say(absl::StrCat(
      "connection of ", PeerOf(connection), " closed: it has sent ",
      is_silent ? "nothing" : "only the beginning of a first line", " for ",
      absl::FormatDuration(patience_),
      " (connections.handshake_timeout); a client speaks first, in ",
      connection.has_tls ? "TLS" : "HTTP/2"));
}

std::string FirstBytes::PeerOf(const Waiting& connection) const {
  const auto found = registry_.Find(connection.id);
  return found.has_value() ? PeerText(*found) : "a client";
}

}  // namespace actord::daemon
