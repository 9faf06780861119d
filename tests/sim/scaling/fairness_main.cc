// actord_sim_fairness: measures how long a client's messages wait beside the
// flood of another client, in virtual time (README.md). Prints one line of JSON
// for each run.
#include <cstdio>

#include "tests/sim/scaling/fairness.h"

int main() {
  using namespace actord::sim;
  for (const int workers : {1, 2, 4}) {
    for (const bool has_two_owners : {true, false}) {
      for (const Flood flood : {Flood::kNone, Flood::kSubmit, Flood::kMessages,
                                Flood::kSpread, Flood::kContinue}) {
        FairnessOptions options;
        options.workers = workers;
        options.flood = flood;
        options.has_two_owners = has_two_owners;
        const FairnessResult result = MeasureFairness(options);
        std::printf(
            "{\"workers\": %d, \"owners\": %d, \"flood\": \"%s\", \"sent\": "
            "%llu, \"taken\": %llu, \"refused\": %llu, \"p50_ns\": %llu, "
            "\"p99_ns\": %llu, \"longest_ns\": %llu, \"flood_events\": %llu}\n",
            workers, has_two_owners ? 2 : 1, FloodName(flood).data(),
            static_cast<unsigned long long>(result.sent),
            static_cast<unsigned long long>(result.taken),
            static_cast<unsigned long long>(result.refused),
            static_cast<unsigned long long>(result.p50_ns),
            static_cast<unsigned long long>(result.p99_ns),
            static_cast<unsigned long long>(result.longest_ns),
            static_cast<unsigned long long>(result.flood_events));
        std::fflush(stdout);
      }
    }
  }
  return 0;
}
