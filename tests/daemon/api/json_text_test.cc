#include "daemon/api/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "actord/v1/process.pb.h"
#include "daemon/api/connect_error.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

TEST(JsonText, MistakesNameTheirField) {
  struct Case {
    std::string text, field, says;
  };
  for (const Case& one : {
           Case{R"({"no": 1})", "no", "no is not a field of actord.v1.Submit"},
           Case{R"({"input": {"no": 1}})", "input.no", "input.no is not"},
           Case{R"({"proccessType": "a"})", "proccessType",
                "SubmitRequest; did you mean \"processType\"?"},
           Case{R"({"input": {"dta": "a"}})", "input.dta",
                "SubmitRequest; did you mean \"data\"?"},
           Case{R"({"messages": [{"payload": {"datta": ""}}]})",
                "messages[0].payload.datta", "did you mean \"data\"?"},
           Case{R"({"messages": [{}, {"no": 1}]})", "messages[1].no", "is not"},
           Case{R"({"priority": "high"})", "priority", "\"high\""},
           Case{R"({"onNameConflict": "MAYBE"})", "on_name_conflict", "MAYBE"},
           Case{R"({"input": {"data": "?"}})", "input.data", "input.data"},
           Case{R"({"input": 1})", "input", "input"},
           Case{"", "", "not the JSON of actord.v1.SubmitRequest"},
           Case{"[]", "", "not the JSON of"},
           Case{"{} {}", "", "not the JSON of"},
           Case{"{\"method\": \"\xff\"}", "", "not the JSON of"},
           Case{R"({"method": "\ud800"})", "", "not the JSON of"},
           Case{std::string(1000, '['), "", "not the JSON of"},
       }) {
    v1::SubmitRequest request;
    const absl::Status status = ReadJson(one.text, &request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << one.text;
    EXPECT_EQ(runtime::ReasonOf(status), "INVALID_FIELD") << one.text;
    EXPECT_EQ(runtime::FieldOf(status), one.field) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(one.says));
  }
}

TEST(JsonText, DepthAndLengthOfAnErrorAreBounded) {
  std::string nested;
  for (int i = 0; i < 200; ++i) nested += "{\"input\":";
  v1::SubmitRequest request;
  EXPECT_FALSE(ReadJson(nested, &request).ok());
  const std::string name(1 << 20, 'x');
  const absl::Status status = ReadJson("{\"" + name + "\": 1}", &request);
  EXPECT_LT(runtime::FieldOf(status).size(), 300u);
  EXPECT_LT(ConnectError(status).body.size(), 8u << 10);
}

TEST(JsonText, ReadsWhatItWrites) {
  v1::SubmitRequest request;
  ASSERT_TRUE(ReadJson(R"({"processType": "echo", "priority": 3, "messages": [],
                           "input": {"data": "AP8=", "contentType": "a/b"}})",
                       &request)
                  .ok());
  EXPECT_EQ(request.input().data(), std::string("\0\xff", 2));
  std::string text;
  ASSERT_TRUE(
      WriteJson("actord.v1.SubmitRequest", request.SerializeAsString(), &text)
          .ok());
  EXPECT_EQ(text,
            R"({"processType":"echo","input":{"data":"AP8=","contentType":)"
            R"("a/b"},"priority":3})");
}

TEST(ConnectError, HasCodeDetailsAndHeaders) {
  const AdminAnswer busy = ConnectError(
      runtime::Retryable(absl::StatusCode::kResourceExhausted, "MAILBOX_FULL",
                         "full \"x\"", absl::Milliseconds(1500)));
  EXPECT_EQ(busy.status, 429u);
  EXPECT_EQ(busy.content_type, "application/json");
  EXPECT_THAT(busy.headers,
              UnorderedElementsAre(::testing::Pair("Retry-After", "2")));
  EXPECT_THAT(busy.body, HasSubstr(R"("code":"resource_exhausted")"));
  EXPECT_THAT(busy.body, HasSubstr(R"("message":"full \"x\"")"));
  EXPECT_THAT(busy.body, HasSubstr(R"("reason":"MAILBOX_FULL")"));
  EXPECT_THAT(busy.body, HasSubstr(R"("type":"google.rpc.RetryInfo")"));
  EXPECT_THAT(busy.body, Not(HasSubstr("=\"")));  // base64 without padding
  const AdminAnswer unknown = ConnectError(absl::UnauthenticatedError("who"));
  EXPECT_EQ(unknown.status, 401u);
  EXPECT_THAT(unknown.headers, UnorderedElementsAre(::testing::Pair(
                                   "WWW-Authenticate", "Bearer")));
}

}  // namespace
}  // namespace actord::daemon
