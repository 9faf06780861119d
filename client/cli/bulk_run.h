// Runs a bulk command: reads a file of JSON lines, begins a call for each line,
// and reports the outcomes.
//
// Thread-safety: see below. Ownership: borrows the invocation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/bulk/bulk.h"
#include "client/calls/mutex.h"
#include "client/cli/input.h"
#include "client/cli/invocation.h"
#include "client/output/exit_status.h"
#include "client/output/json.h"
#include "client/output/output.h"
#include "client/output/progress.h"

namespace actord::client {

// Collects and writes the outcomes of the items: each item to standard output
// in the formats for programs, the first failures and a summary to standard
// error. Every function may be called from any thread.
class BulkReport {
 public:
  // `file_name` begins each complaint about a line.
  BulkReport(Invocation& invocation, std::string file_name);

  void Begun();
  // The item of `line` has succeeded. `name` is its PID.
  void Succeeded(uint64_t line, const std::string& name, Json details);
  // The item failed before or in its call. `name` is its PID or "".
  void Failed(uint64_t line, const std::string& name,
              const absl::Status& status);
  // The call succeeded, but its process failed.
  void ProcessFailed(uint64_t line, const std::string& name,
                     const std::string& complaint, Json details);

  // True: stop, because the daemon cannot be reached, the deadline has passed,
  // or the command was interrupted.
  [[nodiscard]] bool hopeless() const;
  // `file_fraction` is the part of the file that was read.
  void ShowProgress(std::optional<double> file_fraction);
  // Ends the list and writes the summary, and the error that stopped the run,
  // if any. `verb` is as in "submitted"; `read_status` is the result of
  // RunBulk.
  ExitStatus Finish(const std::string& verb, absl::Duration elapsed,
                    const absl::Status& read_status);

 private:
  void Record(uint64_t line, const std::string& name, Json details)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Complain(uint64_t line, const std::string& text)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Invocation& invocation_;
  const std::string file_name_;
  // Guards the output, too.
  mutable Mutex mutex_;
  ListWriter writer_ ABSL_GUARDED_BY(mutex_);
  Progress progress_ ABSL_GUARDED_BY(mutex_);
  uint64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t succeeded_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  // Failed, because the stream ended before the answer.
  uint64_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  // The first error that stops the whole run.
  absl::Status fatal_ ABSL_GUARDED_BY(mutex_);
  uint64_t fatal_line_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Begins the call of one line, which is not blank. Returns an error of the line
// itself; the outcome of the call goes to the report.
using BeginLine =
    std::function<absl::Status(uint64_t line, const std::string& text)>;

// Reads `file` to its end, or until report.hopeless(), and waits for all calls.
// Every outcome is in `report` by then. Returns an error if the file cannot be
// read.
absl::Status RunBulk(Invocation& invocation, InputFile& file, Bulk& bulk,
                     BulkReport& report, const BeginLine& begin);

}  // namespace actord::client
