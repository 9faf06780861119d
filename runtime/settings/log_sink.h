// Where the runtime writes its log lines, and the process that a line is about.
//
// Thread-safety: a sink may be called from any thread, if its function may.
#pragma once

#include <concepts>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/process/pid.h"

namespace actord::runtime {

enum class LogLevel { kDebug = 1, kInfo = 2, kWarning = 3, kError = 4 };

// The process that a line is about. The text of the line names it, too: the
// fields are for programs that read the log. Unknown fields are empty.
// Borrows its texts, for the call.
struct LogSubject {
  Pid pid = {};
  std::string_view type = {};
  std::string_view name = {};
};

// A function that gets each line, with or without its subject.
class LogSink {
 public:
  LogSink() = default;
  template <typename Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, LogSink> &&
           std::invocable<Function&, LogLevel, std::string_view>)
      LogSink(Function write)  // NOLINT(google-explicit-constructor)
      : write_([write = std::move(write)](LogLevel level, std::string_view line,
                                          const LogSubject& /*about*/) {
          write(level, line);
        }) {}
  template <typename Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, LogSink> &&
           std::invocable<Function&, LogLevel, std::string_view,
                          const LogSubject&>)
      LogSink(Function write)  // NOLINT(google-explicit-constructor)
      : write_(std::move(write)) {}

  // Throws std::bad_function_call if there is no function.
  void operator()(LogLevel level, std::string_view line,
                  const LogSubject& about = {}) const {
    write_(level, line, about);
  }
  explicit operator bool() const { return write_ != nullptr; }

 private:
  std::function<void(LogLevel, std::string_view, const LogSubject&)> write_;
};

}  // namespace actord::runtime
