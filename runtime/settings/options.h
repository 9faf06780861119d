// The options of a runtime, with their defaults and limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/process/submission.h"
#include "runtime/process/type_limits.h"
#include "runtime/settings/limits.h"
#include "runtime/settings/log_sink.h"
#include "runtime/settings/work_policy.h"

namespace actord::runtime {

class Clock;

class StepSink;         // step_record.h
class StepSpans;        // span.h
class DurableStore;     // durable_store.h
struct ProcessFailure;  // process_failure.h
struct StepLines;       // failed_step.h

// Limits of durable processes.
struct DurableLimits {
  // Includes restored processes. Above it Submit fails with PROCESS_LIMIT, and
  // a step's spawn has no PID.
  uint64_t max_processes = 4'000'000;
  // For a process of a replay type, since its last image: maximum bytes of its
  // events, and maximum number of its steps. Above either limit the process
  // ends, because a restart would take too long, and the journal could never be
  // cut. 0: no limit.
  uint64_t max_history_bytes = 64 << 20;
  uint64_t max_history_steps = 50'000;
  // A process of an image type that has waited for a message for this long
  // leaves memory, and its next message brings it back. Infinite: it stays.
  absl::Duration passivate_after = absl::Minutes(10);
};

// The limits hold from the start on; Runtime::SetLimits changes them.
struct RuntimeOptions : Limits {
  // Scheduler.
  int workers = 0;  // 0: the CPUs that this process may use; at most 256
  // Maximum number of extra threads for steps that block or are long: 0 to
  // 10,000; started when first needed. When all are stuck, such a step keeps
  // its worker.
  int max_blocked_threads = 256;
  // Threads of the blocking pool, 1 to 1024; started when first needed.
  int blocking_threads = 16;
  // Maximum backlog of the blocking pool, in commands.
  size_t blocking_queue = 65536;
  // Maximum wake-up latency of an idle processor, 0 or 1us to 1s: a request to
  // the kernel (cpu_latency.h). Infinite: no request. Create fails if the
  // kernel refuses the request.
  absl::Duration cpu_latency = absl::InfiniteDuration();

  // Commands for remote workers: names, or prefixes that end in '*'.
  std::vector<std::string> external_commands;
  // The first policy whose pattern matches a command applies; at most 1000.
  std::vector<WorkPolicy> work_policies;
  // Above a limit Submit fails with PROCESS_LIMIT, and a step's spawn has no
  // PID. At most 1000.
  std::vector<TypeLimit> type_limits;
  // Counts what each owner uses, so that owners can have quotas
  // (Runtime::SetQuotas). Each beginning and end of a process pays for it.
  bool counts_owners = false;
  // Counts the bytes in the mailboxes of each owner from the start, so that
  // messages of a store count, too. False: they are counted from the first
  // quota on.
  bool counts_mailboxes = false;

  // Measures how long some turns take (Runtime::TurnTimesByType).
  bool samples_turns = false;

  // A step or a pooled handler counts as stuck (ShutdownReport::stuck) if it
  // has not returned this long after everything was told to stop.
  absl::Duration stuck_after = absl::Seconds(5);

  // Identity.
  uint32_t node = 1;
  uint32_t incarnation = 0;  // 0: drawn at random
  uint64_t seed = 0;         // of every random choice; 0: drawn from the system

  // Nullptr: Clock::System(). Borrowed; must outlive the runtime.
  const Clock* clock = nullptr;
  // Receives the record of each Init and step before it is applied; null: no
  // record is kept. Borrowed; must outlive the runtime.
  StepSink* step_sink = nullptr;
  // Receives the spans of traced steps; null: steps are no spans. Borrowed;
  // must outlive the runtime.
  StepSpans* spans = nullptr;
  // Bounds of the request ids, and of the message ids, that end with the
  // daemon. The store has separate bounds.
  RequestIdBounds request_ids = {.ttl_ns = uint64_t{600} * 1'000'000'000,
                                 .max = 100'000};
  // The store of durable processes; null: all processes are volatile. Borrowed;
  // must outlive the runtime.
  DurableStore* store = nullptr;
  DurableLimits durable = {};
  // Adds the types of a plugin file that has written states in the store to the
  // catalog, with Catalog::AddFormer, if it can. Called by Start for a plugin
  // whose types in force are of another file, at most once for each, before
  // anything runs. Null: the store keeps no files.
  std::function<void(uint32_t plugin_number)> load_former = {};
  // The delay of a built-in command that does nothing but complete after that
  // delay, from its payload; nullopt: another command, or it fails. A durable
  // process whose outstanding yields all are such commands can be dormant until
  // the first one is due. Null: each yield keeps its process in memory. Any
  // thread.
  std::function<std::optional<uint64_t>(std::string_view command,
                                        std::string_view payload)>
      timer_delay_ns = {};
  // Receives the messages of the runtime and the handlers. Called on any
  // thread; must not block for long.
  LogSink log;
  // Whether `log` would write a message of this level now. Called on any
  // thread, before a line of a process is made. Null: all levels.
  std::function<bool(LogLevel)> has_level = {};
  // Receives each failure of a process (failures.h) and the log lines of the
  // step that has failed, on the thread of the process; must not block for
  // long. Null: nothing is called.
  std::function<void(const ProcessFailure&, const StepLines&)> failed;
};

// INVALID_ARGUMENT names the option that is out of its limits.
absl::Status ValidateOptions(const RuntimeOptions& options);
absl::Status ValidateLimits(const Limits& limits);

}  // namespace actord::runtime
