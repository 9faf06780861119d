#include "client/output/exit_status.h"

#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "client/calls/error.h"
#include "client/cli/status_codes.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace actord::client {
namespace {

TEST(ExitStatus, FollowsTheStatusCode) {
  struct Case {
    absl::StatusCode code;
    int exit_status;
  };
  for (const Case& c :
       std::initializer_list<Case>{{absl::StatusCode::kOk, 0},
                                   {absl::StatusCode::kCancelled, 5},
                                   {absl::StatusCode::kUnknown, 1},
                                   {absl::StatusCode::kInvalidArgument, 1},
                                   {absl::StatusCode::kDeadlineExceeded, 6},
                                   {absl::StatusCode::kNotFound, 3},
                                   {absl::StatusCode::kAlreadyExists, 1},
                                   {absl::StatusCode::kPermissionDenied, 4},
                                   {absl::StatusCode::kResourceExhausted, 1},
                                   {absl::StatusCode::kFailedPrecondition, 1},
                                   {absl::StatusCode::kInternal, 1},
                                   {absl::StatusCode::kUnavailable, 5},
                                   {absl::StatusCode::kUnauthenticated, 4}}) {
    EXPECT_EQ(static_cast<int>(ExitStatusOf(absl::Status(c.code, "x"))),
              c.exit_status)
        << absl::StatusCodeToString(c.code);
  }
}

TEST(ExitStatus, DistinguishesUsageErrorsFromRefusals) {
  EXPECT_EQ(ExitStatusOf(UsageError("x")), ExitStatus::kUsage);
  EXPECT_EQ(static_cast<int>(ExitStatus::kUsage), 2);
}

TEST(ExitStatus, RefusedInitIsAFailureWithEveryCode) {
  google::rpc::ErrorInfo info;
  info.set_reason("INIT_REFUSED");
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  for (const auto code :
       {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::CANCELLED,
        grpc::StatusCode::NOT_FOUND, grpc::StatusCode::INVALID_ARGUMENT}) {
    EXPECT_EQ(ExitStatusOf(FromGrpc(
                  grpc::Status(code, "no", details.SerializeAsString()))),
              ExitStatus::kFailed);
  }
}

TEST(FromGrpc, SaysWhyARequestIsTooLarge) {
  const absl::Status status = FromGrpc(
      grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                   "Received message larger than max (30000028 vs. 6291456)"));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(status.message(),
            "the request has 30000028 bytes; the daemon takes at most "
            "limits.max_payload_bytes (1 MiB unless configured) in a payload, "
            "and 6291456 bytes in a request");
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.reason, "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(details.metadata.at("max_request_bytes"), "6291456");
  EXPECT_FALSE(details.retry_delay.has_value());
}

TEST(FromGrpc, KeepsOtherTexts) {
  for (const char* const text :
       {"Received message larger than max (", "full",
        "Received message larger than max (7 or 6)",
        "Received message larger than max (7 vs. six)"}) {
    const absl::Status status =
        FromGrpc(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, text));
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_EQ(status.message(), text);
  }
}

TEST(ParseStatusCode, TakesNamesAndNumbersOfErrors) {
  EXPECT_EQ(*ParseStatusCode("NOT_FOUND"), 5);
  EXPECT_EQ(*ParseStatusCode("not_found"), 5);
  EXPECT_EQ(*ParseStatusCode("CANCELLED"), 1);
  EXPECT_EQ(*ParseStatusCode("UNAUTHENTICATED"), 16);
  EXPECT_EQ(*ParseStatusCode("10"), 10);
  for (const char* text : {"", "OK", "0", "17", "FOUND", "-1", "1 "}) {
    EXPECT_EQ(ExitStatusOf(ParseStatusCode(text).status()), ExitStatus::kUsage)
        << text;
  }
}

}  // namespace
}  // namespace actord::client
