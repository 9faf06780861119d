#include "client/cli/bulk_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/output/exit_status.h"

namespace actord::client {
namespace {

using testing::HasSubstr;

TEST(ParseSubmitItem, TakesTheInputByteForByte) {
  const auto request = ParseSubmitItem(
      R"({"type":"echo","method":"run","request_id":"r1",)"
      R"("input": {"n": 1.50, "big": 123456789012345678901234567890 } })",
      {});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->process_type(), "echo");
  EXPECT_EQ(request->method(), "run");
  EXPECT_EQ(request->request_id(), "r1");
  EXPECT_EQ(request->input().data(),
            R"({"n": 1.50, "big": 123456789012345678901234567890 })");
  EXPECT_EQ(request->input().content_type(), "");
}

TEST(ParseSubmitItem, TakesThePriorityOrKeepsTheDefault) {
  v1::SubmitRequest defaults;
  defaults.set_process_type("echo");
  const auto none = ParseSubmitItem("{}", defaults);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_priority());
  defaults.set_priority(9);
  EXPECT_EQ(ParseSubmitItem("{}", defaults)->priority(), 9);
  for (const int priority : {0, 16, 31}) {
    const auto own = ParseSubmitItem(
        "{\"priority\":" + std::to_string(priority) + "}", defaults);
    ASSERT_TRUE(own.ok()) << own.status();
    EXPECT_EQ(own->priority(), priority);
  }
}

TEST(ParseSubmitItem, FillsInFromTheDefaults) {
  v1::SubmitRequest defaults;
  defaults.set_process_type("order");
  defaults.set_method("start");
  defaults.mutable_input()->set_data("default");
  defaults.mutable_input()->set_content_type("text/plain");
  const auto plain = ParseSubmitItem("{}", defaults);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->process_type(), "order");
  EXPECT_EQ(plain->input().data(), "default");
  const auto own = ParseSubmitItem(R"({"type":"echo","input":7})", defaults);
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->process_type(), "echo");
  EXPECT_EQ(own->method(), "start");
  EXPECT_EQ(own->input().data(), "7");
  // The content type of the default does not apply to the item's own input.
  EXPECT_EQ(own->input().content_type(), "");
}

TEST(ParseSubmitItem, TakesTheNameAndItsConflict) {
  v1::SubmitRequest defaults;
  defaults.set_process_type("echo");
  const auto plain = ParseSubmitItem(R"({"name":"orders/17"})", defaults);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->name(), "orders/17");
  EXPECT_EQ(plain->on_name_conflict(),
            v1::SubmitRequest::NAME_CONFLICT_UNSPECIFIED);
  const auto fail =
      ParseSubmitItem(R"({"name":"a","on_name_conflict":"fail"})", defaults);
  ASSERT_TRUE(fail.ok()) << fail.status();
  EXPECT_EQ(fail->on_name_conflict(), v1::SubmitRequest::NAME_CONFLICT_FAIL);
  const auto deliver =
      ParseSubmitItem(R"({"on_name_conflict":"deliver","name":"a"})", defaults);
  ASSERT_TRUE(deliver.ok()) << deliver.status();
  EXPECT_EQ(deliver->on_name_conflict(),
            v1::SubmitRequest::NAME_CONFLICT_DELIVER);
}

// The error about an unknown key lists exactly the keys that are taken.
TEST(ParseSubmitItem, ListsItsKeys) {
  const auto request = ParseSubmitItem(
      R"({"input":1,"labels":{},"method":"m","name":"n",)"
      R"("on_name_conflict":"fail","priority":1,"request_id":"r","type":"t"})",
      {});
  EXPECT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(
      std::string(ParseSubmitItem(R"({"nmae":"n"})", {}).status().message()),
      HasSubstr("unknown key \"nmae\"; the keys are input, labels, "
                "method, name, on_name_conflict, priority, "
                "request_id and type"));
}

struct BadLine {
  const char* line;
  const char* complaint;
};

TEST(ParseSubmitItem, NamesTheError) {
  for (const BadLine& bad : std::initializer_list<BadLine>{
           {"{", "not valid JSON"},
           {"[]", "not a JSON object"},
           {R"({"typ":"echo"})", "unknown key \"typ\""},
           {R"({"type":7})", "\"type\" is not text"},
           {R"({"type":"a","request_id":null})", "\"request_id\" is not text"},
           {R"({"type":"a","priority":32})", "\"priority\" is not a number"},
           {R"({"type":"a","priority":-1})", "\"priority\" is not a number"},
           {R"({"type":"a","priority":1.5})", "\"priority\" is not a number"},
           {R"({"type":"a","priority":"9"})", "\"priority\" is not a number"},
           {R"({"type":"a","name":7})", "\"name\" is not text"},
           {R"({"type":"a","name":"n","on_name_conflict":"wait"})",
            "is neither \"fail\" nor \"deliver\""},
           {R"({"type":"a","on_name_conflict":"fail"})", "needs \"name\""},
           {R"({"input":1})", "no \"type\""},
           {R"({"type":"a","type":"b"})", "is given twice"}}) {
    const auto request = ParseSubmitItem(bad.line, {});
    ASSERT_FALSE(request.ok()) << bad.line;
    EXPECT_EQ(ExitStatusOf(request.status()), ExitStatus::kUsage);
    EXPECT_THAT(std::string(request.status().message()),
                HasSubstr(bad.complaint));
  }
}

TEST(ParseSendItem, TakesPidTopicAndPayload) {
  const auto request = ParseSendItem(
      R"({"pid":"p-1","topic":"add","payload":[1],"message_id":"m"})", {});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->pid(), "p-1");
  EXPECT_EQ(request->topic(), "add");
  EXPECT_EQ(request->payload().data(), "[1]");
  EXPECT_EQ(request->message_id(), "m");
}

TEST(ParseSendItem, ListsItsKeysWhenOneIsUnknown) {
  EXPECT_THAT(
      std::string(
          ParseSendItem(R"({"pid":"p","paylod":1})", {}).status().message()),
      HasSubstr("unknown key \"paylod\"; the keys are message_id, "
                "payload, pid and topic"));
}

TEST(ParseSendItem, RequiresAPid) {
  EXPECT_THAT(std::string(ParseSendItem("{}", {}).status().message()),
              HasSubstr("no \"pid\""));
  v1::SendRequest defaults;
  defaults.set_pid("p-9");
  EXPECT_EQ(ParseSendItem("{}", defaults)->pid(), "p-9");
}

}  // namespace
}  // namespace actord::client
