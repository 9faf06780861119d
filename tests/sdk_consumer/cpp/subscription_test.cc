// Runs the subscription of the guide, whose path is the argument, for two
// years.
#include <actord/testing.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

namespace {

using actord::testing::Harness;

void Expect(bool holds, const std::string& what) {
  if (!holds) throw actord::testing::ExpectationFailed(what);
}

void LiveForTwoYears(const char* plugin, uint64_t seed) {
  Harness harness(plugin, {.seed = seed});
  if (seed % 2 == 0) harness.CrashEverywhere();
  const actord::Pid pid = harness.Submit("subscription");
  harness.Deliver(pid, "use");
  std::string month;
  for (int i = 1; i <= 24; ++i) {
    month += "I";
    harness.Deliver(pid, "use");
    harness.Advance(std::chrono::hours(30 * 24));
    const auto charge = harness.ExpectHeld("payment.charge");
    Expect(charge.payload.bytes == "month " + month + ": 2",
           "another bill: " + charge.payload.bytes);
    // Of the next month.
    harness.Deliver(pid, "use");
    harness.Run();
    Expect(harness.Complete(charge, "paid"), "the charge has ended");
  }
  harness.Deliver(pid, "stop");
  Expect(harness.ExpectResult(pid).bytes == "stopped in month " + month + "I",
         "another result");
}

}  // namespace

int main(int /*argc*/, char** argv) {
  try {
    actord::testing::ForEachSeed(
        20, [&](uint64_t seed) { LiveForTwoYears(argv[1], seed); });
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
