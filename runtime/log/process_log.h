// Writes the lines of processes into the log: those of steps (`out.Log`), and
// lines that a handler writes for a process (the command log.write). A line
// names the process:
//
//   process 1.2b.7.1 (order @orders/17): the card was refused
//
// The name is the one that the process has held longest. A process that holds
// none costs no look-up. A line below the level of the log is dropped before
// its text is made.
//
// Thread-safety: any thread; LineOf and Apply belong to the turn of the
// process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/actors/names.h"
#include "runtime/log/log_effect.h"
#include "runtime/process/catalog.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/lane.h"
#include "runtime/settings/options.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

class ProcessLog {
 public:
  // All are borrowed.
  ProcessLog(const RuntimeOptions& options, const ProcessTable& processes,
             const Names& names)
      : options_(options), processes_(processes), names_(names) {}
  ProcessLog(const ProcessLog&) = delete;
  ProcessLog& operator=(const ProcessLog&) = delete;

  // Whether the log has lines of this level (ACTORD_LOG_*) now.
  [[nodiscard]] bool Has(int32_t level) const;
  // For EffectOwners.
  void Apply(LogEffect&& effect, Process& process, const Pid& self, Lane& lane);
  // A line, and the process that it is about.
  struct Line {
    Pid pid = {};
    std::string type = {};  // "": not known
    std::string name = {};  // "": the process holds none
    std::string text = {};

    // Borrows the line.
    [[nodiscard]] LogSubject subject() const { return {pid, type, name}; }
  };
  // The line "process PID (TYPE @NAME): TEXT". `type`: null if it is not known.
  // The name is looked up if `is_named`.
  [[nodiscard]] Line LineOf(const Pid& pid, const ProcessType* type,
                            bool is_named, std::string_view text) const;
  // The line of a process in its turn.
  [[nodiscard]] Line LineOf(const Process& process, const Pid& self,
                            std::string_view text) const;
  void Write(int32_t level, const Line& line) const;
  // Writes a line that is about no process.
  void Write(int32_t level, std::string_view line) const;
  // Writes a line for a process that may have ended: then the line has its PID
  // alone. `level` and `text` may be out of range, as those of a step.
  void WriteFor(int32_t level, const Pid& pid, std::string_view text) const;

 private:
  const RuntimeOptions& options_;
  const ProcessTable& processes_;
  const Names& names_;
};

}  // namespace actord::runtime
