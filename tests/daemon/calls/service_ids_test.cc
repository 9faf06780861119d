// Tests request ids and message ids, which make repeated calls safe.
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/daemon/served_daemon.h"

namespace actord::daemon {
namespace {

using grpc::StatusCode;

class ServiceIdsTest : public ::testing::Test {
 protected:
  grpc::Status Submit(const v1::SubmitRequest& request,
                      v1::SubmitResponse& response) {
    grpc::ClientContext context;
    return daemon_.stub().Submit(&context, request, &response);
  }

  ServedDaemon daemon_;
};

TEST_F(ServiceIdsTest, RepeatedRequestIdStartsNothing) {
  v1::SubmitRequest request;
  request.set_process_type("counter");
  request.set_request_id("once");
  v1::SubmitResponse first;
  ASSERT_TRUE(Submit(request, first).ok());
  EXPECT_FALSE(first.duplicate());
  v1::SubmitResponse second;
  ASSERT_TRUE(Submit(request, second).ok());
  EXPECT_TRUE(second.duplicate());
  EXPECT_EQ(second.pid(), first.pid());

  request.mutable_input()->set_data("1");
  v1::SubmitResponse other;
  const grpc::Status status = Submit(request, other);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonIn(status), "REQUEST_ID_REUSED");
  EXPECT_EQ(FieldIn(status), "request_id");
}

TEST_F(ServiceIdsTest, FailedRequestIdMayBeUsedAgain) {
  v1::SubmitRequest request;
  request.set_process_type("echo");
  request.set_method("refuse");
  request.set_request_id("again");
  v1::SubmitResponse response;
  EXPECT_EQ(ReasonIn(Submit(request, response)), "INIT_REFUSED");
  request.set_method("run");
  EXPECT_TRUE(Submit(request, response).ok());
  EXPECT_FALSE(response.duplicate());
}

TEST_F(ServiceIdsTest, ConcurrentCallsStartOneProcessForEachRequestId) {
  constexpr int kIds = 50;
  constexpr int kCallers = 4;
  std::vector<std::future<std::set<std::string>>> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.push_back(std::async(std::launch::async, [this] {
      std::set<std::string> pids;
      for (int i = 0; i < kIds; ++i) {
        v1::SubmitRequest request;
        request.set_process_type("counter");
        request.set_request_id(absl::StrCat("id", i));
        v1::SubmitResponse response;
        EXPECT_TRUE(Submit(request, response).ok());
        pids.insert(response.pid());
      }
      return pids;
    }));
  }
  std::set<std::string> pids;
  for (auto& caller : callers) pids.merge(caller.get());
  EXPECT_EQ(pids.size(), static_cast<size_t>(kIds));
}

TEST_F(ServiceIdsTest, RepeatedMessageIdDeliversNothing) {
  const std::string pid = daemon_.Submit("counter");
  v1::SendRequest request;
  request.set_pid(pid);
  request.set_topic("add");
  request.set_message_id("once");
  const auto send = [&](v1::SendResponse& response) {
    grpc::ClientContext context;
    return daemon_.stub().Send(&context, request, &response);
  };
  v1::SendResponse response;
  ASSERT_TRUE(send(response).ok());
  EXPECT_FALSE(response.duplicate());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(send(response).ok());
    EXPECT_TRUE(response.duplicate());
  }
  request.mutable_payload()->set_data("5");
  const grpc::Status reused = send(response);
  EXPECT_EQ(reused.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonIn(reused), "REQUEST_ID_REUSED");
  EXPECT_EQ(FieldIn(reused), "message_id");

  request.Clear();
  request.set_pid("1.1.1.1");
  request.set_message_id("again");
  EXPECT_EQ(ReasonIn(send(response)), "PROCESS_NOT_FOUND");
  request.set_pid(pid);
  request.set_topic("stop");
  ASSERT_TRUE(send(response).ok()) << "what failed is not remembered";
  EXPECT_FALSE(response.duplicate());
  EXPECT_EQ(daemon_.Await(pid).result().data(), "1");
}

}  // namespace
}  // namespace actord::daemon
