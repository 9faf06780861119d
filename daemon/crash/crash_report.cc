#include "daemon/crash/crash_report.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <iterator>
#include <string_view>

#include "daemon/crash/backtrace_lines.h"
#include "daemon/crash/crash_line.h"
#include "daemon/crash/crash_text.h"
#include "runtime/crash/running_code.h"
#include "runtime/durable/step_marks.h"
#include "runtime/system/clock.h"

namespace actord::daemon {
namespace {

constexpr int kSignals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

// The time for the whole report, see (3) in the header.
constexpr unsigned kReportSeconds = 5;
// How long a line waits for standard error.
constexpr int kLinePatienceMs = 1000;

// Global, because a handler has no argument for it. `writer` and `format` are
// written by CrashReport (release) and read by the handler (acquire); `writer`
// is null while there is no CrashReport. The thread that has put its ID into
// `reporter` writes and reads the other members. Relaxed, because the only
// handlers that can interrupt it run on the same thread or end the program.
struct State {
  std::atomic<const LogWriter*> writer{nullptr};
  std::atomic<LogFormat> format{LogFormat::kConsole};
  // 0: no crash.
  std::atomic<pid_t> reporter{0};
  std::atomic<int> number{0};
  // Number of parts that have begun.
  std::atomic<size_t> parts{0};
  std::atomic<bool> has_said_where{false};
  std::atomic<bool> has_ended_backtrace{false};
  // Standard error takes no more.
  std::atomic<bool> is_blocked{false};
};
static_assert(std::atomic<pid_t>::is_always_lock_free &&
              std::atomic<const LogWriter*>::is_always_lock_free);
constinit State crash_state;

Fault FaultOf(int number, const siginfo_t& info, const void* context) {
  Fault fault{.number = number, .code = info.si_code};
  if (info.si_code <= 0) {
    fault.sender = info.si_pid;
    fault.sender_user = info.si_uid;
  } else {
    fault.address = reinterpret_cast<uintptr_t>(info.si_addr);
  }
  [[maybe_unused]] const auto& registers =
      static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  fault.instruction = static_cast<uintptr_t>(registers.gregs[REG_RIP]);
  fault.stack_pointer = static_cast<uintptr_t>(registers.gregs[REG_RSP]);
#elif defined(__aarch64__)
  fault.instruction = registers.pc;
  fault.stack_pointer = registers.sp;
#endif
  return fault;
}

void SetHandler(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(number, &action, nullptr);
}

void Unblock(int number) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, number);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

// Ends the program by the signal.
void EndBy(int number) {
  SetHandler(number, SIG_DFL);
  Unblock(number);
  raise(number);
}

void OnAlarm(int /*number*/) {
  EndBy(crash_state.number.load(std::memory_order_relaxed));
}

void LimitTime() {
  SetHandler(SIGALRM, OnAlarm);
  Unblock(SIGALRM);
  alarm(kReportSeconds);
}

void WriteLine(const CrashText& text) {
  if (crash_state.is_blocked.load(std::memory_order_relaxed)) return;
  const std::chrono::nanoseconds now(runtime::Clock::System().UnixNs());
  const CrashLine line = ToCrashLine(
      crash_state.format.load(std::memory_order_acquire),
      std::chrono::floor<std::chrono::milliseconds>(now), text.view());
  if (!WriteCrashLine(STDERR_FILENO, line, kLinePatienceMs)) {
    crash_state.is_blocked.store(true, std::memory_order_relaxed);
  }
}

// ---- The parts of a report, in their order. See (2) in the header.

void AwaitEarlierLines(const Fault& /*fault*/) {
  const LogWriter* const writer =
      crash_state.writer.load(std::memory_order_acquire);
  if (writer != nullptr) writer->AwaitWritten(LogWriter::kLastPatience);
}

void SayWhere(const Fault& fault) {
  CrashText text;
  AppendFault(fault, getpid(), text);
  if (!fault.IsSent(getpid())) {
    AppendPlace(runtime::RunningCodeHere(), text);
  }
  WriteLine(text);
  crash_state.has_said_where.store(true, std::memory_order_relaxed);
}

void SayLess(const Fault& fault) {
  if (crash_state.has_said_where.load(std::memory_order_relaxed)) return;
  CrashText text;
  AppendFault(fault, getpid(), text);
  text << "; the data about the code that ran are damaged";
  WriteLine(text);
}

void WriteBacktrace(const Fault& fault) {
  std::array<char, 17> thread_name{};
  prctl(PR_GET_NAME, thread_name.data(), 0, 0, 0);
  CrashText header;
  header << "crash: backtrace of thread "
         << std::string_view(thread_name.data());
  WriteLine(header);
  const Backtrace backtrace(fault);
  for (size_t i = 0; i < backtrace.size(); ++i) {
    CrashText text;
    backtrace.Append(i, text);
    WriteLine(text);
  }
  if (backtrace.is_cut()) {
    CrashText text;
    text << "crash: more than " << uint64_t{Backtrace::kMaxFrames}
         << " frames; the outer frames are left out";
    WriteLine(text);
  }
  crash_state.has_ended_backtrace.store(true, std::memory_order_relaxed);
}

void SayThatBacktraceFailed(const Fault& /*fault*/) {
  if (crash_state.has_ended_backtrace.load(std::memory_order_relaxed)) return;
  CrashText text;
  text << "crash: the stack is damaged, so the backtrace ends here";
  WriteLine(text);
}

constexpr void (*kParts[])(const Fault&) = {AwaitEarlierLines, SayWhere,
                                            SayLess, WriteBacktrace,
                                            SayThatBacktraceFailed};

// Waits until the thread that writes the report has ended the program.
void AwaitEnd() {
  constexpr timespec kPause{.tv_sec = kReportSeconds + 1, .tv_nsec = 0};
  nanosleep(&kPause, nullptr);
}

// The handler does not block its own signal (SA_NODEFER), for (2).
void OnCrash(int number, siginfo_t* info, void* context) {
  const pid_t self = gettid();
  pid_t reporter = 0;
  const bool is_first =
      crash_state.reporter.compare_exchange_strong(reporter, self);
  if (!is_first && reporter != self) {
    AwaitEnd();
    return EndBy(number);
  }
  // A fault within the report does not need its `context`, because the report
  // is about the first fault.
  static constinit Fault fault;
  if (is_first) {
    fault = FaultOf(number, *info, context);
    crash_state.number.store(number, std::memory_order_relaxed);
    if (!fault.IsSent(getpid())) runtime::StepMarks::NoteCrash(number);
    LimitTime();
  }
  for (;;) {
    const size_t part =
        crash_state.parts.fetch_add(1, std::memory_order_relaxed);
    if (part >= std::size(kParts)) break;
    kParts[part](fault);
  }
  // The kernel's own fault comes again where it happened when the handler
  // returns; so a core file shows it.
  if (is_first && info->si_code > 0) {
    SetHandler(number, SIG_DFL);
  } else {
    EndBy(fault.number);
  }
}

}  // namespace

CrashReport::CrashReport(const LogWriter& writer, LogFormat format) {
  PrepareBacktraces();
  crash_state.format.store(format, std::memory_order_release);
  crash_state.writer.store(&writer, std::memory_order_release);
  for (const int number : kSignals) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    const bool is_taken =
        (action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL;
    if (is_taken) continue;
    action.sa_sigaction = OnCrash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

CrashReport::~CrashReport() {
  crash_state.writer.store(nullptr, std::memory_order_release);
}

}  // namespace actord::daemon
