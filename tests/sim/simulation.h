// One seed: draws a world, runs it under a schedule, shuts it down, and checks
// the remains.
//
// Thread-safety: one thread. Only one simulation in a program, because a broken
// promise ends the program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/durable/durable_store.h"
#include "tests/sim/schedule.h"
#include "tests/sim/world.h"

namespace actord::sim {

// The results of a seed, for people.
struct Summary {
  uint64_t fingerprint = 0;
  uint64_t steps = 0;
  uint64_t choices = 0;
  // In rounds.
  uint64_t longest_wait = 0;
  // Maximum allowed for that wait.
  uint64_t bound = 0;
  // (16) of world.h.
  uint64_t longest_of_stranger = 0;
};

class Simulation {
 public:
  // `broken` is called with a description of the error, and must not return.
  Simulation(bool trace, std::function<void(const std::string&)> broken);
  Summary Run(uint64_t seed);
  // The same world over a store, in which nothing is durable: all promises hold
  // as without it. `open` is called on the first thread of the schedule.
  using OpenStore = std::function<std::unique_ptr<runtime::DurableStore>()>;
  Summary RunOverStore(uint64_t seed, OpenStore open);
  Schedule& schedule() { return schedule_; }

 private:
  Schedule schedule_;
};

}  // namespace actord::sim
