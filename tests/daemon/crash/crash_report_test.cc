// Crashes child processes on purpose. The end-to-end tests crash daemons by
// their plugins; these cases have damaged data, which no plugin makes at will.
#include "daemon/crash/crash_report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/crash/alternate_stack.h"
#include "runtime/crash/running_code.h"

namespace actord::daemon {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

[[gnu::noinline]] __attribute__((no_sanitize("undefined", "address"))) void
CrashHere() {
  int* volatile nowhere = nullptr;
  *static_cast<volatile int*>(nowhere) = 1;
}

std::string_view Unreadable() {
  void* const page =
      mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return {static_cast<const char*>(page), 5};
}

// In a child: `crash` with reports, without core files, and without the
// handlers of a sanitizer. `before`: runs before there are reports.
void WithReports(
    const std::function<void(LogWriter&)>& crash,
    const std::function<void()>& before = [] {}) {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &none);
  for (const int number : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    std::signal(number, SIG_DFL);
  }
  before();
  LogWriter writer(STDERR_FILENO, [](uint64_t) { return "\n"; });
  const CrashReport report(writer, LogFormat::kConsole);
  crash(writer);
  std::_Exit(0);
}

constexpr runtime::RunningCode kStep{
    .plugin = "orders", .version = "1", .function = "Step"};

TEST(CrashReport, SaysWhereItHappenedBehindEarlierLines) {
  const auto crash = [](LogWriter& writer) {
    const runtime::PluginScope scope(kStep);
    writer.Write("earlier line\n");
    CrashHere();
  };
  EXPECT_EXIT(
      WithReports(crash), KilledBySignal(SIGSEGV),
      "^earlier line\n[^\n]*Z fatal   crash: SIGSEGV at address 0x0 in plugin "
      "\"orders\" 1: Step\n[^\n]*Z fatal   crash: backtrace of thread [^\n]*\n"
      "[^\n]*Z fatal   crash: #0 at [^\n]*CrashHere");
}

TEST(CrashReport, GoesOnIfTheDataAboutTheCodeAreDamaged) {
  const auto crash = [](LogWriter&) {
    const runtime::AlternateStack stack;
    const runtime::PluginScope scope({.plugin = Unreadable()});
    CrashHere();
  };
  EXPECT_EXIT(WithReports(crash), KilledBySignal(SIGSEGV),
              "crash: SIGSEGV at address 0x0; the data about the code that ran "
              "are damaged\n[^\n]*crash: backtrace of thread [^\n]*\n"
              "[^\n]*crash: #0 at [^\n]*CrashHere");
}

TEST(CrashReport, EndsByTheFirstSignal) {
  const auto crash = [](LogWriter&) {
    const runtime::PluginScope scope({.plugin = Unreadable()});
    std::abort();
  };
  EXPECT_EXIT(WithReports(crash), KilledBySignal(SIGABRT),
              "crash: SIGABRT; the data about");
}

// The address is not on the alternate stack, but the stack pointer is far away.
TEST(CrashReport, EndsIfTheStackPointerIsWrong) {
  const auto crash = [](LogWriter&) {
    const runtime::AlternateStack stack;
#if defined(__x86_64__)
    __asm__ volatile("movq $8, %rsp\n\tpushq $1");
#else
    CrashHere();
#endif
  };
  EXPECT_EXIT(WithReports(crash), KilledBySignal(SIGSEGV),
              "crash: SIGSEGV at ");
}

// Standard error takes neither the earlier lines nor the report.
TEST(CrashReport, EndsInTimeIfStandardErrorIsFull) {
  const auto fill = [] {
    int ends[2];
    if (pipe2(ends, O_NONBLOCK) != 0) std::_Exit(1);
    const std::string junk(4096, 'x');
    while (write(ends[1], junk.data(), junk.size()) > 0) {
    }
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], STDERR_FILENO);
  };
  const auto crash = [](LogWriter& writer) {
    writer.Write("earlier line\n");
    CrashHere();
  };
  EXPECT_EXIT(WithReports(crash, fill), KilledBySignal(SIGSEGV), "^$");
}

// A page whose first access waits for ever. Empty: the system has none.
std::string_view Endless() {
  const auto handler = static_cast<int>(
      syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
  if (handler < 0) return {};
  uffdio_api api{};
  api.api = UFFD_API;
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uffdio_register waits{};
  waits.range = {.start = reinterpret_cast<uintptr_t>(page), .len = 4096};
  waits.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (ioctl(handler, UFFDIO_API, &api) != 0 ||
      ioctl(handler, UFFDIO_REGISTER, &waits) != 0) {
    return {};
  }
  return {static_cast<const char*>(page), 5};
}

TEST(CrashReport, EndsInTimeIfAPartOfItHangs) {
  if (Endless().empty()) GTEST_SKIP() << "the system has no userfaultfd";
  const auto crash = [](LogWriter&) {
    const runtime::PluginScope scope({.plugin = Endless()});
    CrashHere();
  };
  EXPECT_EXIT(WithReports(crash), KilledBySignal(SIGSEGV), "^$");
}

TEST(CrashReport, KeepsTheHandlersOfOthers) {
  const auto handle = [] { std::signal(SIGSEGV, [](int) { std::_Exit(3); }); };
  EXPECT_EXIT(WithReports([](LogWriter&) { CrashHere(); }, handle),
              ExitedWithCode(3), "^$");
}

TEST(CrashReport, TwoCrashingThreadsGiveOneReport) {
  const auto crash = [](LogWriter&) {
    std::thread other(CrashHere);
    CrashHere();
    other.join();
  };
  EXPECT_EXIT(WithReports(crash), KilledBySignal(SIGSEGV),
              "^[^\n]*crash: SIGSEGV at address 0x0 outside of plugin code\n"
              "[^\n]*crash: backtrace of thread [^\n]*\n"
              "([^\n]*crash: #[^\n]*\n)*$");
}

}  // namespace
}  // namespace actord::daemon
