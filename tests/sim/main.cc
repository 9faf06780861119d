// actord_sim: runs the runtime under seeds (README.md).
#include <malloc.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/sim/simulation.h"
#include "tests/sim/store/store_simulation.h"
#include "tests/support/sanitizers.h"

namespace {

constexpr unsigned kMostSecondsASeed = 60;

struct Options {
  uint64_t first = 1;
  uint64_t count = 1;
  bool trace = false;
  bool verbose = false;
  bool store = false;
};

uint64_t current_seed = 0;

void Usage() {
  std::fputs(
      "usage: actord_sim [--store] --seed N [--trace]\n"
      "       actord_sim [--store] --seeds N [--first M] [--verbose]\n",
      stderr);
  std::exit(2);
}

uint64_t Number(const char* text) {
  uint64_t value = 0;
  const char* end = text == nullptr ? nullptr : text + std::strlen(text);
  if (text == nullptr || std::from_chars(text, end, value).ptr != end) Usage();
  return value;
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--trace") {
      options.trace = true;
    } else if (option == "--verbose") {
      options.verbose = true;
    } else if (option == "--store") {
      options.store = true;
    } else if (option == "--seed") {
      options.first = Number(argv[++i]);
      options.count = 1;
    } else if (option == "--seeds") {
      options.count = Number(argv[++i]);
    } else if (option == "--first") {
      options.first = Number(argv[++i]);
    } else {
      Usage();
    }
  }
  return options;
}

void Begin(uint64_t seed) {
  current_seed = seed;
  alarm(kMostSecondsASeed);
}

[[noreturn]] void Report(const std::string& what) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(current_seed),
              what.c_str());
  std::fflush(stdout);
  _exit(1);
}

#if ACTORD_ADDRESS_SANITIZER
void OnSanitizerDeath() {
  std::printf("seed %llu: the sanitizer has a report\n",
              static_cast<unsigned long long>(current_seed));
  std::fflush(stdout);
}
#endif

// Prints the seed also if the runtime crashes or hangs.
void OnSignal(int number) {
  char text[96];
  const int size =
      std::snprintf(text, sizeof(text), "seed %llu: %s\n",
                    static_cast<unsigned long long>(current_seed),
                    number == SIGALRM ? "hangs" : strsignal(number));
  if (size > 0 && write(STDOUT_FILENO, text, static_cast<size_t>(size)) < 0) {
    _exit(3);
  }
  _exit(1);
}

void CatchSignals() {
  // A stack of its own, because the current stack may be broken.
  static char stack[64 << 10];
  const stack_t alternate{stack, 0, sizeof(stack)};
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {SIGALRM, SIGABRT, SIGFPE, SIGILL, SIGSEGV, SIGBUS}) {
    sigaction(number, &action, nullptr);
  }
}

void RunVolatile(const Options& options) {
  actord::sim::Simulation simulation(options.trace, Report);
  uint64_t steps = 0;
  uint64_t longest_of_stranger = 0;
  actord::sim::Summary slowest;
  for (uint64_t i = 0; i < options.count; ++i) {
    Begin(options.first + i);
    const actord::sim::Summary summary = simulation.Run(current_seed);
    steps += summary.steps;
    longest_of_stranger =
        std::max(longest_of_stranger, summary.longest_of_stranger);
    // The seed whose longest wait came closest to its bound.
    if (summary.longest_wait * std::max<uint64_t>(1, slowest.bound) >
        slowest.longest_wait * summary.bound) {
      slowest = summary;
    }
    if (options.verbose || options.count == 1) {
      std::printf("seed %" PRIu64 ": good, fingerprint %016" PRIx64 ", %" PRIu64
                  " steps, %" PRIu64 " choices, longest wait %" PRIu64
                  " of %" PRIu64 " rounds\n",
                  current_seed, summary.fingerprint, summary.steps,
                  summary.choices, summary.longest_wait, summary.bound);
    }
  }
  std::printf("%" PRIu64 " seeds are good: %" PRIu64
              " steps, longest wait %" PRIu64 " of %" PRIu64
              " rounds, beside another owner %" PRIu64 " of %" PRIu64 "\n",
              options.count, steps, slowest.longest_wait, slowest.bound,
              longest_of_stranger, actord::sim::World::kBoundOfStranger);
}

void RunWithStore(const Options& options) {
  actord::sim::StoreSimulation simulation(options.trace, Report);
  actord::sim::StoreSummary all;
  for (uint64_t i = 0; i < options.count; ++i) {
    Begin(options.first + i);
    const actord::sim::StoreSummary summary = simulation.Run(current_seed);
    all.Add(summary);
    if (options.verbose || options.count == 1) {
      std::printf("seed %" PRIu64 ": good, fingerprint %016" PRIx64 ", %" PRIu64
                  " steps, %" PRIu64 " choices, %" PRIu64 " lives\n",
                  current_seed, summary.fingerprint, summary.steps,
                  summary.choices, summary.lives);
    }
  }
  std::printf("%" PRIu64 " seeds with a store are good: %" PRIu64
              " steps, %" PRIu64 " entries, %" PRIu64 " lives, %" PRIu64
              " crashes, %" PRIu64 " crashes in recovery, %" PRIu64
              " failures of the disk, %" PRIu64
              " damaged stores refused, %" PRIu64 " dormant processes, %" PRIu64
              " cancels, %" PRIu64 " upgrades, %" PRIu64
              " calls refused by a quarantine\n",
              options.count, all.steps, all.entries, all.lives, all.crashes,
              all.crashes_in_recovery, all.disk_failures, all.refused,
              all.dormant, all.cancels, all.upgrades, all.quarantined);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  CatchSignals();
#if ACTORD_ADDRESS_SANITIZER
  __sanitizer_set_death_callback(OnSanitizerDeath);
#endif
  // Keep freed memory, because each seed allocates the same large tables.
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  options.store ? RunWithStore(options) : RunVolatile(options);
  return 0;
}
