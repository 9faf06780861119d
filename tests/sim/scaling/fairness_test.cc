// A client that asks for half of its fair share keeps its throughput and its
// waits beside the flood of another client, on the simulated machine.
#include "tests/sim/scaling/fairness.h"

#include <gtest/gtest.h>

#include <string>

namespace actord::sim {
namespace {

FairnessResult Measure(int workers, Flood flood, bool has_two_owners = true) {
  FairnessOptions options;
  options.workers = workers;
  options.flood = flood;
  options.has_two_owners = has_two_owners;
  return MeasureFairness(options);
}

// The longest turn of the flood: a full mailbox gives a step 256 events. Beside
// the work of the step, the turn fetches the envelope of each event from
// another processor and frees it.
uint64_t TurnNs(Flood flood) {
  constexpr uint64_t kEnvelopeNs = 200;
  const uint64_t events =
      flood == Flood::kMessages || flood == Flood::kSpread ? 256 : 1;
  return events * (FairnessOptions{}.step_ns + kEnvelopeNs);
}

TEST(Fairness, AFloodOfAnotherOwnerDelaysAClientByOneOfItsTurns) {
  for (const int workers : {1, 2, 4}) {
    const FairnessResult alone = Measure(workers, Flood::kNone);
    ASSERT_EQ(alone.taken, alone.sent);
    for (const Flood flood :
         {Flood::kSubmit, Flood::kMessages, Flood::kSpread, Flood::kContinue}) {
      SCOPED_TRACE(std::string(FloodName(flood)) +
                   ", workers: " + std::to_string(workers));
      const FairnessResult beside = Measure(workers, flood);
      EXPECT_EQ(beside.refused, 0u);
      EXPECT_GE(static_cast<double>(beside.taken),
                0.9 * static_cast<double>(beside.sent));
      EXPECT_LE(static_cast<double>(beside.p99_ns),
                1.1 * static_cast<double>(alone.p99_ns) +
                    static_cast<double>(TurnNs(flood)));
      EXPECT_GT(beside.flood_events, 1000u) << "there was no flood";
    }
  }
}

TEST(Fairness, FloodOfTheSameOwnerDelaysEverything) {
  const FairnessResult alone = Measure(2, Flood::kNone, false);
  EXPECT_GT(Measure(2, Flood::kSubmit, false).p99_ns, 10 * alone.p99_ns)
      << "otherwise the other test shows nothing";
  EXPECT_LT(Measure(2, Flood::kSpread, false).taken, alone.taken / 2);
}

}  // namespace
}  // namespace actord::sim
