// Where the files are that belong to this program: beside it, as the build left
// them.
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
