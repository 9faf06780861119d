// Tests the port file, the socket lock, and the reasons why a listen address is
// refused.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/exit_status.h"
#include "daemon/listening/listen_check.h"
#include "daemon/port_file.h"
#include "daemon/socket_lock.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(::testing::TempDir() + "actord_start_XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string File(const std::string& name) const {
    return path_ + "/" + name;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(PortFile, HoldsEachPortAndReplacesAnEarlierFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("port");
  ASSERT_TRUE(PortFile::Write(path, {7600}).ok());
  EXPECT_EQ(ReadAll(path), "7600\n");
  ASSERT_TRUE(PortFile::Write(path, {1, 65535}).ok());
  EXPECT_EQ(ReadAll(path), "1\n65535\n");
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory.path()), {}),
      1)
      << "no temporary file stays";
  ASSERT_TRUE(RemovePortFile(path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(RemovePortFile(path).ok()) << "nothing to remove is fine";
}

TEST(PortFile, IsRemovedByItsWriterOnly) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("port");
  const auto first = PortFile::Write(path, {1, 2});
  ASSERT_TRUE(first.ok());
  // A second daemon that starts does the same. Its file often gets the inode
  // number of the removed file.
  ASSERT_TRUE(RemovePortFile(path).ok());
  EXPECT_TRUE((*first)->Remove().ok()) << "it is gone already";
  const auto second = PortFile::Write(path, {1, 2});
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE((*first)->Remove().ok());
  EXPECT_EQ(ReadAll(path), "1\n2\n") << "of equal text, but another's";
  EXPECT_TRUE((*second)->Remove().ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(PortFile, NamesTheError) {
  const absl::Status status = PortFile::Write("/nowhere/port", {1}).status();
  EXPECT_EQ(ExitStatusOf(status), kExitBadConfiguration);
  EXPECT_EQ(std::string(status.message()),
            "port file /nowhere/port: cannot write it: No such file or "
            "directory");
}

TEST(PortFile, StaysIfAnotherDaemonHasJustWrittenIt) {
  constexpr int kRounds = 500;
  const TemporaryDirectory directory;
  const std::string path = directory.File("port");
  std::unique_ptr<PortFile> first;
  std::barrier together(2);
  std::thread ends([&] {
    for (int i = 0; i < kRounds; ++i) {
      together.arrive_and_wait();
      EXPECT_TRUE(first->Remove().ok());
      together.arrive_and_wait();
    }
  });
  int lost = 0;
  for (int i = 0; i < kRounds; ++i) {
    first = *PortFile::Write(path, {1});
    together.arrive_and_wait();
    const auto second = PortFile::Write(path, {2});
    together.arrive_and_wait();
    EXPECT_TRUE(second.ok());
    if (ReadAll(path) != "2\n") ++lost;
  }
  ends.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory.path()), {}),
      1);
}

TEST(SocketLock, IsHeldByOneDaemon) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("s");
  auto lock = SocketLock::Take(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  const absl::Status second = SocketLock::Take(path).status();
  EXPECT_EQ(ExitStatusOf(second), kExitCannotListen);
  EXPECT_THAT(std::string(second.message()), HasSubstr(path + ".lock"));
  EXPECT_FALSE(SocketLock::Take(path).ok()) << "a refusal leaves the file";
  EXPECT_TRUE(SocketLock::Take(directory.File("other")).ok());
  lock->reset();
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
  EXPECT_TRUE(SocketLock::Take(path).ok());
}

TEST(SocketLock, StaysAsLongAsTheSocketMayBeRemoved) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("s");
  std::ofstream(path) << "as a socket";
  auto lock = SocketLock::Take(path);
  ASSERT_TRUE(lock.ok());
  (*lock)->SetBound();
  lock->reset();
  EXPECT_TRUE(std::filesystem::exists(path + ".lock"));
  std::filesystem::remove(path);
  lock = SocketLock::Take(path);
  ASSERT_TRUE(lock.ok()) << "a file that was left is no obstacle";
  (*lock)->SetBound();
  lock->reset();
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
}

TEST(SocketLock, RemovesItsOwnFileOnly) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("s");
  auto lock = SocketLock::Take(path);
  ASSERT_TRUE(lock.ok());
  // The lock file is removed by hand, and another daemon starts.
  std::filesystem::remove(path + ".lock");
  const auto other = SocketLock::Take(path);
  ASSERT_TRUE(other.ok());
  lock->reset();
  EXPECT_TRUE(std::filesystem::exists(path + ".lock"));
  EXPECT_FALSE(SocketLock::Take(path).ok());
}

TEST(SocketLock, IsHeldByOneThreadAtATime) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("s");
  std::atomic<int> holders{0};
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (taken < 2'000) {
        const auto lock = SocketLock::Take(path);
        if (!lock.ok()) continue;
        EXPECT_EQ(++holders, 1);
        ++taken;
        --holders;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SocketLock, NamesTheError) {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink(directory.File("precious"),
                                  directory.File("s.lock"));
  const absl::Status status = SocketLock::Take(directory.File("s")).status();
  EXPECT_EQ(ExitStatusOf(status), kExitCannotListen);
  EXPECT_EQ(std::string(status.message()),
            absl::StrCat("cannot lock ", directory.File("s.lock"),
                         ": Too many levels of symbolic links"));
  EXPECT_FALSE(std::filesystem::exists(directory.File("precious")));
}

// A TCP socket that listens on a port of 127.0.0.1.
class TakenPort {
 public:
  TakenPort() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_, generic, length), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    EXPECT_EQ(getsockname(socket_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~TakenPort() { close(socket_); }
  [[nodiscard]] int port() const { return port_; }

 private:
  const int socket_;
  int port_ = 0;
};

TEST(ListenCheck, NamesTheReason) {
  const TakenPort taken;
  EXPECT_EQ(WhyNotListening(absl::StrCat("127.0.0.1:", taken.port())),
            "Address already in use");
  EXPECT_EQ(WhyNotListening("192.0.2.1:0"), "Cannot assign requested address");
  EXPECT_EQ(WhyNotListening("unix:/nowhere/actord.sock"),
            "No such file or directory");
  EXPECT_EQ(WhyNotListening("unix:/" + std::string(200, 'x')),
            "its path is too long");
  EXPECT_EQ(WhyNotListening("127.0.0.1:0"), "");
}

TEST(ListenCheck, ReplacesAnAbandonedSocket) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("s");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(
      bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address),
      0);
  ASSERT_EQ(listen(server, 1), 0);
  EXPECT_EQ(WhyNotListening("unix:" + path), "Address already in use");
  close(server);
  EXPECT_EQ(WhyNotListening("unix:" + path), "");
  EXPECT_TRUE(std::filesystem::exists(path)) << "gRPC's to replace";

  const std::string file = directory.File("f");
  std::ofstream(file) << "precious";
  EXPECT_EQ(WhyNotListening("unix:" + file),
            "a file that is no socket is there: remove it, or choose another "
            "path");
  EXPECT_EQ(WhyNotListening("unix:" + directory.File("new")), "");
  EXPECT_FALSE(std::filesystem::exists(directory.File("new")));
}

TEST(ExitStatus, FollowsTheReasonOfAFailedStart) {
  EXPECT_EQ(ExitStatusOf(absl::InvalidArgumentError("")),
            kExitBadConfiguration);
  EXPECT_EQ(ExitStatusOf(absl::NotFoundError("")), kExitBadConfiguration);
  EXPECT_EQ(ExitStatusOf(absl::FailedPreconditionError("")),
            kExitBadConfiguration);
  EXPECT_EQ(ExitStatusOf(absl::UnavailableError("")), kExitCannotListen);
  EXPECT_EQ(ExitStatusOf(absl::InternalError("")), kExitInternal);
}

}  // namespace
}  // namespace actord::daemon
