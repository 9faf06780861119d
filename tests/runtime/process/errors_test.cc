#include "runtime/process/errors.h"

#include <gtest/gtest.h>

#include <optional>

namespace actord::runtime {
namespace {

TEST(Errors, CarryWhatAClientNeeds) {
  const absl::Status plain = absl::InternalError("x");
  EXPECT_EQ(ReasonOf(plain), "");
  EXPECT_EQ(FieldOf(plain), "");
  EXPECT_EQ(RetryDelayOf(plain), std::nullopt);

  const absl::Status error =
      Error(absl::StatusCode::kNotFound, reason::kProcessNotFound, "gone");
  EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(error.message(), "gone");
  EXPECT_EQ(ReasonOf(error), "PROCESS_NOT_FOUND");
  EXPECT_EQ(RetryDelayOf(error), std::nullopt);

  const absl::Status field = InvalidField("input", reason::kInitRefused, "no");
  EXPECT_EQ(field.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(field), "input");

  const absl::Status retry =
      Retryable(absl::StatusCode::kUnavailable, reason::kDraining, "later",
                absl::Milliseconds(1500));
  EXPECT_EQ(ReasonOf(retry), "DRAINING");
  EXPECT_EQ(RetryDelayOf(retry), absl::Milliseconds(1500));
}

}  // namespace
}  // namespace actord::runtime
