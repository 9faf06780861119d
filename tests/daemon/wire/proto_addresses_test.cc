// Tests how requests name processes.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/wire/proto_requests.h"
#include "runtime/process/errors.h"
#include "tests/daemon/wire/requests.h"

namespace actord::daemon {
namespace {

absl::StatusOr<Address> AddressOf(const std::string& text) {
  Address address;
  absl::Status status = ReadAddress("pid", text, address);
  if (!status.ok()) return status;
  return address;
}

absl::StatusOr<Address> ReceiverOf(const std::string& text) {
  Address address;
  absl::Status status = ReadReceiver(text, address);
  if (!status.ok()) return status;
  return address;
}

TEST(ReadAddress, AcceptsAPidOrANameAfterAnAt) {
  const auto pid = AddressOf(kPid);
  ASSERT_TRUE(pid.ok());
  EXPECT_EQ(pid->pid, kParsedPid);
  EXPECT_EQ(pid->name, "");
  const auto name = AddressOf("@orders/17");
  ASSERT_TRUE(name.ok());
  EXPECT_TRUE(name->pid.empty());
  EXPECT_EQ(name->name, "orders/17");
  // A name may look like a PID; "@" marks it as a name.
  EXPECT_EQ(AddressOf(std::string("@") + kPid)->name, kPid);
  for (const std::string& wrong :
       {std::string("@"), std::string("@a b"), "@" + std::string(129, 'x'),
        std::string("orders/17"), std::string("@@x")}) {
    ExpectWrong(AddressOf(wrong).status(), "pid", runtime::reason::kInvalidPid);
  }
}

TEST(ReadAddress, RefusesAGroup) {
  for (const char* group : {"#", "#g", "#g@alice"}) {
    ExpectWrong(AddressOf(group).status(), "pid", runtime::reason::kInvalidPid);
  }
}

TEST(ReadReceiver, AcceptsAGroupAfterAHash) {
  const auto group = ReceiverOf("#workers@alice");
  ASSERT_TRUE(group.ok());
  EXPECT_TRUE(group->is_group);
  EXPECT_TRUE(group->pid.empty());
  EXPECT_EQ(group->name, "workers");
  EXPECT_EQ(group->owner, "alice");
  EXPECT_EQ(ReceiverOf("#workers")->owner, std::nullopt);
  const auto name = ReceiverOf("@workers");
  ASSERT_TRUE(name.ok());
  EXPECT_FALSE(name->is_group);
  EXPECT_FALSE(ReceiverOf(kPid)->is_group);
  for (const std::string& wrong :
       {std::string("#"), std::string("#a b"), std::string("##x"),
        std::string("#@x"), "#" + std::string(129, 'x')}) {
    ExpectWrong(ReceiverOf(wrong).status(), "pid",
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
