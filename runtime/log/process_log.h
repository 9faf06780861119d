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
  // "process PID (TYPE @NAME)". `type`: null if it is not known. The name is
  // looked up if `is_named`.
  [[nodiscard]] std::string NameOf(const Pid& pid, const ProcessType* type,
                                   bool is_named) const;
  // The line of a process in its turn.
  [[nodiscard]] std::string LineOf(const Process& process, const Pid& self,
                                   std::string_view text) const;
  // Writes a line as it is.
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
