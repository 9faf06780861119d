// The counters of one worker, or of all other threads together. Users see the
// sums over all workers and threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/system/fail_point.h"

namespace actord::runtime {

// Any thread may read a counter, a moment late. Release and acquire: a thread
// that has seen one count sees all that the same thread counted before.
class Counter {
 public:
  // For the one thread that owns this counter: no RMW.
  void Add(uint64_t count = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + count,
                 std::memory_order_release);
  }
  // For a counter that threads share.
  void AddShared(uint64_t count = 1) {
    WillChange(&value_);
    value_.fetch_add(count, std::memory_order_release);
  }
  uint64_t Get() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> value_{0};
};

struct alignas(64) Counters {
  Counter processes_started;
  Counter processes_ended;
  Counter processes_failed;
  Counter processes_forced;  // terminated by a shutdown
  Counter steps;
  Counter messages_sent;
  Counter dead_letters;
  // Not kept, or not kept any longer, for want of room.
  Counter dead_letters_forgotten;
  Counter dead_letters_resent;
  Counter dead_letters_dropped;  // on request
  Counter yields;
  Counter completions;
  Counter late_replies;
  // How often a limit was reached, and a request was refused or a process
  // ended.
  Counter refused_mailbox;
  Counter refused_processes;
  Counter refused_processes_of_type;
  Counter refused_yields;
  // Yields, refused for the total bytes of all waiting yields.
  Counter refused_external;
  Counter ended_by_steps;
  Counter ended_by_lifetime;
  // Processes that upgraded to another version of their type, or declined it.
  Counter upgrades;
  Counter upgrades_declined;
};

}  // namespace actord::runtime
