// The service at the runtime's limits.
#include <gtest/gtest.h>

#include <string>

#include "tests/daemon/served_daemon.h"

namespace actord::daemon {
namespace {

using grpc::StatusCode;

TEST(ServiceLimits, FullMailboxIsWorthAnotherTry) {
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

}  // namespace
}  // namespace actord::daemon
