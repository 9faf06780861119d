// A directory that lives as long as a test.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace actord::identity {

class WithDirectory : public testing::Test {
 protected:
  WithDirectory() { EXPECT_NE(mkdtemp(directory_.data()), nullptr); }
  ~WithDirectory() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string PathOf(const std::string& name) const {
    return directory_ + "/" + name;
  }
  // Returns the path.
  std::string Write(const std::string& text, mode_t mode = 0640) const {
    const std::string path = PathOf("tokens.toml");
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static struct stat StatusOf(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status;
  }
  // Names of the files in the directory, each with a space behind it.
  [[nodiscard]] std::string Files() const {
    std::string names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names += entry.path().filename().string() + " ";
    }
    return names;
  }

  std::string directory_ = testing::TempDir() + "actord_tokens_XXXXXX";
};

}  // namespace actord::identity
