#include "client/output/message_json.h"

#include <gtest/gtest.h>

#include "actord/v1/outcome.pb.h"
#include "actord/v1/process.pb.h"
#include "actord/v1/status.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

v1::Payload MakePayload(const std::string& data,
                        const std::string& content_type = "") {
  v1::Payload payload;
  payload.set_data(data);
  payload.set_content_type(content_type);
  return payload;
}

TEST(ToJson, ShowsAPayloadWithoutLoss) {
  EXPECT_EQ(Write(ToJson(MakePayload(R"({"b":1,"a":[2]})"))),
            R"({"content_type":"application/json","json":{"b":1,"a":[2]}})");
  EXPECT_EQ(Write(ToJson(MakePayload("hi", "text/plain"))),
            R"({"content_type":"text/plain","text":"hi"})");
  EXPECT_EQ(Write(ToJson(MakePayload("not json"))),
            R"({"content_type":"application/json","text":"not json"})");
  EXPECT_EQ(Write(ToJson(MakePayload(""))),
            R"({"content_type":"application/json","text":""})");
  EXPECT_EQ(Write(ToJson(MakePayload("\xff\x01", "image/png"))),
            R"({"content_type":"image/png","base64":"/wE="})");
  // A number that no JSON reader keeps.
  EXPECT_EQ(Write(ToJson(MakePayload("123456789012345678901234567890"))),
            R"({"content_type":"application/json",)"
            R"("text":"123456789012345678901234567890"})");
}

TEST(ToJson, KeepsNamesAndWritesNumbersAsNumbers) {
  v1::Process process;
  process.set_pid("p-1");
  process.set_process_type("order");
  process.set_state(v1::PROCESS_STATE_IDLE);
  process.set_steps(18446744073709551615ULL);
  process.mutable_create_time()->set_seconds(0);
  EXPECT_EQ(
      Write(ToJson(process)),
      R"({"pid":"p-1","process_type":"order","method":"",)"
      R"("state":"IDLE","parent_pid":"",)"
      R"("create_time":"1970-01-01T00:00:00Z",)"
      R"("steps":18446744073709551615,"mailbox_messages":0,)"
      R"("mailbox_bytes":0,"yields_outstanding":0,)"
      R"("cancel_requested":false,"priority":0,"owner":"",)"
      R"("quarantine_reason":"","names":[],"plugin":"",)"
      R"("plugin_version":"","linked_pids":[],"monitored_pids":[],)"
      R"("monitor_pids":[],"durability":"UNSPECIFIED",)"
      R"("labels":{},"end":"UNSPECIFIED","end_code":0,"end_message":""})");
}

TEST(ToJson, OmitsUnsetMessages) {
  v1::Outcome outcome;
  outcome.set_pid("p-1");
  outcome.mutable_failure()->set_reason(v1::FAILURE_REASON_TERMINATED);
  outcome.mutable_failure()->set_code(10);
  EXPECT_EQ(Write(ToJson(outcome)),
            R"({"pid":"p-1","failure":{"reason":"TERMINATED","code":10,)"
            R"("message":""},"steps":0})");
}

TEST(ToJson, WritesListsAndDurations) {
  v1::GetStatusResponse status;
  status.add_process_types()->add_methods("run");
  status.mutable_uptime()->set_seconds(12);
  status.mutable_uptime()->set_nanos(500000000);
  const Json written = ToJson(status);
  EXPECT_EQ(written["uptime"], "12.5s");
  EXPECT_EQ(Write(written["process_types"]),
            R"([{"name":"","plugin":"","methods":["run"]}])");
  EXPECT_EQ(Write(written["plugins"]), "[]");
}

TEST(EnumName, DropsThePrefixOrWritesTheNumber) {
  EXPECT_EQ(EnumName(v1::DAEMON_STATE_DRAINING), "DRAINING");
  EXPECT_EQ(EnumName(grpc::health::v1::HealthCheckResponse::NOT_SERVING),
            "NOT_SERVING");
  EXPECT_EQ(EnumName(static_cast<v1::ProcessState>(77)), "77");
}

TEST(Durations, ConvertBothWays) {
  const absl::Duration duration = absl::Seconds(90) + absl::Nanoseconds(7);
  EXPECT_EQ(FromDuration(duration).seconds(), 90);
  EXPECT_EQ(FromDuration(duration).nanos(), 7);
  EXPECT_EQ(ToDuration(FromDuration(duration)), duration);
}

TEST(Preview, NeverShowsBinary) {
  EXPECT_EQ(Preview(MakePayload("{\n}"), 10), "{ }");
  EXPECT_EQ(Preview(MakePayload("\xff\xfe"), 10), "<2 B>");
  EXPECT_EQ(Preview(MakePayload("abcdefghijk"), 10), "abcdefg...");
}

}  // namespace
}  // namespace actord::client
