// A machine of as many processors as there are threads, in virtual time: plays
// the threads of a runtime, each on a processor of its own, always the one
// whose time is the earliest, and adds what each thing costs to its time.
//
// The costs are those of `Costs` and no others: what code computes between two
// places that say so is free, so whoever runs a process says with Work what its
// step costs. A cache line is with one processor that may write it, or with
// some that read it. To write or change what another has had takes a transfer,
// and a line makes one transfer after the other; to read what another has
// written takes one, too, but several may read at the same time.
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
    uint64_t access_ns = 1;      // of a line that the processor has
    uint64_t change_ns = 5;      // likewise, of a read-modify-write
    uint64_t transfer_ns = 60;   // of a line that another one had
    uint64_t wake_ns = 2000;     // for who wakes a thread
    uint64_t wake_up_ns = 4000;  // until the thread runs that was woken
    uint64_t spin_ns = 2000;  // how long one waits for a mutex before it sleeps
    uint64_t yield_ns = 600;  // of a call of sched_yield
    uint64_t pause_ns = 35;
    uint64_t clock_ns = 30;  // of a look at the clock
  };
  // What has been waited for.
  struct Use {
    uint64_t accesses = 0;
    uint64_t transfers = 0;
    uint64_t wait_ns = 0;  // transfers, and for others to end theirs
    bool is_mutex = false;
  };
  static constexpr size_t kMostThreads = 192;

  explicit Machine(const Costs& costs);
  ~Machine() override;

  // Runs `main` as the first thread, until all threads have ended.
  void Run(std::function<void()> main);

  // ---- Interleaver.
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

  // ---- Clock.
  [[nodiscard]] uint64_t MonotonicNs() const override;
  [[nodiscard]] uint64_t UnixNs() const override { return MonotonicNs(); }

  // ---- For the threads.
  // The caller's processor is busy for so long.
  void Work(uint64_t ns) { now().time_ns += ns; }
  // The caller does nothing for so long; that costs nothing.
  void Sleep(uint64_t ns);
  // Of the caller; unlike MonotonicNs for free.
  [[nodiscard]] uint64_t time_ns() const { return threads_[current_]->time_ns; }

  // ---- What it has cost since ForgetUses.
  [[nodiscard]] const std::map<uintptr_t, Use>& uses() const { return uses_; }
  [[nodiscard]] uint64_t wakes() const { return wakes_; }
  void ForgetUses();

 private:
  static constexpr int kNobody = -1;

  struct Thread {
    std::unique_ptr<Fiber> fiber;
    uint64_t time_ns = 0;
    uint64_t wait = 0;  // number of its wait, if it waits; else 0
    const void* waits_for = nullptr;
    uint64_t waits_since_ns = 0;
    bool timed_out = false;
  };
  struct Line {
    int writer = kNobody;  // who has it alone
    uint64_t free_ns = 0;  // when the last transfer to a writer has ended
    std::bitset<kMostThreads> readers;
  };
  // A thread goes on at this time, if it is not in another wait by then.
  struct Turn {
    uint64_t time_ns;
    uint64_t order;  // of those at the same time
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
  // Until nobody is behind the caller in time.
  void AwaitTurn();
  // Returns when somebody has ended the wait.
  void Block(const void* what);
  void Resume(size_t thread, uint64_t time_ns);
  // True: the line is there for this access without a transfer.
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
