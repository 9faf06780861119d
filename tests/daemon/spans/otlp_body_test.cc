#include "daemon/spans/otlp_body.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "otlp/trace.pb.h"

namespace actord::daemon {
namespace {

const SpanResource kResource{.version = "1.2", .instance_id = "id"};

EndedSpan StepSpan() {
  EndedSpan step;
  for (uint8_t i = 0; i < 16; ++i) step.span.trace.trace_id[i] = 0x10 + i;
  for (uint8_t i = 0; i < 8; ++i) step.span.trace.span_id[i] = 0x40 + i;
  for (uint8_t i = 0; i < 8; ++i) step.span.parent_id[i] = 0x50 + i;
  step.span.trace.flags = runtime::TraceContext::kSampled;
  step.span.trace.state = "a=b";
  step.span.begin_unix_ns = 0x0102030405060708;
  step.span.end_unix_ns = 0x0102030405060709;
  step.facts = runtime::StepFacts{
      .process_type = "t", .pid = "p", .step = 2, .events = 3};
  return step;
}

otlp::Span Written(const EndedSpan& span) {
  otlp::ExportRequest request;
  EXPECT_TRUE(request.ParseFromString(WriteOtlp({&span, 1}, kResource)));
  return request.resource_spans(0).scope_spans(0).spans(0);
}

std::string AttributeOf(const otlp::Span& span, std::string_view key) {
  for (const otlp::KeyValue& one : span.attributes()) {
    if (one.key() != key) continue;
    return one.value().value_case() == otlp::Value::kIntValue
               ? std::to_string(one.value().int_value())
               : one.value().string_value();
  }
  return "none";
}

EndedSpan CallSpanOf(absl::StatusCode code, bool is_grpc = true) {
  EndedSpan call = StepSpan();
  call.facts = CallFacts{
      .method =
          google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
              "actord.v1.ActorService.Send"),
      .is_grpc = is_grpc,
      .code = code,
      .error = "why"};
  return call;
}

// The numbers and types of OTLP's fields, byte by byte. A mistake in the .proto
// would be made in both directions, so a reader of the same file would not see
// it.
TEST(OtlpBody, HasTheBytesOfOtlp) {
  const EndedSpan step = StepSpan();
  const std::string body =
      absl::BytesToHexString(WriteOtlp({&step, 1}, kResource));
  const std::string resource =
      "0aa002"                        // ExportRequest 1 resource_spans
      "0a51"                          // ResourceSpans 1 resource
      "0a18"                          // Resource 1 attributes
      "0a0c736572766963652e6e616d65"  // KeyValue 1 key: "service.name"
      "1208"                          // KeyValue 2 value
      "0a066163746f7264";             // AnyValue 1 string_value: "actord"
  EXPECT_TRUE(body.starts_with(resource)) << body;
  const std::string span =
      "12ca01"                                // ResourceSpans 2 scope_spans
      "0a0d"                                  // ScopeSpans 1 scope
      "0a066163746f7264"                      // Scope 1 name: "actord"
      "1203312e32"                            // Scope 2 version: "1.2"
      "12b801"                                // ScopeSpans 2 spans
      "0a10101112131415161718191a1b1c1d1e1f"  // Span 1 trace_id
      "12084041424344454647"                  // 2 span_id
      "1a03613d62"                            // 3 trace_state
      "22085051525354555657"                  // 4 parent_span_id
      "2a06742073746570"                      // 5 name: "t step"
      "3005"                                  // 6 kind: CONSUMER
      "390807060504030201"                    // 7 start, fixed64
      "410907060504030201"                    // 8 end, fixed64
      "4a1a"                                  // 9 attributes
      "0a136163746f72642e70726f636573732e74797065"  // "actord.process.type"
      "1203"
      "0a0174";  // "t"
  EXPECT_NE(body.find(span), std::string::npos) << body;
  // 9 attributes: "actord.step.number" = 2, AnyValue 3 int_value
  EXPECT_NE(
      body.find(absl::BytesToHexString("actord.step.number") + "12021802"),
      std::string::npos);
  // 16 flags, fixed32, at the end
  EXPECT_TRUE(body.ends_with("850101000000")) << body;
}

TEST(OtlpBody, NamesTheDaemonAndTheProcess) {
  otlp::ExportRequest request;
  const EndedSpan step = StepSpan();
  ASSERT_TRUE(request.ParseFromString(WriteOtlp({&step, 1}, kResource)));
  std::string resource;
  for (const auto& one : request.resource_spans(0).resource().attributes()) {
    resource += one.key() + "=" + one.value().string_value() + " ";
  }
  EXPECT_EQ(resource,
            "service.name=actord service.version=1.2 service.instance.id=id ");
  const otlp::Span span = Written(step);
  EXPECT_EQ(AttributeOf(span, "actord.process.type"), "t");
  EXPECT_EQ(AttributeOf(span, "actord.process.pid"), "p");
  EXPECT_EQ(AttributeOf(span, "actord.step.number"), "2");
  EXPECT_EQ(AttributeOf(span, "actord.step.events"), "3");
  EXPECT_FALSE(span.has_status());
}

TEST(OtlpBody, TellsInitAndStepsWithoutEventsFromOthers) {
  EndedSpan init = StepSpan();
  init.facts = runtime::StepFacts{.process_type = "t", .pid = "p"};
  EXPECT_EQ(Written(init).name(), "t init");
  EXPECT_EQ(Written(init).kind(), otlp::Span::KIND_INTERNAL);
  EXPECT_EQ(AttributeOf(Written(init), "actord.step.number"), "none");
}

TEST(OtlpBody, FailureAndLinksAndRoot) {
  EndedSpan step = StepSpan();
  step.span.parent_id = {};
  step.span.links.push_back({step.span.trace.trace_id, {9}});
  step.span.links_dropped = 4;
  auto& facts = std::get<runtime::StepFacts>(step.facts);
  facts.has_failed = true;
  facts.failure = "no";
  const otlp::Span span = Written(step);
  EXPECT_EQ(span.parent_span_id(), "");
  ASSERT_EQ(span.links_size(), 1);
  EXPECT_EQ(span.links(0).span_id(), std::string("\x09\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(span.dropped_links_count(), 4u);
  EXPECT_EQ(span.status().code(), otlp::Status::CODE_ERROR);
  EXPECT_EQ(span.status().message(), "no");
}

TEST(OtlpBody, CallHasTheAttributesOfAnRpc) {
  const otlp::Span span = Written(CallSpanOf(absl::StatusCode::kNotFound));
  EXPECT_EQ(span.name(), "actord.v1.ActorService/Send");
  EXPECT_EQ(span.kind(), otlp::Span::KIND_SERVER);
  EXPECT_EQ(AttributeOf(span, "rpc.system"), "grpc");
  EXPECT_EQ(AttributeOf(span, "rpc.service"), "actord.v1.ActorService");
  EXPECT_EQ(AttributeOf(span, "rpc.method"), "Send");
  EXPECT_EQ(AttributeOf(span, "rpc.grpc.status_code"), "5");
  EXPECT_FALSE(span.has_status()) << "the client's mistake";
  const otlp::Span failed = Written(CallSpanOf(absl::StatusCode::kInternal));
  EXPECT_EQ(failed.status().code(), otlp::Status::CODE_ERROR);
  EXPECT_EQ(failed.status().message(), "why");
  const otlp::Span json =
      Written(CallSpanOf(absl::StatusCode::kCancelled, /*is_grpc=*/false));
  EXPECT_EQ(AttributeOf(json, "rpc.system"), "connect_rpc");
  EXPECT_EQ(AttributeOf(json, "rpc.connect_rpc.error_code"), "canceled");
}

TEST(OtlpAnswer, SaysWhatWasRefused) {
  // partial_success (1): rejected_spans (1) = 3, error_message (2) = "no"
  const OtlpAnswer answer = ReadOtlpAnswer("\x0a\x06\x08\x03\x12\x02no");
  EXPECT_EQ(answer.rejected_spans, 3u);
  EXPECT_EQ(answer.error, "no");
  EXPECT_EQ(ReadOtlpAnswer("").rejected_spans, 0u);
  EXPECT_EQ(ReadOtlpAnswer("garbage").rejected_spans, 0u);
  // -1
  EXPECT_EQ(ReadOtlpAnswer("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                           "\x01")
                .rejected_spans,
            0u);
}

}  // namespace
}  // namespace actord::daemon
