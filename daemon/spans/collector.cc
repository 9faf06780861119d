#include "daemon/spans/collector.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "daemon/spans/name_lookup.h"

namespace actord::daemon {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Error = boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// "Retry-After: 30". The other form, a date, asks for nothing here: the clocks
// of two machines differ.
absl::Duration RetryAfter(std::string_view text) {
  uint32_t seconds = 0;
  return absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &seconds)
             ? absl::Seconds(seconds)
             : absl::ZeroDuration();
}

}  // namespace

// The connection, and the loop that serves it while Post runs.
class Collector::Connection {
 public:
  Connection(CollectorUrl url, std::string agent, const runtime::Clock& clock)
      : url_(std::move(url)),
        agent_(std::move(agent)),
        clock_(clock),
        socket_(io_),
        timer_(io_) {}

  Answer Post(const std::string& body, absl::Duration patience) {
    deadline_ns_ = clock_.MonotonicNs() +
                   static_cast<uint64_t>(absl::ToInt64Nanoseconds(patience));
    const bool was_open = socket_.is_open();
    Answer answer = PostOnce(body);
    // The collector may have closed a connection that it thought idle.
    if (answer.status == 0 && was_open && LeftNs() != 0) {
      answer = PostOnce(body);
    }
    return answer;
  }

  void Hurry(absl::Duration left) {
    hurry_ns_.store(clock_.MonotonicNs() +
                        static_cast<uint64_t>(absl::ToInt64Nanoseconds(left)),
                    std::memory_order_relaxed);
    // The loop runs this now, or at the beginning of the next exchange.
    asio::post(io_, [this] {
      if (is_waiting_) SetTimer();
    });
  }

 private:
  using Request = http::request<http::string_body>;

  [[nodiscard]] uint64_t LeftNs() const {
    const uint64_t end_ns =
        std::min(deadline_ns_, hurry_ns_.load(std::memory_order_relaxed));
    return end_ns - std::min(end_ns, clock_.MonotonicNs());
  }

  void SetTimer() {
    timer_.expires_after(std::chrono::nanoseconds(LeftNs()));
    timer_.async_wait([this](const Error& error) {
      // The operation that runs ends with an error.
      if (!error) Close();
    });
  }

  // Runs one operation, which calls its handler with an error or none. Returns
  // the error.
  template <typename Start>
  Error Run(Start start) {
    Error result;
    io_.restart();
    is_waiting_ = true;
    SetTimer();
    start([this, &result](const Error& error, auto&&... /*unused*/) {
      result = error;
      is_waiting_ = false;
      timer_.cancel();
    });
    io_.run();
    return result;
  }

  void Close() {
    Error ignored;
    socket_.close(ignored);
  }

  Answer Failed(const std::string& what, const Error& error) {
    const bool is_late = LeftNs() == 0;
    Close();
    return {.problem = is_late ? "no answer in time"
                               : absl::StrCat(what, ": ", error.message())};
  }

  // nullopt: connected.
  std::optional<Answer> Connect() {
    const auto addresses =
        lookup_.Find(url_.host, [this] { return LeftNs() != 0; });
    if (!addresses.ok()) {
      return Answer{.problem = std::string(addresses.status().message())};
    }
    Answer failed{.problem =
                      absl::StrCat("the name ", url_.host, " has no address")};
    for (const std::string& address : *addresses) {
      Error error;
      const auto ip = asio::ip::make_address(address, error);
      const Tcp::endpoint endpoint(ip, url_.port);
      if (!error) socket_.open(endpoint.protocol(), error);
      if (!error) {
        static_cast<void>(fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC));
        error = Run([&](auto done) { socket_.async_connect(endpoint, done); });
      }
      if (!error) return std::nullopt;
      failed = Failed("cannot connect", error);
      if (LeftNs() == 0) break;
    }
    return failed;
  }

  Answer PostOnce(const std::string& body) {
    if (!socket_.is_open()) {
      if (std::optional<Answer> failed = Connect()) return *std::move(failed);
    }
    const Request request = RequestOf(body);
    Error error =
        Run([&](auto done) { http::async_write(socket_, request, done); });
    if (error) return Failed("cannot send", error);
    boost::beast::flat_buffer buffer(kMaxHeaderBytes + kMaxAnswerBytes);
    http::response_parser<http::string_body> parser;
    parser.header_limit(kMaxHeaderBytes);
    parser.body_limit(kMaxAnswerBytes);
    // First the headers alone: a parser of Boost 1.74 that reads on at once
    // forgets that the announced length is above the limit.
    error = Run([&](auto done) {
      http::async_read_header(socket_, buffer, parser, done);
    });
    if (!error && !parser.is_done()) {
      error = Run(
          [&](auto done) { http::async_read(socket_, buffer, parser, done); });
    }
    if (error) return Failed("the answer cannot be read", error);
    http::response<http::string_body> response = parser.release();
    // Bytes behind the answer belong to nothing.
    if (!response.keep_alive() || buffer.size() != 0) Close();
    const auto after = response[http::field::retry_after];
    return {.status = static_cast<int>(response.result_int()),
            .retry_after = RetryAfter({after.data(), after.size()}),
            .body = std::move(response.body())};
  }

  Request RequestOf(const std::string& body) const {
    constexpr unsigned kHttpVersion = 11;
    Request request(http::verb::post, url_.path, kHttpVersion);
    const bool is_v6 = url_.host.find(':') != std::string::npos;
    request.set(http::field::host,
                absl::StrCat(is_v6 ? "[" : "", url_.host, is_v6 ? "]" : "", ":",
                             url_.port));
    request.set(http::field::user_agent, agent_);
    request.set(http::field::content_type, "application/x-protobuf");
    request.body() = body;
    request.prepare_payload();
    return request;
  }

  const CollectorUrl url_;
  const std::string agent_;
  const runtime::Clock& clock_;
  NameLookup lookup_;
  asio::io_context io_{1};
  Tcp::socket socket_;
  asio::steady_timer timer_;
  uint64_t deadline_ns_ = 0;
  // Whether an operation runs.
  bool is_waiting_ = false;
  // Hurry writes it, and the thread of Post reads it. Relaxed: the handler that
  // Hurry posts comes after the write, and a Post that begins at the same time
  // runs that handler.
  std::atomic<uint64_t> hurry_ns_{kNever};
};

Collector::Collector(CollectorUrl url, std::string agent,
                     const runtime::Clock& clock)
    : connection_(std::make_unique<Connection>(std::move(url), std::move(agent),
                                               clock)) {}

Collector::~Collector() = default;

Collector::Answer Collector::Post(const std::string& body,
                                  absl::Duration patience) {
  return connection_->Post(body, patience);
}

void Collector::Hurry(absl::Duration left) { connection_->Hurry(left); }

}  // namespace actord::daemon
