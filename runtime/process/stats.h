// The state of the runtime in numbers.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <vector>

namespace actord::runtime {

enum class RunState { kStarting, kServing, kDraining, kStopped };

// The counters of one worker (WorkerCounters), and the size of its queue now.
struct WorkerStats {
  uint64_t turns = 0;     // turns that ran a process
  uint64_t steals = 0;    // times that it stole processes
  uint64_t wake_ups = 0;  // sleeps that have ended
  uint64_t hand_overs = 0;
  uint64_t ready = 0;  // processes in its queue, of all levels
};

// Counters since the start, and sizes now. Each value is exact, but for a
// worker's turns (worker_counters.h). The values are not of the same instant.
struct RuntimeStats {
  RunState state = RunState::kStarting;
  uint32_t node = 0;
  uint32_t incarnation = 0;
  int workers = 0;
  std::vector<WorkerStats> of_workers;
  uint64_t ready_global = 0;  // processes in the queue of all workers
  uint64_t processes_live = 0;
  uint64_t processes_started = 0;
  uint64_t processes_ended = 0;
  uint64_t processes_failed = 0;  // ended in another way than kResult
  uint64_t steps = 0;
  uint64_t messages_sent = 0;  // accepted into a mailbox
  // Messages that could not be delivered, or were left when their process
  // ended. Each dead letter is kept, or was forgotten, resent or dropped.
  uint64_t dead_letters = 0;
  uint64_t dead_letters_kept = 0;
  uint64_t dead_letters_bytes = 0;      // of kept dead letters
  uint64_t dead_letters_forgotten = 0;  // for want of room
  uint64_t dead_letters_resent = 0;
  uint64_t dead_letters_dropped = 0;  // on request
  uint64_t yields = 0;                // dispatched
  uint64_t completions = 0;           // delivered
  uint64_t late_replies = 0;          // to calls that had ended before
  uint64_t external_yields_waiting = 0;
  uint64_t remote_workers = 0;  // open
  uint64_t tasks_leased = 0;    // waiting yields that remote workers hold
  // Commands that wait for a thread of the blocking pool.
  uint64_t blocking_queue = 0;
  uint64_t results_kept = 0;
  uint64_t results_bytes = 0;
  // How often a limit was reached: the request was refused, or the process
  // ended.
  uint64_t refused_mailbox = 0;  // messages and completions
  uint64_t refused_processes = 0;
  uint64_t refused_processes_of_type = 0;
  uint64_t refused_yields = 0;
  // Yields, refused for the total bytes of all waiting yields.
  uint64_t refused_external = 0;
  uint64_t refused_payloads = 0;  // for their length
  uint64_t refused_watches = 0;
  uint64_t ended_by_steps = 0;
  uint64_t ended_by_lifetime = 0;
  uint64_t watches_open = 0;
  uint64_t watch_events = 0;         // starts and ends recorded for watches
  uint64_t watch_events_missed = 0;  // events that watches did not read in time
  uint64_t watch_events_kept = 0;
  uint64_t watch_events_bytes = 0;  // of kept events
  // Processes that upgraded to another version of their type, or declined it.
  uint64_t upgrades = 0;
  uint64_t upgrades_declined = 0;
};

}  // namespace actord::runtime
