#include "daemon/spans/spans.h"

#include <actord/text.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "daemon/settings/version.h"
#include "runtime/system/random.h"

namespace actord::daemon {
namespace {

// The longest text of an error that a span keeps. Unit: bytes.
constexpr size_t kMaxErrorBytes = 256;

// A client cancels its call at its deadline, which may be this much before the
// deadline of the daemon: gRPC sends the time that is left, and rounds it up.
constexpr absl::Duration kEarlyCancel = absl::Milliseconds(50);

uint64_t RandomBits() {
  thread_local runtime::Random random(runtime::Random::SystemSeed());
  return random.Next();
}

// Random bytes, not all of them zero.
void DrawId(std::span<uint8_t> id) {
  const auto is_zero = [](uint8_t byte) { return byte == 0; };
  do {
    for (size_t at = 0; at < id.size(); at += sizeof(uint64_t)) {
      const uint64_t bits = RandomBits();
      std::memcpy(id.data() + at, &bits, sizeof(bits));
    }
  } while (std::all_of(id.begin(), id.end(), is_zero));
}

// A random UUID (RFC 9562, version 4).
std::string NewUuid() {
  const uint64_t high = (RandomBits() & ~uint64_t{0xf000}) | 0x4000;
  const uint64_t low =
      (RandomBits() & ~(uint64_t{3} << 62)) | (uint64_t{1} << 63);
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", high >> 32,
                         high >> 16 & 0xffff, high & 0xffff, low >> 48,
                         low & 0xffffffffffff);
}

}  // namespace

CallSpan::~CallSpan() {
  if (spans_ == nullptr) return;
  const auto now_ns = static_cast<int64_t>(spans_->clock_.UnixNs());
  End(absl::FromUnixNanos(now_ns) + kEarlyCancel < deadline_
          ? absl::CancelledError()
          : absl::DeadlineExceededError("the deadline of the call has passed"));
}

void CallSpan::End(const absl::Status& status) {
  Spans* const spans = std::exchange(spans_, nullptr);
  if (spans == nullptr) return;
  facts_.code = status.code();
  if (IsServersError(status.code())) {
    facts_.error = ToUtf8(std::string(status.message()), kMaxErrorBytes);
  }
  spans->Push(std::move(span_), std::move(facts_));
}

absl::StatusOr<std::unique_ptr<Spans>> Spans::Start(
    const TraceSettings& settings, Logger& logger,
    const runtime::Clock& clock) {
  const absl::StatusOr<CollectorUrl> url = ParseCollectorUrl(settings.endpoint);
  if (!url.ok()) return url.status();
  std::unique_ptr<Spans> spans(new Spans(settings, *url, logger, clock));
  absl::Status status = spans->exporter_.Start();
  if (!status.ok()) return status;
  return spans;
}

Spans::Spans(const TraceSettings& settings, const CollectorUrl& url,
             Logger& logger, const runtime::Clock& clock)
    : sample_(settings.sample),
      clock_(clock),
      queue_({.max_spans = settings.queue}),
      exporter_(settings.endpoint, url,
                {.version = kActordVersion, .instance_id = NewUuid()}, queue_,
                logger, clock, {}) {}

std::optional<runtime::TraceContext> Spans::Draw() const {
  if (sample_ == 0) return std::nullopt;
  constexpr double kRange = 18446744073709551616.0;
  if (static_cast<double>(RandomBits()) / kRange >= sample_) {
    return std::nullopt;
  }
  runtime::TraceContext trace;
  DrawId(trace.trace_id);
  trace.flags =
      runtime::TraceContext::kSampled | runtime::TraceContext::kRandom;
  return trace;
}

std::unique_ptr<CallSpan> Spans::BeginCall(
    const std::optional<runtime::TraceContext>& trace,
    const google::protobuf::MethodDescriptor& method, bool is_grpc,
    absl::Time deadline) {
  std::optional<runtime::TraceContext> own = trace;
  if (!own) own = Draw();
  if (!own || !own->is_sampled()) return nullptr;
  runtime::Span span;
  span.parent_id = own->span_id;
  span.trace = *std::move(own);
  Begin(span);
  return std::make_unique<CallSpan>(
      *this, std::move(span), CallFacts{.method = &method, .is_grpc = is_grpc},
      deadline);
}

void Spans::Begin(runtime::Span& span) {
  DrawId(span.trace.span_id);
  span.begin_unix_ns = clock_.UnixNs();
  span.begin_ns = clock_.MonotonicNs();
}

void Spans::End(runtime::Span span, runtime::StepFacts facts) {
  Push(std::move(span), std::move(facts));
}

void Spans::Push(runtime::Span span,
                 std::variant<runtime::StepFacts, CallFacts> facts) {
  // The clock of the day may jump during the span.
  span.end_unix_ns =
      span.begin_unix_ns + (clock_.MonotonicNs() - span.begin_ns);
  queue_.Push({std::move(span), std::move(facts)});
}

void Spans::WriteStats(DaemonStats& stats) const {
  stats.spans_exported = exporter_.exported();
  stats.spans_dropped = queue_.dropped();
  stats.span_export_failures = exporter_.failures();
}

}  // namespace actord::daemon
