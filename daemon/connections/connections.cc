#include "daemon/connections/connections.h"

#include <grpcpp/security/server_credentials.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/connections/peer_text.h"
#include "daemon/listening/unix_peer_name.h"
#include "daemon/log/client_address.h"

namespace actord::daemon {
namespace {

uint64_t MaxDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

ConnectionLimits LimitsOf(const Config& config) {
  ConnectionLimits limits =
      LimitsFor(config.max_connections, config.max_connections_per_address,
                config.reserved_descriptors, MaxDescriptors());
  limits.max_calls = static_cast<uint32_t>(config.max_concurrent_streams);
  return limits;
}

bool IsLocalUser(const Connection& connection) {
  return connection.credentials.has_value() &&
         IsLocalUser(*connection.credentials);
}

}  // namespace

Connections::Connections(const Config& config, uint64_t max_request_bytes,
                         Logger& logger, const runtime::Clock& clock)
    : has_tls_(!config.tls.certificate.empty()),
      logger_(logger),
      max_open_(LimitsOf(config).max),
      max_open_of_address_(LimitsOf(config).max_per_address),
      revoked_warning_(logger, clock),
      guard_(GuardLimitsFor(config.max_concurrent_streams, max_request_bytes),
             registry_, sockets_, counts_, logger, clock),
      acceptor_(LimitsOf(config), config.handshake_timeout, registry_, counts_,
                logger, clock) {}

Connections::~Connections() {
  acceptor_.Stop();
  listeners_.clear();
}

InheritedAddress Connections::ListenOn(int fd) {
  listeners_.push_back(Listener::Adopt(fd));
  const Listener& listener = *listeners_.back();
  Name(listener, listener.adopted_address());
  return {.text = listener.adopted_address(), .port = listener.port()};
}

absl::StatusOr<int> Connections::Listen(const std::string& address,
                                        const UnixAccess& access) {
  auto listener = Listener::Open(address, access);
  if (!listener.ok()) return listener.status();
  listeners_.push_back(*std::move(listener));
  const int port = listeners_.back()->port();
  Name(*listeners_.back(), port == 0 ? address : WithPort(address, port));
  return port;
}

void Connections::Name(const Listener& listener, const std::string& name) {
  for (const int socket : listener.sockets()) listener_names_[socket] = name;
}

void Connections::AddTo(grpc::ServerBuilder& builder,
                        const std::shared_ptr<grpc::ServerCredentials>& tcp) {
  using Builder = grpc::ServerBuilder::experimental_type;
  const auto add = [&builder](auto credentials) {
    return builder.experimental().AddExternalConnectionAcceptor(
        Builder::ExternalConnectionType::FROM_FD, std::move(credentials));
  };
  grpc_tcp_ = add(tcp);
  grpc_unix_ = add(grpc::InsecureServerCredentials());
  grpc_local_user_ = add(grpc::experimental::LocalServerCredentials(UDS));
}

absl::Status Connections::Serve() {
  std::vector<int> sockets;
  for (const auto& listener : listeners_) {
    sockets.insert(sockets.end(), listener->sockets().begin(),
                   listener->sockets().end());
  }
  absl::Status status = guard_.Start();
  if (!status.ok()) return status;
  return acceptor_.Start(
      sockets, has_tls_,
      [this](int listener, uint64_t id, int fd, bool is_tcp) {
        HandOver(listener, id, fd, is_tcp);
      });
}

void Connections::HandOver(int listener, uint64_t id, int fd, bool is_tcp) {
  const std::optional<Connection> accepted = registry_.Find(id);
  if (!accepted.has_value()) return;
  guard_.Watch(id, fd, accepted->cookie);
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
      connection;
  connection.listener_fd = listener;
  connection.fd = fd;
  GrpcAcceptor& acceptor = is_tcp                   ? *grpc_tcp_
                           : IsLocalUser(*accepted) ? *grpc_local_user_
                                                    : *grpc_unix_;
  const TlsHandshake::Scope scope(accepted->handshake);
  const UnixPeerScope peer(id);
  acceptor.HandleNewConnection(&connection);
  // gRPC has made the transport of a Unix socket by now. So the guard, which
  // has to be fast, does not have to ask for it.
  if (!is_tcp) sockets_.Refresh();
}

void Connections::StopAccepting() {
  std::vector<int> adopted;
  for (const std::unique_ptr<Listener>& listener : listeners_) {
    if (listener->adopted_address().empty()) continue;
    adopted.insert(adopted.end(), listener->sockets().begin(),
                   listener->sockets().end());
  }
  acceptor_.TurnAway(std::move(adopted));
  std::erase_if(listeners_, [](const std::unique_ptr<Listener>& listener) {
    return !listener->adopted_address().empty();
  });
}

void Connections::CutAllIn(absl::Duration patience) {
  guard_.CutAllIn(patience);
}

std::vector<ConnectionFacts> Connections::List(uint64_t after, size_t max,
                                               std::string_view owner,
                                               uint64_t& last) {
  std::vector<ConnectionFacts> all;
  std::vector<Connection> page = registry_.ListAfter(after, max, owner);
  last = page.size() < max ? 0 : page.back().id;
  sockets_.Refresh();
  for (Connection& connection : page) {
    // The connection has ended, and Sweep has not removed it yet.
    if (SocketCookie(connection.fd) != connection.cookie) continue;
    ConnectionFacts facts;
    const int64_t socket = sockets_.Find(connection.peer);
    if (socket != 0) facts.counts = Channelz::Read(socket);
    facts.traffic = ReadTraffic(connection.fd);
    const auto name = listener_names_.find(connection.listener);
    if (name != listener_names_.end()) facts.listener = name->second;
    facts.connection = std::move(connection);
    all.push_back(std::move(facts));
  }
  AddHttp(after, max, owner, last, all);
  return all;
}

void Connections::AddHttp(uint64_t after, size_t max, std::string_view owner,
                          uint64_t& last,
                          std::vector<ConnectionFacts>& page) const {
  const auto id_of = [](const ConnectionFacts& facts) {
    return facts.connection.id;
  };
  // Behind `last` come connections of gRPC that are on later pages.
  const uint64_t end = last == 0 ? UINT64_MAX : last;
  for (HttpClients::Client& client :
       http_clients_.ListAfter(after, max + 1, owner)) {
    if (client.connection.id > end) break;
    // The server of the admin port has ended.
    if (SocketCookie(client.connection.fd) != client.connection.cookie) {
      continue;
    }
    ConnectionFacts facts;
    facts.listener = std::move(client.listener);
    facts.traffic = ReadTraffic(client.connection.fd);
    facts.counts =
        SocketCounts{.started = client.requests,
                     .ended = client.requests - (client.is_busy ? 1 : 0)};
    facts.is_http = true;
    facts.connection = std::move(client.connection);
    page.push_back(std::move(facts));
  }
  std::sort(page.begin(), page.end(),
            [&](const auto& a, const auto& b) { return id_of(a) < id_of(b); });
  if (page.size() <= max) return;
  page.resize(max);
  last = id_of(page.back());
}

void Connections::CutOverQuota(uint64_t id) {
  if (registry_.CutOne(id, Cut::kEnd)) ConnectionCounts::Count(counts_.cut);
}

bool Connections::CutOnRequest(uint64_t id, std::string_view owner,
                               const std::string& by) {
  const std::string http_peer = http_clients_.Cut(id, owner);
  if (!http_peer.empty()) {
    ConnectionCounts::Count(counts_.cut);
    logger_.Info(absl::StrCat("connection ", id, " of ",
                              ClientAddress(http_peer),
                              " to the admin port cut: ", by, " asked for it"));
    return true;
  }
  const auto connection = registry_.Find(id);
  if (!connection.has_value() || !connection->IsSeenBy(owner) ||
      !registry_.CutOne(id, Cut::kEnd)) {
    return false;
  }
  ConnectionCounts::Count(counts_.cut);
  logger_.Info(absl::StrCat("connection ", id, " of ", PeerText(*connection),
                            " cut: ", by, " asked for it"));
  return true;
}

void Connections::CutRevoked(uint64_t id, const std::string& subject) {
  const auto connection = registry_.Find(id);
  if (!connection.has_value() || !registry_.CutOne(id, Cut::kEnd)) return;
  ConnectionCounts::Count(counts_.cut);
  revoked_warning_.Say(absl::StrCat("connection of ", PeerText(*connection),
                                    " cut: the certificate of ", subject,
                                    " is revoked"));
}

void Connections::WriteStats(DaemonStats& stats) const {
  const auto read = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  stats.connections_open = registry_.open();
  stats.connections_accepted = read(counts_.accepted);
  stats.connection_limit = read(counts_.refused_total);
  stats.connection_address_limit = read(counts_.refused_address);
  stats.connection_descriptor_limit = read(counts_.refused_descriptors);
  stats.connections_cut = read(counts_.cut);
}

}  // namespace actord::daemon
