// A limit on cost over time, in one atomic word: the generic cell rate
// algorithm in its form of virtual scheduling (ITU-T Recommendation I.371,
// Annex A).
//
// The word is the theoretical arrival time (TAT): the moment at which the
// client would have spent this amount if it had always kept to its rate. Costs
// are times, too: a cost of 1 ms at the rate moves the TAT 1 ms forward. A cost
// is admitted while the TAT is at most the burst ahead of now:
//
//   Take     max(TAT, now) + cost <= now + burst, or the TAT is not ahead at
//            all: so a cost above the burst is admitted after a rest.
//   refused  Nothing changes. The delay is exact: the same cost is admitted at
//            now + delay, and not a nanosecond earlier, unless something else
//            is spent or given back meanwhile.
//
// Why it is right without a lock:
// 1. A decision depends on the word, on the arguments, and on nothing else.
// 2. compare_exchange applies a decision only to the word from which it was
//    made. So all decisions happen one after another, in the order in which
//    the word changes, and no sum of costs passes the limit. The same value is
//    the same state, so it does not matter whether the word has changed and
//    changed back meanwhile (ABA).
// 3. A `now` that is older than that of another thread's decision makes the
//    condition stricter and leaves the TAT where it is: it never admits more.
// 4. All orders are relaxed, because no other data depends on the word.
//
// Thread-safety: any thread. Units: nanoseconds of one monotonic clock. A cost
// and a burst are at most kMaxNs, and `now` is below 2^62.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace actord::daemon {

class Gcra {
 public:
  static constexpr uint64_t kMaxNs = uint64_t{1} << 61;

  // Returns 0 if the cost is admitted and spent. Otherwise nothing is spent,
  // and the result is the delay in nanoseconds until the cost is admitted.
  uint64_t Take(uint64_t cost_ns, uint64_t burst_ns, uint64_t now_ns) {
    uint64_t tat = tat_.load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t delay = DelayAt(tat, cost_ns, burst_ns, now_ns);
      if (delay != 0) return delay;
      if (tat_.compare_exchange_weak(tat, std::max(tat, now_ns) + cost_ns,
                                     std::memory_order_relaxed)) {
        return 0;
      }
    }
  }

  // The result that Take would have, without spending.
  [[nodiscard]] uint64_t Delay(uint64_t cost_ns, uint64_t burst_ns,
                               uint64_t now_ns) const {
    return DelayAt(tat_.load(std::memory_order_relaxed), cost_ns, burst_ns,
                   now_ns);
  }

  // Spends a cost that can no longer be refused. Saturates at kMaxNs ahead.
  void Charge(uint64_t cost_ns, uint64_t now_ns) {
    uint64_t tat = tat_.load(std::memory_order_relaxed);
    while (!tat_.compare_exchange_weak(
        tat, std::min(std::max(tat, now_ns) + cost_ns, now_ns + kMaxNs),
        std::memory_order_relaxed)) {
    }
  }

  // Undoes a Take whose cost was not used after all.
  void GiveBack(uint64_t cost_ns) {
    uint64_t tat = tat_.load(std::memory_order_relaxed);
    // (After a Forget there is less to give back.)
    while (!tat_.compare_exchange_weak(tat, tat > cost_ns ? tat - cost_ns : 0,
                                       std::memory_order_relaxed)) {
    }
  }

  // Resets the limiter: the whole burst is available again.
  void Forget() { tat_.store(0, std::memory_order_relaxed); }

 private:
  static uint64_t DelayAt(uint64_t tat, uint64_t cost_ns, uint64_t burst_ns,
                          uint64_t now_ns) {
    const uint64_t latest =
        now_ns + (burst_ns > cost_ns ? burst_ns - cost_ns : 0);
    return tat > latest ? tat - latest : 0;
  }

  // Written and read by all threads that act for the client.
  std::atomic<uint64_t> tat_{0};
};

}  // namespace actord::daemon
