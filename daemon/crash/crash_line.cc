#include "daemon/crash/crash_line.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/log/text_escapes.h"
#include "daemon/log/time_text.h"

namespace actord::daemon {
namespace {

// The bytes of a line beside its message: the time, the level, the members of
// JSON.
constexpr size_t kOtherBytes = 80;

}  // namespace

CrashLine ToCrashLine(LogFormat format, std::chrono::milliseconds time,
                      std::string_view message) {
  static_assert(kCrashTextBytes * kMaxEscapeBytes + kOtherBytes <= PIPE_BUF);
  const TimeText time_text = ToTimeText(time);
  const std::string_view when(time_text.data(), time_text.size());
  message = message.substr(0, kCrashTextBytes);
  CrashLine line;
  if (format == LogFormat::kJson) {
    line << R"({"time":")" << when << R"(","level":"fatal","message":)";
    AppendJsonString(message, line);
    line << "}\n";
  } else {
    line << when << " fatal   ";
    AppendVisible(message, line);
    line << "\n";
  }
  return line;
}

bool WriteCrashLine(int descriptor, const CrashLine& line, int patience_ms) {
  std::string_view rest = line.view();
  while (!rest.empty()) {
    // A pipe that poll calls writable takes PIPE_BUF bytes without blocking.
    pollfd writable{descriptor, POLLOUT, 0};
    const int ready = poll(&writable, 1, patience_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = write(descriptor, rest.data(), rest.size());
    if (count < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (count > 0) rest.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace actord::daemon
