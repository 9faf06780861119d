// Names the program that holds a file, for messages.
//
// Thread-safety: pure functions over /proc.
#pragma once

#include <string>

namespace actord::runtime {

// " (PID 7, actord)".
std::string ProgramText(int pid);

// " (PID 7, actord)": the holder of the flock of this file; empty: nobody holds
// it, or the system does not know the holder, for example because it is in
// another container.
std::string LockHolder(int descriptor);

}  // namespace actord::runtime
