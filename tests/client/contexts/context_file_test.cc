#include "client/contexts/context_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace actord::client {
namespace {

using ::testing::HasSubstr;

class ContextFile : public testing::Test {
 protected:
  ContextFile() {
    std::string pattern = testing::TempDir() + "contexts-XXXXXX";
    home_ = mkdtemp(pattern.data());
    path_ = home_ + "/.config/actorctl/contexts.toml";
  }
  ~ContextFile() override { std::filesystem::remove_all(home_); }

  absl::Status Add(const std::string& name,
                   const identity::FileCalls& calls = {}) {
    return EditContexts(
        path_,
        [&name](Contexts& contexts) {
          contexts.all[name].address = "127.0.0.1:7600";
          return absl::OkStatus();
        },
        calls);
  }
  [[nodiscard]] std::string Text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 07777u;
  }
  [[nodiscard]] std::string Directory() const {
    return home_ + "/.config/actorctl";
  }

  std::string home_;
  std::string path_;
};

TEST_F(ContextFile, IsMadeForItsOwnerAlone) {
  const mode_t umask_before = umask(0);
  const absl::Status status = Add("a");
  umask(umask_before);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ModeOf(path_), 0600u);
  EXPECT_EQ(ModeOf(Directory()), 0700u);
  EXPECT_EQ(ReadContexts(path_)->all.at("a").address, "127.0.0.1:7600");
}

TEST_F(ContextFile, IsEmptyIfThereIsNone) {
  EXPECT_EQ(*ReadContexts(path_), Contexts());
  std::filesystem::create_directories(Directory());
  chmod(Directory().c_str(), 0700);
  EXPECT_EQ(*ReadContexts(path_), Contexts());
}

TEST_F(ContextFile, IsRefusedIfOthersCanReadOrWriteIt) {
  ASSERT_TRUE(Add("a").ok());
  for (const mode_t mode : {0640u, 0604u, 0620u, 0602u}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    for (const absl::Status& status :
         {ReadContexts(path_).status(), Add("b")}) {
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("so that other users can read or write it: chmod "
                            "0600 " +
                            path_));
    }
  }
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  ASSERT_EQ(chmod(Directory().c_str(), 0750), 0);
  for (const absl::Status& status : {ReadContexts(path_).status(), Add("b")}) {
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("chmod 0700 " + Directory()));
  }
  ASSERT_EQ(chmod(Directory().c_str(), 0700), 0);
  EXPECT_EQ(ReadContexts(path_)->all.size(), 1u);
}

TEST_F(ContextFile, IsNoLinkAndNoOtherKindOfFile) {
  ASSERT_TRUE(Add("a").ok());
  std::filesystem::rename(path_, home_ + "/elsewhere");
  std::filesystem::create_symlink(home_ + "/elsewhere", path_);
  EXPECT_THAT(std::string(ReadContexts(path_).status().message()),
              HasSubstr("cannot be opened"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  ASSERT_EQ(chmod(path_.c_str(), 0700), 0);
  EXPECT_THAT(std::string(ReadContexts(path_).status().message()),
              HasSubstr("is not a regular file"));
}

TEST_F(ContextFile, StaysAsItWasIfAnEditFails) {
  ASSERT_TRUE(Add("a").ok());
  const std::string before = Text();
  const absl::Status refused = EditContexts(path_, [](Contexts& contexts) {
    contexts.all.clear();
    return absl::NotFoundError("no");
  });
  EXPECT_EQ(refused.message(), "no");
  EXPECT_EQ(Text(), before);
  identity::FileCalls full;
  full.write = [](int, const void*, size_t) -> ssize_t {
    errno = ENOSPC;
    return -1;
  };
  EXPECT_THAT(std::string(Add("b", full).message()),
              HasSubstr("the file is unchanged"));
  identity::FileCalls unsynced;
  unsynced.fsync = [](int) {
    errno = EIO;
    return -1;
  };
  EXPECT_FALSE(Add("b", unsynced).ok());
  EXPECT_EQ(Text(), before);
}

TEST_F(ContextFile, LosesNoEditOfSeveralAtATime) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [this, i] { EXPECT_TRUE(Add("c" + std::to_string(i)).ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadContexts(path_)->all.size(), 8u);
}

TEST(ContextsPath, FollowsTheEnvironment) {
  using EnvVariables = std::map<std::string, std::string>;
  const auto path = [](const EnvVariables& variables) {
    return ContextsPath([&variables](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    });
  };
  EXPECT_EQ(path({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}}),
            "/x/actorctl/contexts.toml");
  EXPECT_EQ(path({{"HOME", "/h"}}), "/h/.config/actorctl/contexts.toml");
  EXPECT_EQ(path({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "relative"}}),
            "/h/.config/actorctl/contexts.toml");
  EXPECT_EQ(path({{"HOME", "h"}}), "");
  EXPECT_EQ(path({}), "");
}

}  // namespace
}  // namespace actord::client
