#include "client/cli/outcome.h"

#include "absl/status/status.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {

std::string DescribeFailure(const v1::Outcome& outcome) {
  const v1::Failure& failure = outcome.failure();
  std::string text =
      "process " + outcome.pid() + " failed: " +
      absl::StatusCodeToString(static_cast<absl::StatusCode>(failure.code()));
  if (!failure.message().empty()) text += ": " + OneLine(failure.message());
  return text + " (" + EnumName(failure.reason()) + ")";
}

void WriteOutcome(Invocation& invocation, const v1::Outcome& outcome,
                  bool separate) {
  WriteOne(invocation.out(), invocation.style(), ToJson(outcome), outcome.pid(),
           [&] {
             if (!outcome.has_failure()) {
               WriteRaw(invocation.out(), invocation.style(), outcome.result(),
                        separate);
             }
           });
}

ExitStatus ReportFailure(Invocation& invocation, const v1::Outcome& outcome) {
  if (!outcome.has_failure()) return ExitStatus::kDone;
  // Flush first: earlier output must come before this line.
  invocation.out().flush();
  invocation.Complain(DescribeFailure(outcome));
  return ExitStatus::kFailed;
}

}  // namespace actord::client
