// Calls on the admin port: parts, ends, and limits.
#include "tests/daemon/admin/admin_server_fixture.h"

namespace actord::daemon {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
  // Also if more bytes have come than the request.
  for (const std::string more : {"", "GET"}) {
    calls_->ended_ = 0;
    const int before = calls_->begun_;
    const int gone = Connect();
    Send(gone, call);
    HeldCall::Eventually([&] { return calls_->begun_ == before + 1; });
    Send(gone, more);
    shutdown(gone, SHUT_WR);
    HeldCall::Eventually([&] { return calls_->ended_ == 2; });
  }
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
  // Only a POST has a request in its body.
  EXPECT_THAT(Exchange("GET /call HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Length: 5000\r\n\r\n" +
                       std::string(5000, 'x')),
              StartsWith("HTTP/1.1 413 "));
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

TEST_F(AdminServerTest, AnswersThatNobodyTakesHaveALimit) {
  calls_ = std::make_shared<HeldCall>();
  Start({.all_bodies_bytes = kLargeBytes + 4});
  const std::string call =
      "POST /call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx";
  const auto send = [&] {
    const int before = calls_->begun_;
    const int fd = Connect();
    Send(fd, call);
    HeldCall::Eventually([&] { return calls_->begun_ == before + 1; });
    return fd;
  };
  const int first = send();
  // It does not fit into the buffers of the sockets.
  static_cast<void>(
      calls_->Answer(AdminAnswer::Part::kWhole, std::string(kLargeBytes, 'x')));
  EXPECT_THAT(Read(first, "200 OK"), HasSubstr("200 OK"));
  const int second = send();
  static_cast<void>(calls_->Answer(AdminAnswer::Part::kWhole, "much."));
  const std::string refused = Read(second, "try again");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1"));
  close(std::exchange(clients_[0], -1));
  // The room is given back.
  HeldCall::Eventually([&] {
    const int again = send();
    static_cast<void>(calls_->Answer(AdminAnswer::Part::kWhole, "much."));
    return Read(again, ".").starts_with("HTTP/1.1 200 ");
  });
}

}  // namespace
}  // namespace actord::daemon
