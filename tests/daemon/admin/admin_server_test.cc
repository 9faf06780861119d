// The server of the admin port, and clients that mean no good.
#include "tests/daemon/admin/admin_server_fixture.h"

namespace actord::daemon {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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

TEST_F(AdminServerTest, ClientThatDoesNotReadMakesRoomForANewOne) {
  AdminLimits limits;
  limits.connections = 1;
  limits.answer = std::chrono::hours(1);
  Start(limits);
  const int fd = Connect();
  Send(fd, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(Read(fd, "GET /large."), HasSubstr("200 OK"));
  ExpectServes();
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

TEST_F(AdminServerTest, SecondsAreTold) {
  Start();
  for (int i = 0; i < 500 && ticks_ == 0; ++i) usleep(10'000);
  EXPECT_GT(ticks_, 0);
}

}  // namespace
}  // namespace actord::daemon
