// The connections to the admin port, for the list of clients.
#include "daemon/connections/http_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace actord::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HttpClientsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair_.data()), 0);
  }
  void TearDown() override {
    close(pair_[0]);
    close(pair_[1]);
  }
  uint64_t Add() {
    HttpClients::Client client;
    client.connection.fd = pair_[0];
    client.connection.peer = "unix:";
    return clients_.Add(std::move(client));
  }
  std::vector<uint64_t> Ids(uint64_t after = 0, size_t max = 10,
                            const std::string& owner = "") {
    std::vector<uint64_t> ids;
    for (const auto& client : clients_.ListAfter(after, max, owner)) {
      ids.push_back(client.connection.id);
    }
    return ids;
  }

  std::array<int, 2> pair_{-1, -1};
  ConnectionRegistry registry_;
  HttpClients clients_{registry_};
};

TEST_F(HttpClientsTest, NumbersAreThoseOfAllConnections) {
  EXPECT_EQ(registry_.NewId(), 1u);
  EXPECT_EQ(Add(), 2u);
  EXPECT_EQ(registry_.NewId(), 3u);
  EXPECT_EQ(Add(), 4u);
  EXPECT_EQ(Add(), 5u);
  EXPECT_THAT(Ids(), ElementsAre(2, 4, 5));
  EXPECT_THAT(Ids(2, 1), ElementsAre(4));
  clients_.Remove(4);
  EXPECT_THAT(Ids(), ElementsAre(2, 5));
  EXPECT_EQ(registry_.open(), 0u) << "they take no room of other connections";
}

TEST_F(HttpClientsTest, RequestsAreCounted) {
  const uint64_t id = Add();
  const auto seen = [&] { return clients_.ListAfter(0, 1, "").front(); };
  clients_.RequestEnded(id);
  clients_.RequestBegun(id);
  EXPECT_EQ(seen().requests, 1u);
  EXPECT_TRUE(seen().is_busy);
  clients_.RequestEnded(id);
  clients_.RequestBegun(id);
  EXPECT_EQ(seen().requests, 2u);
  clients_.RequestEnded(id);
  EXPECT_FALSE(seen().is_busy);
  // The connection has ended meanwhile.
  clients_.RequestBegun(77);
}

TEST_F(HttpClientsTest, OwnerSeesConnectionsOfItsTokensAlone) {
  const uint64_t id = Add();
  EXPECT_THAT(Ids(0, 10, "ann"), IsEmpty());
  clients_.SetToken(id, "ann", "k1", "client");
  EXPECT_THAT(Ids(0, 10, "ann"), ElementsAre(id));
  EXPECT_THAT(Ids(0, 10, "ben"), IsEmpty());
  EXPECT_EQ(clients_.Cut(id, "ben"), "");
  clients_.SetToken(id, "ben", "k2", "client");
  EXPECT_THAT(Ids(0, 10, "ann"), IsEmpty());
  EXPECT_THAT(Ids(0, 10, "ben"), IsEmpty()) << "it has had tokens of both";
  EXPECT_THAT(Ids(), ElementsAre(id));
}

TEST_F(HttpClientsTest, CutEndsTheSocket) {
  const uint64_t id = Add();
  EXPECT_EQ(clients_.Cut(id + 1, ""), "");
  EXPECT_EQ(clients_.Cut(id, ""), "unix:");
  char byte = 0;
  EXPECT_EQ(read(pair_[1], &byte, 1), 0);
  EXPECT_TRUE(clients_.ListAfter(0, 1, "").front().connection.is_cut);
}

TEST_F(HttpClientsTest, SocketOfAnotherFileIsNotCut) {
  const uint64_t id = Add();
  std::array<int, 2> other{-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other.data()), 0);
  ASSERT_EQ(dup2(other[0], pair_[0]), pair_[0]);
  EXPECT_EQ(clients_.Cut(id, ""), "");
  ASSERT_EQ(write(pair_[0], "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(other[1], &byte, 1), 1);
  close(other[0]);
  close(other[1]);
}

}  // namespace
}  // namespace actord::daemon
