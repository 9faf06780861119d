#include "client/calls/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "client/bulk/bulk.h"
#include "client/calls/client.h"
#include "client/streams/send_stream.h"
#include "client/streams/submit_stream.h"
#include "client/streams/watch.h"
#include "client/tasks/worker.h"

namespace actord::client {
namespace {

using ::testing::HasSubstr;

// An address of RFC 5737 that belongs to nobody.
const Endpoint kFar("192.0.2.1:7600", "atk_secret");

void ExpectNotSent(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the token is not sent to 192.0.2.1:7600"));
  EXPECT_EQ(status.message().find("atk_"), std::string::npos);
}

TEST(Endpoint, TokenStaysOnThisMachine) {
  for (const char* address :
       {"unix:/run/actord.sock", "unix:relative", "127.0.0.1:7600",
        "127.9.9.9:1", "[::1]:7600", "localhost:7600", "LOCALHOST:7600"}) {
    EXPECT_TRUE(CheckEndpoint({address, "token"}).ok()) << address;
  }
  for (const char* address :
       {"10.0.0.1:7600", "128.0.0.1:1", "[::]:7600", "[fe80::1]:7600",
        "0.0.0.0:7600", "localhost.example.com:7600", "127.0.0.1.example:1",
        "example.com:7600", "[::ffff:10.0.0.1]:1", "127.1:1", "unix", ""}) {
    EXPECT_FALSE(CheckEndpoint({address, "token"}).ok()) << address;
    EXPECT_TRUE(CheckEndpoint({address}).ok()) << address;
  }
  EXPECT_TRUE(CheckEndpoint({"10.0.0.1:7600", "token", {.ca = "PEM"}}).ok());
}

TEST(Endpoint, NoKindOfCallSendsTheTokenOverANetwork) {
  Client client(kFar);
  ExpectNotSent(client.GetStatus({}).status());
  ExpectNotSent(client.CheckHealth({}).status());

  Bulk bulk(client, {});
  std::promise<absl::Status> submitted;
  std::promise<absl::Status> awaited;
  bulk.Submit({}, [&submitted](absl::StatusOr<v1::SubmitResponse> response) {
    submitted.set_value(response.status());
  });
  bulk.Await({}, [&awaited](absl::StatusOr<v1::AwaitResponse> response) {
    awaited.set_value(response.status());
  });
  ExpectNotSent(submitted.get_future().get());
  ExpectNotSent(awaited.get_future().get());

  SendStream sends(client);
  ExpectNotSent(sends.Send({}).status());
  ExpectNotSent(sends.Finish());
  SubmitStream submits(client);
  ExpectNotSent(submits.Finish());

  Cancellation stop;
  ExpectNotSent(ProcessWatch(kFar, {}).Run(stop));
  WorkerOptions options;
  options.commands = {"payment.*"};
  ExpectNotSent(Worker(kFar, options, [](RunningTask&) {
                  return TaskOutcome::Result({});
                }).Run(stop));
}

}  // namespace
}  // namespace actord::client
