#include "daemon/listening/cannot_listen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/listening/listener.h"
#include "daemon/listening/port_holder.h"
#include "daemon/problems/problem_list.h"
#include "runtime/files/lock_holder.h"

namespace actord::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string FreshFolder(const std::string& name) {
  const std::string folder =
      absl::StrCat(::testing::TempDir(), name, ".", getpid());
  std::filesystem::create_directory(folder);
  return folder;
}

TEST(PortHolder, IsTheProgramThatListens) {
  const std::string own = runtime::ProgramText(getpid());
  EXPECT_THAT(own, StartsWith(absl::StrCat(" (PID ", getpid(), ", ")));
  for (const char* address : {"127.0.0.1:0", "0.0.0.0:0", "localhost:0"}) {
    const auto listener = Listener::Open(address);
    ASSERT_TRUE(listener.ok()) << listener.status();
    const int port = (*listener)->port();
    EXPECT_EQ(PortHolder(absl::StrCat("127.0.0.1:", port)), own) << address;
    EXPECT_EQ(PortHolder(absl::StrCat("0.0.0.0:", port)), own) << address;
  }
  const std::string folder = FreshFolder("port_holder");
  const std::string path = "unix:" + folder + "/s";
  EXPECT_EQ(PortHolder(path), "");
  const auto listener = Listener::Open(path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(PortHolder(path), own);
  std::filesystem::remove_all(folder);
}

TEST(PortHolder, IsNobodyForAnotherAddress) {
  const auto listener = Listener::Open("127.0.0.1:0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(PortHolder(absl::StrCat("127.0.0.2:", (*listener)->port())), "");
  EXPECT_EQ(PortHolder("127.0.0.1:1"), "");
  EXPECT_EQ(PortHolder("no address"), "");
}

TEST(CannotListen, NamesTheSettingTheAddressAndTheNextStep) {
  EXPECT_EQ(CannotListen(kListenKey, "127.0.0.1:1", "no route"),
            absl::UnavailableError(
                "server.listen: cannot listen on 127.0.0.1:1: no route"));
  EXPECT_EQ(
      CannotListen(kAdminListenKey, "127.0.0.1:1", "Address already in use"),
      absl::UnavailableError(
          "admin.listen: cannot listen on 127.0.0.1:1: Address already "
          "in use; as root, \"ss -ltnp\" names the program that uses "
          "it"));
  EXPECT_THAT(std::string(CannotListen(kListenKey, "unix:/nowhere/s",
                                       "Address already in use")
                              .message()),
              HasSubstr("\"ss -lxp\""));
  const auto listener = Listener::Open("127.0.0.1:0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_THAT(
      std::string(CannotListen(kListenKey,
                               absl::StrCat("127.0.0.1:", (*listener)->port()),
                               "Address already in use")
                      .message()),
      HasSubstr("Address already in use by this daemon: two of its"));
}

TEST(AddressList, NamesEachRepetition) {
  Config config;
  config.listen = {"127.0.0.1:7600", "127.0.0.1:0", "127.0.0.1:0", "unix:/s",
                   "127.0.0.1:7600"};
  config.admin_listen = {"127.0.0.1:7601", "unix:/s"};
  EXPECT_THAT(ProblemLines(CheckAddressList(config)),
              ElementsAre("server.listen: 127.0.0.1:7600 is listed twice",
                          "admin.listen: unix:/s is listed twice"));
  config.listen.resize(3);
  EXPECT_TRUE(CheckAddressList(config).ok());
}

TEST(SocketFolders, AreCheckedWithoutABind) {
  const std::string folder = FreshFolder("socket_folders");
  std::ofstream(folder + "/file") << "x";
  Config config;
  config.listen = {"127.0.0.1:7600", "unix:" + folder + "/s", "unix:s",
                   "unix:/run/actord-of-no-service/s"};
  EXPECT_TRUE(CheckSocketFolders(config).ok()) << CheckSocketFolders(config);
  EXPECT_FALSE(std::filesystem::exists(folder + "/s"));
  config.listen = {"unix:" + folder + "/no/s", "unix:" + folder + "/file/s",
                   "unix:" + folder + "/file"};
  config.admin_listen = {"unix:/" + std::string(200, 'x')};
  EXPECT_THAT(ProblemLines(CheckSocketFolders(config)),
              ElementsAre(HasSubstr("the folder " + folder +
                                    "/no: No such file or directory"),
                          HasSubstr(folder + "/file is not a folder"),
                          HasSubstr("a file that is no socket is there"),
                          AllOf(StartsWith("admin.listen: "),
                                HasSubstr("its path is too long"))));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace actord::daemon
