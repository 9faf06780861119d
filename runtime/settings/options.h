// What can be set about a runtime, with its defaults and limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/process/type_limits.h"
#include "runtime/settings/limits.h"
#include "runtime/settings/work_policy.h"

namespace actord::runtime {

class Clock;

enum class LogLevel { kDebug = 1, kInfo = 2, kWarning = 3, kError = 4 };

// The limits are those of the start; Runtime::SetLimits changes them.
class StepSink;  // step_record.h

struct RuntimeOptions : Limits {
  // Scheduler.
  int workers = 0;  // 0: the CPUs that this process may use; at most 256
  // Threads beside the workers' own, at most, for steps that block or last:
  // 0 to 10,000; started when first needed. When all are stuck, such a step
  // keeps its worker.
  int max_blocked_threads = 256;
  int blocking_threads =
      16;  // threads of the blocking pool, 1 to 1024; started when first needed
  size_t blocking_queue =
      65536;  // commands waiting for the blocking pool, at most
  // How long an idle processor may take to go on, 0 or 1us to 1s: a wish to the
  // kernel (cpu_latency.h). Infinite: none. Create fails if it cannot be had.
  absl::Duration cpu_latency = absl::InfiniteDuration();

  std::vector<std::string>
      external_commands;  // names, or prefixes that end in '*': carried out by
                          // remote workers
  // The first whose pattern matches a command is for it; at most 1000.
  std::vector<WorkPolicy> work_policies;
  // Submit: PROCESS_LIMIT; a step's spawn: no PID. At most 1000.
  std::vector<TypeLimit> type_limits;

  // How long a step, or a pooled handler, may go on after everything was told
  // to stop, before it is taken to be stuck (ShutdownReport::stuck).
  absl::Duration stuck_after = absl::Seconds(5);

  // Identity.
  uint32_t node = 1;
  uint32_t incarnation = 0;  // 0: drawn at random
  uint64_t seed = 0;         // of every random choice; 0: drawn from the system

  // Nullptr: Clock::System(). Borrowed; must outlive the runtime.
  const Clock* clock = nullptr;
  // Is given the record of each Init and step before it is applied; null: no
  // record is kept. Borrowed; must outlive the runtime.
  StepSink* step_sink = nullptr;
  // Receives what the runtime and the handlers have to say. Called on any
  // thread; must not block for long.
  std::function<void(LogLevel, std::string_view message)> log;
};

// INVALID_ARGUMENT that names the option that is out of its limits.
absl::Status ValidateOptions(const RuntimeOptions& options);
absl::Status ValidateLimits(const Limits& limits);

}  // namespace actord::runtime
