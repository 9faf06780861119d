#include "daemon/admin/admin_server.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <exception>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/admin/admin_connection.h"
#include "daemon/connections/socket_facts.h"
#include "daemon/listening/peer_address.h"
#include "daemon/log/spaced_warning.h"

namespace actord::daemon {
namespace {

using Error = boost::system::error_code;

// Connections accepted from one listener before the open connections have their
// turn.
constexpr int kAcceptsAtOnce = 16;
// The pause when the system has no memory for a connection.
constexpr timespec kNoMemoryPause{0, 10'000'000};

int OpenSpareDescriptor() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

// The server's thread and all of its data. Only this thread uses the members
// from Begin on, except Stop.
class AdminServer::Loop {
 public:
  Loop(Options options, Logger& logger, const runtime::Clock& clock)
      : options_(std::move(options)),
        parts_{.limits = options_.limits,
               .hosts = options_.hosts,
               .answer =
                   [this](const AdminRequest& request) {
                     ++counts_.requests;
                     return options_.answer(request, counts_);
                   },
               .refused = [this] { ++counts_.requests_refused; },
               .request =
                   [this](uint64_t connection, bool begins) {
                     if (options_.clients == nullptr) return;
                     begins ? options_.clients->RequestBegun(connection)
                            : options_.clients->RequestEnded(connection);
                   },
               .ended =
                   [this](AdminConnection* connection) { Forget(connection); },
               .next_number = [this] { return ++last_number_; },
               .calls = options_.calls,
               .take_room = [this](size_t bytes) { return TakeRoom(bytes); },
               .give_room = [this](size_t bytes) { room_bytes_ -= bytes; },
               .post =
                   [this](std::function<void()> work) {
                     boost::asio::post(io_, std::move(work));
                   }},
        clock_(clock),
        full_warning_(logger, clock),
        descriptor_warning_(logger, clock),
        tick_(io_) {}

  ~Loop() {
    Stop();
    // The listeners close their sockets.
    for (Wait& wait : waits_) wait.release();
    if (spare_ >= 0) close(spare_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  absl::Status Begin() {
    spare_ = OpenSpareDescriptor();
    if (spare_ < 0) {
      return absl::InternalError("no descriptor for the admin port");
    }
    for (const auto& listener : options_.listeners) {
      for (const int fd : listener->sockets()) waits_.emplace_back(io_, fd);
    }
    for (Wait& wait : waits_) Await(wait);
    Tick();
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "admin");
      io_.run();
    });
    return absl::OkStatus();
  }

  void Stop() {
    if (!thread_.joinable()) return;
    // After the answers that have been posted.
    boost::asio::post(io_, [this] { io_.stop(); });
    thread_.join();
  }

 private:
  using Wait = boost::asio::posix::stream_descriptor;

  void Tick() {
    tick_.expires_after(std::chrono::seconds(1));
    tick_.async_wait([this](const Error& error) {
      if (error) return;
      options_.each_second();
      Tick();
    });
  }

  void Await(Wait& listener) {
    listener.async_wait(Wait::wait_read, [this, &listener](const Error& error) {
      if (error) return;
      for (int i = 0; i < kAcceptsAtOnce; ++i) {
        if (!AcceptOne(listener.native_handle())) break;
      }
      Await(listener);
    });
  }

  // False: no connection waits, or the system refuses.
  bool AcceptOne(int listener) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    const int fd = accept4(listener, reinterpret_cast<sockaddr*>(&address),
                           &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      Take(fd, address, listener);
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
        nanosleep(&kNoMemoryPause, nullptr);
        return false;
      default:
        // The client has gone, or the network broke this one connection.
        return true;
    }
  }

  bool TakeRoom(size_t bytes) {
    if (room_bytes_ + bytes > options_.limits.all_bodies_bytes) return false;
    room_bytes_ += bytes;
    return true;
  }

  // The number of the connection; 0: there is no list of connections.
  uint64_t AddClient(int fd, const sockaddr_storage& address,
                     const std::optional<PeerCredentials>& credentials,
                     int listener) {
    if (options_.clients == nullptr) return 0;
    HttpClients::Client client;
    client.connection.fd = fd;
    client.connection.peer = PeerName(address);
    client.connection.address_group = AddressGroup(address);
    client.connection.since_unix_ns = clock_.UnixNs();
    client.connection.credentials = credentials;
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    if (address.ss_family != AF_UNIX &&
        getsockname(listener, reinterpret_cast<sockaddr*>(&local), &length) ==
            0) {
      client.listener = SocketAddressText(local);
    } else {
      client.listener = "unix:";
    }
    return options_.clients->Add(std::move(client));
  }

  void Take(int fd, const sockaddr_storage& address, int listener) {
    if (connections_.size() >= options_.limits.connections && !MakeRoom()) {
      ++counts_.connections_refused;
      close(fd);
      return;
    }
    AdminConnection::Protocol::socket socket(io_);
    Error error;
    const int family = address.ss_family;
    socket.assign(AdminConnection::Protocol(family, 0), fd, error);
    if (error) {
      ++counts_.connections_refused;
      close(fd);
      return;
    }
    const bool is_unix = family == AF_UNIX;
    const auto credentials =
        is_unix ? ReadCredentials(fd) : std::optional<PeerCredentials>();
    auto connection = std::make_shared<AdminConnection>(
        std::move(socket),
        AdminConnection::Peer{
            .is_unix = is_unix,
            .is_local_user = credentials && IsLocalUser(*credentials),
            .name = PeerName(address),
            .number = AddClient(fd, address, credentials, listener)},
        parts_);
    connections_.emplace(connection.get(), connection);
    counts_.connections_open = connections_.size();
    connection->Start();
  }

  // Closes the connection that has waited longest for its client. False: no
  // connection waits.
  bool MakeRoom() {
    full_warning_.Say(
        absl::StrCat("the admin port has ", connections_.size(),
                     " connections, its limit: the connection that has waited "
                     "longest for its client is closed"));
    AdminConnection* oldest = nullptr;
    for (const auto& [connection, owner] : connections_) {
      if (connection->waits_since() == 0) continue;
      if (oldest == nullptr ||
          connection->waits_since() < oldest->waits_since()) {
        oldest = connection;
      }
    }
    if (oldest == nullptr) return false;
    ++counts_.connections_refused;
    oldest->End();
    return true;
  }

  void Forget(AdminConnection* connection) {
    if (options_.clients != nullptr) {
      options_.clients->Remove(connection->number());
    }
    connections_.erase(connection);
    counts_.connections_open = connections_.size();
  }

  void RefuseWithSpare(int listener) {
    close(std::exchange(spare_, -1));
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
      ++counts_.connections_refused;
      close(fd);
      descriptor_warning_.Say(
          "connection to the admin port refused: the daemon has no descriptor "
          "left; raise the limit of open files (ulimit -n, LimitNOFILE)");
    } else {
      // Another thread has taken the spare descriptor.
      nanosleep(&kNoMemoryPause, nullptr);
    }
    spare_ = OpenSpareDescriptor();
  }

  const Options options_;
  const AdminConnection::Parts parts_;
  AdminCounts counts_;
  uint64_t last_number_ = 0;
  size_t room_bytes_ = 0;
  const runtime::Clock& clock_;
  SpacedWarning full_warning_;
  SpacedWarning descriptor_warning_;
  int spare_ = -1;
  // Destroyed after all of its users.
  boost::asio::io_context io_{1};
  boost::asio::steady_timer tick_;
  std::vector<Wait> waits_;
  std::map<AdminConnection*, std::shared_ptr<AdminConnection>> connections_;
  std::thread thread_;
};

AdminServer::AdminServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

AdminServer::~AdminServer() = default;

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(
    Options options, Logger& logger, const runtime::Clock& clock) {
  // The constructors of Boost.Asio, and that of a thread, throw.
  try {
    auto loop = std::make_unique<Loop>(std::move(options), logger, clock);
    absl::Status status = loop->Begin();
    if (!status.ok()) return status;
    return std::unique_ptr<AdminServer>(new AdminServer(std::move(loop)));
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat("cannot start the admin port: ", error.what()));
  }
}

void AdminServer::Stop() { loop_->Stop(); }

}  // namespace actord::daemon
