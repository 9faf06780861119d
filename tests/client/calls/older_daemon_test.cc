#include "client/calls/older_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "actord/v1/stream.pb.h"
#include "client/calls/error.h"

namespace actord::client {
namespace {

using ::testing::HasSubstr;

void ExpectIgnored(const absl::Status& status, const std::string& what) {
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("too old for " + what + " and has ignored it"));
}

TEST(OlderDaemon, AnswersASubmissionWithoutAReceipt) {
  v1::SubmitRequest request;
  v1::SubmitResponse response;
  response.set_pid("1.2.3.4");
  EXPECT_TRUE(CheckSubmitted(request, response).ok());
  request.set_durability(v1::DURABILITY_VOLATILE);
  EXPECT_TRUE(CheckSubmitted(request, response).ok());
  (*request.mutable_labels())["tenant"] = "acme";
  ExpectIgnored(CheckSubmitted(request, response), "labels");
  request.set_durability(v1::DURABILITY_DURABLE);
  const absl::Status status = CheckSubmitted(request, response);
  ExpectIgnored(status, "durability");
  EXPECT_THAT(std::string(status.message()), HasSubstr("process 1.2.3.4 ends"));
  response.set_delivered(true);
  EXPECT_TRUE(CheckSubmitted(request, response).ok());
  response.set_delivered(false);
  response.set_receipt(v1::RECEIPT_MEMORY);
  EXPECT_TRUE(CheckSubmitted(request, response).ok());
}

TEST(OlderDaemon, DoesNotStartTheHolderOfAName) {
  v1::Refusal refusal;
  refusal.set_code(static_cast<int>(absl::StatusCode::kNotFound));
  refusal.set_reason("NAME_NOT_FOUND");
  refusal.set_message("no process holds the name \"x\"");
  const absl::Status absent = FromRefusal(refusal);
  v1::CallRequest request;
  EXPECT_EQ(ExplainUnstarted(request, absent), absent);
  request.mutable_start_if_absent()->set_process_type("counter");
  ExpectIgnored(ExplainUnstarted(request, absent), "a start by a call");
  EXPECT_THAT(std::string(ExplainUnstarted(request, absent).message()),
              HasSubstr(": no process holds the name \"x\""));
  refusal.set_reason("UNKNOWN_PROCESS_TYPE");
  const absl::Status other = FromRefusal(refusal);
  EXPECT_EQ(ExplainUnstarted(request, other), other);
}

TEST(OlderDaemon, AnswersACancelWithoutAReceipt) {
  v1::CancelRequest request;
  v1::CancelResponse response;
  EXPECT_TRUE(CheckCancelled(request, response).ok());
  request.mutable_deadline()->set_seconds(1);
  ExpectIgnored(CheckCancelled(request, response), "the deadline");
  response.set_receipt(v1::RECEIPT_LOGGED);
  EXPECT_TRUE(CheckCancelled(request, response).ok());
}

TEST(OlderDaemon, ListsProcessesWithoutTheLabels) {
  v1::ListProcessesRequest request;
  v1::ListProcessesResponse response;
  auto& labels = *response.add_processes()->mutable_labels();
  EXPECT_TRUE(CheckSelected(request, response).ok());
  request.add_labels("tenant=a=b");
  ExpectIgnored(CheckSelected(request, response), "labels");
  labels["tenant"] = "a";
  ExpectIgnored(CheckSelected(request, response), "labels");
  labels["tenant"] = "a=b";
  EXPECT_TRUE(CheckSelected(request, response).ok());
  request.add_labels("urgent");
  ExpectIgnored(CheckSelected(request, response), "labels");
  labels["urgent"] = "";
  EXPECT_TRUE(CheckSelected(request, response).ok());
}

TEST(OlderDaemon, WatchesProcessesWithoutTheLabels) {
  v1::WatchProcessesRequest request;
  request.add_labels("tenant");
  v1::ProcessEvent started;
  started.mutable_started();
  v1::ProcessEvent ended;
  ended.mutable_ended();
  for (const v1::ProcessEvent& event : {started, ended}) {
    v1::WatchProcessesResponse response;
    *response.mutable_events()->add_events() = event;
    ExpectIgnored(CheckWatched(request, response), "labels");
    EXPECT_TRUE(CheckWatched({}, response).ok());
  }
  v1::WatchProcessesResponse response;
  response.mutable_missed();
  EXPECT_TRUE(CheckWatched(request, response).ok());
  v1::Process& live = *response.mutable_snapshot()->add_processes();
  ExpectIgnored(CheckWatched(request, response), "labels");
  (*live.mutable_labels())["tenant"] = "acme";
  EXPECT_TRUE(CheckWatched(request, response).ok());
}

}  // namespace
}  // namespace actord::client
