// A server of the admin port, its clients, and calls that a test answers.
#pragma once

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "daemon/admin/admin_server.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

inline constexpr timeval kReceiveTimeout{20, 0};
// More than the buffers of the sockets.
inline constexpr size_t kLargeBytes = 32 << 20;
inline constexpr const char* kGet =
    "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";

// Takes the requests for /call, which the test answers. One at a time.
class HeldCall : public AdminCalls,
                 public AdminCall,
                 public std::enable_shared_from_this<HeldCall> {
 public:
  [[nodiscard]] bool Takes(std::string_view path) const override {
    return path == "/call";
  }
  [[nodiscard]] size_t max_body_bytes() const override { return 8 << 10; }
  [[nodiscard]] size_t MaxBodyBytesOf(
      std::string_view /*path*/) const override {
    return 8 << 10;
  }
  std::shared_ptr<AdminCall> Begin(AdminRequest request, Done done) override {
    const absl::MutexLock lock(&mutex_);
    request_ = std::move(request);
    done_ = std::move(done);
    ++begun_;
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

  std::atomic<int> begun_{0};
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
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kReceiveTimeout,
               sizeof kReceiveTimeout);
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
    EXPECT_THAT(Read(fd, "GET /x."), ::testing::EndsWith("GET /x."));
  }

  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kError};
  int port_ = 0;
  std::atomic<uint64_t> open_{0};
  std::atomic<int> ticks_{0};
  std::vector<int> clients_;
  std::shared_ptr<HeldCall> calls_;
  std::unique_ptr<AdminServer> server_;
};

}  // namespace actord::daemon
