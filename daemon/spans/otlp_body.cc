#include "daemon/spans/otlp_body.h"

#include <actord/text.h>

#include <array>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "otlp/trace.pb.h"

namespace actord::daemon {
namespace {

// The longest text of an answer that is shown. Unit: bytes.
constexpr size_t kMaxAnswerText = 256;

template <size_t kBytes>
std::string BytesOf(const std::array<uint8_t, kBytes>& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

template <typename Owner>
void AddText(Owner& owner, const char* key, std::string value) {
  otlp::KeyValue& added = *owner.add_attributes();
  added.set_key(key);
  added.mutable_value()->set_string_value(std::move(value));
}

void AddNumber(otlp::Span& span, const char* key, uint64_t value) {
  otlp::KeyValue& added = *span.add_attributes();
  added.set_key(key);
  added.mutable_value()->set_int_value(static_cast<int64_t>(value));
}

void SetError(otlp::Span& span, const std::string& text) {
  span.mutable_status()->set_code(otlp::Status::CODE_ERROR);
  span.mutable_status()->set_message(text);
}

void WriteFacts(const runtime::StepFacts& facts, otlp::Span& span) {
  const bool is_init = facts.step == 0;
  span.set_name(absl::StrCat(facts.process_type, is_init ? " init" : " step"));
  span.set_kind(facts.events != 0 ? otlp::Span::KIND_CONSUMER
                                  : otlp::Span::KIND_INTERNAL);
  AddText(span, "actord.process.type", facts.process_type);
  AddText(span, "actord.process.pid", facts.pid);
  if (!is_init) {
    AddNumber(span, "actord.step.number", facts.step);
    AddNumber(span, "actord.step.events", facts.events);
  }
  if (facts.has_failed) SetError(span, facts.failure);
}

// The name of a code in Connect, the protocol of the JSON API.
std::string ConnectCode(absl::StatusCode code) {
  if (code == absl::StatusCode::kCancelled) return "canceled";
  return absl::AsciiStrToLower(absl::StatusCodeToString(code));
}

void WriteFacts(const CallFacts& facts, otlp::Span& span) {
  const std::string& service = facts.method->service()->full_name();
  span.set_name(absl::StrCat(service, "/", facts.method->name()));
  span.set_kind(otlp::Span::KIND_SERVER);
  AddText(span, "rpc.system", facts.is_grpc ? "grpc" : "connect_rpc");
  AddText(span, "rpc.service", service);
  AddText(span, "rpc.method", facts.method->name());
  if (facts.is_grpc) {
    AddNumber(span, "rpc.grpc.status_code", static_cast<uint64_t>(facts.code));
  } else if (facts.code != absl::StatusCode::kOk) {
    AddText(span, "rpc.connect_rpc.error_code", ConnectCode(facts.code));
  }
  if (IsServersError(facts.code)) SetError(span, facts.error);
}

void WriteSpan(const EndedSpan& ended, otlp::Span& span) {
  const runtime::Span& from = ended.span;
  span.set_trace_id(BytesOf(from.trace.trace_id));
  span.set_span_id(BytesOf(from.trace.span_id));
  span.set_trace_state(from.trace.state);
  if (from.parent_id != decltype(from.parent_id){}) {
    span.set_parent_span_id(BytesOf(from.parent_id));
  }
  span.set_flags(from.trace.flags);
  span.set_start_time_unix_nano(from.begin_unix_ns);
  span.set_end_time_unix_nano(from.end_unix_ns);
  for (const runtime::SpanLink& link : from.links) {
    otlp::Span::Link& added = *span.add_links();
    added.set_trace_id(BytesOf(link.trace_id));
    added.set_span_id(BytesOf(link.span_id));
  }
  span.set_dropped_links_count(from.links_dropped);
  std::visit([&span](const auto& facts) { WriteFacts(facts, span); },
             ended.facts);
}

}  // namespace

std::string WriteOtlp(std::span<const EndedSpan> spans,
                      const SpanResource& resource) {
  otlp::ExportRequest request;
  otlp::ResourceSpans& all = *request.add_resource_spans();
  AddText(*all.mutable_resource(), "service.name", "actord");
  AddText(*all.mutable_resource(), "service.version", resource.version);
  AddText(*all.mutable_resource(), "service.instance.id", resource.instance_id);
  otlp::ScopeSpans& scope = *all.add_scope_spans();
  scope.mutable_scope()->set_name("actord");
  scope.mutable_scope()->set_version(resource.version);
  for (const EndedSpan& span : spans) WriteSpan(span, *scope.add_spans());
  return request.SerializeAsString();
}

OtlpAnswer ReadOtlpAnswer(std::string_view body) {
  otlp::ExportAnswer message;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return {};
  }
  const otlp::PartialSuccess& partial = message.partial_success();
  OtlpAnswer answer;
  if (partial.rejected_spans() > 0) {
    answer.rejected_spans = static_cast<uint64_t>(partial.rejected_spans());
  }
  answer.error = ToUtf8(partial.error_message(), kMaxAnswerText);
  return answer;
}

}  // namespace actord::daemon
