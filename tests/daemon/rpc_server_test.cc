#include "daemon/rpc_server.h"

#include <gtest/gtest.h>

#include <optional>

namespace actord::daemon {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr size_t kGibibyte = size_t{1} << 30;

TEST(RpcServerMaxServerBytes, HasRoomForManyRequestsWithoutALimit) {
  EXPECT_EQ(RpcServer::MaxServerBytes(10 * kMebibyte, std::nullopt), kGibibyte);
  EXPECT_EQ(RpcServer::MaxServerBytes(128 * kMebibyte, std::nullopt),
            kGibibyte);
  EXPECT_EQ(RpcServer::MaxServerBytes(200 * kMebibyte, std::nullopt),
            8 * 200 * kMebibyte);
}

TEST(RpcServerMaxServerBytes, IsAtMostHalfOfTheMemory) {
  EXPECT_EQ(RpcServer::MaxServerBytes(10 * kMebibyte, 512 * kMebibyte),
            256 * kMebibyte);
  EXPECT_EQ(RpcServer::MaxServerBytes(10 * kMebibyte, 16 * kGibibyte),
            kGibibyte);
  EXPECT_EQ(RpcServer::MaxServerBytes(200 * kMebibyte, 2 * kGibibyte),
            kGibibyte);
}

// Else the largest request could never be read.
TEST(RpcServerMaxServerBytes, HasAlwaysRoomForOneRequest) {
  EXPECT_EQ(RpcServer::MaxServerBytes(64 * kMebibyte, 100 * kMebibyte),
            64 * kMebibyte);
  EXPECT_EQ(RpcServer::MaxServerBytes(64 * kMebibyte, 0), 64 * kMebibyte);
}

}  // namespace
}  // namespace actord::daemon
