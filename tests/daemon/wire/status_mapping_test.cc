#include "daemon/wire/status_mapping.h"

#include <actord/text.h>
#include <gtest/gtest.h>

#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

namespace reason = runtime::reason;
using absl::StatusCode;

template <typename Detail>
std::optional<Detail> Find(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(details.message(), status.error_message());
  for (const auto& any : details.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

TEST(StatusMapping, OkHasNoDetails) {
  const grpc::Status status = ToGrpcStatus(absl::OkStatus());
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(status.error_details().empty());
}

// The rows of the table of errors.
TEST(StatusMapping, EveryErrorHasItsCodeReasonAndMessage) {
  const struct {
    absl::Status error;
    grpc::StatusCode code;
    std::string_view reason;
  } rows[] = {
      {runtime::InvalidField("pid", reason::kInvalidPid, "m"),
       grpc::StatusCode::INVALID_ARGUMENT, "INVALID_PID"},
      {runtime::InvalidField("input", reason::kInitRefused, "m"),
       grpc::StatusCode::INVALID_ARGUMENT, "INIT_REFUSED"},
      {runtime::InvalidField("request_id", reason::kRequestIdReused, "m"),
       grpc::StatusCode::INVALID_ARGUMENT, "REQUEST_ID_REUSED"},
      {runtime::Error(StatusCode::kNotFound, reason::kUnknownProcessType, "m"),
       grpc::StatusCode::NOT_FOUND, "UNKNOWN_PROCESS_TYPE"},
      {runtime::Error(StatusCode::kNotFound, reason::kProcessNotFound, "m"),
       grpc::StatusCode::NOT_FOUND, "PROCESS_NOT_FOUND"},
      {runtime::Error(StatusCode::kAlreadyExists, "NAME_TAKEN", "m"),
       grpc::StatusCode::ALREADY_EXISTS, "NAME_TAKEN"},
      {runtime::Error(StatusCode::kFailedPrecondition, reason::kProcessEnded,
                      "m"),
       grpc::StatusCode::FAILED_PRECONDITION, "PROCESS_ENDED"},
      {runtime::Retryable(StatusCode::kResourceExhausted, reason::kMailboxFull,
                          "m", absl::Milliseconds(5)),
       grpc::StatusCode::RESOURCE_EXHAUSTED, "MAILBOX_FULL"},
      {runtime::Retryable(StatusCode::kUnavailable, reason::kDraining, "m",
                          absl::Seconds(1)),
       grpc::StatusCode::UNAVAILABLE, "DRAINING"},
      {absl::InternalError("m"), grpc::StatusCode::INTERNAL, "INTERNAL"},
  };
  for (const auto& row : rows) {
    const grpc::Status status = ToGrpcStatus(row.error);
    EXPECT_EQ(status.error_code(), row.code) << row.reason;
    EXPECT_EQ(status.error_message(), "m") << row.reason;
    const auto info = Find<google::rpc::ErrorInfo>(status);
    ASSERT_TRUE(info.has_value()) << row.reason;
    EXPECT_EQ(info->reason(), row.reason);
    EXPECT_EQ(info->domain(), "actord");
    EXPECT_EQ(Find<google::rpc::BadRequest>(status).has_value(),
              row.code == grpc::StatusCode::INVALID_ARGUMENT)
        << row.reason;
    EXPECT_EQ(Find<google::rpc::RetryInfo>(status).has_value(),
              row.code == grpc::StatusCode::RESOURCE_EXHAUSTED ||
                  row.code == grpc::StatusCode::UNAVAILABLE)
        << row.reason;
  }
}

TEST(StatusMapping, NamesTheField) {
  const auto bad = Find<google::rpc::BadRequest>(ToGrpcStatus(
      runtime::InvalidField("input.data", reason::kPayloadTooLarge, "big")));
  ASSERT_TRUE(bad.has_value());
  ASSERT_EQ(bad->field_violations_size(), 1);
  EXPECT_EQ(bad->field_violations(0).field(), "input.data");
  EXPECT_EQ(bad->field_violations(0).description(), "big");
}

TEST(StatusMapping, CarriesTheRetryDelay) {
  const auto given = Find<google::rpc::RetryInfo>(ToGrpcStatus(
      runtime::Retryable(StatusCode::kUnavailable, reason::kDraining, "m",
                         absl::Milliseconds(1500))));
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(given->retry_delay().seconds(), 1);
  EXPECT_EQ(given->retry_delay().nanos(), 500'000'000);
  const auto standard =
      Find<google::rpc::RetryInfo>(ToGrpcStatus(absl::UnavailableError("m")));
  ASSERT_TRUE(standard.has_value());
  EXPECT_EQ(standard->retry_delay().nanos(), 100'000'000);
}

// A process that has answered with an error may have acted before.
TEST(StatusMapping, CodeOfAProcessSaysNothingAboutARepeat) {
  for (const auto reason : {reason::kCallFailed, reason::kInitRefused}) {
    const absl::Status chosen =
        runtime::Error(StatusCode::kUnavailable, reason, "not today");
    EXPECT_FALSE(
        Find<google::rpc::RetryInfo>(ToGrpcStatus(chosen)).has_value());
    v1::Refusal refusal;
    WriteRefusal(chosen, &refusal);
    EXPECT_FALSE(refusal.has_retry_delay());
  }
  EXPECT_FALSE(Find<google::rpc::BadRequest>(
                   ToGrpcStatus(runtime::Error(StatusCode::kInvalidArgument,
                                               reason::kCallFailed, "topic?")))
                   .has_value());
}

TEST(StatusMapping, MessageIsValidAndFitsIntoTrailers) {
  const grpc::Status status = ToGrpcStatus(runtime::InvalidField(
      "input", reason::kInitRefused,
      std::string("bad \xff byte ") + std::string(100'000, '\xe4')));
  EXPECT_TRUE(IsUtf8(status.error_message()));
  EXPECT_EQ(status.error_message().substr(0, 12), "bad \xef\xbf\xbd byte");
  EXPECT_LE(status.error_message().size(), kMaxErrorMessageBytes);
  // Percent-encoding triples the message at worst, and base64 adds a third to
  // the details.
  EXPECT_LT(
      status.error_message().size() * 3 + status.error_details().size() * 4 / 3,
      8192u - 512u);
}

// The refusal of an item has the same content as the error of a call.
TEST(StatusMapping, RefusalsHaveTheContentOfErrors) {
  v1::Refusal refusal;
  WriteRefusal(
      runtime::InvalidField("topic", reason::kInvalidField, "bad \xff text"),
      &refusal);
  EXPECT_EQ(refusal.code(), 3);
  EXPECT_EQ(refusal.reason(), "INVALID_FIELD");
  EXPECT_EQ(refusal.message(), "bad \xef\xbf\xbd text");
  EXPECT_EQ(refusal.field(), "topic");
  EXPECT_FALSE(refusal.has_retry_delay());

  refusal.Clear();
  WriteRefusal(
      runtime::Retryable(StatusCode::kResourceExhausted, reason::kMailboxFull,
                         "full", absl::Milliseconds(5)),
      &refusal);
  EXPECT_EQ(refusal.retry_delay().nanos(), 5'000'000);
  EXPECT_EQ(refusal.field(), "");

  refusal.Clear();
  WriteRefusal(runtime::NameTaken("n", "1.5.2a.1"), &refusal);
  EXPECT_EQ(refusal.pid(), "1.5.2a.1");

  refusal.Clear();
  WriteRefusal(absl::UnavailableError(std::string(5000, 'x')), &refusal);
  EXPECT_EQ(refusal.reason(), "UNAVAILABLE");
  EXPECT_EQ(refusal.message().size(), kMaxErrorMessageBytes);
  EXPECT_TRUE(refusal.has_retry_delay());
}

}  // namespace
}  // namespace actord::daemon
