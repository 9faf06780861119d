// The report of a crash. As long as the object lives, a signal that ends the
// program because of a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) first
// waits until earlier log lines are written, and then writes to standard error:
// the signal, its address, the plugin code, and a backtrace. Then the signal
// ends the program as it would have without the object, with a core file if
// they are on. Signals that already have a handler keep it.
//
//  (1) The handler uses only system calls and its own formatting; the only
//      exception is backtrace() (backtrace_lines.h). It uses no lock and no
//      heap. (Not asserted: an assertion that fails would end the report.)
//  (2) The report is written in parts. A part that faults itself is given up,
//      and the report continues with the next part. So damaged memory costs a
//      part of the report, and a report always ends.
//  (3) Five seconds after its beginning, an alarm ends the program in the midst
//      of the report: standard error may be full, or (1) wrong.
//  (4) One thread writes the report. If other threads fault meanwhile, they
//      wait for the end of the program. So SA_RESETHAND is not used: the fault
//      of the second thread would end the program before the first thread has
//      written its report.
// tests/daemon/crash/crash_report_test.cc checks (2) to (4).
//
// Thread-safety: at most one object at a time; the handler on any thread. The
// writer is borrowed.
#pragma once

#include "daemon/log/log_writer.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

class CrashReport {
 public:
  CrashReport(const LogWriter& writer, LogFormat format);
  // Faults are reported further, without a wait for earlier log lines.
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;
};

}  // namespace actord::daemon
