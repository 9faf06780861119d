// The expectations for every refused field, and the requests of the tests.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "absl/status/status.h"
#include "runtime/process/errors.h"
#include "runtime/process/pid.h"
#include "runtime/system/absl_text.h"

namespace actord::daemon {

inline constexpr size_t kMaxPayload = 16;
inline constexpr char kPid[] = "1.5.2a.1";
inline const runtime::Pid kParsedPid{1, 5, 0x2a, 1};

inline void ExpectWrong(
    const absl::Status& status, std::string_view field,
    std::string_view reason = runtime::reason::kInvalidField) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(runtime::FieldOf(status), field) << status;
  EXPECT_EQ(runtime::ReasonOf(status), reason) << status;
  // The message too contains the whole path, such as "messages[1].topic".
  EXPECT_NE(status.message().find(runtime::ToAbsl(field)),
            absl::string_view::npos)
      << status;
}

}  // namespace actord::daemon
