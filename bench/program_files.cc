#include "bench/program_files.h"

#include <filesystem>

namespace actord::bench {
namespace {

std::filesystem::path Directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace

std::string ProgramPath(std::string_view name) {
  return (Directory() / name).string();
}

std::string BenchPluginPath() {
  // Not among the daemon's plugins, so that no daemon loads it by accident.
  return (Directory() / "../lib/actord/bench/bench.so").lexically_normal();
}

}  // namespace actord::bench
