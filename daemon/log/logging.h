// What the daemon writes to standard error: one line an entry, for people or as
// JSON.
//
// Thread-safety: every function may be called from any thread.
#pragma once

#include <memory>
#include <string_view>

#include "daemon/settings/config.h"
#include "runtime/settings/options.h"

namespace spdlog {
class logger;
}

namespace actord::daemon {

class Logger {
 public:
  // Writes to standard error.
  Logger(LogFormat format, runtime::LogLevel level);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  // Whatever is in `message`, the entry is one line.
  void Log(runtime::LogLevel level, std::string_view message);
  void Debug(std::string_view message) {
    Log(runtime::LogLevel::kDebug, message);
  }
  void Info(std::string_view message) {
    Log(runtime::LogLevel::kInfo, message);
  }
  void Warning(std::string_view message) {
    Log(runtime::LogLevel::kWarning, message);
  }
  void Error(std::string_view message) {
    Log(runtime::LogLevel::kError, message);
  }

  void SetLevel(runtime::LogLevel level);
  [[nodiscard]] runtime::LogLevel level() const;

 private:
  const std::unique_ptr<spdlog::logger> logger_;
};

// Sends what gRPC and protobuf have to say to `logger` from now on, until the
// object is gone. At most one at a time.
class LibraryLogCapture {
 public:
  explicit LibraryLogCapture(Logger& logger);
  ~LibraryLogCapture();
  LibraryLogCapture(const LibraryLogCapture&) = delete;
  LibraryLogCapture& operator=(const LibraryLogCapture&) = delete;
};

}  // namespace actord::daemon
