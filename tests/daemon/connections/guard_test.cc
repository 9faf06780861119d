// The guard over real sockets that nobody reads, as when gRPC is far behind.
#include "daemon/connections/guard.h"

#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "daemon/listening/listener.h"
#include "tests/daemon/operations/fake_clock.h"

namespace actord::daemon {
namespace {

// Four connections may have 300 unread calls each, ten may have 120 each.
constexpr GuardLimits kGuardLimits{.max_unread_calls = 300,
                                   .max_left_calls = 1000,
                                   .max_idle_bytes_first = 1 << 30,
                                   .max_idle_bytes = 1 << 30};
constexpr int kPatienceMs = 10'000;

std::string Http2Frame(uint8_t type, uint32_t stream,
                       const std::string& payload) {
  std::string frame("\0\0\0\0\4", 5);
  frame[1] = static_cast<char>(payload.size() >> 8 & 0xff);
  frame[2] = static_cast<char>(payload.size() & 0xff);
  frame[3] = static_cast<char>(type);
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame += static_cast<char>(stream >> shift & 0xff);
  }
  return frame + payload;
}

std::string CallsThatAreReset(uint32_t count) {
  std::string bytes;
  for (uint32_t stream = 1; stream < 2 * count; stream += 2) {
    bytes += Http2Frame(1, stream, "\x83\x86");
    bytes += Http2Frame(3, stream, std::string("\0\0\0\x08", 4));
  }
  return bytes;
}

std::string CallsThatStayOpen(uint32_t count) {
  std::string bytes;
  for (uint32_t stream = 1; stream < 2 * count; stream += 2) {
    bytes += Http2Frame(1, stream, "\x83\x86");
  }
  return bytes;
}

class GuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    grpc_init();
    auto listener = Listener::Open("127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    const absl::Status status = guard_.Start();
    ASSERT_TRUE(status.ok()) << status;
  }

  void TearDown() override {
    guard_.Stop();
    for (const int fd : fds_) close(fd);
    grpc_shutdown();
  }

  // Returns the client's end of a connection that the guard watches.
  int Connect(std::shared_ptr<TlsHandshake> handshake = nullptr) {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(listener_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address),
                      sizeof address),
              0)
        << std::strerror(errno);
    pollfd waiting{
        .fd = listener_->sockets()[0], .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&waiting, 1, kPatienceMs), 1);
    const int fd = accept4(waiting.fd, nullptr, nullptr, SOCK_CLOEXEC);
    EXPECT_GE(fd, 0);
    fds_.push_back(client);
    fds_.push_back(fd);
    Connection connection;
    connection.fd = fd;
    connection.cookie = SocketCookie(fd);
    connection.peer = "ipv4:127.0.0.1:" + std::to_string(client);
    connection.address_group = "127.0.0.1";
    connection.handshake = std::move(handshake);
    guard_.Watch(registry_.Add(connection), fd, connection.cookie);
    return client;
  }

  int ConnectOverAUnixSocket() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fds_.insert(fds_.end(), ends, ends + 2);
    Connection connection;
    connection.fd = ends[1];
    connection.cookie = SocketCookie(ends[1]);
    guard_.Watch(registry_.Add(connection), ends[1], connection.cookie);
    return ends[0];
  }

  static void Send(int client, const std::string& bytes) {
    EXPECT_EQ(
        send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT),
        static_cast<ssize_t>(bytes.size()));
  }

  static bool IsCut(int client, int patience_ms = 0) {
    pollfd waiting{.fd = client, .events = 0, .revents = 0};
    return poll(&waiting, 1, patience_ms) == 1;
  }
  static bool AwaitCut(int client) { return IsCut(client, kPatienceMs); }

  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kError};
  FakeClock clock_;
  ConnectionRegistry registry_;
  GrpcSockets sockets_;
  ConnectionCounts counts_;
  ConnectionGuard guard_{kGuardLimits, registry_, sockets_,
                         counts_,      logger_,   clock_};
  std::unique_ptr<Listener> listener_;
  std::vector<int> fds_;
};

TEST_F(GuardTest, CutsAConnectionWithManyUnreadPings) {
  std::string ping = Http2Frame(6, 0, "12345678");
  ping[4] = 0;  // no flags: it is no answer
  std::string pings;
  for (uint64_t i = 0; i < 2 * kMaxUnreadPings; ++i) pings += ping;
  const int over_tcp = Connect();
  const int over_unix = ConnectOverAUnixSocket();
  Send(over_tcp, pings);
  Send(over_unix, pings);
  EXPECT_TRUE(AwaitCut(over_tcp));
  EXPECT_TRUE(AwaitCut(over_unix));
  guard_.Stop();  // It counts after the cut.
  EXPECT_EQ(counts_.cut.load(), 2u);
}

TEST_F(GuardTest, FewConnectionsMayResetAsManyCallsAsTheLimitAllows) {
  std::vector<int> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Connect());
    Send(clients.back(), CallsThatAreReset(200));
  }
  // The guard looks at it after the others.
  const int flood = Connect();
  Send(flood, CallsThatAreReset(301));
  EXPECT_TRUE(AwaitCut(flood));
  for (const int client : clients) EXPECT_FALSE(IsCut(client));
  guard_.Stop();
  EXPECT_EQ(counts_.cut.load(), 1u);
}

TEST_F(GuardTest, ManyConnectionsShareTheLimit) {
  std::vector<int> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(Connect());
    Send(clients.back(), CallsThatAreReset(121));
  }
  // The first ones are found when the guard knows how many there are.
  for (const int client : clients) EXPECT_TRUE(AwaitCut(client));
  guard_.Stop();
  EXPECT_EQ(counts_.cut.load(), 10u);
}

TEST_F(GuardTest, TheLimitStaysLowForASecondAfterTheCuts) {
  for (int i = 0; i < 10; ++i) {
    const int client = Connect();
    Send(client, CallsThatAreReset(301));
    EXPECT_TRUE(AwaitCut(client));
  }
  const int later = Connect();
  Send(later, CallsThatAreReset(121));
  EXPECT_TRUE(AwaitCut(later));
  clock_.Advance(absl::Seconds(2));
  const int after = Connect();
  Send(after, CallsThatAreReset(121));
  const int flood = Connect();
  Send(flood, CallsThatAreReset(301));
  EXPECT_TRUE(AwaitCut(flood));
  EXPECT_FALSE(IsCut(after));
}

TEST_F(GuardTest, UnixSocketsShareALimitOfTheirOwn) {
  for (int i = 0; i < 10; ++i) {
    const int client = Connect();
    Send(client, CallsThatAreReset(301));
    EXPECT_TRUE(AwaitCut(client));
  }
  const int alone = ConnectOverAUnixSocket();
  Send(alone, CallsThatAreReset(200));
  const int flood = ConnectOverAUnixSocket();
  Send(flood, CallsThatAreReset(301));
  EXPECT_TRUE(AwaitCut(flood));
  EXPECT_FALSE(IsCut(alone));
  std::vector<int> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(ConnectOverAUnixSocket());
    Send(clients.back(), CallsThatAreReset(121));
  }
  for (const int client : clients) EXPECT_TRUE(AwaitCut(client));
}

TEST_F(GuardTest, UploadsAndManyOpenCallsBesideAFloodAreNotCut) {
  const int upload = Connect();
  Send(upload, CallsThatAreReset(99) + std::string(128 << 10, 'x'));
  const int patient = Connect();
  Send(patient, CallsThatStayOpen(1000));
  const int encrypted = Connect(std::make_shared<TlsHandshake>("peer"));
  Send(encrypted, CallsThatAreReset(2000));
  for (int i = 0; i < 20; ++i) {
    const int client = Connect();
    Send(client, CallsThatAreReset(301));
    EXPECT_TRUE(AwaitCut(client));
  }
  EXPECT_FALSE(IsCut(upload));
  EXPECT_FALSE(IsCut(patient));
  EXPECT_FALSE(IsCut(encrypted));
}

}  // namespace
}  // namespace actord::daemon
