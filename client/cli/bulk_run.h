// Drives a bulk command: reads a file of JSON lines, begins a call for each,
// and reports what became of it.
//
// Thread-safety: as said below. Ownership: borrows the invocation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/calls/bulk.h"
#include "client/calls/mutex.h"
#include "client/cli/input.h"
#include "client/cli/invocation.h"
#include "client/output/exit_status.h"
#include "client/output/json.h"
#include "client/output/output.h"
#include "client/output/progress.h"

namespace actord::client {

// Collects what became of the items and writes it: each item to standard output
// in the formats for programs, the first failures and a summary to standard
// error. Every function may be called from any thread.
class BulkReport {
 public:
  // `file_name` begins the complaints about its lines.
  BulkReport(Invocation& invocation, std::string file_name);

  void Begun();
  // The item of `line` is through. `name` is its PID.
  void Succeeded(uint64_t line, const std::string& name, Json details);
  // It failed before or in its call. `name` is its PID or "".
  void Failed(uint64_t line, const std::string& name,
              const absl::Status& status);
  // The call was well, but the process that it was about failed.
  void ProcessFailed(uint64_t line, const std::string& name,
                     const std::string& complaint, Json details);

  // True: going on makes no sense, because the daemon cannot be reached, time
  // is up, or the command was interrupted.
  [[nodiscard]] bool hopeless() const;
  // `file_fraction` says how much of the file was read.
  void ShowProgress(std::optional<double> file_fraction);
  // Writes the end of the list and the summary, and what ended it early, if
  // anything. `verb` is as in "submitted"; `read_status` is what RunBulk
  // returned.
  ExitStatus Finish(const std::string& verb, absl::Duration elapsed,
                    const absl::Status& read_status);

 private:
  void Record(uint64_t line, const std::string& name, Json details)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Complain(uint64_t line, const std::string& text)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Invocation& invocation_;
  const std::string file_name_;
  mutable Mutex mutex_;  // guards the output, too
  ListWriter writer_ ABSL_GUARDED_BY(mutex_);
  Progress progress_ ABSL_GUARDED_BY(mutex_);
  uint64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t succeeded_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  // The first error after which nothing helps.
  absl::Status fatal_ ABSL_GUARDED_BY(mutex_);
  uint64_t fatal_line_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Begins the call of one line, which is not blank. An error is about the line
// itself; what becomes of the call goes to the report.
using BeginLine =
    std::function<absl::Status(uint64_t line, const std::string& text)>;

// Reads `file` to its end, or until it is hopeless, and waits for all calls.
// `report` has been told about everything by then, except a failure to read,
// which is returned.
absl::Status RunBulk(Invocation& invocation, InputFile& file, Bulk& bulk,
                     BulkReport& report, const BeginLine& begin);

}  // namespace actord::client
