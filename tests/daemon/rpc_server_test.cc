#include "daemon/rpc_server.h"

#include <gtest/gtest.h>

#include <optional>

namespace actord::daemon {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kGiB = size_t{1} << 30;

TEST(RpcServerMaxServerBytes, HasRoomForManyRequestsWithoutALimit) {
  EXPECT_EQ(RpcServer::MaxServerBytes(10 * kMiB, std::nullopt), kGiB);
  EXPECT_EQ(RpcServer::MaxServerBytes(128 * kMiB, std::nullopt), kGiB);
  EXPECT_EQ(RpcServer::MaxServerBytes(200 * kMiB, std::nullopt),
            8 * 200 * kMiB);
}

TEST(RpcServerMaxServerBytes, IsAtMostHalfOfTheMemory) {
  EXPECT_EQ(RpcServer::MaxServerBytes(10 * kMiB, 512 * kMiB), 256 * kMiB);
  EXPECT_EQ(RpcServer::MaxServerBytes(10 * kMiB, 16 * kGiB), kGiB);
  EXPECT_EQ(RpcServer::MaxServerBytes(200 * kMiB, 2 * kGiB), kGiB);
}

// Else the largest request could never be read.
TEST(RpcServerMaxServerBytes, HasAlwaysRoomForOneRequest) {
  EXPECT_EQ(RpcServer::MaxServerBytes(64 * kMiB, 100 * kMiB), 64 * kMiB);
  EXPECT_EQ(RpcServer::MaxServerBytes(64 * kMiB, 0), 64 * kMiB);
}

}  // namespace
}  // namespace actord::daemon
