// A directory for the files of one benchmark, in the directory for temporary
// files (TMPDIR). The benchmark measures the disk of this directory.
//
// Thread-safety: one thread. Ownership: removes the directory with all files.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "bench/bench_runtime.h"

namespace actord::bench {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    path_ = std::filesystem::temp_directory_path() / "actord_bench_XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) Fail("cannot make a directory");
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace actord::bench
