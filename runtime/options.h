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

namespace actord::runtime {

class Clock;

enum class LogLevel { kDebug = 1, kInfo = 2, kWarning = 3, kError = 4 };

struct RuntimeOptions {
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

  // Limits. Reaching one is answered as its comment says.
  size_t max_processes = 4'000'000;    // 1 to 2^28; Submit: PROCESS_LIMIT
  size_t max_payload_bytes = 1 << 20;  // 1 to 64 MiB; PAYLOAD_TOO_LARGE
  size_t max_mailbox_messages =
      65536;  // 1 to 1,000,000; Send: MAILBOX_FULL, step's send: dead letter
  size_t max_mailbox_bytes =
      16 << 20;  // 4 KiB to 1 GiB, counted in buffers of 64 bytes; likewise
  size_t max_yields =
      1024;  // outstanding a process, 1 to 16,000; the yield completes with
  // RESOURCE_EXHAUSTED

  // Yields.
  std::vector<std::string>
      external_commands;  // names, or prefixes that end in '*': carried out by
                          // remote workers
  absl::Duration default_yield_timeout = absl::InfiniteDuration();
  absl::Duration answered_yield_ttl = absl::Minutes(
      10);  // how long the answer to an external yield is remembered
  size_t answered_yield_max =
      100'000;  // and how many at most (oldest forgotten first)

  // Results of ended processes for Await.
  absl::Duration result_ttl = absl::Minutes(5);
  size_t result_max_bytes =
      256 << 20;  // all results together (oldest forgotten first)

  // How long a step, or a pooled handler, may go on after everything was told
  // to stop, before it is taken to be stuck (ShutdownReport::stuck).
  absl::Duration stuck_after = absl::Seconds(5);

  // Identity.
  uint32_t node = 1;
  uint32_t incarnation = 0;  // 0: drawn at random
  uint64_t seed = 0;         // of every random choice; 0: drawn from the system

  // Nullptr: Clock::System(). Borrowed; must outlive the runtime.
  const Clock* clock = nullptr;
  // Receives what the runtime and the handlers have to say. Called on any
  // thread; must not block for long.
  std::function<void(LogLevel, std::string_view message)> log;
};

// INVALID_ARGUMENT that names the option that is out of its limits.
absl::Status ValidateOptions(const RuntimeOptions& options);

}  // namespace actord::runtime
