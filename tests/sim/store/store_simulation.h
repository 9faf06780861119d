// One seed of a daemon with a store: several lives of one program on one
// simulated disk. Each life ends by a crash, by a failure of the disk, or by a
// stop; the next one recovers what the disk has. Promises: outside.h.
//
// Thread-safety: one thread. Only one simulation in a program, because a broken
// promise ends the program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/sim/simulation.h"

namespace actord::sim {

// The results of a seed, for people.
struct StoreSummary {
  uint64_t fingerprint = 0;
  uint64_t choices = 0;
  uint64_t lives = 0;
  uint64_t crashes = 0;
  uint64_t crashes_in_recovery = 0;
  uint64_t disk_failures = 0;
  uint64_t refused = 0;      // stores of which a byte has changed
  uint64_t dormant = 0;      // processes that were dormant when a life ended
  uint64_t cancels = 0;      // acknowledged
  uint64_t upgrades = 0;     // of processes
  uint64_t quarantined = 0;  // calls that a quarantine has refused
  uint64_t steps = 0;
  uint64_t entries = 0;  // of the diaries at the end

  // Adds all but the fingerprint.
  void Add(const StoreSummary& other);
};

class StoreSimulation {
 public:
  // `broken` is called with a description of the error, and must not return.
  StoreSimulation(bool trace, std::function<void(const std::string&)> broken);
  // One of eight seeds is a world of volatile processes over a store.
  StoreSummary Run(uint64_t seed);

 private:
  StoreSummary RunVolatile(uint64_t seed);

  Simulation simulation_;
};

}  // namespace actord::sim
