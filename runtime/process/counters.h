// What a worker, or all other threads together, have counted. The sum over all
// of them is what users see.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/system/fail_point.h"

namespace actord::runtime {

// Read by any thread, a moment late. Release and acquire: whoever has seen one
// count sees all that the same thread counted before.
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
  Counter
      dead_letters_forgotten;  // not kept, or not any more, for want of room
  Counter dead_letters_resent;
  Counter dead_letters_dropped;  // because somebody asked for it
  Counter yields;
  Counter completions;
  Counter late_replies;
  // How often a limit was reached, and who came was refused or ended.
  Counter refused_mailbox;
  Counter refused_processes;
  Counter refused_processes_of_type;
  Counter refused_yields;
  Counter refused_external;  // yields, for the bytes of all that wait
  Counter ended_by_steps;
  Counter ended_by_lifetime;
  // Processes that went on in another version of their type, or refused to.
  Counter upgrades;
  Counter upgrades_declined;
};

}  // namespace actord::runtime
