#include "runtime/tracing/trace_context.h"

#include <algorithm>
#include <span>
#include <vector>

namespace actord::runtime {
namespace {

// The positions of the parts of a traceparent: version, trace id, span id and
// flags, each behind a dash.
constexpr size_t kTraceIdAt = 3;
constexpr size_t kSpanIdAt = 36;
constexpr size_t kFlagsAt = 53;
constexpr size_t kMaxStateMembers = 32;
constexpr size_t kMaxStateValueBytes = 256;
constexpr size_t kMaxStateKeyBytes = 256;

// -1: not a digit. The recommendation allows only lower case.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Precondition: `text` has two digits for each byte. Not asserted: the callers
// cut it to this length.
bool ReadHex(std::string_view text, std::span<uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = DigitOf(text[2 * i]);
    const int low = DigitOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

void WriteHex(std::span<const uint8_t> bytes, std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
}

bool IsZero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](uint8_t byte) { return byte == 0; });
}

bool IsStateKey(std::string_view key) {
  if (key.empty() || key.size() > kMaxStateKeyBytes) return false;
  const auto is_first = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return is_first(key[0]) && std::all_of(key.begin(), key.end(), [&](char c) {
           return is_first(c) || c == '_' || c == '-' || c == '*' || c == '/' ||
                  c == '@';
         });
}

bool IsStateValue(std::string_view value) {
  return !value.empty() && value.size() <= kMaxStateValueBytes &&
         value.back() != ' ' &&
         std::all_of(value.begin(), value.end(), [](char c) {
           return c >= ' ' && c <= '~' && c != ',' && c != '=';
         });
}

std::string_view Trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool IsTracestate(std::string_view state) {
  if (state.size() > kMaxTracestateBytes) return false;
  std::vector<std::string_view> keys;
  while (true) {
    const size_t comma = state.find(',');
    const std::string_view member = Trimmed(state.substr(0, comma));
    // An empty member is allowed.
    if (!member.empty()) {
      const size_t equals = member.find('=');
      if (equals == std::string_view::npos) return false;
      const std::string_view key = member.substr(0, equals);
      if (!IsStateKey(key) || !IsStateValue(member.substr(equals + 1)) ||
          keys.size() == kMaxStateMembers ||
          std::find(keys.begin(), keys.end(), key) != keys.end()) {
        return false;
      }
      keys.push_back(key);
    }
    if (comma == std::string_view::npos) return true;
    state.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<TraceContext> ReadTraceContext(std::string_view traceparent,
                                             std::string_view tracestate) {
  if (traceparent.size() < kTraceparentBytes) return std::nullopt;
  uint8_t version = 0;
  if (!ReadHex(traceparent.substr(0, 2), {&version, 1}) || version == 0xff) {
    return std::nullopt;
  }
  if (traceparent.size() > kTraceparentBytes &&
      (version == 0 || traceparent[kTraceparentBytes] != '-')) {
    return std::nullopt;
  }
  for (const size_t part : {kTraceIdAt, kSpanIdAt, kFlagsAt}) {
    if (traceparent[part - 1] != '-') return std::nullopt;
  }
  TraceContext trace;
  if (!ReadHex(traceparent.substr(kTraceIdAt, 32), trace.trace_id) ||
      !ReadHex(traceparent.substr(kSpanIdAt, 16), trace.span_id) ||
      !ReadHex(traceparent.substr(kFlagsAt, 2), {&trace.flags, 1}) ||
      IsZero(trace.trace_id) || IsZero(trace.span_id)) {
    return std::nullopt;
  }
  // Flags without a meaning must not be passed on.
  trace.flags &= TraceContext::kSampled | TraceContext::kRandom;
  if (IsTracestate(tracestate)) trace.state = Trimmed(tracestate);
  return trace;
}

std::string TraceparentOf(const TraceContext& trace) {
  std::string text;
  text.reserve(kTraceparentBytes);
  text = "00-";
  WriteHex(trace.trace_id, text);
  text += '-';
  WriteHex(trace.span_id, text);
  text += '-';
  WriteHex({&trace.flags, 1}, text);
  return text;
}

std::string TraceIdText(const TraceContext& trace) {
  std::string text;
  WriteHex(trace.trace_id, text);
  return text;
}

}  // namespace actord::runtime
