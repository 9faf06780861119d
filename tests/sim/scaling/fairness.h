// How long a client's messages wait beside the flood of another client, on a
// simulated machine in virtual time.
//
// The measured client sends in an open loop: each message has a moment at which
// it is due, independent of the messages before it. Its rate takes half of its
// fair share, which is a quarter of the machine.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/sim/scaling/machine.h"

namespace actord::sim {

// The work of the other client, all the time and below its limits.
enum class Flood {
  kNone,
  kSubmit,    // submits processes of one step
  kMessages,  // sends to few processes, whose mailboxes are always full
  kSpread,    // sends to many processes
  kContinue,  // has processes that always continue
};
[[nodiscard]] std::string_view FloodName(Flood flood);

struct FairnessOptions {
  int workers = 2;
  uint64_t step_ns = 2000;  // the cost of each event
  Flood flood = Flood::kNone;
  // False: both clients are the same owner.
  bool has_two_owners = true;
  Machine::Costs costs;
};

struct FairnessResult {
  uint64_t sent = 0;   // in the time of the measurement
  uint64_t taken = 0;  // of these
  uint64_t refused = 0;
  uint64_t p50_ns = 0;  // from the moment that a message is due to its step
  uint64_t p99_ns = 0;
  uint64_t longest_ns = 0;
  uint64_t flood_events = 0;
};

[[nodiscard]] FairnessResult MeasureFairness(const FairnessOptions& options);

}  // namespace actord::sim
