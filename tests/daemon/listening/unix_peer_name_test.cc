#include "daemon/listening/unix_peer_name.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>

namespace actord::daemon {
namespace {

class UnixPeerNameTest : public ::testing::Test {
 protected:
  UnixPeerNameTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
  }
  ~UnixPeerNameTest() override {
    for (const int fd : ends_) close(fd);
  }

  // The path of the address that getpeername gives.
  [[nodiscard]] std::string Name() const {
    sockaddr_un address{};
    socklen_t length = sizeof address;
    EXPECT_EQ(
        getpeername(ends_[0], reinterpret_cast<sockaddr*>(&address), &length),
        0);
    EXPECT_EQ(address.sun_family, AF_UNIX);
    EXPECT_LE(length, sizeof address);
    return address.sun_path;
  }

  int ends_[2] = {-1, -1};
};

TEST_F(UnixPeerNameTest, PeerNameBelongsToTheScopeAndItsThread) {
  EXPECT_EQ(UnixPeerName(17), "unix:17");
  EXPECT_EQ(Name(), "");
  {
    const UnixPeerScope scope(UINT64_MAX);
    EXPECT_EQ("unix:" + Name(), UnixPeerName(UINT64_MAX));
    std::thread([this] { EXPECT_EQ(Name(), ""); }).join();
  }
  EXPECT_EQ(Name(), "");
}

TEST_F(UnixPeerNameTest, IsCutLikeTheKernelsAddresses) {
  const UnixPeerScope scope(12345);
  sockaddr_un address{};
  std::memset(&address, 'x', sizeof address);
  socklen_t length = offsetof(sockaddr_un, sun_path) + 3;
  EXPECT_EQ(
      getpeername(ends_[0], reinterpret_cast<sockaddr*>(&address), &length), 0);
  EXPECT_EQ(length, offsetof(sockaddr_un, sun_path) + 6);
  EXPECT_EQ(std::string(address.sun_path, 4), "123x");
}

TEST_F(UnixPeerNameTest, LeavesOtherSocketsAndErrorsToTheKernel) {
  const UnixPeerScope scope(17);
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  EXPECT_EQ(getpeername(-1, reinterpret_cast<sockaddr*>(&address), &length),
            -1);
  EXPECT_EQ(errno, EBADF);
  const int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(getpeername(tcp, reinterpret_cast<sockaddr*>(&address), &length),
            -1);
  EXPECT_EQ(errno, ENOTCONN);
  close(tcp);
}

}  // namespace
}  // namespace actord::daemon
