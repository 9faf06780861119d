#include "daemon/crash/out_of_memory.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "daemon/crash/crash_line.h"
#include "runtime/crash/running_code.h"
#include "runtime/system/clock.h"

namespace actord::daemon {
namespace {

constexpr int kLastLinePatienceMs = 1000;

// Global, because a new handler has no arguments. Written before the handler is
// installed.
std::atomic<LogFormat> line_format{LogFormat::kConsole};
std::atomic<int> end_status{0};

void OnNoMemory() {
  if (runtime::RunningCodeHere()) throw std::bad_alloc();
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::nanoseconds(runtime::Clock::System().UnixNs()));
  WriteCrashLine(
      STDERR_FILENO,
      ToCrashLine(line_format.load(std::memory_order_relaxed), time,
                  "out of memory: the system refused an allocation of the "
                  "daemon; raise its memory limit, or lower its limits"),
      kLastLinePatienceMs);
  _exit(end_status.load(std::memory_order_relaxed));
}

std::new_handler Install(LogFormat format, int exit_status) {
  end_status.store(exit_status, std::memory_order_relaxed);
  line_format.store(format, std::memory_order_relaxed);
  return std::set_new_handler(OnNoMemory);
}

}  // namespace

OutOfMemory::OutOfMemory(LogFormat format, int exit_status)
    : former_(Install(format, exit_status)) {}

OutOfMemory::~OutOfMemory() { std::set_new_handler(former_); }

}  // namespace actord::daemon
