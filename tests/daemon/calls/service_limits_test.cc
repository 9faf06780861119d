// Tests the service at the limits of the runtime.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/runtime.h"
#include "tests/daemon/served_daemon.h"

namespace actord::daemon {
namespace {

using grpc::StatusCode;

TEST(ServiceLimits, FullMailboxIsRetryable) {
  Config config = ServedDaemon::Defaults();
  config.runtime.max_mailbox_messages = 3;
  ServedDaemon daemon(config);
  const std::string pid = daemon.SubmitStubbornOrder();
  grpc::Status status;
  int accepted = -1;
  do {
    ++accepted;
    grpc::ClientContext context;
    v1::SendRequest request;
    request.set_pid(pid);
    v1::SendResponse response;
    status = daemon.stub().Send(&context, request, &response);
  } while (status.ok() && accepted < 100);
  EXPECT_EQ(accepted, 3);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonIn(status), "MAILBOX_FULL");
}

TEST(ServiceLimits, TooManyProcessesAreRefused) {
  Config config = ServedDaemon::Defaults();
  config.runtime.max_processes = 2;
  ServedDaemon daemon(config);
  daemon.Submit("counter");
  daemon.Submit("counter");
  grpc::ClientContext context;
  v1::SubmitRequest request;
  request.set_process_type("counter");
  v1::SubmitResponse response;
  const grpc::Status status =
      daemon.stub().Submit(&context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonIn(status), "PROCESS_LIMIT");
}

Config WithProbe() {
  Config config = ServedDaemon::Defaults();
  config.plugins.push_back(ACTORD_TEST_PROBE);
  return config;
}

TEST(ServiceLimits, PageOfYieldsFitsIntoAResponse) {
  ServedDaemon daemon(WithProbe());
  const std::string payload(400 << 10, 'x');
  daemon.Submit(
      "probe",
      absl::StrCat(R"({"command": "payment.x", "count": 5, "payload": ")",
                   payload, "\"}"),
      "yield");
  std::vector<int> sizes;
  std::set<std::string> tokens;
  v1::ListYieldsRequest request;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (tokens.size() < 5 && std::chrono::steady_clock::now() < deadline) {
    sizes.clear();
    tokens.clear();
    do {
      grpc::ClientContext context;
      v1::ListYieldsResponse page;
      const grpc::Status status =
          daemon.stub().ListYields(&context, request, &page);
      ASSERT_TRUE(status.ok()) << status.error_message();
      sizes.push_back(page.yields_size());
      for (const v1::Yield& yield : page.yields()) tokens.insert(yield.token());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
  }
  EXPECT_EQ(tokens.size(), 5u);
  EXPECT_EQ(sizes, (std::vector<int>{2, 2, 1}));
}

TEST(ServiceLimits, FilterWithFewMatchesTakesSeveralPages) {
  ServedDaemon daemon(WithProbe());
  const std::string children = std::to_string(runtime::Runtime::kMaxLookedAt);
  daemon.Await(daemon.Submit("probe", children, "children"));
  const std::string last = daemon.Submit("counter");
  v1::ListProcessesRequest request;
  request.set_process_type("counter");
  std::vector<std::string> found;
  int pages = 0;
  do {
    grpc::ClientContext context;
    v1::ListProcessesResponse page;
    ASSERT_TRUE(daemon.stub().ListProcesses(&context, request, &page).ok());
    for (const v1::Process& process : page.processes()) {
      found.push_back(process.pid());
    }
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(found, std::vector<std::string>{last});
  EXPECT_EQ(pages, 2);
}

}  // namespace
}  // namespace actord::daemon
