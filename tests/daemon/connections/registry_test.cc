// The registry over real sockets, which the test closes as gRPC does.
#include "daemon/connections/registry.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/listening/unix_peer_name.h"

namespace actord::daemon {
namespace {

// A connection of two sockets in this program. The first belongs to the daemon.
class Pair {
 public:
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  ~Pair() {
    for (const int end : ends_) {
      if (end >= 0) close(end);
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  [[nodiscard]] int own() const { return ends_[0]; }
  [[nodiscard]] int client() const { return ends_[1]; }
  void CloseOwn() {
    close(ends_[0]);
    ends_[0] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

Connection Of(int fd, const std::string& group = "192.0.2.1") {
  Connection connection;
  connection.fd = fd;
  connection.cookie = SocketCookie(fd);
  connection.address_group = group;
  return connection;
}

constexpr size_t kAll = 1000;

std::vector<uint64_t> IdsOf(const std::vector<Connection>& connections) {
  std::vector<uint64_t> ids;
  for (const Connection& one : connections) ids.push_back(one.id);
  return ids;
}

std::shared_ptr<const PresentedToken> TokenOf(const std::string& name) {
  return std::make_shared<const PresentedToken>(PresentedToken{.name = name});
}

TEST(ConnectionRegistry, ListsForOneOwnerWhatOnlyItsTokensHaveUsed) {
  Pair pairs[5];
  ConnectionRegistry registry;
  for (const Pair& pair : pairs) registry.Add(Of(pair.own()));
  registry.SetToken(1, TokenOf("alice"));
  registry.SetToken(2, TokenOf("bob"));
  registry.SetToken(3, TokenOf("bob"));
  registry.SetToken(3, TokenOf("alice"));
  registry.SetToken(5, TokenOf("alice"));
  registry.SetToken(5, TokenOf("alice"));
  EXPECT_EQ(IdsOf(registry.ListAfter(0, kAll, "alice")),
            (std::vector<uint64_t>{1, 5}));
  // A page is filled across the connections of others.
  EXPECT_EQ(IdsOf(registry.ListAfter(0, 2, "alice")),
            (std::vector<uint64_t>{1, 5}));
  EXPECT_EQ(IdsOf(registry.ListAfter(0, kAll, "bob")),
            (std::vector<uint64_t>{2}));
  EXPECT_TRUE(registry.ListAfter(0, kAll, "carol").empty());
  EXPECT_EQ(IdsOf(registry.ListAfter(0, kAll)),
            (std::vector<uint64_t>{1, 2, 3, 4, 5}));
}

TEST(ConnectionRegistry, CountsAConnectionForItsFirstToken) {
  Pair pairs[6];
  ConnectionRegistry registry;
  for (const Pair& pair : pairs) registry.Add(Of(pair.own()));
  EXPECT_TRUE(registry.SetToken(1, TokenOf("alice"), 2));
  EXPECT_TRUE(registry.SetToken(1, TokenOf("alice"), 2));
  EXPECT_TRUE(registry.SetToken(2, TokenOf("alice"), 2));
  EXPECT_FALSE(registry.SetToken(3, TokenOf("alice"), 2));
  EXPECT_TRUE(registry.SetToken(4, TokenOf("bob"), 2));
  // Another token on a counted connection counts nothing, and one on a
  // connection that is too many does not help it.
  EXPECT_TRUE(registry.SetToken(4, TokenOf("alice"), 2));
  EXPECT_FALSE(registry.SetToken(3, TokenOf("bob"), 2));
  // The end of a connection makes room, also before a sweep has seen it.
  pairs[0].CloseOwn();
  EXPECT_TRUE(registry.SetToken(5, TokenOf("alice"), 2));
  EXPECT_FALSE(registry.SetToken(6, TokenOf("alice"), 2));
  registry.Remove(2);
  registry.Remove(5);
  EXPECT_FALSE(registry.SetToken(6, TokenOf("alice"), 2));
  Pair later;
  const uint64_t id = registry.Add(Of(later.own()));
  EXPECT_TRUE(registry.SetToken(id, TokenOf("alice"), 2));
}

TEST(ConnectionRegistry, ListsPagesById) {
  Pair pairs[5];
  ConnectionRegistry registry;
  for (const Pair& pair : pairs) registry.Add(Of(pair.own()));
  registry.Remove(3);
  EXPECT_EQ(IdsOf(registry.ListAfter(0, 2)), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(IdsOf(registry.ListAfter(2, 2)), (std::vector<uint64_t>{4, 5}));
  EXPECT_EQ(IdsOf(registry.ListAfter(4, 2)), (std::vector<uint64_t>{5}));
  EXPECT_TRUE(registry.ListAfter(5, 2).empty());
}

TEST(ConnectionRegistry, KeepsFactsThatAreLearntLater) {
  Pair one, other;
  ConnectionRegistry registry;
  const uint64_t id = registry.Add(Of(one.own()));
  const uint64_t second = registry.Add(Of(other.own()));
  registry.SetToken(id, std::make_shared<const PresentedToken>(PresentedToken{
                            .name = "ops", .id = "k3v9x0ab", .role = "admin"}));
  EXPECT_EQ(registry.Find(id)->token->name, "ops");
  EXPECT_EQ(registry.Find(second)->token, nullptr);
  EXPECT_FALSE(registry.Find(id)->is_cut);
  EXPECT_TRUE(registry.CutOne(id, Cut::kEnd));
  EXPECT_TRUE(registry.Find(id)->is_cut);
  EXPECT_FALSE(registry.Find(second)->is_cut);
  // A connection that is over.
  registry.Remove(id);
  registry.SetToken(id, nullptr);
  EXPECT_EQ(registry.Find(id), std::nullopt);
}

TEST(ConnectionRegistry, FindsTheNewestConnectionOfAPeer) {
  Pair one, two, local;
  ConnectionRegistry registry;
  const auto of_peer = [](const Pair& pair) {
    Connection connection = Of(pair.own());
    connection.peer = "ipv4:192.0.2.1:5";
    return connection;
  };
  EXPECT_EQ(registry.FindPeer("ipv4:192.0.2.1:5"), 0u);
  const uint64_t first = registry.Add(of_peer(one));
  EXPECT_EQ(registry.FindPeer("ipv4:192.0.2.1:5"), first);
  // The first one is over, and nobody has noticed.
  const uint64_t second = registry.Add(of_peer(two));
  EXPECT_EQ(registry.FindPeer("ipv4:192.0.2.1:5"), second);
  registry.Remove(first);
  EXPECT_EQ(registry.FindPeer("ipv4:192.0.2.1:5"), second);
  registry.Remove(second);
  EXPECT_EQ(registry.FindPeer("ipv4:192.0.2.1:5"), 0u);
  // Each Unix socket has a name of its own.
  const uint64_t unix_socket = registry.Add(Of(local.own(), ""));
  EXPECT_EQ(registry.FindPeer("unix:"), 0u);
  EXPECT_EQ(registry.Find(unix_socket)->peer, UnixPeerName(unix_socket));
  EXPECT_EQ(registry.FindPeer(UnixPeerName(unix_socket)), unix_socket);
}

TEST(ConnectionRegistry, CountsConnectionsOfEachGroup) {
  Pair one, two, three;
  ConnectionRegistry registry;
  const uint64_t first = registry.Add(Of(one.own()));
  registry.Add(Of(two.own()));
  registry.Add(Of(three.own(), "192.0.2.2"));
  EXPECT_EQ(registry.open(), 3u);
  EXPECT_EQ(registry.OpenOf("192.0.2.1"), 2u);
  EXPECT_EQ(registry.OpenOf("192.0.2.2"), 1u);
  EXPECT_EQ(registry.OpenOf("192.0.2.3"), 0u);
  EXPECT_EQ(registry.FindDescriptor(first), one.own());
  registry.Remove(first);
  EXPECT_EQ(registry.OpenOf("192.0.2.1"), 1u);
  EXPECT_EQ(registry.FindDescriptor(first), std::nullopt);
}

TEST(ConnectionRegistry, SweepForgetsClosedConnections) {
  Pair one, two;
  ConnectionRegistry registry;
  registry.Add(Of(one.own()));
  const uint64_t open = registry.Add(Of(two.own()));
  registry.Sweep(kAll);
  EXPECT_EQ(registry.open(), 2u);
  one.CloseOwn();
  registry.Sweep(kAll);
  EXPECT_EQ(registry.open(), 1u);
  EXPECT_TRUE(registry.Find(open).has_value());
}

TEST(ConnectionRegistry, SweepSeesADescriptorThatAnotherSocketHas) {
  Pair one, two;
  ConnectionRegistry registry;
  const uint64_t id = registry.Add(Of(one.own()));
  ASSERT_EQ(dup2(two.own(), one.own()), one.own());
  registry.Sweep(kAll);
  EXPECT_FALSE(registry.Find(id).has_value());
}

TEST(ConnectionRegistry, SweepInPartsReachesAll) {
  std::array<Pair, 10> pairs;
  ConnectionRegistry registry;
  for (Pair& pair : pairs) registry.Add(Of(pair.own()));
  for (Pair& pair : pairs) pair.CloseOwn();
  for (size_t part = 1; part <= 5; ++part) {
    registry.Sweep(2);
    EXPECT_EQ(registry.open(), pairs.size() - 2 * part);
  }
}

TEST(ConnectionRegistry, NewConnectionEndsTheOldOneOfItsDescriptor) {
  Pair one, two;
  ConnectionRegistry registry;
  const uint64_t old = registry.Add(Of(one.own()));
  ASSERT_EQ(dup2(two.own(), one.own()), one.own());
  const uint64_t fresh = registry.Add(Of(one.own()));
  EXPECT_NE(old, fresh);
  EXPECT_EQ(registry.open(), 1u);
  EXPECT_EQ(registry.OpenOf("192.0.2.1"), 1u);
  EXPECT_FALSE(registry.Find(old).has_value());
}

TEST(ConnectionRegistry, CutEndsTheConnectionAndDropsItsBytes) {
  Pair pair;
  ConnectionRegistry registry;
  const uint64_t id = registry.Add(Of(pair.own()));
  ASSERT_EQ(send(pair.client(), "abc", 3, 0), 3);
  EXPECT_TRUE(registry.CutOne(id, Cut::kReset));
  char byte = 0;
  EXPECT_EQ(recv(pair.client(), &byte, 1, MSG_DONTWAIT), 0) << "the end";
  EXPECT_EQ(recv(pair.own(), &byte, 1, MSG_DONTWAIT), 0) << "no bytes";
}

TEST(ConnectionRegistry, CutLeavesAnotherSocketAlone) {
  Pair one, two;
  ConnectionRegistry registry;
  const uint64_t id = registry.Add(Of(one.own()));
  ASSERT_EQ(dup2(two.own(), one.own()), one.own());
  EXPECT_FALSE(registry.CutOne(id, Cut::kReset));
  EXPECT_EQ(send(two.client(), "abc", 3, MSG_NOSIGNAL), 3);
}

TEST(SocketFacts, KnowTheProgramAtTheOtherEnd) {
  Pair pair;
  const auto peer = ReadCredentials(pair.own());
  ASSERT_TRUE(peer.has_value());
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_EQ(peer->uid, getuid());
  EXPECT_EQ(peer->gid, getgid());
}

TEST(ConnectionRegistryTest, CountsCutConnectionsOfAUnixSocketUntilTheyEnd) {
  ConnectionRegistry registry;
  Pair cut;
  Pair of_another_listener;
  Pair open;
  Pair tcp;
  const auto add = [&registry](const Pair& pair, int listener,
                               const std::string& group = "") {
    Connection connection = Of(pair.own(), group);
    connection.listener = listener;
    return registry.Add(std::move(connection));
  };
  const uint64_t id = add(cut, 3);
  ASSERT_TRUE(registry.CutOne(add(of_another_listener, 4), Cut::kReset));
  ASSERT_TRUE(registry.CutOne(add(tcp, 3, "192.0.2.1"), Cut::kReset));
  add(open, 3);
  EXPECT_EQ(registry.CountCutOver(3), 0u);
  ASSERT_TRUE(registry.CutOne(id, Cut::kReset));
  ASSERT_TRUE(registry.CutOne(id, Cut::kReset));
  EXPECT_EQ(registry.CountCutOver(3), 1u) << "it is cut once";
  cut.CloseOwn();
  EXPECT_EQ(registry.CountCutOver(3), 0u);
  EXPECT_EQ(registry.CountCutOver(4), 1u);
  EXPECT_EQ(registry.open(), 3u);
}

}  // namespace
}  // namespace actord::daemon
