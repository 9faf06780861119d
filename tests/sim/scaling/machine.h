// A machine with as many processors as threads, in virtual time. It plays the
// threads of a runtime, each on a processor of its own. It always runs the
// thread whose time is the earliest, and adds the cost of each operation to
// that time.
//
// The costs are those of `Costs` only. Code between two hooks is free, so the
// function that runs a process states the cost of its step with Work. A cache
// line is either owned by one processor that may write it, or shared by several
// that read it. A write to a line that another processor has needs a transfer,
// and a line makes only one transfer at a time. A read of a line that another
// processor has written needs a transfer too, but several processors may read
// at the same time.
//
// Thread-safety: one thread. Ownership: owns the fibers.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/system/clock.h"
#include "runtime/system/fail_point.h"
#include "tests/sim/fiber.h"

namespace actord::sim {

class Machine final : public runtime::Interleaver, public runtime::Clock {
 public:
  struct Costs {
    uint64_t access_ns = 1;      // to a line that the processor has
    uint64_t change_ns = 5;      // read-modify-write of such a line
    uint64_t transfer_ns = 60;   // of a line from another processor
    uint64_t wake_ns = 2000;     // for the thread that wakes another
    uint64_t wake_up_ns = 4000;  // until the woken thread runs
    uint64_t spin_ns = 2000;     // on a mutex, before the thread sleeps
    uint64_t yield_ns = 600;     // of a call of sched_yield
    uint64_t pause_ns = 35;
    uint64_t clock_ns = 30;  // of reading the clock
  };
  // The costs of one address.
  struct Use {
    uint64_t accesses = 0;
    uint64_t transfers = 0;
    uint64_t wait_ns = 0;  // for its transfers, and for earlier ones to end
    bool is_mutex = false;
  };
  static constexpr size_t kMostThreads = 192;

  explicit Machine(const Costs& costs);
  ~Machine() override;

  // Runs `main` as the first thread, until all threads have ended.
  void Run(std::function<void()> main);

  // Interleaver.
  void MaySwitch() override {}
  bool Wait(const void* what, uint64_t timeout_ns) override;
  void Wake(const void* what) override;
  uint64_t Start(std::function<void()> run) override;
  void Join(uint64_t thread) override;
  void Touch(const void* address, runtime::Access access) override;
  void AwaitMutex(const void* mutex) override;
  void ReleasedMutex(const void* mutex) override;
  void Yield() override { Work(costs_.yield_ns); }
  void Pause() override { Work(costs_.pause_ns); }

  // Clock.
  [[nodiscard]] uint64_t MonotonicNs() const override;
  [[nodiscard]] uint64_t UnixNs() const override { return MonotonicNs(); }

  // For the threads.
  //
  // Keeps the caller's processor busy for `ns`.
  void Work(uint64_t ns) { now().time_ns += ns; }
  // The caller sleeps for `ns`, at no cost.
  void Sleep(uint64_t ns);
  // The caller's time. Unlike MonotonicNs, it is free.
  [[nodiscard]] uint64_t time_ns() const { return threads_[current_]->time_ns; }

  // Costs since ForgetUses.
  [[nodiscard]] const std::map<uintptr_t, Use>& uses() const { return uses_; }
  [[nodiscard]] uint64_t wakes() const { return wakes_; }
  void ForgetUses();

 private:
  static constexpr int kNobody = -1;

  struct Thread {
    std::unique_ptr<Fiber> fiber;
    uint64_t time_ns = 0;
    uint64_t wait = 0;  // number of its wait; 0: it does not wait
    const void* waits_for = nullptr;
    uint64_t waits_since_ns = 0;
    bool timed_out = false;
  };
  struct Line {
    int writer = kNobody;  // processor that owns the line
    uint64_t free_ns = 0;  // end of the last transfer to a writer
    std::bitset<kMostThreads> readers;
  };
  // A thread continues at this time, unless it is in another wait by then.
  struct Turn {
    uint64_t time_ns;
    // Among turns at the same time.
    uint64_t order;
    size_t thread;
    uint64_t wait;
    bool operator<(const Turn& other) const {
      return time_ns != other.time_ns ? time_ns > other.time_ns
                                      : order > other.order;
    }
  };

  Thread& now() { return *threads_[current_]; }
  void Schedule(size_t thread, uint64_t time_ns);
  void SwitchAway();
  // Returns when no thread is behind the caller in time.
  void AwaitTurn();
  // Returns when another thread has ended the wait.
  void Block(const void* what);
  void Resume(size_t thread, uint64_t time_ns);
  // True: the processor can make this access without a transfer.
  bool Has(const Line& line, runtime::Access access) const;

  const Costs costs_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::priority_queue<Turn> turns_;
  absl::flat_hash_map<const void*, std::vector<size_t>> waiting_;
  absl::flat_hash_map<uintptr_t, Line> lines_;
  std::map<uintptr_t, Use> uses_;
  size_t current_ = 0;
  uint64_t next_order_ = 0;
  uint64_t next_wait_ = 1;
  uint64_t wakes_ = 0;
};

}  // namespace actord::sim
