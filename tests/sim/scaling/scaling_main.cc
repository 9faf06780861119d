// actord_sim_scaling: measures how the runtime scales on a machine with many
// processors, in virtual time (README.md). Prints one line of JSON for each
// run.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/scaling/scaling.h"

namespace {

using actord::sim::ScalingOptions;
using actord::sim::ScalingResult;

struct Options {
  std::vector<std::string> loads;
  std::vector<int> workers = {1, 2, 4, 8, 16, 32, 64};
  std::vector<int> steps_ns = {50, 500};
};

void Usage() {
  std::fputs(
      "usage: actord_sim_scaling [--load NAME]... [--workers N] [--step-ns N]\n"
      "loads:",
      stderr);
  for (const std::string_view load : actord::sim::ScalingLoads()) {
    std::fprintf(stderr, " %.*s", static_cast<int>(load.size()), load.data());
  }
  std::fputs("; 1 to 64 workers\n", stderr);
  std::exit(2);
}

int Number(const char* text, int most) {
  int value = 0;
  const char* end = text == nullptr ? nullptr : text + std::strlen(text);
  if (text == nullptr || std::from_chars(text, end, value).ptr != end ||
      value < 1 || value > most) {
    Usage();
  }
  return value;
}

std::string LoadOf(const char* text) {
  for (const std::string_view load : actord::sim::ScalingLoads()) {
    if (text != nullptr && load == text) return text;
  }
  Usage();
  return {};
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--load") {
      options.loads.push_back(LoadOf(argv[i + 1]));
    } else if (option == "--workers") {
      options.workers = {Number(argv[i + 1], 64)};
    } else if (option == "--step-ns") {
      options.steps_ns = {Number(argv[i + 1], 1'000'000)};
    } else {
      Usage();
    }
  }
  if (options.loads.empty()) {
    const auto& all = actord::sim::ScalingLoads();
    options.loads.assign(all.begin(), all.end());
  }
  return options;
}

void Print(const ScalingOptions& options, const ScalingResult& result) {
  std::printf(
      "{\"load\": \"%s\", \"step_ns\": %d, \"workers\": %d, "
      "\"operations_per_us\": %.3f, \"wakes_per_operation\": %.4f, "
      "\"waits\": {",
      options.load.c_str(), static_cast<int>(options.step_ns), options.workers,
      result.operations_per_us, result.wakes_per_operation);
  const char* separator = "";
  for (const auto& [name, share] : result.waits) {
    if (share < 0.001) continue;
    std::printf("%s\"%s\": %.3f", separator, name.c_str(), share);
    separator = ", ";
  }
  std::puts("}}");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  for (const std::string& load : options.loads) {
    for (const int step_ns : options.steps_ns) {
      for (const int workers : options.workers) {
        ScalingOptions run;
        run.load = load;
        run.workers = workers;
        run.step_ns = static_cast<uint64_t>(step_ns);
        Print(run, actord::sim::MeasureScaling(run));
      }
    }
  }
  return 0;
}
