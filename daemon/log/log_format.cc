#include "daemon/log/log_format.h"

#include <actord/text.h>

#include <chrono>
#include <string>
#include <string_view>

#include "daemon/log/text_escapes.h"
#include "daemon/log/time_text.h"

namespace actord::daemon {
namespace {

void AppendTime(spdlog::log_clock::time_point time, spdlog::memory_buf_t& out) {
  const TimeText text =
      ToTimeText(std::chrono::duration_cast<std::chrono::milliseconds>(
          time.time_since_epoch()));
  AppendText({text.data(), text.size()}, out);
}

std::string_view LevelName(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug:
      return "debug";
    case spdlog::level::info:
      return "info";
    case spdlog::level::warn:
      return "warning";
    default:
      return "error";
  }
}

std::string_view PayloadOf(const spdlog::details::log_msg& message) {
  return {message.payload.data(), message.payload.size()};
}

class ConsoleFormatter final : public LineFormatter {
 public:
  void Format(const spdlog::details::log_msg& message,
              const LogFields& /*fields*/,
              spdlog::memory_buf_t& out) const override {
    constexpr size_t kLevelWidth = 8;
    AppendTime(message.time, out);
    out.push_back(' ');
    const std::string_view level = LevelName(message.level);
    message.color_range_start = out.size();
    AppendText(level, out);
    message.color_range_end = out.size();
    AppendText(std::string(kLevelWidth - level.size(), ' '), out);
    AppendVisible(PayloadOf(message), out);
    out.push_back('\n');
  }
};

void AppendField(std::string_view key, std::string_view value,
                 spdlog::memory_buf_t& out) {
  if (value.empty()) return;
  AppendText(",\"", out);
  AppendText(key, out);
  AppendText("\":", out);
  AppendJsonString(CutUtf8(value, LogFields::kMaxFieldBytes), out);
}

void AppendNumber(std::string_view key, uint64_t value,
                  spdlog::memory_buf_t& out) {
  if (value == 0) return;
  AppendText(",\"", out);
  AppendText(key, out);
  AppendText("\":", out);
  AppendText(std::to_string(value), out);
}

class JsonFormatter final : public LineFormatter {
 public:
  void Format(const spdlog::details::log_msg& message, const LogFields& fields,
              spdlog::memory_buf_t& out) const override {
    AppendText(R"({"time":")", out);
    AppendTime(message.time, out);
    AppendText(R"(","level":")", out);
    AppendText(LevelName(message.level), out);
    AppendText(R"(","message":)", out);
    AppendJsonString(PayloadOf(message), out);
    AppendField("pid", fields.pid, out);
    AppendField("type", fields.type, out);
    AppendField("name", fields.name, out);
    AppendField("client", fields.client, out);
    AppendField("method", fields.method, out);
    AppendField("peer", fields.peer, out);
    AppendField("code", fields.code, out);
    AppendField("trace_id", fields.trace_id, out);
    AppendNumber("repeated", fields.repeated, out);
    AppendText("}\n", out);
  }
};

}  // namespace

std::unique_ptr<const LineFormatter> MakeFormatter(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
  return std::make_unique<ConsoleFormatter>();
}

}  // namespace actord::daemon
