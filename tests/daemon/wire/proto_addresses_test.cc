// Tests how requests name processes.
#include <gtest/gtest.h>

#include <string>

#include "daemon/wire/proto_requests.h"
#include "runtime/process/errors.h"
#include "tests/daemon/wire/requests.h"

namespace actord::daemon {
namespace {

TEST(ReadAddress, AcceptsAPidOrANameAfterAnAt) {
  const auto pid = ReadAddress("pid", kPid);
  ASSERT_TRUE(pid.ok());
  EXPECT_EQ(pid->pid, kParsedPid);
  EXPECT_EQ(pid->name, "");
  const auto name = ReadAddress("pid", "@orders/17");
  ASSERT_TRUE(name.ok());
  EXPECT_TRUE(name->pid.empty());
  EXPECT_EQ(name->name, "orders/17");
  // A name may look like a PID; "@" marks it as a name.
  EXPECT_EQ(ReadAddress("pid", std::string("@") + kPid)->name, kPid);
  for (const std::string& wrong :
       {std::string("@"), std::string("@a b"), "@" + std::string(129, 'x'),
        std::string("orders/17"), std::string("@@x")}) {
    ExpectWrong(ReadAddress("pid", wrong).status(), "pid",
                runtime::reason::kInvalidPid);
  }
}

TEST(ReadSubmit, RefusesAnInvalidName) {
  v1::SubmitRequest request;
  request.set_process_type("echo");
  request.set_name("orders/17");
  EXPECT_EQ(ReadSubmit(&request, kMaxPayload)->name, "orders/17");
  request.set_process_type("echo");  // the first call moved it away
  request.set_name("no name");
  ExpectWrong(ReadSubmit(&request, kMaxPayload).status(), "name",
              runtime::reason::kInvalidField);
  EXPECT_EQ(ReadNameConflict(request).value(), false);
  request.set_on_name_conflict(v1::SubmitRequest::NAME_CONFLICT_DELIVER);
  EXPECT_EQ(ReadNameConflict(request).value(), true);
  request.set_on_name_conflict(static_cast<v1::SubmitRequest::NameConflict>(9));
  ExpectWrong(ReadNameConflict(request).status(), "on_name_conflict",
              runtime::reason::kInvalidField);
}

}  // namespace
}  // namespace actord::daemon
