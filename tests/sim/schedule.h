// Plays all threads of a runtime on one thread. Each is a fiber, and a seed
// decides which one continues at each place where threads could switch.
//
// It also keeps the time. The time creeps while a thread runs, sometimes jumps,
// and moves to the next deadline when all threads wait.
//
// Thread-safety: one thread. Ownership: owns the fibers.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/system/clock.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/random.h"
#include "tests/sim/fiber.h"

namespace actord::sim {

class Schedule final : public runtime::Interleaver, public runtime::Clock {
 public:
  // How this seed mixes its threads. All fields but `stall_most` and `creep_ns`
  // are odds of one in N; 0: never.
  struct Style {
    uint32_t switches = 8;     // a fail point switches the thread
    uint32_t stalls = 64;      // such a switch also stalls the thread
    uint32_t stall_most = 64;  // maximum length of a stall, in choices
    uint32_t spurious = 256;   // a choice ends a sleep spuriously
    uint32_t jumps = 4096;     // a choice moves the time far ahead
    uint64_t creep_ns = 2000;  // maximum duration of a choice
    // A long fail point keeps the thread for some time.
    uint32_t long_stalls = 0;
  };
  explicit Schedule(bool trace);
  ~Schedule() override;

  // Runs `main` as the first thread, until all threads have ended.
  void Run(uint64_t seed, const Style& style, std::function<void()> main);

  // Interleaver.
  void MaySwitch() override;
  void MayStall() override;
  bool Wait(const void* what, uint64_t timeout_ns) override;
  void Wake(const void* what) override;
  uint64_t Start(std::function<void()> run) override;
  void Join(uint64_t thread) override;
  void AwaitMutex(const void* mutex) override;

  // Clock.
  [[nodiscard]] uint64_t MonotonicNs() const override {
    threads_[current_]->looked_ns = now_ns_;
    return now_ns_;
  }
  [[nodiscard]] uint64_t UnixNs() const override {
    return kUnixOrigin + now_ns_;
  }

  // For the played threads.
  //
  // Waits for the time only. `busy`: to others the thread appears to work, and
  // no round ends meanwhile.
  void SleepFor(uint64_t ns, bool busy);
  // The caller is between two actions: a round may end without it.
  void Boundary();
  // Number of rounds so far. In a round every thread that does not wait reaches
  // a boundary; waiting threads need not.
  [[nodiscard]] uint64_t rounds() const { return rounds_; }
  [[nodiscard]] uint64_t now_ns() const { return now_ns_; }
  // True if a thread waits for `what`. Sets `deadline_ns` to its deadline as it
  // would be without a stall between the thread's last reading of the clock and
  // its wait.
  [[nodiscard]] bool IsWaitedFor(const void* what, uint64_t* deadline_ns) const;
  [[nodiscard]] size_t current() const { return current_; }
  [[nodiscard]] uint64_t choices() const { return choices_; }
  // A hash of every choice: the same for the same seed.
  [[nodiscard]] uint64_t fingerprint() const { return fingerprint_; }

  // Called when all threads wait, before the time moves to the next deadline.
  // `next_ns` is that deadline; kForever: there is none. No lock is held then.
  std::function<void(uint64_t next_ns)> when_quiet;
  // Called with a description of the error; must not return.
  std::function<void(const std::string&)> when_broken;

  [[nodiscard]] bool traces() const { return trace_; }
  void Trace(const char* format, ...) __attribute__((format(printf, 2, 3)));

  // A seed that takes more choices than this is considered endless.
  static constexpr uint64_t kMostChoices = 100'000'000;
  static constexpr uint64_t kUnixOrigin = 1'700'000'000'000'000'000;

 private:
  struct Thread {
    std::unique_ptr<Fiber> fiber;
    const void* waits_for = nullptr;
    bool waits = false;
    bool busy = false;  // appears to work although it waits
    bool timed_out = false;
    bool moved_on = false;  // reached a boundary in this round
    uint64_t deadline_ns = kForever;
    uint64_t meant_ns = kForever;  // deadline without a stall
    uint64_t looked_ns = 0;        // last reading of the clock
    uint64_t stalled_until = 0;    // number of a choice
  };

  bool OneIn(uint32_t n) { return n != 0 && random_.Next() % n == 0; }
  // The thread that continues; null: all have ended.
  Thread* Choose();
  void WakeWhoseTimeHasCome();
  void MoveTimeOn();
  void SwitchAway();
  void EndRoundIfAllMovedOn();

  const bool trace_;
  Style style_;
  runtime::Random random_{0};
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::unique_ptr<Fiber>> spare_fibers_;
  std::vector<Thread*> candidates_;
  size_t current_ = 0;
  uint64_t choices_ = 0;
  uint64_t fingerprint_ = 0;
  uint64_t now_ns_ = 0;
  uint64_t rounds_ = 0;
  // No deadline is earlier.
  uint64_t next_deadline_ns_ = kForever;
};

}  // namespace actord::sim
