#include "daemon/log/logging.h"

#include <actord/text.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/details/os.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/log/log_format.h"
#include "identity/token_text.h"

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

// The colour of the level on a terminal.
std::string_view ColourOf(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug:
      return "\033[36m";  // cyan
    case spdlog::level::info:
      return "\033[32m";  // green
    case spdlog::level::warn:
      return "\033[33m\033[1m";  // yellow, bold
    default:
      return "\033[31m\033[1m";  // red, bold
  }
}
constexpr std::string_view kNoColour = "\033[m";

bool WantsColour(LogFormat format) {
  return format == LogFormat::kConsole && std::getenv("NO_COLOR") == nullptr &&
         spdlog::details::os::in_terminal(stderr) &&
         spdlog::details::os::is_color_terminal();
}

std::string Line(const spdlog::details::log_msg& message,
                 const LogFields& fields, const LineFormatter& formatter,
                 bool in_colour) {
  spdlog::memory_buf_t text;
  formatter.Format(message, fields, text);
  std::string line(text.data(), text.size());
  if (in_colour && message.color_range_end > message.color_range_start) {
    line.insert(message.color_range_end, kNoColour);
    line.insert(message.color_range_start, ColourOf(message.level));
  }
  return line;
}

}  // namespace

// spdlog's logger hands on its lines without fields.
class LineSink final : public spdlog::sinks::sink {
 public:
  LineSink(LogWriter& writer, LogFormat format, bool in_colour)
      : writer_(writer),
        formatter_(MakeFormatter(format)),
        in_colour_(in_colour) {}
  void Write(const spdlog::details::log_msg& message, const LogFields& fields) {
    writer_.Write(Line(message, fields, *formatter_, in_colour_));
  }
  void log(const spdlog::details::log_msg& message) override {
    Write(message, {});
  }
  void flush() override {}
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> /*other*/) override {}

 private:
  LogWriter& writer_;
  const std::unique_ptr<const LineFormatter> formatter_;
  const bool in_colour_;
};

namespace {

LogWriter::Notice DropNotice(LogFormat format, bool in_colour) {
  return [format, in_colour](uint64_t dropped) {
    const std::string text =
        absl::StrCat(dropped, dropped == 1 ? " log line" : " log lines",
                     " dropped: standard error was blocked or full");
    return Line({"actord", spdlog::level::warn, text}, {},
                *MakeFormatter(format), in_colour);
  };
}

std::unique_ptr<spdlog::logger> MakeLogger(LogLevel level,
                                           std::shared_ptr<LineSink> sink) {
  auto logger = std::make_unique<spdlog::logger>("actord", std::move(sink));
  logger->set_level(ToSpdlog(level));
  return logger;
}

// Global, because both libraries accept a bare function only. Null while there
// is no LibraryLogCapture. Written by its constructor (release) and destructor,
// read by any thread (acquire).
std::atomic<LibraryLogCapture*> library_log{nullptr};

void OnGrpcLog(gpr_log_func_args* arguments) {
  LibraryLogCapture* const capture =
      library_log.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  capture->LogGrpc(absl::StrCat(arguments->file, ":", arguments->line),
                   arguments->message,
                   arguments->severity == GPR_LOG_SEVERITY_ERROR);
}

void LogProtobuf(google::protobuf::LogLevel level, const char* /*file*/,
                 int /*line*/, const std::string& message) {
  LibraryLogCapture* const capture =
      library_log.load(std::memory_order_acquire);
  if (capture == nullptr) return;
  // Protobuf logs an error for text that is not UTF-8. The daemon refuses the
  // call that sent the text, so a debug line is enough.
  capture->logger().Log(level == google::protobuf::LOGLEVEL_FATAL
                            ? LogLevel::kError
                            : LogLevel::kDebug,
                        absl::StrCat("protobuf: ", message));
}

}  // namespace

Logger::Logger(LogFormat format, LogLevel level)
    : writer_(STDERR_FILENO, DropNotice(format, WantsColour(format))),
      sink_(std::make_shared<LineSink>(writer_, format, WantsColour(format))),
      logger_(MakeLogger(level, sink_)) {}

Logger::~Logger() = default;

void Logger::Log(LogLevel level, std::string_view message,
                 const LogFields& fields) {
  std::string shortened;
  if (message.size() > kMaxMessageBytes) {
    const std::string_view beginning = CutUtf8(message, kMaxMessageBytes);
    shortened = absl::StrCat(std::string(beginning), "... (",
                             message.size() - beginning.size(), " more bytes)");
    message = shortened;
  }
  if (!logger_->should_log(ToSpdlog(level))) return;
  recent_.Add(runtime::Clock::System().UnixNs(), level, message);
  sink_->Write({"actord", ToSpdlog(level),
                spdlog::string_view_t(message.data(), message.size())},
               fields);
}

void Logger::SetLevel(LogLevel level) { logger_->set_level(ToSpdlog(level)); }

LogLevel Logger::level() const { return FromSpdlog(logger_->level()); }

LibraryLogCapture::LibraryLogCapture(Logger& logger,
                                     const runtime::Clock& clock,
                                     Explain explain)
    : logger_(logger), clock_(clock), explain_(explain) {
  library_log.store(this, std::memory_order_release);
  gpr_set_log_function(OnGrpcLog);
  google::protobuf::SetLogHandler(LogProtobuf);
}

void LibraryLogCapture::LogGrpc(std::string_view place,
                                std::string_view message, bool is_error) {
  // With GRPC_TRACE, gRPC writes the headers of calls.
  std::string text =
      absl::StrCat("grpc: ", identity::RedactTokens(std::string(message)));
  if (!is_error) return logger_.Debug(text);
  std::string kind(place);
  if (explain_ != nullptr) {
    if (auto explained = explain_(message); explained.has_value()) {
      text = std::move(explained->text);
      kind = std::move(explained->kind);
    }
  }
  const auto held_back = spacing_.Admit(kind, clock_.MonotonicNs());
  if (!held_back.has_value()) return;
  if (*held_back > 0) {
    absl::StrAppend(&text, " (and ", *held_back,
                    " more of this kind since the last such line)");
  }
  // Clients often cause the errors of gRPC (broken connections), and the daemon
  // reports its own errors itself.
  logger_.Warning(text);
}

LibraryLogCapture::~LibraryLogCapture() {
  gpr_set_log_function(nullptr);
  google::protobuf::SetLogHandler(nullptr);
  library_log.store(nullptr, std::memory_order_release);
}

}  // namespace actord::daemon
