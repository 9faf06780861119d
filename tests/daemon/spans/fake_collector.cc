#include "tests/daemon/spans/fake_collector.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace actord::daemon {
namespace {

constexpr int kLookEveryMs = 20;
constexpr size_t kFloodBytes = size_t{1} << 30;
constexpr size_t kPieceBytes = size_t{1} << 16;
constexpr const char* kLength = "Content-Length: ";

}  // namespace

std::string FakeCollector::Plain(int status, const std::string& headers) {
  return absl::StrCat("HTTP/1.1 ", status, " Any\r\n", headers,
                      "Content-Length: 0\r\n\r\n");
}

FakeCollector::FakeCollector(std::vector<std::string> answers)
    : answers_(std::move(answers)) {
  std::reverse(answers_.begin(), answers_.end());
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, any, length) != 0 || listen(listener_, 8) != 0 ||
      getsockname(listener_, any, &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

FakeCollector::~FakeCollector() {
  ends_ = true;
  thread_.join();
  close(listener_);
}

std::string FakeCollector::url() const {
  return absl::StrCat("http://127.0.0.1:", port_);
}

std::vector<std::string> FakeCollector::headers() const {
  const absl::MutexLock lock(&mutex_);
  return headers_;
}

std::vector<std::string> FakeCollector::bodies() const {
  const absl::MutexLock lock(&mutex_);
  return bodies_;
}

bool FakeCollector::Await(size_t count) const {
  const absl::MutexLock lock(&mutex_);
  const auto has = [this, count]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return bodies_.size() >= count;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&has), absl::Seconds(30));
}

void FakeCollector::Run() {
  while (!ends_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (poll(&waiting, 1, kLookEveryMs) <= 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++connections_;
    Serve(fd);
    close(fd);
  }
}

bool FakeCollector::ReadInto(int fd, std::string& bytes) const {
  while (!ends_) {
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, kLookEveryMs) <= 0) continue;
    char more[4096];
    const ssize_t got = read(fd, more, sizeof(more));
    if (got <= 0) return false;
    bytes.append(more, static_cast<size_t>(got));
    return true;
  }
  return false;
}

bool FakeCollector::Write(int fd, const std::string& bytes) {
  size_t at = 0;
  while (at < bytes.size() && !ends_) {
    pollfd waiting{fd, POLLOUT, 0};
    if (poll(&waiting, 1, kLookEveryMs) <= 0) continue;
    const ssize_t sent = send(fd, bytes.data() + at, bytes.size() - at,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return false;
    at += static_cast<size_t>(sent);
    written_ += static_cast<size_t>(sent);
  }
  return !ends_;
}

void FakeCollector::Flood(int fd, const std::string& headers,
                          const std::string& piece) {
  // The body begins in the packet of the headers.
  if (!Write(fd, absl::StrCat("HTTP/1.1 200 OK\r\n", headers, "\r\n", piece))) {
    return;
  }
  for (size_t at = kPieceBytes; at < kFloodBytes; at += kPieceBytes) {
    if (!Write(fd, piece)) return;
  }
}

void FakeCollector::Answer(int fd, const std::string& answer) {
  std::string unused;
  if (answer == kHang) {
    while (ReadInto(fd, unused)) unused.clear();
  } else if (answer == kDrip) {
    if (!Write(fd, "HTTP/1.1 200 OK\r\nX-Slow: ")) return;
    while (Write(fd, "a")) usleep(kLookEveryMs * 1000);
  } else if (answer == kFlood) {
    Flood(fd, absl::StrCat("Content-Length: ", kFloodBytes, "\r\n"),
          std::string(kPieceBytes, 'x'));
  } else if (answer == kChunkedFlood) {
    Flood(fd, "Transfer-Encoding: chunked\r\n",
          absl::StrCat("10000\r\n", std::string(kPieceBytes, 'x'), "\r\n"));
  } else if (answer == kEndlessFlood) {
    Flood(fd, "", std::string(kPieceBytes, 'x'));
  } else {
    static_cast<void>(Write(fd, answer));
  }
}

void FakeCollector::Serve(int fd) {
  std::string bytes;
  while (true) {
    size_t end = std::string::npos;
    while ((end = bytes.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadInto(fd, bytes)) return;
    }
    const std::string headers = bytes.substr(0, end + 2);
    bytes.erase(0, end + 4);
    const size_t length =
        std::stoul(headers.substr(headers.find(kLength) + strlen(kLength)));
    while (bytes.size() < length) {
      if (!ReadInto(fd, bytes)) return;
    }
    const std::string answer =
        answers_.empty() ? Plain(200) : std::move(answers_.back());
    if (!answers_.empty()) answers_.pop_back();
    {
      const absl::MutexLock lock(&mutex_);
      headers_.push_back(headers);
      bodies_.push_back(bytes.substr(0, length));
    }
    bytes.erase(0, length);
    if (answer == kClose) return;
    Answer(fd, answer);
  }
}

}  // namespace actord::daemon
