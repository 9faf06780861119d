// One seed: draws a world, lets it live under a schedule, shuts it down, and
// checks what is left.
//
// Thread-safety: one thread; one simulation a program, because a broken promise
// ends it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/sim/schedule.h"
#include "tests/sim/world.h"

namespace actord::sim {

// What a seed has shown, for people.
struct Summary {
  uint64_t fingerprint = 0;
  uint64_t steps = 0;
  uint64_t choices = 0;
  uint64_t longest_wait = 0;  // rounds
  uint64_t bound = 0;         // what it may be
};

class Simulation {
 public:
  // `broken` gets what is wrong, and does not return.
  Simulation(bool trace, std::function<void(const std::string&)> broken);
  Summary Run(uint64_t seed);

 private:
  Schedule schedule_;
};

}  // namespace actord::sim
