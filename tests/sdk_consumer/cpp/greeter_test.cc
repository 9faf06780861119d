// Runs the plugin whose path is the argument in the installed harness.
#include <actord/testing.h>

#include <cstdio>
#include <exception>

int main(int /*argc*/, char** argv) {
  using actord::testing::Harness;
  try {
    actord::testing::ForEachSeed(20, [&](uint64_t seed) {
      Harness harness(argv[1], {.seed = seed});
      const actord::Pid greeter = harness.Submit("greeter", "run", "Ada");
      if (harness.ExpectResult(greeter).bytes != "Hello, Ada!") {
        throw actord::testing::ExpectationFailed("another greeting");
      }
    });
    Harness harness(argv[1]);
    harness.Hold("greeter.greet");
    const actord::Pid greeter = harness.Submit("greeter", "run", "Ada");
    harness.CompleteNext("greeter.greet", "held");
    if (harness.ExpectResult(greeter).bytes != "held") return 1;
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
