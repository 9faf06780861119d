// Paths of the files that belong to this program, relative to it, as the build
// leaves them.
//
// Thread-safety: any thread.
#pragma once

#include <string>
#include <string_view>

namespace actord::bench {

// The executable `name` in the directory of this one.
std::string ProgramPath(std::string_view name);
// The plugin with the benchmark's processes.
std::string BenchPluginPath();

}  // namespace actord::bench
