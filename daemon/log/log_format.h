// Formats log lines, in two forms.
//
// Thread-safety: a formatter has no state, so any thread may use it.
#pragma once

#include <spdlog/details/log_msg.h>

#include <memory>

#include "daemon/log/log_fields.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

class LineFormatter {
 public:
  virtual ~LineFormatter() = default;
  // Appends one line, with its line end. Sets the range of the level in
  // `message`, if the form has colours.
  virtual void Format(const spdlog::details::log_msg& message,
                      const LogFields& fields,
                      spdlog::memory_buf_t& out) const = 0;
};

// Console: "2025-01-31T12:00:00.123Z info    message".
// JSON: {"time":"2025-01-31T12:00:00.123Z","level":"info","message":"...",
// "pid":"..."}, with the fields that the line has.
std::unique_ptr<const LineFormatter> MakeFormatter(LogFormat format);

}  // namespace actord::daemon
