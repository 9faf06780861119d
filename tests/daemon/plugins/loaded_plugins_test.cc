// Tests files that were opened and are not plugins.
#include "daemon/plugins/loaded_plugins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/log/logging.h"
#include "daemon/plugins/plugin_trial.h"
#include "daemon/problems/problem_list.h"
#include "tests/support/fake_host.h"

namespace actord::daemon {
namespace {

namespace fs = std::filesystem;

size_t OpenFiles() {
  const fs::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

// Whether the copy in memory of a file with this name is mapped.
bool IsMapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:" + name) != std::string::npos) return true;
  }
  return false;
}

class RefusedPlugins : public ::testing::Test {
 protected:
  void SetUp() override {
    // Each test runs as a program of its own, beside other tests.
    directory_ = fs::path(::testing::TempDir()) /
                 ("refused_plugins." + std::to_string(getpid()));
    fs::create_directories(directory_);
    // Refused files stay open, so the test needs a higher limit.
    rlimit files{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    Config config;
    config.plugin_dirs = {directory_.string()};
    config.plugin_cache = "memory";
    ASSERT_TRUE(plugins_.Load(config, &host_, catalog_, nullptr).ok());
  }
  void TearDown() override {
    plugins_.DestroyHandlers();
    fs::remove_all(directory_);
  }
  void Install(const std::string& name, const std::string& as) {
    fs::copy_file(fs::path(ACTORD_TEST_PLUGINS_DIRECTORY) / (name + ".so"),
                  directory_ / as, fs::copy_options::overwrite_existing);
  }

  fs::path directory_;
  actord::testing::FakeHost host_;
  runtime::Catalog catalog_;
  LoadedPlugins plugins_;
};

TEST_F(RefusedPlugins, StayOpenAndAreOpenedOnce) {
  Install("bad_magic", "first.so");
  const auto first = plugins_.LoadVersion("first.so", false);
  ASSERT_FALSE(first.ok());
  // Static initialisers may have started something that still needs the code.
  EXPECT_TRUE(IsMapped("first.so"));
  const size_t open = OpenFiles();
  for (int i = 0; i < 300; ++i) {
    const auto again = plugins_.LoadVersion("first.so", false);
    ASSERT_EQ(again.status(), first.status());
  }
  EXPECT_EQ(OpenFiles(), open);
}

TEST_F(RefusedPlugins, CountAsLoads) {
  for (size_t i = 0; i < LoadedPlugins::kMaxLoads; ++i) {
    const std::string name = "copy_" + std::to_string(i) + ".so";
    Install("bad_magic", name);
    // Files with the same content are the same plugin, which is opened once.
    std::ofstream(directory_ / name, std::ios::app) << i;
    ASSERT_TRUE(
        absl::IsInvalidArgument(plugins_.LoadVersion(name, false).status()))
        << name;
    fs::remove(directory_ / name);
  }
  Install("bad_magic", "last.so");
  EXPECT_TRUE(absl::IsResourceExhausted(
      plugins_.LoadVersion("last.so", false).status()));
}

TEST_F(RefusedPlugins, StayOpenIfTheirNameIsTaken) {
  Install("versions_1", "one.so");
  ASSERT_TRUE(plugins_.LoadVersion("one.so", false).ok());
  Install("versions_1", "same.so");
  std::ofstream(directory_ / "same.so", std::ios::app) << "other bytes";
  const auto same = plugins_.LoadVersion("same.so", false);
  EXPECT_TRUE(absl::IsAlreadyExists(same.status())) << same.status();
  EXPECT_TRUE(IsMapped("same.so"));
  const size_t open = OpenFiles();
  EXPECT_EQ(plugins_.LoadVersion("same.so", false).status(), same.status());
  EXPECT_EQ(OpenFiles(), open);
}

TEST(LoadedPlugins, TheSameContentIsTheSamePlugin) {
  const fs::path directory = fs::path(::testing::TempDir()) /
                             ("same_plugins." + std::to_string(getpid()));
  fs::create_directories(directory);
  const fs::path original =
      fs::path(ACTORD_TEST_PLUGINS_DIRECTORY) / "versions_1.so";
  fs::copy_file(original, directory / "a.so");
  fs::copy_file(original, directory / "b.so");
  actord::testing::FakeHost host;
  runtime::Catalog catalog;
  LoadedPlugins plugins;
  Config config;
  config.plugins = {original.string()};
  config.plugin_dirs = {directory.string()};
  config.plugin_cache = (directory / "cache").string();
  const absl::Status status = plugins.Load(config, &host, catalog, nullptr);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(plugins.CopiesStatus().ok()) << plugins.CopiesStatus();
  const auto in_force = plugins.InForce();
  ASSERT_EQ(in_force.size(), 2U);  // the daemon's own, and this one
  EXPECT_EQ(in_force.back().path, original.string());
  EXPECT_EQ(in_force.back().digest.size(), 64U);
  const auto again = plugins.LoadVersion("b.so", false);
  EXPECT_TRUE(absl::IsAlreadyExists(again.status())) << again.status();
  plugins.DestroyHandlers();
  fs::remove_all(directory);
}

TEST(TryPlugins, NamesEveryPluginAndDirectoryThatIsWrong) {
  const fs::path files(ACTORD_TEST_PLUGINS_DIRECTORY);
  Logger logger(LogFormat::kConsole, runtime::LogLevel::kError);
  Config config;
  config.plugins = {"./nope.so", (files / "versions_1.so").string(),
                    (files / "bad_magic.so").string()};
  config.plugin_dirs = {"./nowhere"};
  using ::testing::StartsWith;
  EXPECT_THAT(
      ProblemLines(TryPlugins(config, logger)),
      ::testing::ElementsAre(
          "plugin directory ./nowhere: No such file or directory",
          StartsWith("plugin ./nope.so: "),
          StartsWith("plugin '" + (files / "bad_magic.so").string() + "': ")));
  config.plugins = {(files / "versions_1.so").string()};
  config.plugin_dirs = {};
  const absl::Status good = TryPlugins(config, logger);
  EXPECT_TRUE(good.ok()) << good;
}

}  // namespace
}  // namespace actord::daemon
