// Tests how requests name processes.
#include <gtest/gtest.h>

#include <optional>
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

TEST(ReadAddress, RefusesAGroup) {
  for (const char* group : {"#", "#g", "#g@alice"}) {
    ExpectWrong(ReadAddress("pid", group).status(), "pid",
                runtime::reason::kInvalidPid);
  }
}

TEST(ReadReceiver, AcceptsAGroupAfterAHash) {
  const auto group = ReadReceiver("#workers@alice");
  ASSERT_TRUE(group.ok());
  EXPECT_TRUE(group->is_group);
  EXPECT_TRUE(group->pid.empty());
  EXPECT_EQ(group->name, "workers");
  EXPECT_EQ(group->owner, "alice");
  EXPECT_EQ(ReadReceiver("#workers")->owner, std::nullopt);
  const auto name = ReadReceiver("@workers");
  ASSERT_TRUE(name.ok());
  EXPECT_FALSE(name->is_group);
  EXPECT_FALSE(ReadReceiver(kPid)->is_group);
  for (const std::string& wrong :
       {std::string("#"), std::string("#a b"), std::string("##x"),
        std::string("#@x"), "#" + std::string(129, 'x')}) {
    ExpectWrong(ReadReceiver(wrong).status(), "pid",
                runtime::reason::kInvalidPid);
  }
}

TEST(ReadSend, RefusesAMessageIdForAGroup) {
  v1::SendRequest request;
  request.set_pid("#workers");
  Address to;
  runtime::Message message;
  EXPECT_TRUE(ReadSend(&request, kMaxPayload, to, message).ok());
  EXPECT_TRUE(to.is_group);
  request.set_message_id("m-1");
  ExpectWrong(ReadSend(&request, kMaxPayload, to, message), "message_id",
              runtime::reason::kInvalidField);
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
