// Texts that name something: PIDs, yields, tasks, pages, places in a watch,
// dead letters, access tokens, traces. Each text is refused, or it is the one
// text of what it names. Messages show no part of an access token.
#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_dead_letters.h"
#include "daemon/wire/proto_watch.h"
#include "identity/token_text.h"
#include "runtime/process/pid.h"
#include "runtime/tracing/trace_context.h"
#include "tests/fuzz/input.h"

namespace actord::fuzz {
namespace {

constexpr uint32_t kIncarnation = 5;

void NamesOfTheRuntime(const std::string& text) {
  if (const auto pid = runtime::ParsePid(text); pid.ok()) {
    Require(runtime::FormatPid(*pid) == text, "one text for a PID");
    actord_pid abi{};
    Require(runtime::ReadPidText({text.data(), text.size()}, &abi) == ACTORD_OK,
            "the ABI reads the same PIDs");
    char out[runtime::kPidTextMaxBytes];
    Require(std::string(out, runtime::CopyPidText(abi, out)) == text,
            "the ABI writes the same PIDs");
  }
  if (const auto token = runtime::ParseTaskToken(text); token.ok()) {
    Require(runtime::FormatTaskToken(*token) == text, "one text for a task");
  }
}

void NamesOfTheWire(const std::string& text) {
  if (const auto place = daemon::ReadPageToken(text, 7); place.ok()) {
    Require(text.empty() || daemon::MakePageToken(*place, 7) == text,
            "one text for a page");
  }
  const auto letter = daemon::ReadDeadLetterId("id", text, kIncarnation);
  if (letter.ok()) {
    Require(daemon::FormatDeadLetterId(kIncarnation, *letter) == text,
            "one text for a dead letter");
  }
  v1::WatchProcessesRequest request;
  request.set_resume_token(text);
  const auto watch = daemon::ReadWatch(request, kIncarnation);
  if (watch.ok() && watch->resumes) {
    Require(daemon::MakeResumeToken(kIncarnation, watch->scope,
                                    *watch->resumes) == text,
            "one text for a place in a watch");
  }
}

void AccessTokens(const std::string& text) {
  const auto id = identity::ParseToken(text);
  if (id.ok()) {
    Require(identity::IsTokenId(*id), "the ID of a token is an ID");
    Require(text.size() == identity::kTokenLength, "tokens have one length");
    Require(identity::RedactTokens(absl::StrCat("<", text, ">")) ==
                "<atk_[redacted]>",
            "a message shows no token");
  } else if (text.size() > identity::kTokenLength / 2 &&
             text.starts_with(identity::kTokenPrefix)) {
    Require(!std::string(id.status().message()).empty() &&
                id.status().message().find(text) == std::string::npos,
            "an error does not repeat what may be a token");
  }
  const std::string redacted = identity::RedactTokens(text);
  Require(identity::RedactTokens(redacted) == redacted,
          "nothing is left to redact");
  if (const auto hash = identity::ParseHash(text)) {
    Require(identity::FormatHash(*hash) == text, "one text for a hash");
  }
}

// The text is a traceparent with a tracestate behind it.
void Traces(const std::string& text) {
  const size_t end = std::min(text.size(), runtime::kTraceparentBytes);
  const auto trace =
      runtime::ReadTraceContext(text.substr(0, end), text.substr(end));
  if (!trace) return;
  const std::string written = runtime::TraceparentOf(*trace);
  Require(written.size() == runtime::kTraceparentBytes,
          "a traceparent has one length");
  Require(runtime::ReadTraceContext(written, trace->state) == trace,
          "a trace reads back");
}

// Text of these parts reads back as these parts.
void FromParts(Input input) {
  const runtime::Pid pid{
      static_cast<uint32_t>(input.Word()), static_cast<uint32_t>(input.Word()),
      static_cast<uint32_t>(input.Word()), static_cast<uint32_t>(input.Word())};
  const auto read = runtime::ParsePid(runtime::FormatPid(pid));
  Require(pid.empty() ? !read.ok() : read.ok() && *read == pid,
          "a PID reads back");
  const runtime::TaskToken token{{pid, input.Word()},
                                 static_cast<uint32_t>(input.Word())};
  const auto again = runtime::ParseTaskToken(runtime::FormatTaskToken(token));
  if (again.ok()) Require(*again == token, "a task reads back");
  const uint64_t position = input.Word();
  const uint64_t scope = input.Word();
  const auto page =
      daemon::ReadPageToken(daemon::MakePageToken(position, scope), scope);
  Require(page.ok() && *page == position, "a page reads back");
}

}  // namespace
}  // namespace actord::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  actord::fuzz::NamesOfTheRuntime(text);
  actord::fuzz::NamesOfTheWire(text);
  actord::fuzz::AccessTokens(text);
  actord::fuzz::Traces(text);
  actord::fuzz::FromParts({data, size});
  return 0;
}
