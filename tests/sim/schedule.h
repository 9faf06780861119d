// Plays all threads of a runtime on one: each is a fiber, and a seed decides
// who goes on at each place where threads could change.
//
// Time is counted here too. It creeps while somebody runs, jumps now and then,
// and moves on to the next deadline when all wait.
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
  // How this seed's threads are mixed. One in so many: 0 is never.
  struct Style {
    uint32_t switches = 8;     // of the fail points changes the thread
    uint32_t stalls = 64;      // of these keeps the thread from going on
    uint32_t stall_most = 64;  // for so many choices at most
    uint32_t spurious = 256;   // of the choices ends a sleep for no reason
    uint32_t jumps = 4096;     // of the choices moves the time by much
    uint64_t creep_ns = 2000;  // a choice lasts so long at most
  };
  explicit Schedule(bool trace);
  ~Schedule() override;

  // Runs `main` as the first thread, until all threads have ended.
  void Run(uint64_t seed, const Style& style, std::function<void()> main);

  // ---- Interleaver.
  void MaySwitch() override;
  bool Wait(const void* what, uint64_t timeout_ns) override;
  void Wake(const void* what) override;
  uint64_t Start(std::function<void()> run) override;
  void Join(uint64_t thread) override;
  void AwaitMutex(const void* mutex) override;

  // ---- Clock.
  [[nodiscard]] uint64_t MonotonicNs() const override {
    threads_[current_]->looked_ns = now_ns_;
    return now_ns_;
  }
  [[nodiscard]] uint64_t UnixNs() const override {
    return kUnixOrigin + now_ns_;
  }

  // ---- For those who play.
  // Waits for nothing but the time. `busy`: as seen by others the thread works,
  // and no round ends meanwhile.
  void SleepFor(uint64_t ns, bool busy);
  // The caller is between two things: a round may end without it.
  void Boundary();
  // Rounds so far. In a round every thread that does not wait comes to a
  // boundary; those that wait need not.
  [[nodiscard]] uint64_t rounds() const { return rounds_; }
  [[nodiscard]] uint64_t now_ns() const { return now_ns_; }
  // Whether some thread waits for `what`, and until when, had it not been kept
  // from going on between its last look at the clock and its wait.
  [[nodiscard]] bool IsWaitedFor(const void* what, uint64_t* deadline_ns) const;
  [[nodiscard]] size_t current() const { return current_; }
  [[nodiscard]] uint64_t choices() const { return choices_; }
  // Depends on every choice: the same for the same seed.
  [[nodiscard]] uint64_t fingerprint() const { return fingerprint_; }

  // Called when all wait, before the time moves on to the next deadline, which
  // it gets; kForever: there is none. Locks are free then.
  std::function<void(uint64_t next_ns)> when_quiet;
  // Called with what is wrong; does not return.
  std::function<void(const std::string&)> when_broken;

  [[nodiscard]] bool traces() const { return trace_; }
  void Trace(const char* format, ...) __attribute__((format(printf, 2, 3)));

  // A seed that takes more choices than this does not end.
  static constexpr uint64_t kMostChoices = 20'000'000;
  static constexpr uint64_t kUnixOrigin = 1'700'000'000'000'000'000;

 private:
  struct Thread {
    std::unique_ptr<Fiber> fiber;
    const void* waits_for = nullptr;
    bool waits = false;
    bool busy = false;  // though it waits
    bool timed_out = false;
    bool moved_on = false;  // came to a boundary in this round
    uint64_t deadline_ns = kForever;
    uint64_t meant_ns = kForever;  // the deadline, from the look at the clock
    uint64_t looked_ns = 0;        // at the clock
    uint64_t stalled_until = 0;    // choice
  };

  bool OneIn(uint32_t n) { return n != 0 && random_.Next() % n == 0; }
  // Who goes on; null: all have ended.
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
  uint64_t next_deadline_ns_ = kForever;  // none is earlier
};

}  // namespace actord::sim
