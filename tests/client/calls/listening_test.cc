#include "client/calls/listening.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace actord::client {
namespace {

constexpr absl::Duration kLookPatience = absl::Seconds(10);

TEST(IsListening, KnowsWhetherATcpPortIsServed) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof name;
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&name), length), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length), 0);
  const std::string port = ":" + std::to_string(ntohs(name.sin_port));
  // The port is taken, and nobody listens.
  EXPECT_EQ(IsListening("127.0.0.1" + port, kLookPatience).value(), false);
  ASSERT_EQ(listen(fd, 16), 0);
  EXPECT_EQ(IsListening("127.0.0.1" + port, kLookPatience).value(), true);
  EXPECT_EQ(IsListening("localhost" + port, kLookPatience).value(), true);
  EXPECT_EQ(IsListening("[::ffff:127.0.0.1]" + port, kLookPatience).value(),
            true);
  close(fd);
  EXPECT_EQ(IsListening("127.0.0.1" + port, kLookPatience).value(), false);
}

TEST(IsListening, KnowsWhetherAUnixSocketIsServed) {
  const std::string path =
      ::testing::TempDir() + "listening_" + std::to_string(getpid());
  EXPECT_EQ(IsListening("unix:" + path, kLookPatience).value(), false);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(listen(fd, 16), 0);
  EXPECT_EQ(IsListening("unix:" + path, kLookPatience).value(), true);
  EXPECT_EQ(IsListening("unix://" + path, kLookPatience).value(), true);
  close(fd);
  EXPECT_EQ(IsListening("unix:" + path, kLookPatience).value(), false);
  unlink(path.c_str());
}

TEST(IsListening, SaysWhyItDoesNotKnow) {
  for (const std::string& address :
       {std::string("127.0.0.1"), std::string("no.such.host.invalid:1"),
        "unix:" + std::string(200, 'x')}) {
    const auto listening = IsListening(address, kLookPatience);
    ASSERT_FALSE(listening.ok()) << address;
    EXPECT_THAT(std::string(listening.status().message()),
                ::testing::StartsWith(address + ": "));
  }
}

}  // namespace
}  // namespace actord::client
