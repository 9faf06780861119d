#include "client/cli/errors/unreached.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/time/clock.h"
#include "tests/client/cli/cli_run.h"
#include "tests/identity/certificates/issued.h"

namespace actord::client {
namespace {

using identity::Authority;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const kNext = "Is actord running there? --address, ";

std::string Said(const Endpoint& endpoint, const std::string& message) {
  return CannotReach(endpoint, absl::UnavailableError(message));
}

TEST(Unreached, SaysThatNothingIsThereAndWhatToTry) {
  const struct {
    const char* address;
    const char* message;
    const char* reason;
  } cases[] = {
      {"a:1", "last error: ipv4:1.2.3.4:1: Connection refused",
       "the connection is refused: no program listens at this address"},
      {"unix:/s", "unix:/s: Connection refused",
       "the connection is refused: the socket is there"},
      {"unix:/s", "unix:/s: No such file or directory",
       "there is no such socket"},
      {"unix:/s", "unix:/s: Permission denied", "permission denied: "},
      {"a:1", "Connection timed out", "timed out: nothing has answered"},
      {"unix:/s", "Deadline Exceeded", "timed out: nothing has answered"},
      {"a:1", "No route to host", "there is no route to the host"},
      {"a:1", "DNS resolution failed for a:1: C-ares status",
       "the name of the host cannot be resolved"},
      {"a:1", "something new", "something new. "},
      {"a:1", "", "UNAVAILABLE. "},
  };
  for (const auto& c : cases) {
    const std::string said = Said(c.address, c.message);
    EXPECT_THAT(said,
                testing::StartsWith("cannot reach the daemon at " +
                                    std::string(c.address) + ": " + c.reason));
    EXPECT_THAT(said, HasSubstr(kNext));
  }
}

TEST(Unreached, SaysWhyTheAnswerIsNotUnderstood) {
  const Endpoint plain("a:1");
  const Endpoint authority("a:1", "", {.ca = "x"});
  const Endpoint both("a:1", "", {.ca = "x", .certificate = "y", .key = "z"});
  const Endpoint unix("unix:/s", "", both.tls);
  const struct {
    const Endpoint& endpoint;
    const char* message;
    const char* reason;
  } cases[] = {
      {plain, "Socket closed",
       ": the daemon closed the connection; it may have ended: see its log; if "
       "the daemon serves TLS, give --tls-ca"},
      {authority, "Socket closed", "give --tls-certificate and --tls-key"},
      {both, "Connection reset by peer", "tls.client_ca"},
      {both, "routines::certificate verify failed",
       "--tls-ca is not the authority of the daemon's certificate, or that "
       "certificate is expired"},
      {both, "Peer name b is not in peer certificate", "--tls-server-name"},
      {both, "routines::wrong version number", "leave --tls-ca out"},
      {both, "empty address list: ", "a curve such as P-256, and SHA-256"},
      {plain, "Trying to connect an http1.x server",
       "(admin.listen) instead of server.listen"},
      {unix, "Socket closed",
       ": the daemon closed the connection; it may have ended: see its log"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Said(c.endpoint, c.message), EndsWith(c.reason));
  }
}

TEST(Unreached, NamesACertificateThatIsNotValidNow) {
  Authority authority;
  const auto said_of = [&authority](absl::Time begin, absl::Time end) {
    const identity::Issued issued =
        authority.Issue({.common_name = "billing", .begin = begin, .end = end});
    return Said({"a:1",
                 "",
                 {.ca = authority.certificate(),
                  .certificate = issued.certificate,
                  .key = issued.key}},
                "Socket closed");
  };
  const absl::Time epoch = absl::UnixEpoch(), now = absl::Now();
  EXPECT_EQ(said_of(epoch, epoch + absl::Hours(1)),
            "cannot reach the daemon at a:1: the daemon closed the connection; "
            "--tls-certificate: the certificate of CN=billing expired at "
            "1970-01-01T01:00:00Z; put a renewed one there");
  EXPECT_THAT(said_of(now + absl::Hours(1), now + absl::Hours(2)),
              EndsWith("on; is the clock of one machine wrong?"));
  EXPECT_THAT(said_of(epoch, now + absl::Hours(1)),
              EndsWith("if the daemon does not accept the certificate, give "
                       "one of an authority in its tls.client_ca"));
}

TEST(Unreached, DescribesWithoutTheNextStep) {
  EXPECT_EQ(DescribeUnreached("a:1", absl::UnavailableError("Host is down")),
            "a:1: there is no route to the host");
}

// The kernel accepts the connection, and nobody reads from it.
TEST(Unreached, ProgramThatHangsIsNamed) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, raw, length), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  ASSERT_EQ(getsockname(listener, raw, &length), 0);
  const std::string at = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const CliResult result =
      RunCli({"status", "--address", at, "--timeout", "300ms"});
  EXPECT_EQ(result.status, ExitStatus::kDeadline);
  EXPECT_THAT(result.err, HasSubstr("cannot reach the daemon at " + at +
                                    ": timed out: nothing has answered"));
  EXPECT_THAT(result.err, Not(HasSubstr("--timeout sets a longer one")));
  close(listener);
}

}  // namespace
}  // namespace actord::client
