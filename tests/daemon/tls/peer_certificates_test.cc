// Certificates of clients, through a daemon that requires them.
#include "daemon/tls/peer_certificates.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "tests/daemon/served_daemon.h"
#include "tests/daemon/tls/tls_directory.h"
#include "tests/identity/certificates/issued.h"

namespace actord::daemon {
namespace {

using identity::Authority;
using identity::Issued;
using identity::Wanted;

Wanted ValidNow(Wanted wanted) {
  wanted.begin = absl::Now() - absl::Hours(1);
  wanted.end = absl::Now() + absl::Hours(1);
  return wanted;
}

struct CallerSeen {
  std::string identity;
  uint64_t connection = 0;
};

// Asks until `condition` is true. False: it is not within kPatience.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

class PeerCertificatesTest : public ::testing::Test {
 protected:
  PeerCertificatesTest() {
    // ServedDaemon's own connection is the first address.
    config_.listen = {"unix:" + directory_.path("socket"), "127.0.0.1:0"};
    const Issued own = authority_.Issue(
        ValidNow({.common_name = "actord",
                  .alternative_names = "IP:127.0.0.1,DNS:localhost"}));
    config_.tls.certificate = directory_.Write("a.pem", own.certificate);
    config_.tls.key = directory_.Write("a.key", own.key);
    config_.tls.client_ca =
        directory_.Write("ca.pem", authority_.certificate());
    config_.tls.crl = directory_.path("crl.pem");
    Revoke({});
  }

  void Revoke(std::vector<long> serials) {
    directory_.Write("crl.pem",
                     authority_.Revoke({.serials = std::move(serials),
                                        .begin = absl::Now() - absl::Minutes(1),
                                        .end = absl::Now() + absl::Hours(1)}));
  }

  void Serve() {
    daemon_ =
        std::make_unique<ServedDaemon>(config_, [this](const Caller& who) {
          const absl::MutexLock lock(&mutex_);
          seen_ = {std::string(who.identity()), who.connection()};
          return Access();
        });
  }

  // A connection of its own.
  std::unique_ptr<v1::ActorService::Stub> Connect(const Issued& client) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority_.certificate();
    options.pem_cert_chain = client.certificate;
    options.pem_private_key = client.key;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::ActorService::NewStub(grpc::CreateCustomChannel(
        absl::StrCat("127.0.0.1:", daemon_->daemon().ports().front()),
        grpc::SslCredentials(options), arguments));
  }

  grpc::Status Call(v1::ActorService::Stub& stub) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::GetStatusResponse response;
    return stub.GetStatus(&context, {}, &response);
  }

  CallerSeen seen() {
    const absl::MutexLock lock(&mutex_);
    return seen_;
  }

  TlsDirectory directory_;
  Authority authority_{"authority", ValidNow({})};
  Config config_ = ServedDaemon::Defaults();
  absl::Mutex mutex_;
  CallerSeen seen_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<ServedDaemon> daemon_;
};

TEST_F(PeerCertificatesTest, CallerHasTheProvedNameAndTheConnection) {
  Serve();
  const auto one = Connect(authority_.Issue(
      ValidNow({.common_name = "cn",
                .alternative_names = "URI:spiffe://example.org/one"})));
  ASSERT_TRUE(Call(*one).ok()) << Call(*one).error_message();
  const CallerSeen first = seen();
  EXPECT_EQ(first.identity, "spiffe://example.org/one");
  EXPECT_NE(first.connection, 0u);
  ASSERT_TRUE(Call(*one).ok());
  EXPECT_EQ(seen().connection, first.connection);
  const auto two = Connect(authority_.Issue(ValidNow({.common_name = "two"})));
  ASSERT_TRUE(Call(*two).ok());
  EXPECT_EQ(seen().identity, "two");
  EXPECT_NE(seen().connection, first.connection);
}

TEST_F(PeerCertificatesTest, RevokedClientIsRefusedAndOthersAreServed) {
  const Issued bad = authority_.Issue(ValidNow({.common_name = "bad"}));
  const Issued good = authority_.Issue(ValidNow({.common_name = "good"}));
  Revoke({bad.serial});
  Serve();
  const auto revoked = Connect(bad), other = Connect(good);
  const grpc::Status refused = Call(*revoked);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(refused.error_message(),
            "the certificate of CN=bad is revoked; ask the operator of the "
            "daemon for another one");
  EXPECT_EQ(ReasonIn(refused), "CERTIFICATE_REVOKED");
  EXPECT_TRUE(Call(*other).ok());
}

TEST_F(PeerCertificatesTest, RevokedIntermediateRefusesItsClients) {
  Authority between = authority_.IssueAuthority("between", ValidNow({}));
  Issued client = between.Issue(ValidNow({.common_name = "below"}));
  client.certificate += between.certificate();
  Revoke({between.serial()});
  Serve();
  const auto stub = Connect(client);
  EXPECT_EQ(Call(*stub).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(PeerCertificatesTest, ReloadCutsAnOpenConnectionOfARevokedClient) {
  const Issued bad = authority_.Issue(ValidNow({.common_name = "bad"}));
  Serve();
  const auto stub = Connect(bad);
  ASSERT_TRUE(Call(*stub).ok());
  const std::string order = daemon_->SubmitStubbornOrder();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::AwaitRequest request;
  request.set_pid(order);
  v1::AwaitResponse response;
  Revoke({bad.serial});
  daemon_->daemon().ReloadTls();
  // Whether the wait began before or after the cut: it does not go on.
  const grpc::Status ended = stub->Await(&context, request, &response);
  EXPECT_TRUE(ended.error_code() == grpc::StatusCode::UNAVAILABLE ||
              ended.error_code() == grpc::StatusCode::UNAUTHENTICATED)
      << ended.error_message();
  EXPECT_TRUE(Eventually([&] {
    return Call(*stub).error_code() == grpc::StatusCode::UNAUTHENTICATED;
  }));
  // Others go on. Both connections are cut in the end.
  EXPECT_TRUE(Eventually([&] {
    grpc::ClientContext other;
    v1::GetStatusResponse status;
    return daemon_->stub().GetStatus(&other, {}, &status).ok() &&
           status.counters().connections_cut_total() >= 2;
  }));
}

TEST_F(PeerCertificatesTest, UnixSocketNeedsNoCertificate) {
  Serve();
  ASSERT_TRUE(Call(daemon_->stub()).ok());
  EXPECT_EQ(seen().identity, "");
  EXPECT_NE(seen().connection, 0u);
}

}  // namespace
}  // namespace actord::daemon
