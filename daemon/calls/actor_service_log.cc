// The newest lines of the log, and its level.
#include <actord/text.h>

#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "daemon/access/audit.h"
#include "daemon/calls/actor_service.h"
#include "daemon/log/recent_lines.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_time.h"

namespace actord::daemon {
namespace {

using runtime::LogLevel;

// The numbers of the contract are those of the runtime.
static_assert(v1::LOG_LEVEL_DEBUG == static_cast<int>(LogLevel::kDebug));
static_assert(v1::LOG_LEVEL_ERROR == static_cast<int>(LogLevel::kError));

v1::LogLevel ToProto(LogLevel level) {
  return static_cast<v1::LogLevel>(level);
}

std::string WordOf(LogLevel level) {
  return absl::AsciiStrToLower(
      v1::LogLevel_Name(ToProto(level)).substr(sizeof "LOG_LEVEL_" - 1));
}

// `level` stays as it is for LOG_LEVEL_UNSPECIFIED.
absl::Status ReadLevel(const char* field, v1::LogLevel read, LogLevel& level) {
  if (!v1::LogLevel_IsValid(read)) {
    return Wrong(field,
                 "is not a level; use LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, "
                 "LOG_LEVEL_WARNING or LOG_LEVEL_ERROR");
  }
  if (read != v1::LOG_LEVEL_UNSPECIFIED) level = static_cast<LogLevel>(read);
  return absl::OkStatus();
}

}  // namespace

absl::Status ActorService::ListLogLines(const Caller& /*caller*/,
                                        v1::ListLogLinesRequest& request,
                                        v1::ListLogLinesResponse& response) {
  const uint32_t incarnation = runtime_.options().incarnation;
  LogLevel min_level = LogLevel::kDebug;
  absl::Status status = ReadLevel("min_level", request.min_level(), min_level);
  uint64_t after = 0;
  if (status.ok()) {
    status = ReadEntryId("after_id", request.after_id(), incarnation, after);
  }
  if (!status.ok()) return status;
  response.set_level(ToProto(context_.logger.level()));
  const uint64_t scope = absl::HashOf(absl::string_view("log"), incarnation,
                                      request.min_level(), after);
  Paging paging;
  status = ReadPaging(request.page_size(), request.page_token(), scope, paging);
  if (!status.ok()) return status;
  if (paging.position != 0) after = paging.position;
  const std::vector<RecentLine> lines =
      context_.logger.recent().ListAfter(after, min_level, paging.page_size);
  for (const RecentLine& line : lines) {
    v1::LogLine* const proto = response.add_lines();
    proto->set_id(FormatEntryId(incarnation, line.number));
    *proto->mutable_time() = ToProtoTimestamp(line.unix_ns);
    proto->set_level(ToProto(line.level));
    proto->set_text(ToUtf8(line.text));
  }
  if (lines.size() == paging.page_size) {
    response.set_next_page_token(MakePageToken(lines.back().number, scope));
  }
  return absl::OkStatus();
}

// Writes its audit line before the new level can hide it.
void ActorService::SetLogLevel(const Caller& caller,
                               v1::SetLogLevelRequest& request,
                               UnaryAnswer<v1::SetLogLevelResponse> answer) {
  v1::SetLogLevelResponse response;
  const LogLevel before = context_.logger.level();
  LogLevel level = before;
  const absl::Status status = request.level() == v1::LOG_LEVEL_UNSPECIFIED
                                  ? Wrong("level", "is missing")
                                  : ReadLevel("level", request.level(), level);
  if (status.ok()) {
    response.set_previous_level(ToProto(before));
    response.set_level(ToProto(level));
    // The lines about the call are logged at both levels.
    context_.logger.SetLevel(std::min(before, level));
  }
  Audit(caller, request).Done(status);
  if (!status.ok() || level == before) return answer.Finish(status, response);
  context_.logger.Info(
      absl::StrCat("log level: ", WordOf(level), ", was ", WordOf(before),
                   "; set by ", caller.address(),
                   caller.access().identity() == nullptr
                       ? ""
                       : absl::StrCat(", ", caller.access().Who())));
  context_.logger.SetLevel(level);
  answer.Finish(status, response);
}

}  // namespace actord::daemon
