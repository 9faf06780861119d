#include "daemon/listening/open_listening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace actord::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config Listening(const std::vector<std::string>& addresses) {
  Config config;
  config.listen = addresses;
  return config;
}

TEST(OpenListening, LoopbackAndUnixSocketsAreClosed) {
  const Config config = Listening({"127.0.0.1:1", "127.9.8.7:1", "[::1]:1",
                                   "localhost:1", "unix:/run/a.sock"});
  EXPECT_THAT(OpenAddresses(config), IsEmpty());
  EXPECT_TRUE(CheckOpenListening(config).ok());
}

TEST(OpenListening, OtherAddressesNeedTlsOrConsent) {
  for (const std::string address :
       {"0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[2001:db8::1]:1",
        "[::ffff:192.0.2.1]:1"}) {
    Config config = Listening({"127.0.0.1:1", address});
    EXPECT_THAT(OpenAddresses(config), ElementsAre(address));
    const absl::Status refused = CheckOpenListening(config);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("other machines reach " + address));
    config.insecure_listen = true;
    EXPECT_TRUE(CheckOpenListening(config).ok());
    config.insecure_listen = false;
    config.tls.certificate = "/etc/a.pem";
    EXPECT_TRUE(CheckOpenListening(config).ok());
  }
}

TEST(OpenListening, OpenAdminPortNeedsConsentAlsoWithTls) {
  Config config = Listening({"127.0.0.1:1"});
  config.admin_listen = {"127.0.0.1:2", "unix:/run/admin.sock"};
  EXPECT_TRUE(CheckOpenListening(config).ok());
  config.admin_listen.emplace_back("0.0.0.0:2");
  config.tls.certificate = "/etc/a.pem";
  EXPECT_THAT(OpenAdminAddresses(config), ElementsAre("0.0.0.0:2"));
  const absl::Status refused = CheckOpenListening(config);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("admin.listen: other machines reach 0.0.0.0:2"));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("with --admin-insecure-listen"));
  config.admin_insecure_listen = true;
  EXPECT_TRUE(CheckOpenListening(config).ok());
}

TEST(OpenListening, ConsentIsForOnePort) {
  Config config = Listening({"0.0.0.0:1"});
  config.admin_listen = {"0.0.0.0:2"};
  config.insecure_listen = true;
  EXPECT_THAT(std::string(CheckOpenListening(config).message()),
              HasSubstr("admin.listen: other machines reach 0.0.0.0:2"));
  config.insecure_listen = false;
  config.admin_insecure_listen = true;
  EXPECT_THAT(std::string(CheckOpenListening(config).message()),
              HasSubstr("server.listen: other machines reach 0.0.0.0:1"));
  config.insecure_listen = true;
  EXPECT_TRUE(CheckOpenListening(config).ok());
}

TEST(OpenListening, JsonApiIsNoWayAroundClientCertificates) {
  Config config = Listening({});
  config.admin_api = true;
  config.admin_listen = {"unix:/a", "127.0.0.1:2"};
  EXPECT_TRUE(CheckOpenListening(config).ok());
  config.tls.client_ca = "/etc/ca.pem";
  const absl::Status refused = CheckOpenListening(config);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("clients of 127.0.0.1:2 cannot present one"));
  config.admin_listen = {"unix:/a"};
  EXPECT_TRUE(CheckOpenListening(config).ok());
  config.admin_listen = {"127.0.0.1:2"};
  config.admin_api = false;
  EXPECT_TRUE(CheckOpenListening(config).ok());
}

TEST(OpenListening, SettingsOfTheAdminPortNeedAPort) {
  const auto check = [](auto set, const char* key) {
    Config config = Listening({});
    set(config);
    EXPECT_THAT(std::string(CheckOpenListening(config).message()),
                HasSubstr(std::string(key) + ": there is no admin port"));
    config.admin_listen = {"127.0.0.1:2"};
    EXPECT_TRUE(CheckOpenListening(config).ok()) << key;
  };
  check([](Config& config) { config.admin_api = true; }, "admin.api");
  check([](Config& config) { config.admin_port_file = "/run/a"; },
        "admin.port_file");
  check([](Config& config) { config.admin_hosts = {"a.example"}; },
        "admin.hosts");
  check([](Config& config) { config.admin_link_url = "https://a.example"; },
        "admin.link_url");
}

TEST(OpenListening, PortFilesAreTwoFiles) {
  Config config = Listening({});
  config.admin_listen = {"127.0.0.1:2"};
  config.port_file = "/run/a";
  config.admin_port_file = "/run/b";
  EXPECT_TRUE(CheckOpenListening(config).ok());
  config.admin_port_file = "/run/a";
  EXPECT_THAT(std::string(CheckOpenListening(config).message()),
              HasSubstr("admin.port_file: /run/a is also server.port_file"));
}

TEST(OpenListening, LinksNeedAnAddressThatPeopleCanVisit) {
  EXPECT_TRUE(CanBeVisited("127.0.0.1:2"));
  for (const char* address : {"0.0.0.0:2", "[::]:2", "unix:/a"}) {
    EXPECT_FALSE(CanBeVisited(address)) << address;
    Config config = Listening({});
    config.admin_insecure_listen = true;
    config.admin_api = true;
    config.admin_link_key = "/key";
    config.admin_listen = {address};
    EXPECT_THAT(std::string(CheckOpenListening(config).message()),
                HasSubstr("set admin.link_url"))
        << address;
    config.admin_listen.emplace_back("127.0.0.1:2");
    EXPECT_TRUE(CheckOpenListening(config).ok()) << address;
  }
}

TEST(OpenListening, MappedLoopbackIsClosed) {
  EXPECT_THAT(OpenAddresses(Listening({"[::ffff:127.0.0.1]:1"})), IsEmpty());
}

TEST(OpenListening, NameThatBeginsLikeALoopbackAddressIsNoLoopback) {
  // The top-level name "invalid" never resolves, so nobody listens there.
  EXPECT_THAT(OpenAddresses(Listening({"127.0.0.1.invalid:1"})), IsEmpty());
}

TEST(OpenListening, InheritedSocketsCount) {
  for (const bool is_open : {false, true}) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(is_open ? INADDR_ANY : INADDR_LOOPBACK);
    ASSERT_EQ(
        bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address),
        0);
    Config config = Listening({});
    config.inherited_sockets = {fd};
    EXPECT_EQ(OpenAddresses(config).size(), is_open ? 1u : 0u);
    EXPECT_EQ(CheckOpenListening(config).ok(), !is_open);
    close(fd);
  }
}

}  // namespace
}  // namespace actord::daemon
