// actord_bench: runs one workload, checks its result and prints its figures.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

#include "bench/bench_runtime.h"
#include "bench/workload.h"

namespace {

using actord::bench::Json;
using actord::bench::Workload;

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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs one of actord's benchmarks and checks its result.",
               "actord_bench");
  app.footer(Footer());
  std::string name;
  actord::bench::WorkloadOptions options;
  bool json = false;
  app.add_option("WORKLOAD", name, "What to run")->required();
  app.add_option("--workers", options.workers,
                 "Workers of the runtime; 0: one for each usable CPU")
      ->check(CLI::Range(0, 256));
  app.add_flag("--json", json, "Print one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  const Workload* workload = Find(name);
  if (workload == nullptr) {
    std::fprintf(stderr, "actord_bench: no workload %s; see --help\n",
                 name.c_str());
    return 64;
  }
  try {
    const Json figures = workload->run(options);
    if (json) {
      Json object = {{"workload", workload->name}};
      object.update(figures);
      std::printf("%s\n", object.dump().c_str());
    } else {
      PrintForPeople(*workload, figures);
    }
  } catch (const std::exception& error) {
    actord::bench::Fail(error.what());
  }
  return 0;
}
