// The server of the admin port, and clients that mean no good.
#include "daemon/admin/admin_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "runtime/system/clock.h"

namespace actord::daemon {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr timeval kPatience{20, 0};
// More than the buffers of the sockets.
constexpr size_t kLargeBytes = 32 << 20;
constexpr const char* kGet = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";

// Takes the requests for /call, which the test answers. One at a time.
class HeldCall : public AdminCalls,
                 public AdminCall,
                 public std::enable_shared_from_this<HeldCall> {
 public:
  [[nodiscard]] bool Takes(std::string_view path) const override {
    return path == "/call";
  }
  [[nodiscard]] size_t max_body_bytes() const override { return 8 << 10; }
  std::shared_ptr<AdminCall> Begin(AdminRequest request, Done done) override {
    const absl::MutexLock lock(&mutex_);
    request_ = std::move(request);
    done_ = std::move(done);
    return shared_from_this();
  }
  void End(Why why) override { ended_ = why == Why::kDeadline ? 1 : 2; }
  [[nodiscard]] std::chrono::milliseconds patience() const override {
    return std::chrono::milliseconds(patience_ms_.load());
  }
  void Written() override { ++written_; }

  // Waits for a request, and answers it or the next part of it.
  AdminRequest Answer(AdminAnswer::Part part, const std::string& body) {
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](Done* done) { return *done != nullptr; }, &done_));
    AdminAnswer answer;
    answer.part = part;
    answer.body = body;
    done_(answer);
    return request_;
  }
  static void Eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 2000 && !holds(); ++i) usleep(10'000);
    EXPECT_TRUE(holds());
  }

  std::atomic<int> patience_ms_{60'000};
  std::atomic<int> ended_{0};  // 1: by the deadline, 2: the client has gone
  std::atomic<int> written_{0};

 private:
  absl::Mutex mutex_;
  AdminRequest request_;
  Done done_;
};

class AdminServerTest : public ::testing::Test {
 protected:
  ~AdminServerTest() override {
    for (const int fd : clients_) close(fd);
  }

  // Answers each request with its method and path; to /large more follows.
  void Start(const AdminLimits& limits = {}) {
    auto listener = Listener::Open("127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status();
    port_ = (*listener)->port();
    AdminServer::Options options{
        .listeners = {},
        .hosts = AllowedHosts({"127.0.0.1:0"}, {}),
        .answer =
            [this](const AdminRequest& request, const AdminCounts& counts) {
              open_ = counts.connections_open;
              AdminAnswer answer;
              answer.body = request.method + " " + request.path + ".";
              if (request.path == "/large") {
                answer.body.resize(kLargeBytes, 'x');
              }
              return answer;
            },
        .each_second = [this] { ++ticks_; },
        .limits = limits,
        .calls = calls_.get()};
    options.listeners.push_back(*std::move(listener));
    auto server = AdminServer::Start(std::move(options), logger_,
                                     runtime::Clock::System());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  int Connect() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address),
                      sizeof address),
              0)
        << std::strerror(errno);
    clients_.push_back(fd);
    return fd;
  }

  static void Send(int fd, const std::string& text) {
    send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  }

  // Reads until the text has `end`, or the server closes. Fails the test if
  // neither comes.
  static std::string Read(int fd, const std::string& end) {
    std::string text;
    char bytes[4096];
    while (end.empty() || text.find(end) == std::string::npos) {
      const ssize_t count = recv(fd, bytes, sizeof bytes, 0);
      if (count < 0 && errno == EAGAIN) {
        ADD_FAILURE() << "nothing came after: " << text;
      }
      if (count <= 0) break;
      text.append(bytes, static_cast<size_t>(count));
    }
    return text;
  }
  static std::string ReadToEnd(int fd) { return Read(fd, ""); }

  // One request on a connection of its own that the server closes.
  std::string Exchange(const std::string& request) {
    const int fd = Connect();
    Send(fd, request);
    return ReadToEnd(fd);
  }

  void ExpectServes() {
    const int fd = Connect();
    Send(fd, kGet);
    EXPECT_THAT(Read(fd, "GET /x."), EndsWith("GET /x."));
  }

  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kError};
  int port_ = 0;
  std::atomic<uint64_t> open_{0};
  std::atomic<int> ticks_{0};
  std::vector<int> clients_;
  std::shared_ptr<HeldCall> calls_;
  std::unique_ptr<AdminServer> server_;
};

TEST_F(AdminServerTest, AnswersRequestsOfOneConnectionInTurn) {
  Start();
  const int fd = Connect();
  for (int i = 0; i < 3; ++i) {
    Send(fd, kGet);
    const std::string text = Read(fd, "GET /x.");
    EXPECT_THAT(text, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(text, HasSubstr("Content-Length: 7\r\n"));
    EXPECT_THAT(text, HasSubstr("Cache-Control: no-store\r\n"));
    EXPECT_THAT(text, Not(HasSubstr("Set-Cookie")));
  }
}

TEST_F(AdminServerTest, PipelinedRequestsAreAnsweredInOrder) {
  Start();
  std::string many;
  for (int i = 0; i < 50; ++i) {
    many += "GET /" + std::to_string(i) + "?q=1 HTTP/1.1\r\nHost: [::1]\r\n" +
            (i == 49 ? "Connection: close\r\n\r\n" : "\r\n");
  }
  const std::string text = Exchange(many);
  size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    at = text.find("GET /" + std::to_string(i) + ".", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(AdminServerTest, HeadHasTheHeaderAlone) {
  Start();
  const std::string text = Exchange(
      "HEAD /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(text, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(text, EndsWith("\r\n\r\n"));
}

TEST_F(AdminServerTest, ForeignHostsAreRefused) {
  Start();
  EXPECT_THAT(Exchange("GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 421 "));
  EXPECT_THAT(Exchange("GET /x HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(
      Exchange("GET /x HTTP/1.1\r\nHost: localhost\r\nHost: evil.example"
               "\r\n\r\n"),
      StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(
      Exchange("GET http://localhost/x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
      StartsWith("HTTP/1.1 400 "));
}

TEST_F(AdminServerTest, GarbageIsRefusedAndTheConnectionClosed) {
  Start();
  for (const std::string& garbage :
       {std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        std::string("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\r\n\r\n", 14),
        std::string("GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"),
        std::string("GET /x HTTP/1.1\r\nHost : a\r\n\r\n"),
        std::string(200, '\0') + "\r\n\r\n"}) {
    EXPECT_THAT(Exchange(garbage), StartsWith("HTTP/1.1 400 ")) << garbage;
  }
  ExpectServes();
}

TEST_F(AdminServerTest, LargeHeadersAndBodiesAreRefused) {
  Start();
  const std::string begin = "GET /x HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_THAT(Exchange(begin + "X: " + std::string(9000, 'x')),
              StartsWith("HTTP/1.1 431 "));
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "X: y\r\n";
  EXPECT_THAT(Exchange(begin + many), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Exchange("GET /" + std::string(100'000, 'x')),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Exchange("POST /x HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Length: 5000\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  const std::string chunk = "ffff\r\n" + std::string(0xffff, 'x') + "\r\n";
  EXPECT_THAT(Exchange("POST /x HTTP/1.1\r\nHost: localhost\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n" +
                       chunk),
              StartsWith("HTTP/1.1 413 "));
  ExpectServes();
}

TEST_F(AdminServerTest, SlowRequestsAreCutAlsoIfBytesCome) {
  AdminLimits limits;
  limits.request = std::chrono::milliseconds(300);
  Start(limits);
  const int silent = Connect();
  const int slow = Connect();
  const auto begin = std::chrono::steady_clock::now();
  // Each byte comes in time; the request does not.
  const std::string endless = "GET /" + std::string(400, 'x');
  size_t sent = 0;
  char byte = 0;
  while (sent < endless.size() && recv(slow, &byte, 1, MSG_DONTWAIT) != 0) {
    Send(slow, endless.substr(sent++, 1));
    usleep(10'000);
  }
  EXPECT_LT(sent, endless.size());
  EXPECT_GE(std::chrono::steady_clock::now() - begin,
            std::chrono::milliseconds(300));
  EXPECT_EQ(ReadToEnd(silent), "");
  ExpectServes();
}

TEST_F(AdminServerTest, IdleConnectionsAreClosedAfterTheirTime) {
  AdminLimits limits;
  limits.idle = std::chrono::milliseconds(100);
  Start(limits);
  const int fd = Connect();
  Send(fd, kGet);
  EXPECT_THAT(ReadToEnd(fd), EndsWith("GET /x."));
}

TEST_F(AdminServerTest, ClientThatDoesNotReadIsCut) {
  AdminLimits limits;
  limits.answer = std::chrono::milliseconds(300);
  Start(limits);
  const int fd = Connect();
  Send(fd, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  // The answers to another client tell when the connection is closed.
  const int other = Connect();
  do {
    Send(other, kGet);
    EXPECT_THAT(Read(other, "GET /x."), EndsWith("GET /x."));
  } while (open_ > 1);
  EXPECT_LT(ReadToEnd(fd).size(), kLargeBytes);
}

TEST_F(AdminServerTest, NewClientTakesThePlaceOfTheOneThatWaitsLongest) {
  AdminLimits limits;
  limits.connections = 4;
  Start(limits);
  std::vector<int> silent;
  for (int i = 0; i < 12; ++i) silent.push_back(Connect());
  ExpectServes();
  EXPECT_LE(open_, 4U);
  EXPECT_EQ(ReadToEnd(silent[0]), "");
  EXPECT_EQ(ReadToEnd(silent[7]), "");
  // The newest are still open.
  Send(silent[11], kGet);
  EXPECT_THAT(Read(silent[11], "GET /x."), EndsWith("GET /x."));
}

TEST_F(AdminServerTest, StopBreaksOpenConnectionsOff) {
  Start();
  const int fd = Connect();
  Send(fd, kGet);
  EXPECT_THAT(Read(fd, "GET /x."), EndsWith("GET /x."));
  const int silent = Connect();
  server_->Stop();
  server_.reset();
  char byte = 0;
  EXPECT_LE(recv(fd, &byte, 1, 0), 0);
  EXPECT_LE(recv(silent, &byte, 1, 0), 0);
}

TEST_F(AdminServerTest, CallIsAnsweredInPartsWithHeartbeatsBetween) {
  using Part = AdminAnswer::Part;
  calls_ = std::make_shared<HeldCall>();
  Start({.heartbeat = std::chrono::milliseconds(20)});
  const int fd = Connect();
  Send(fd,
       "POST /call?a=1 HTTP/1.1\r\nHost: localhost\r\nX-One: 1\r\n"
       "Content-Length: 2\r\n\r\nok");
  const AdminRequest request = calls_->Answer(Part::kFirst, "one.");
  EXPECT_EQ(request.method + request.path + request.query, "POST/calla=1");
  EXPECT_EQ(request.body, "ok");
  EXPECT_EQ(request.HeadersOf("x-one"), std::vector<std::string>{"1"});
  EXPECT_THAT(request.peer, StartsWith("ipv4:127.0.0.1:"));
  EXPECT_THAT(Read(fd, "one.:\n\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  HeldCall::Eventually([&] { return calls_->written_ == 1; });
  static_cast<void>(calls_->Answer(Part::kNext, "two."));
  HeldCall::Eventually([&] { return calls_->written_ == 2; });
  static_cast<void>(calls_->Answer(Part::kLast, "three."));
  const std::string rest = ReadToEnd(fd);
  EXPECT_THAT(rest, HasSubstr("two."));
  EXPECT_THAT(rest, EndsWith("three."));
}

TEST_F(AdminServerTest, CallEndsWithItsClientAndWithItsDeadline) {
  calls_ = std::make_shared<HeldCall>();
  Start();
  const std::string call = "GET /call HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const int gone = Connect();
  Send(gone, call);
  shutdown(gone, SHUT_WR);
  HeldCall::Eventually([&] { return calls_->ended_ == 2; });
  calls_->patience_ms_ = 10;
  const int late = Connect();
  Send(late, call);
  HeldCall::Eventually([&] { return calls_->ended_ == 1; });
  // The answer may still come.
  static_cast<void>(calls_->Answer(AdminAnswer::Part::kWhole, "late."));
  EXPECT_THAT(Read(late, "late."), EndsWith("late."));
}

TEST_F(AdminServerTest, BodiesOfPagesAndCallsHaveLimitsOfTheirOwn) {
  calls_ = std::make_shared<HeldCall>();
  Start({.all_bodies_bytes = 7 << 10});
  const auto post = [&](const std::string& path, size_t bytes) {
    return Exchange("POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
                    "Content-Length: " + std::to_string(bytes) + "\r\n\r\n" +
                    std::string(bytes, 'x'));
  };
  EXPECT_THAT(post("/x", 5 << 10), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(post("/call", 9 << 10), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(post("/call", (7 << 10) + 1), StartsWith("HTTP/1.1 503 "));
  // The room is given back.
  const int fd = Connect();
  Send(fd,
       "POST /call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6000"
       "\r\n\r\n" +
           std::string(6000, 'x'));
  EXPECT_EQ(calls_->Answer(AdminAnswer::Part::kWhole, "done.").body.size(),
            6000u);
  EXPECT_THAT(Read(fd, "done."), EndsWith("done."));
}

TEST_F(AdminServerTest, SecondsAreTold) {
  Start();
  for (int i = 0; i < 500 && ticks_ == 0; ++i) usleep(10'000);
  EXPECT_GT(ticks_, 0);
}

}  // namespace
}  // namespace actord::daemon
