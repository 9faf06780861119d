#include "daemon/calls/proto_clients.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace actord::daemon {
namespace {

ConnectionFacts OfTcp() {
  ConnectionFacts facts;
  facts.connection.id = 7;
  facts.connection.peer = "ipv4:192.0.2.1:4711";
  facts.connection.address_group = "192.0.2.1";
  facts.connection.since_unix_ns = 1'500'000'000;
  facts.listener = "0.0.0.0:7600";
  facts.traffic =
      Traffic{.received_bytes = 100, .read_bytes = 90, .sent_bytes = 300};
  facts.counts = SocketCounts{.started = 5, .ended = 3};
  return facts;
}

v1::Client Written(const ConnectionFacts& facts,
                   const CertifiedPeer* certified = nullptr) {
  v1::Client client;
  WriteClient(facts, certified, &client);
  return client;
}

TEST(ClientState, FollowsFromWhatTheKernelAndGrpcSay) {
  ConnectionFacts facts = OfTcp();
  EXPECT_EQ(ClientStateOf(facts), v1::CLIENT_STATE_ACTIVE);
  facts.counts->ended = 5;
  EXPECT_EQ(ClientStateOf(facts), v1::CLIENT_STATE_IDLE);
  facts.traffic->received_bytes = 0;
  EXPECT_EQ(ClientStateOf(facts), v1::CLIENT_STATE_HANDSHAKE);
  facts = OfTcp();
  facts.counts.reset();
  EXPECT_EQ(ClientStateOf(facts), v1::CLIENT_STATE_HANDSHAKE);
  facts.connection.is_cut = true;
  EXPECT_EQ(ClientStateOf(facts), v1::CLIENT_STATE_CUT);
}

TEST(WriteClient, TellsOfTheAdminPort) {
  ConnectionFacts facts = OfTcp();
  facts.is_http = true;
  EXPECT_EQ(Written(facts).protocol(), v1::CLIENT_PROTOCOL_HTTP);
}

TEST(WriteClient, TellsOfATcpConnectionWithoutTls) {
  const v1::Client client = Written(OfTcp());
  EXPECT_EQ(client.connection(), 7u);
  EXPECT_EQ(client.address(), "192.0.2.1:4711");
  EXPECT_EQ(client.listener(), "0.0.0.0:7600");
  EXPECT_EQ(client.protocol(), v1::CLIENT_PROTOCOL_GRPC);
  EXPECT_EQ(client.connect_time().seconds(), 1);
  EXPECT_EQ(client.connect_time().nanos(), 500'000'000);
  EXPECT_EQ(client.received_bytes(), 100u);
  EXPECT_EQ(client.sent_bytes(), 300u);
  EXPECT_EQ(client.calls_begun(), 5u);
  EXPECT_EQ(client.calls_open(), 2u);
  EXPECT_FALSE(client.has_unix_peer());
  EXPECT_FALSE(client.has_tls());
  EXPECT_FALSE(client.has_token());
}

TEST(WriteClient, WritesAddressesAsPeopleWriteThem) {
  ConnectionFacts facts = OfTcp();
  facts.connection.peer = "ipv6:%5Bfe80::1%252%5D:4711";
  EXPECT_EQ(Written(facts).address(), "[fe80::1%2]:4711");
}

TEST(WriteClient, LeavesOutWhatIsNotKnownOfAUnixSocket) {
  ConnectionFacts facts;
  facts.connection.id = 8;
  facts.connection.peer = "unix:";
  facts.connection.credentials =
      PeerCredentials{.uid = 1000, .gid = 100, .pid = 17};
  facts.counts = SocketCounts{.started = 1};
  const v1::Client client = Written(facts);
  EXPECT_EQ(client.unix_peer().uid(), 1000u);
  EXPECT_EQ(client.unix_peer().gid(), 100u);
  EXPECT_EQ(client.unix_peer().pid(), 17);
  EXPECT_EQ(client.address(), "");
  EXPECT_EQ(client.state(), v1::CLIENT_STATE_ACTIVE);
  EXPECT_FALSE(client.has_received_bytes());
  EXPECT_FALSE(client.has_sent_bytes());
}

TEST(WriteClient, TellsOfTlsWhenTheHandshakeIsDone) {
  ConnectionFacts facts = OfTcp();
  facts.connection.handshake =
      std::make_shared<TlsHandshake>(facts.connection.peer);
  EXPECT_FALSE(Written(facts).has_tls());
  facts.connection.handshake->SetVersion("TLSv1.3");
  EXPECT_EQ(Written(facts).tls().version(), "TLSv1.3");
  const CertifiedPeer peer{.name = "billing\xff", .subject = "CN=billing"};
  // The names of certificates are bytes that a client has chosen.
  EXPECT_EQ(Written(facts, &peer).tls().name(), "billing\xEF\xBF\xBD");
  EXPECT_EQ(Written(facts, &peer).tls().subject(), "CN=billing");
}

TEST(WriteClient, TellsTheToken) {
  ConnectionFacts facts = OfTcp();
  facts.connection.token = std::make_shared<const PresentedToken>(
      PresentedToken{.name = "ops", .id = "k3v9x0ab", .role = "admin"});
  const v1::Client client = Written(facts);
  EXPECT_EQ(client.token().name(), "ops");
  EXPECT_EQ(client.token().id(), "k3v9x0ab");
  EXPECT_EQ(client.token().role(), "admin");
}

}  // namespace
}  // namespace actord::daemon
