// Arguments with which the benchmarks start the daemon: its defaults, a free
// port, and the benchmark's processes.
//
// Thread-safety: pure function.
#pragma once

#include <string>
#include <vector>

#include "bench/program_files.h"

namespace actord::bench {

// For ServerProcess, which appends the path of the port file. `store`: the
// directory of the store; empty: none.
inline std::vector<std::string> DaemonArguments(int workers,
                                                const std::string& store = "") {
  std::vector<std::string> arguments = {"--listen",    "127.0.0.1:0",
                                        "--log-level", "warning",
                                        "--plugin",    BenchPluginPath()};
  if (workers != 0) {
    arguments.insert(arguments.end(), {"--workers", std::to_string(workers)});
  }
  if (!store.empty()) arguments.insert(arguments.end(), {"--store", store});
  arguments.push_back("--port-file");
  return arguments;
}

}  // namespace actord::bench
