// What the daemon writes to standard error: one line an entry, for people or as
// JSON. Nobody who logs waits for standard error (log_writer.h).
//
// Thread-safety: every function may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/time/time.h"
#include "daemon/log/log_writer.h"
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
  // Waits a little for what was logged to be written.
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

  // Waits until what was logged before is written, `patience` at most.
  void Flush(absl::Duration patience) { writer_.Flush(patience); }
  // Lines that were lost because standard error did not take them.
  [[nodiscard]] uint64_t dropped_lines() const { return writer_.dropped(); }

 private:
  friend class CrashFlush;

  LogWriter writer_;
  const std::unique_ptr<spdlog::logger> logger_;
};

// As long as this lives, a signal that ends the program for a fault of its own
// (SIGSEGV, SIGABRT and their like) does so a little later: when what was
// logged before it is written. Signals that have a handler already keep it. At
// most one at a time.
class CrashFlush {
 public:
  explicit CrashFlush(const Logger& logger);
  ~CrashFlush();
  CrashFlush(const CrashFlush&) = delete;
  CrashFlush& operator=(const CrashFlush&) = delete;
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
