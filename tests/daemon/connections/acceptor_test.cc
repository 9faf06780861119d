// The acceptor over real sockets, with a test in the place of gRPC.
#include "daemon/connections/acceptor.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "daemon/listening/listener.h"
#include "tests/daemon/operations/fake_clock.h"

namespace actord::daemon {
namespace {

constexpr timeval kReadTimeout{10, 0};
constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class AcceptorTest : public ::testing::Test {
 protected:
  ~AcceptorTest() override {
    if (acceptor_ != nullptr) acceptor_->Stop();
    const absl::MutexLock lock(&mutex_);
    for (const int fd : taken_) close(fd);
    for (const int fd : clients_) close(fd);
  }

  void Start(const ConnectionLimits& limits,
             const std::string& address = "127.0.0.1:0") {
    auto listener = Listener::Open(address);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    acceptor_ = std::make_unique<Acceptor>(limits, kPatience, registry_,
                                           counts_, logger_, clock_);
    const absl::Status status =
        acceptor_->Start(listener_->sockets(), false,
                         [this, address](int, uint64_t, int fd, bool is_tcp) {
                           EXPECT_EQ(is_tcp, !address.starts_with("unix:"));
                           const absl::MutexLock lock(&mutex_);
                           taken_.push_back(fd);
                         });
    ASSERT_TRUE(status.ok()) << status;
  }

  // Connects and sends the preface of HTTP/2.
  int Connect() { return Say(ConnectToPort(listener_->port()), kPreface); }

  static int Say(int client, std::string_view bytes) {
    // A refused connection may be closed already.
    send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return client;
  }

  int ConnectToPort(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kReadTimeout, sizeof kReadTimeout);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address),
                      sizeof address),
              0)
        << std::strerror(errno);
    clients_.push_back(fd);
    return fd;
  }

  int ConnectTo(const std::string& path) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address),
                      sizeof address),
              0)
        << std::strerror(errno);
    clients_.push_back(fd);
    return Say(fd, kPreface);
  }

  bool AwaitOpen(size_t count) {
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (registry_.open() != count && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    return registry_.open() == count;
  }

  size_t Taken() {
    const absl::MutexLock lock(&mutex_);
    return taken_.size();
  }

  // Waits until `count` connections have been handed over.
  bool AwaitTaken(size_t count) {
    const absl::MutexLock lock(&mutex_);
    const auto reached = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return taken_.size() >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&reached),
                                   absl::Seconds(10));
  }

  // Cuts the connection that is not cut yet. A connection is handed over before
  // it is listed.
  bool CutListed() {
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (absl::Now() < deadline) {
      for (const Connection& each : registry_.List()) {
        if (!each.is_cut) return registry_.CutOne(each.id, Cut::kReset);
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
    return false;
  }

  static uint16_t PortOf(int client) {
    sockaddr_in own{};
    socklen_t length = sizeof own;
    getsockname(client, reinterpret_cast<sockaddr*>(&own), &length);
    return ntohs(own.sin_port);
  }

  // The port of the client that was handed over as the `index`th one.
  uint16_t PeerOfTaken(size_t index) {
    const absl::MutexLock lock(&mutex_);
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    getpeername(taken_[index], reinterpret_cast<sockaddr*>(&peer), &length);
    return ntohs(peer.sin_port);
  }

  // Closes the connections that were handed over.
  void CloseTaken() {
    const absl::MutexLock lock(&mutex_);
    for (const int fd : taken_) close(fd);
    taken_.clear();
  }

  // Whether the connection ends after a frame at most.
  static bool IsClosed(int client) {
    std::string frame(15, 0);
    ssize_t size = recv(client, frame.data(), frame.size(), 0);
    if (size > 0) size = recv(client, frame.data(), 1, 0);
    // A reset, if the client has said something.
    return size == 0 || (size < 0 && errno == ECONNRESET);
  }

  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kError};
  FakeClock clock_;
  ConnectionRegistry registry_;
  ConnectionCounts counts_;
  std::unique_ptr<Listener> listener_;
  absl::Mutex mutex_;
  std::vector<int> taken_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> clients_;
  std::unique_ptr<Acceptor> acceptor_;
};

constexpr ConnectionLimits kWide{.max = 100,
                                 .max_per_address = 100,
                                 .first_reserved = 10'000,
                                 .max_calls = 1'000};

TEST_F(AcceptorTest, HandsOverAndRemembersConnections) {
  Start(kWide);
  const int client = Connect();
  ASSERT_TRUE(AwaitTaken(1));
  const std::vector<Connection> all = registry_.List();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].peer, "ipv4:127.0.0.1:" + std::to_string(PortOf(client)));
  EXPECT_EQ(all[0].since_unix_ns, clock_.UnixNs());
  EXPECT_EQ(counts_.accepted.load(), 1u);
}

TEST_F(AcceptorTest, HandsAConnectionOverWhenItsClientSpeaks) {
  Start(kWide);
  const int client = ConnectToPort(listener_->port());
  ASSERT_TRUE(AwaitOpen(1));
  // Taken in the order of their first bytes.
  const int second = Connect();
  ASSERT_TRUE(AwaitTaken(1));
  EXPECT_EQ(PeerOfTaken(0), PortOf(second));
  Say(client, kPreface.substr(0, 5));
  const int third = Connect();
  ASSERT_TRUE(AwaitTaken(2));
  EXPECT_EQ(PeerOfTaken(1), PortOf(third));
  EXPECT_EQ(registry_.open(), 3u);
  Say(client, kPreface.substr(5));
  ASSERT_TRUE(AwaitTaken(3));
  EXPECT_EQ(PeerOfTaken(2), PortOf(client));
}

// gRPC sends its own SETTINGS to a client that has spoken.
TEST_F(AcceptorTest, SendsSettingsToAClientThatItWaitsFor) {
  Start(kWide);
  const int client = ConnectToPort(listener_->port());
  std::string received(15, 'x');
  ASSERT_EQ(recv(client, received.data(), received.size(), MSG_WAITALL), 15);
  EXPECT_EQ(received, std::string_view("\0\0\6\4\0\0\0\0\0\0\3\0\0\3\xe8", 15));
  Say(client, kPreface);
  ASSERT_TRUE(AwaitTaken(1));
  EXPECT_EQ(recv(client, received.data(), 1, MSG_DONTWAIT), -1);
}

TEST_F(AcceptorTest, ClosesConnectionsThatSayNothingInTime) {
  Start(kWide);
  const int silent = ConnectToPort(listener_->port());
  const int half = Say(ConnectToPort(listener_->port()), kPreface.substr(0, 5));
  ASSERT_TRUE(AwaitOpen(2));
  Connect();
  ASSERT_TRUE(AwaitTaken(1));
  clock_.Advance(kPatience);
  EXPECT_TRUE(IsClosed(silent));
  EXPECT_TRUE(IsClosed(half));
  EXPECT_TRUE(AwaitOpen(1));
  EXPECT_EQ(Taken(), 1u);
}

TEST_F(AcceptorTest, ForgetsConnectionsWhoseClientsLeaveWithoutAWord) {
  Start(kWide);
  const int client = ConnectToPort(listener_->port());
  ASSERT_TRUE(AwaitOpen(1));
  shutdown(client, SHUT_WR);
  EXPECT_TRUE(IsClosed(client));
  EXPECT_TRUE(AwaitOpen(0));
  EXPECT_EQ(Taken(), 0u);
}

TEST_F(AcceptorTest, ClosesSilentConnectionsWhenItTurnsAwayAndAtItsEnd) {
  for (const bool turns_away : {true, false}) {
    Start(kWide);
    const int client = ConnectToPort(listener_->port());
    ASSERT_TRUE(AwaitOpen(1));
    if (turns_away) acceptor_->TurnAway();
    if (!turns_away) acceptor_->Stop();
    EXPECT_EQ(registry_.open(), 0u);
    EXPECT_TRUE(IsClosed(client));
    acceptor_->Stop();
    EXPECT_EQ(Taken(), 0u);
  }
}

TEST_F(AcceptorTest, ClosesAtOnceAboveTheTotal) {
  ConnectionLimits limits = kWide;
  limits.max = 2;
  Start(limits);
  Connect();
  Connect();
  EXPECT_TRUE(IsClosed(Connect()));
  EXPECT_EQ(counts_.refused_total.load(), 1u);
  EXPECT_EQ(counts_.accepted.load(), 2u);
}

TEST_F(AcceptorTest, ClosesAtOnceAboveTheAllowanceOfAnAddress) {
  ConnectionLimits limits = kWide;
  limits.max_per_address = 1;
  Start(limits);
  Connect();
  EXPECT_TRUE(IsClosed(Connect()));
  EXPECT_EQ(counts_.refused_address.load(), 1u);
}

TEST_F(AcceptorTest, ClosesConnectionsThatWouldTakeTheReserve) {
  ConnectionLimits limits = kWide;
  limits.first_reserved = 3;
  Start(limits);
  EXPECT_TRUE(IsClosed(Connect()));
  EXPECT_EQ(counts_.refused_descriptors.load(), 1u);
}

TEST_F(AcceptorTest, TakesConnectionsAgainWhenOthersAreOver) {
  ConnectionLimits limits = kWide;
  limits.max = 2;
  Start(limits);
  Connect();
  Connect();
  EXPECT_TRUE(IsClosed(Connect()));
  ASSERT_TRUE(AwaitTaken(2));
  CloseTaken();
  // Nobody sweeps but the acceptor, which does it so often at the most.
  clock_.Advance(absl::Seconds(1));
  Connect();
  EXPECT_TRUE(AwaitTaken(1));
  EXPECT_EQ(counts_.refused_total.load(), 1u);
}

TEST_F(AcceptorTest, LetsAUnixSocketWaitUntilCutConnectionsAreClosed) {
  const std::string path =
      ::testing::TempDir() + "acceptor_" + std::to_string(getpid());
  Start(kWide, "unix:" + path);
  size_t taken = 0;
  // In the end a connection is not taken, because so many were cut.
  for (bool is_taken = true; is_taken && taken < 100;) {
    ConnectTo(path);
    const absl::Time deadline = absl::Now() + absl::Seconds(1);
    while (Taken() == taken && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    is_taken = Taken() > taken;
    taken = Taken();
    if (is_taken) {
      EXPECT_TRUE(CutListed());
    }
  }
  // The acceptor may have counted the cut ones just before the last cut.
  EXPECT_GE(taken, 8u);
  EXPECT_LE(taken, 9u);
  ConnectTo(path);
  absl::SleepFor(absl::Milliseconds(30));
  EXPECT_EQ(Taken(), taken);
  // Time lets one of the two waiting connections in, and not both.
  clock_.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(AwaitTaken(taken + 1));
  absl::SleepFor(absl::Milliseconds(30));
  EXPECT_EQ(Taken(), taken + 1);
  CloseTaken();
  EXPECT_TRUE(AwaitTaken(1));
  EXPECT_EQ(counts_.accepted.load(), taken + 2);
}

TEST_F(AcceptorTest, HandsNothingOverAfterStop) {
  Start(kWide);
  acceptor_->Stop();
  Connect();  // waits in the listener
  EXPECT_EQ(counts_.accepted.load(), 0u);
}

TEST_F(AcceptorTest, ClosesEachConnectionAfterTurnAway) {
  for (const std::string& address :
       {std::string("127.0.0.1:0"),
        "unix:" + ::testing::TempDir() + "away_" + std::to_string(getpid())}) {
    const bool is_tcp = !address.starts_with("unix:");
    Start(kWide, address);
    acceptor_->TurnAway();
    for (int i = 0; i < 3; ++i) {
      const int client = is_tcp ? Connect() : ConnectTo(address.substr(5));
      setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &kReadTimeout,
                 sizeof kReadTimeout);
      EXPECT_TRUE(IsClosed(client));
    }
    acceptor_->Stop();
    EXPECT_EQ(Taken(), 0u);
    EXPECT_EQ(counts_.accepted.load(), 0u);
    EXPECT_EQ(registry_.open(), 0u);
  }
}

// A service manager holds the listener, too, so the kernel goes on to report
// its connections to an epoll set that still has it.
TEST_F(AcceptorTest, AbandonedListenerIsLeftToItsOtherOwner) {
  Start(kWide);
  const int port = listener_->port();
  const int abandoned = listener_->sockets().front();
  const int manager = dup(abandoned);
  clients_.push_back(manager);
  acceptor_->TurnAway({abandoned});
  listener_.reset();
  ConnectToPort(port);
  const std::clock_t before = std::clock();
  absl::SleepFor(absl::Milliseconds(300));
  // A thread that is told of the connection again and again would use all of
  // the 300 ms.
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 50);
  const int accepted = accept(manager, nullptr, nullptr);
  EXPECT_GE(accepted, 0) << std::strerror(errno);
  if (accepted >= 0) clients_.push_back(accepted);
}

}  // namespace
}  // namespace actord::daemon
