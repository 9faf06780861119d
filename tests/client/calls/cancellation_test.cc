#include "client/calls/cancellation.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace actord::client {
namespace {

bool Readable(int fd) {
  pollfd wait = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&wait, 1, 0) == 1;
}

TEST(Cancellation, RunsARegisteredCallbackOnce) {
  Cancellation cancellation;
  int runs = 0;
  const Cancellation::Registration registration(&cancellation,
                                                [&runs] { ++runs; });
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(cancellation.cancelled());
  EXPECT_FALSE(Readable(cancellation.fd()));
  cancellation.Cancel();
  cancellation.Cancel();
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_TRUE(Readable(cancellation.fd()));
}

TEST(Cancellation, RunsALateCallbackAtOnce) {
  Cancellation cancellation;
  cancellation.Cancel();
  int runs = 0;
  const Cancellation::Registration registration(&cancellation,
                                                [&runs] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(Cancellation, ForgetsAnUnregisteredCallback) {
  Cancellation cancellation;
  int runs = 0;
  {
    const Cancellation::Registration registration(&cancellation,
                                                  [&runs] { ++runs; });
  }
  cancellation.Cancel();
  EXPECT_EQ(runs, 0);
}

TEST(Cancellation, AcceptsANullCancellation) {
  int runs = 0;
  const Cancellation::Registration registration(nullptr, [&runs] { ++runs; });
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace actord::client
