// actord_bench: runs one workload, or all one after the other, checks the
// results and prints the figures.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/workload.h"

namespace {

using actord::bench::Json;
using actord::bench::Workload;

constexpr int kExitUsage = 64;

std::string Footer() {
  std::string text = "Workloads:\n";
  for (const Workload& workload : actord::bench::Workloads()) {
    text += "  ";
    text += workload.name;
    text.append(12 - std::min<size_t>(11, workload.name.size()), ' ');
    text += workload.doc;
    text += '\n';
  }
  return text;
}

const Workload* Find(const std::string& name) {
  for (const Workload& workload : actord::bench::Workloads()) {
    if (workload.name == name) return &workload;
  }
  return nullptr;
}

void PrintForPeople(const Workload& workload, const Json& figures) {
  std::printf("%-12s", std::string(workload.name).c_str());
  for (const auto& [name, value] : figures.items()) {
    if (value.is_number_float()) {
      std::printf("  %s %.4g", name.c_str(), value.get<double>());
    } else {
      std::printf("  %s %s", name.c_str(), value.dump().c_str());
    }
  }
  std::printf("\n");
}

void Run(const Workload& workload,
         const actord::bench::WorkloadOptions& options, bool json) {
  const Json figures = workload.run(options);
  if (json) {
    Json object = {{"workload", workload.name}};
    object.update(figures);
    std::printf("%s\n", object.dump().c_str());
  } else {
    PrintForPeople(workload, figures);
  }
}

// Runs `workload` in a process of its own, so that it does not reuse the memory
// of the previous one. False: it failed and printed why.
bool RunApart(const Workload& workload, char** argv, bool json) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) actord::bench::Fail("cannot start a process");
  if (child == 0) {
    // The options, then the workload.
    std::vector<char*> arguments;
    for (char** argument = argv; *argument != nullptr; ++argument) {
      arguments.push_back(*argument);
    }
    std::string name(workload.name);
    arguments.push_back(name.data());
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!ok && !json) std::printf("%s  FAILED\n", workload.name.data());
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs one of actord's benchmarks, or all of them in turn.",
               "actord_bench");
  app.footer(Footer());
  std::string name;
  actord::bench::WorkloadOptions options;
  bool json = false;
  app.add_option("WORKLOAD", name, "What to run; without it, each in turn");
  app.add_option("--workers", options.workers,
                 "Workers of the runtime; 0: one for each usable CPU")
      ->check(CLI::Range(0, 256));
  app.add_option("--processes", options.idle_processes,
                 "How many processes memory, idle, recovery and dormant "
                 "have; 1,000,000 by default")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}));
  app.add_option("--minutes", options.minutes,
                 "How long durable_steady sends; 0.5 by default")
      ->check(CLI::Range(0.01, 10'000.0));
  app.add_option("--rate", options.messages_per_second,
                 "How many messages a second durable_steady sends; 100,000 by "
                 "default")
      ->check(CLI::Range(int64_t{100}, int64_t{10'000'000}));
  app.add_option("--cpu-latency-us", options.cpu_latency_us,
                 "Maximum wake-up latency of an idle CPU in us; 0: idle CPUs "
                 "poll (needs the right to write to /dev/cpu_dma_latency)")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000}));
  app.add_flag("--store", options.with_store,
               "Give each runtime and daemon a store that no process uses, in "
               "the directory for temporary files; the durable workloads have "
               "one anyway");
  app.add_flag("--json", json, "Print one JSON object a workload");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (name.empty()) {
    bool all_ok = true;
    for (const Workload& workload : actord::bench::Workloads()) {
      if (workload.device != nullptr && access(workload.device, W_OK) != 0) {
        std::fprintf(stderr, "actord_bench: %s left out: %s: %s\n",
                     workload.name.data(), workload.device,
                     std::strerror(errno));
        continue;
      }
      all_ok = RunApart(workload, argv, json) && all_ok;
    }
    return all_ok ? 0 : 1;
  }
  const Workload* workload = Find(name);
  if (workload == nullptr) {
    std::fprintf(stderr, "actord_bench: no workload %s; see --help\n",
                 name.c_str());
    return kExitUsage;
  }
  try {
    Run(*workload, options, json);
  } catch (const std::exception& error) {
    actord::bench::Fail(error.what());
  }
  return 0;
}
