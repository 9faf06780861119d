#include "daemon/operations/failure_lines.h"

#include <actord/abi.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "actord/v1/outcome.pb.h"
#include "tests/daemon/operations/fake_clock.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;

runtime::ProcessFailure Failure(const std::string& type) {
  runtime::ProcessFailure failure;
  failure.pid = {.node = 1, .incarnation = 2, .slot = 3, .generation = 5};
  failure.process_type = type;
  failure.kind = runtime::EndKind::kThrew;
  failure.code = absl::StatusCode::kInternal;
  failure.message = "Step threw";
  return failure;
}

TEST(FailureText, NamesTheProcessAndTheCause) {
  runtime::ProcessFailure failure = Failure("order");
  const std::string pid = runtime::FormatPid(failure.pid);
  EXPECT_EQ(
      FailureText(failure),
      "process " + pid + " (order) failed: EXCEPTION, INTERNAL: Step threw");
  failure.name = "orders/17";
  failure.parent = failure.pid;
  EXPECT_EQ(FailureText(failure),
            "process " + pid + " (order @orders/17, parent " + pid +
                ") failed: EXCEPTION, INTERNAL: Step threw");
  failure = Failure("");
  EXPECT_THAT(FailureText(failure), HasSubstr("(of an unknown type)"));
}

TEST(FailureLines, EachTypeHasABurstAndThenOneLineASecond) {
  Logger logger(LogFormat::kConsole, runtime::LogLevel::kInfo);
  FakeClock clock;
  FailureLines lines(logger, clock);
  const auto logged = [&](const std::string& type, int count) {
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < count; ++i) lines.Add(Failure(type), {});
    logger.Flush(absl::Seconds(30));
    return ::testing::internal::GetCapturedStderr();
  };
  const std::string burst = logged("order", 100);
  EXPECT_EQ(std::count(burst.begin(), burst.end(), '\n'),
            int64_t{FailureLines::kBurst})
      << burst;
  EXPECT_THAT(logged("payment", 1), HasSubstr("(payment) failed"));
  EXPECT_EQ(logged("order", 1), "");
  clock.Advance(absl::Seconds(1));
  EXPECT_THAT(logged("order", 1),
              HasSubstr("(and 91 more failures of order since the last such "
                        "line; see actorctl failures)"));
}

TEST(FailureLines, LinesOfTheFailedStepComeBeforeItsFailure) {
  Logger logger(LogFormat::kConsole, runtime::LogLevel::kInfo);
  FakeClock clock;
  FailureLines lines(logger, clock);
  runtime::ProcessFailure failure = Failure("order");
  failure.name = "orders/17";
  const runtime::StepLines of_step = {
      .list = {{ACTORD_LOG_WARNING, "the card was refused"},
               {ACTORD_LOG_INFO, "giving up"}},
      .left_out = 3};
  ::testing::internal::CaptureStderr();
  // All of the burst but one.
  for (uint32_t i = 1; i < FailureLines::kBurst; ++i) lines.Add(failure, {});
  logger.Flush(absl::Seconds(30));
  ::testing::internal::GetCapturedStderr();
  ::testing::internal::CaptureStderr();
  lines.Add(failure, of_step);
  // The failure has no line, and so its step has none.
  lines.Add(failure, of_step);
  logger.Flush(absl::Seconds(30));
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string process =
      "process " + runtime::FormatPid(failure.pid) + " (order @orders/17)";
  const std::string step = process + ", in the step that failed: ";
  const std::vector<std::string> expected = {
      "warning " + step + "(3 older lines are left out)",
      "warning " + step + "the card was refused",
      "info    " + step + "giving up",
      "warning " + process + " failed: EXCEPTION"};
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 4) << log;
  size_t from = 0;
  for (const std::string& line : expected) {
    const size_t at = log.find(line, from);
    ASSERT_NE(at, std::string::npos) << line << "\nis not in order in\n" << log;
    from = at;
  }
}

TEST(EndNames, AreTheNamesOfTheContract) {
  for (const auto& [kind, reason] :
       {std::pair{runtime::EndKind::kFailed, v1::FAILURE_REASON_FAILED},
        {runtime::EndKind::kThrew, v1::FAILURE_REASON_EXCEPTION},
        {runtime::EndKind::kInitRefused, v1::FAILURE_REASON_INIT_REFUSED},
        {runtime::EndKind::kCancelled, v1::FAILURE_REASON_CANCELLED},
        {runtime::EndKind::kTerminated, v1::FAILURE_REASON_TERMINATED},
        {runtime::EndKind::kLimit, v1::FAILURE_REASON_LIMIT_REACHED}}) {
    EXPECT_EQ("FAILURE_REASON_" + std::string(NameOf(kind)),
              v1::FailureReason_Name(reason));
  }
}

}  // namespace
}  // namespace actord::daemon
