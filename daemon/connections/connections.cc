#include "daemon/connections/connections.h"

#include <grpcpp/security/server_credentials.h>
#include <sys/resource.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

// The kernel's name for users that the daemon's user namespace does not have
// ("nobody"). They must not pass for a daemon that runs as this user.
constexpr uid_t kOverflowUid = 65534;

uint64_t MaxDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

ConnectionLimits LimitsOf(const Config& config) {
  return LimitsFor(config.max_connections, config.max_connections_per_address,
                   config.reserved_descriptors, MaxDescriptors());
}

// Whether the client runs as root or as the daemon's own user.
bool IsLocalUser(const std::optional<Connection>& connection) {
  if (!connection || !connection->credentials) return false;
  const uid_t uid = connection->credentials->uid;
  return uid == 0 || (uid == geteuid() && uid != kOverflowUid);
}

}  // namespace

Connections::Connections(const Config& config, uint64_t max_request_bytes,
                         Logger& logger, const runtime::Clock& clock)
    : revoked_warning_(logger, clock),
      guard_(GuardLimitsFor(config.max_concurrent_streams, max_request_bytes),
             registry_, counts_, logger, clock),
      acceptor_(LimitsOf(config), registry_, counts_, logger, clock) {}

Connections::~Connections() { StopAccepting(); }

InheritedAddress Connections::ListenOn(int fd) {
  listeners_.push_back(Listener::Adopt(fd));
  return {.text = listeners_.back()->adopted_address(),
          .port = listeners_.back()->port()};
}

absl::StatusOr<int> Connections::Listen(const std::string& address,
                                        const UnixAccess& access) {
  auto listener = Listener::Open(address, access);
  if (!listener.ok()) return listener.status();
  listeners_.push_back(*std::move(listener));
  return listeners_.back()->port();
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
      sockets, [this](int listener, uint64_t id, int fd, bool is_tcp) {
        const bool is_local_user = !is_tcp && IsLocalUser(registry_.Find(id));
        guard_.Watch(id, fd, is_tcp);
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
            connection;
        connection.listener_fd = listener;
        connection.fd = fd;
        GrpcAcceptor& acceptor = is_tcp          ? *grpc_tcp_
                                 : is_local_user ? *grpc_local_user_
                                                 : *grpc_unix_;
        acceptor.HandleNewConnection(&connection);
      });
}

void Connections::StopAccepting() {
  acceptor_.Stop();
  listeners_.clear();
}

void Connections::CutAllIn(absl::Duration patience) {
  guard_.CutAllIn(patience);
}

void Connections::CutRevoked(uint64_t id, const std::string& subject) {
  const auto connection = registry_.Find(id);
  if (!connection.has_value() || !registry_.CutOne(id, Cut::kEnd)) return;
  ConnectionCounts::Count(counts_.cut);
  revoked_warning_.Say(absl::StrCat("connection of ", connection->peer,
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
