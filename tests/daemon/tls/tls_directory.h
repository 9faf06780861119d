// A folder of the test with the files of TLS.
//
// Thread-safety: none. The destructor removes the folder.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/settings/config.h"

namespace actord::daemon {

class TlsDirectory {
 public:
  TlsDirectory() : path_(::testing::TempDir() + "actord_tls_XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TlsDirectory() { std::filesystem::remove_all(path_); }
  TlsDirectory(const TlsDirectory&) = delete;
  TlsDirectory& operator=(const TlsDirectory&) = delete;

  // Writes the file and returns its path.
  std::string Write(const std::string& name, const std::string& text,
                    mode_t mode = 0600) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace actord::daemon
