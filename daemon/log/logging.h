// The daemon's log on standard error: one line for each entry, for people or as
// JSON. Logging never waits for standard error (log_writer.h).
//
// Thread-safety: every function may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "daemon/log/line_spacing.h"
#include "daemon/log/log_fields.h"
#include "daemon/log/log_writer.h"
#include "daemon/log/recent_lines.h"
#include "daemon/settings/config.h"
#include "runtime/settings/options.h"
#include "runtime/system/clock.h"

namespace spdlog {
class logger;
}

namespace actord::daemon {

class LineSink;

class Logger {
 public:
  // A longer message is cut, and its line ends with the number of bytes that
  // are missing. So a line stays far below what may wait for standard error,
  // even if all of it is escaped.
  static constexpr size_t kMaxMessageBytes = size_t{16} << 10;

  // Writes to standard error.
  Logger(LogFormat format, runtime::LogLevel level);
  // Waits briefly for earlier entries to be written.
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  // The entry is always one line. Line ends in `message` are escaped. A line in
  // JSON also has the `fields`, which `message` should tell, too.
  void Log(runtime::LogLevel level, std::string_view message,
           const LogFields& fields = {});
  void Debug(std::string_view message) {
    Log(runtime::LogLevel::kDebug, message);
  }
  void Info(std::string_view message, const LogFields& fields = {}) {
    Log(runtime::LogLevel::kInfo, message, fields);
  }
  void Warning(std::string_view message, const LogFields& fields = {}) {
    Log(runtime::LogLevel::kWarning, message, fields);
  }
  void Error(std::string_view message) {
    Log(runtime::LogLevel::kError, message);
  }

  void SetLevel(runtime::LogLevel level);
  [[nodiscard]] runtime::LogLevel level() const;

  // Waits until earlier entries are written, at most `patience`.
  void Flush(absl::Duration patience) { writer_.Flush(patience); }
  // Number of lines that were lost because standard error was blocked or full.
  [[nodiscard]] uint64_t dropped_lines() const { return writer_.dropped(); }

  // The newest logged lines, also those that standard error did not take.
  [[nodiscard]] const RecentLines& recent() const { return recent_; }

  // The writer of the lines, for the report of a crash.
  [[nodiscard]] const LogWriter& writer() const { return writer_; }

 private:
  LogWriter writer_;
  RecentLines recent_;
  const std::shared_ptr<LineSink> sink_;
  // For its level, and for spdlog's own errors; its sink is `sink_`.
  const std::unique_ptr<spdlog::logger> logger_;
};

// A line in other words.
struct ExplainedLine {
  // Lines of one kind are spaced together.
  std::string kind;
  std::string text;
};

// Sends the messages of gRPC and protobuf to `logger`, as long as the object
// lives. At most one object at a time. Clients cause most errors of gRPC, so
// for each kind one line in ten seconds is written, with the number of the
// others.
class LibraryLogCapture {
 public:
  // Explains a line of gRPC in other words; nullopt: the line stays as it is.
  // Called on the thread that logs.
  using Explain = std::optional<ExplainedLine> (*)(std::string_view line);

  LibraryLogCapture(Logger& logger, const runtime::Clock& clock,
                    Explain explain);
  ~LibraryLogCapture();
  LibraryLogCapture(const LibraryLogCapture&) = delete;
  LibraryLogCapture& operator=(const LibraryLogCapture&) = delete;

  void LogGrpc(std::string_view place, std::string_view message, bool is_error);
  Logger& logger() { return logger_; }

 private:
  Logger& logger_;
  const runtime::Clock& clock_;
  const Explain explain_;
  LineSpacing spacing_;
};

}  // namespace actord::daemon
