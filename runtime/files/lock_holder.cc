#include "runtime/files/lock_holder.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace actord::runtime {

std::string ProgramText(int pid) {
  std::ifstream name(absl::StrCat("/proc/", pid, "/comm"));
  std::string program;
  std::getline(name, program);
  // A program chooses its name.
  std::replace_if(
      program.begin(), program.end(),
      [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return program.empty() ? absl::StrCat(" (PID ", pid, ")")
                         : absl::StrCat(" (PID ", pid, ", ", program, ")");
}

std::string LockHolder(int descriptor) {
  struct stat state = {};
  if (fstat(descriptor, &state) != 0) return "";
  std::ifstream locks("/proc/locks");
  // 1: FLOCK  ADVISORY  WRITE 7 08:01:4242 0 EOF
  const std::string file =
      absl::StrFormat("%02x:%02x:%u", major(state.st_dev), minor(state.st_dev),
                      static_cast<uint64_t>(state.st_ino));
  std::string number;
  std::string kind;
  std::string ignored;
  std::string mode;
  int pid = 0;
  std::string of;
  while (locks >> number >> kind >> ignored >> mode >> pid >> of) {
    std::getline(locks, ignored);
    if (kind == "FLOCK" && of == file && pid > 0) return ProgramText(pid);
  }
  return "";
}

}  // namespace actord::runtime
