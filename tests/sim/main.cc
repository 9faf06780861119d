// actord_sim: runs the runtime under seeds (README.md).
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/sim/simulation.h"

namespace {

constexpr unsigned kMostSecondsASeed = 60;

struct Options {
  uint64_t first = 1;
  uint64_t count = 1;
  bool trace = false;
  bool verbose = false;
};

uint64_t current_seed = 0;

void Usage() {
  std::fputs(
      "usage: actord_sim --seed N [--trace]\n"
      "       actord_sim --seeds N [--first M] [--verbose]\n",
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

[[noreturn]] void Report(const std::string& what) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(current_seed),
              what.c_str());
  std::fflush(stdout);
  _exit(1);
}

// The seed is wanted also when the runtime crashes or never comes back.
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
  // The stack may be what is broken.
  static char stack[64 << 10];
  const stack_t alternate{stack, 0, sizeof(stack)};
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {
         SIGALRM, SIGABRT, SIGFPE, SIGILL
#if !defined(__SANITIZE_ADDRESS__)
             ,
             SIGSEGV, SIGBUS
#endif
       }) {
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  CatchSignals();
  // Each seed allocates the same large tables: keep the memory.
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  actord::sim::Simulation simulation(options.trace, Report);
  uint64_t steps = 0;
  uint64_t longest_wait = 0;
  for (uint64_t i = 0; i < options.count; ++i) {
    current_seed = options.first + i;
    alarm(kMostSecondsASeed);
    const actord::sim::Summary summary = simulation.Run(current_seed);
    steps += summary.steps;
    longest_wait = std::max(longest_wait, summary.longest_wait);
    if (options.verbose || options.count == 1) {
      std::printf(
          "seed %llu: good, fingerprint %016llx, %llu steps, "
          "%llu choices, longest wait %llu rounds\n",
          static_cast<unsigned long long>(current_seed),
          static_cast<unsigned long long>(summary.fingerprint),
          static_cast<unsigned long long>(summary.steps),
          static_cast<unsigned long long>(summary.choices),
          static_cast<unsigned long long>(summary.longest_wait));
    }
  }
  std::printf("%llu seeds are good: %llu steps, longest wait %llu rounds\n",
              static_cast<unsigned long long>(options.count),
              static_cast<unsigned long long>(steps),
              static_cast<unsigned long long>(longest_wait));
  return 0;
}
