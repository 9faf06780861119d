#include "client/cli/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "client/output/exit_status.h"
#include "tests/client/cli/cli_run.h"

namespace actord::client {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CheckAddress, TakesHostsIpv6AndSockets) {
  for (const char* address :
       {"127.0.0.1:7600", "localhost:1", "a-b_c.example.org:65535",
        "[::1]:7600", "[fe80::1%eth0]:7600", "[2001:db8::7]:00080",
        "unix:/run/actord.sock", "unix:actord.sock", "unix:with a space"}) {
    EXPECT_TRUE(CheckAddress(address).ok()) << CheckAddress(address);
  }
}

TEST(CheckAddress, NamesTheErrorAndTheRightForm) {
  const std::pair<std::string, const char*> kWrong[] = {
      {"localhost", "the port is missing, as in localhost:7600."},
      {"localhost:", "the port is missing, as in localhost:7600."},
      {"[::1]", "the port is missing, as in [::1]:7600."},
      {"7600", "the port is missing"},
      {"", "the host is missing"},
      {":7600", "the host is missing, as in 127.0.0.1:7600."},
      {"http://localhost:7600", "it is a URL; leave out \"http://\"."},
      {"dns:///localhost:7600", "it is a URL; leave out \"dns://\"."},
      {"127.0.0.1:7600/x", "\"7600/x\" is not a port from 1 to 65535."},
      {"127.0.0.1:0", "\"0\" is not a port"},
      {"127.0.0.1:65536", "\"65536\" is not a port"},
      {"127.0.0.1:007600", "\"007600\" is not a port"},
      {"127.0.0.1:-1", "\"-1\" is not a port"},
      {"127.0.0.1:+1", "\"+1\" is not a port"},
      {"127.0.0.1: 1", "\" 1\" is not a port"},
      {"127.0.0.1:http", "\"http\" is not a port"},
      {"a:1:2", "\"1:2\" is not a port"},
      {"::1", "an IPv6 address needs brackets and a port, as in [::1]:7600."},
      {"::1:7600", "an IPv6 address needs brackets"},
      {"[::1:7600", "a closing ] is missing."},
      {"[127.0.0.1]:7600",
       "\"[127.0.0.1]\" is not an IPv6 address in brackets."},
      {"[]:7600", "\"[]\" is not an IPv6 address in brackets."},
      {"[::1]x:7600", "\"[::1]x\" is not an IPv6 address in brackets."},
      {"[::1%]:7600", "\"[::1%]\" is not an IPv6 address in brackets."},
      {"host name:7600", "\"host name\" is not a host name."},
      {"gr\u00fc\u00df:7600", "is not a host name."},
      {"unix:", "it has no path behind unix:."},
      {"unix:" + std::string(108, 'p'), "its path is longer than 107 bytes."},
  };
  for (const auto& [address, why] : kWrong) {
    const absl::Status status = CheckAddress(address);
    EXPECT_EQ(ExitStatusOf(status), ExitStatus::kUsage) << address;
    EXPECT_THAT(std::string(status.message()),
                AllOf(StartsWith("\"" + address + "\" is not an address: "),
                      HasSubstr(why),
                      EndsWith(". Expected HOST[:PORT], [IPV6][:PORT] or "
                               "unix:PATH")));
  }
}

TEST(CheckAddress, RepeatsOnlyAShortPrintablePartOfTheAddress) {
  EXPECT_THAT(std::string(CheckAddress("h:1\x1b]0;x\x07\u202e").message()),
              StartsWith("\"h:1?]0;x??\" is not an address: "
                         "\"1?]0;x??\" is not a port"));
  const std::string message(CheckAddress(std::string(100'000, 'x')).message());
  EXPECT_LT(message.size(), 600U);
}

TEST(Actorctl, RefusesAnInvalidAddress) {
  const CliResult option =
      RunCli({"status", "--address", "127.0.0.1:7600/x\x1b[31m"});
  EXPECT_EQ(option.status, ExitStatus::kUsage);
  EXPECT_THAT(option.err,
              StartsWith("actorctl: --address: \"127.0.0.1:7600/x?[31m\" is "
                         "not an address: "));
  const CliResult variable = RunCli(
      {"status"}, {.variables = {{"ACTORD_ADDRESS", "http://\x1b:7600"}}});
  EXPECT_EQ(variable.status, ExitStatus::kUsage);
  EXPECT_THAT(variable.err,
              AllOf(StartsWith("actorctl: $ACTORD_ADDRESS: \"http://?:7600\""),
                    Not(HasSubstr("\x1b"))));
}

TEST(Actorctl, CommandsWithoutADaemonWorkWithAnInvalidAddress) {
  const CliInput wrong = {.variables = {{"ACTORD_ADDRESS", "http://x"}}};
  for (const char* command : {"help", "version"}) {
    EXPECT_EQ(RunCli({command}, wrong).status, ExitStatus::kDone) << command;
    EXPECT_EQ(RunCli({command}, wrong).err, "") << command;
  }
  EXPECT_EQ(RunCli({"--version"}, wrong).status, ExitStatus::kDone);
  EXPECT_EQ(RunCli({"completion", "bash"}, wrong).status, ExitStatus::kDone);
  EXPECT_EQ(RunCli({"__complete", "hea"}, wrong).out.substr(0, 6), "health");
  EXPECT_THAT(RunCli({}, wrong).err, HasSubstr("a command is required"));
}

}  // namespace
}  // namespace actord::client
