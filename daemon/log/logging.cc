#include "daemon/log/logging.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/log/log_format.h"

namespace actord::daemon {
namespace {

using runtime::LogLevel;

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

LogLevel FromSpdlog(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::info:
      return LogLevel::kInfo;
    case spdlog::level::warn:
      return LogLevel::kWarning;
    default:
      return LogLevel::kError;
  }
}

std::unique_ptr<spdlog::logger> MakeLogger(LogFormat format, LogLevel level) {
  const bool colour =
      format == LogFormat::kConsole && std::getenv("NO_COLOR") == nullptr;
  auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(
      colour ? spdlog::color_mode::automatic : spdlog::color_mode::never);
  auto logger = std::make_unique<spdlog::logger>("actord", std::move(sink));
  logger->set_formatter(MakeFormatter(format));
  logger->set_level(ToSpdlog(level));
  return logger;
}

// Both libraries take a bare function, so the receiver must be a global. Null
// while there is no LibraryLogCapture. Written by its constructor (release) and
// destructor, read by any thread (acquire).
std::atomic<Logger*> library_log{nullptr};

void LogGrpc(gpr_log_func_args* arguments) {
  Logger* const logger = library_log.load(std::memory_order_acquire);
  if (logger == nullptr) return;
  // What gRPC calls an error is often a client's doing (a broken connection),
  // and what is an error for the daemon is reported by the daemon.
  const LogLevel level = arguments->severity == GPR_LOG_SEVERITY_ERROR
                             ? LogLevel::kWarning
                             : LogLevel::kDebug;
  logger->Log(level, absl::StrCat("grpc: ", arguments->message));
}

void LogProtobuf(google::protobuf::LogLevel level, const char* /*file*/,
                 int /*line*/, const std::string& message) {
  Logger* const logger = library_log.load(std::memory_order_acquire);
  if (logger == nullptr) return;
  // A text that is no UTF-8 is an error to protobuf; whoever sent it is told.
  logger->Log(level == google::protobuf::LOGLEVEL_FATAL ? LogLevel::kError
                                                        : LogLevel::kDebug,
              absl::StrCat("protobuf: ", message));
}

}  // namespace

Logger::Logger(LogFormat format, LogLevel level)
    : logger_(MakeLogger(format, level)) {}

Logger::~Logger() = default;

void Logger::Log(LogLevel level, std::string_view message) {
  logger_->log(ToSpdlog(level),
               spdlog::string_view_t(message.data(), message.size()));
}

void Logger::SetLevel(LogLevel level) { logger_->set_level(ToSpdlog(level)); }

LogLevel Logger::level() const { return FromSpdlog(logger_->level()); }

LibraryLogCapture::LibraryLogCapture(Logger& logger) {
  library_log.store(&logger, std::memory_order_release);
  gpr_set_log_function(LogGrpc);
  google::protobuf::SetLogHandler(LogProtobuf);
}

LibraryLogCapture::~LibraryLogCapture() {
  gpr_set_log_function(nullptr);
  google::protobuf::SetLogHandler(nullptr);
  library_log.store(nullptr, std::memory_order_release);
}

}  // namespace actord::daemon
