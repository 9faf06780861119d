#include "handlers/loader/plugin_loader.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "handlers/loader/plugin_file.h"
#include "tests/support/fake_host.h"

namespace actord::handlers {
namespace {

using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::HasSubstr;

std::string TestPlugin(const std::string& name) {
  return std::string(ACTORD_TEST_PLUGINS_DIRECTORY) + "/" + name + ".so";
}

struct BadPlugin {
  const char* name;
  absl::StatusCode code;
  const char* says;
};

std::ostream& operator<<(std::ostream& out, const BadPlugin& bad) {
  return out << bad.name;
}

class BadPluginTest : public ::testing::TestWithParam<BadPlugin> {};

TEST_P(BadPluginTest, IsRefusedWithTheReason) {
  const std::string path = TestPlugin(GetParam().name);
  const auto plugin = Plugin::Load(path);
  ASSERT_FALSE(plugin.ok());
  const std::string message(plugin.status().message());
  EXPECT_EQ(plugin.status().code(), GetParam().code) << message;
  EXPECT_THAT(message, HasSubstr("plugin '" + path + "': "));
  EXPECT_THAT(message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPluginTest,
    ::testing::Values(
        BadPlugin{"no_such_file", absl::StatusCode::kNotFound,
                  "there is no such file"},
        BadPlugin{"not_elf", absl::StatusCode::kInvalidArgument,
                  "not a shared object that can be loaded here"},
        BadPlugin{"unresolved", absl::StatusCode::kInvalidArgument,
                  "actord_nobody_defines_this"},
        BadPlugin{"no_symbol", absl::StatusCode::kInvalidArgument,
                  "it has no symbol 'actord_plugin'"},
        BadPlugin{"function_symbol", absl::StatusCode::kInvalidArgument,
                  "is not data"},
        BadPlugin{"tiny_symbol", absl::StatusCode::kInvalidArgument,
                  "has only 4 bytes"},
        BadPlugin{"bad_magic", absl::StatusCode::kInvalidArgument,
                  "does not begin with ACTORD_ABI_MAGIC"},
        BadPlugin{"other_abi", absl::StatusCode::kFailedPrecondition,
                  "built for version 2 of the plugin ABI, this daemon speaks "
                  "version 1"},
        BadPlugin{"struct_too_small", absl::StatusCode::kInvalidArgument,
                  "struct_size of 24 bytes"},
        BadPlugin{"struct_too_large", absl::StatusCode::kInvalidArgument,
                  "struct_size of 4096 bytes"},
        BadPlugin{"bad_name", absl::StatusCode::kInvalidArgument,
                  "its name 'no spaces, please'"},
        BadPlugin{"null_name", absl::StatusCode::kInvalidArgument,
                  "its name is NULL"},
        BadPlugin{"null_table", absl::StatusCode::kInvalidArgument,
                  "1 process types, but the list is NULL"},
        BadPlugin{"too_many", absl::StatusCode::kInvalidArgument,
                  "1000000 process types, the limit is 4096"},
        BadPlugin{"empty", absl::StatusCode::kInvalidArgument,
                  "neither process types nor commands"},
        BadPlugin{"null_entry", absl::StatusCode::kInvalidArgument,
                  "process type number 0 is NULL"},
        BadPlugin{"entry_too_small", absl::StatusCode::kInvalidArgument,
                  "process type number 0 has a struct_size of 8 bytes"}),
    ::testing::PrintToStringParamName());

TEST(PluginLoader, RefusesADirectory) {
  const auto plugin = Plugin::Load(ACTORD_TEST_PLUGINS_DIRECTORY);
  EXPECT_EQ(plugin.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(plugin.status().message()), HasSubstr("not a file"));
}

TEST(PluginLoader, LoadsAPluginWithItsTables) {
  const auto plugin = Plugin::Load(TestPlugin("probe"));
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  EXPECT_STREQ((*plugin)->info().name, "probe");
  EXPECT_STREQ((*plugin)->info().version, "1.0.0");
  ASSERT_EQ((*plugin)->process_types().size(), 8u);
  EXPECT_STREQ((*plugin)->process_types()[0]->name, "probe");
  ASSERT_EQ((*plugin)->commands().size(), 4u);
  EXPECT_STREQ((*plugin)->commands()[0]->command, "probe.echo");
}

TEST(PluginLoader, TakesAPathWithoutASlashAsAFileHere) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(ACTORD_TEST_PLUGINS_DIRECTORY);
  const auto plugin = Plugin::Load("probe.so");
  std::filesystem::current_path(before);
  EXPECT_TRUE(plugin.ok()) << plugin.status();
}

// The catalog checks the content of the entries.
TEST(PluginLoader, LeavesTheEntriesToTheCatalog) {
  for (const char* name : {"null_step", "bad_type_name", "type_twice",
                           "type_taken", "command_taken"}) {
    EXPECT_TRUE(Plugin::Load(TestPlugin(name)).ok()) << name;
  }
}

TEST(PluginLoader, CreatedHandlersWork) {
  FakeHost host;
  const auto plugin = Plugin::Load(TestPlugin("probe"));
  ASSERT_TRUE(plugin.ok());
  const auto handlers = (*plugin)->CreateHandlers(&host);
  ASSERT_TRUE(handlers.ok()) << handlers.status();
  ASSERT_EQ(handlers->instances().size(), 4u);
  const HandlerInstance& echo = handlers->instances()[0];
  EXPECT_EQ(host.Run(*echo.descriptor, echo.self, "hello").payload.bytes,
            "hello");
}

TEST(PluginLoader, HandlerThatRefusesTakesTheOthersBack) {
  FakeHost host;
  const auto plugin = Plugin::Load(TestPlugin("create_throws"));
  ASSERT_TRUE(plugin.ok());
  const auto handlers = (*plugin)->CreateHandlers(&host);
  EXPECT_EQ(handlers.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(handlers.status().message()),
              HasSubstr("command 'create_throws.second'"));
  std::vector<std::string> logs;
  for (const auto& line : host.logs) logs.push_back(line.message);
  EXPECT_THAT(logs,
              ElementsAre("first made",
                          "create_throws.second threw: no connection to the "
                          "warehouse",
                          "first destroyed"));
}

TEST(HandlerSet, ForeignExceptionsEndHere) {
  FakeHost host;
  const actord_command_handler throws = {
      sizeof(actord_command_handler),
      ACTORD_HANDLER_INLINE,
      "x",
      nullptr,
      [](const actord_host*, void**) -> int32_t { throw 1; },
      [](void*) { throw 2; },
      nullptr,
      0,
      0};
  HandlerSet handlers(&host);
  EXPECT_EQ(handlers.Create(&throws).code(),
            absl::StatusCode::kFailedPrecondition);
  handlers.Add(&throws, nullptr);
  handlers = HandlerSet(&host);
  ASSERT_EQ(host.logs.size(), 1u);
  EXPECT_EQ(host.logs[0].level, LogLevel::kError);
}

TEST(HandlerSet, DestroysTheLastMadeFirst) {
  static std::vector<int> destroyed;
  destroyed.clear();
  const actord_command_handler descriptor = {
      sizeof(actord_command_handler),
      ACTORD_HANDLER_INLINE,
      "x",
      nullptr,
      nullptr,
      [](void* self) { destroyed.push_back(*static_cast<int*>(self)); },
      nullptr,
      0,
      0};
  FakeHost host;
  int first = 1;
  int second = 2;
  {
    HandlerSet handlers(&host);
    handlers.Add(&descriptor, &first);
    handlers.Add(&descriptor, &second);
    const HandlerSet moved = std::move(handlers);
  }
  EXPECT_THAT(destroyed, ElementsAre(2, 1));
}

// An open file of the test's own.
class PluginFile : public ::testing::Test {
 protected:
  PluginFile() {
    std::string path = ::testing::TempDir() + "/plugin-XXXXXX";
    file_ = UniqueFd(mkstemp(path.data()));
    path_ = path;
  }
  ~PluginFile() override { unlink(path_.c_str()); }
  void Write(const std::string& bytes) {
    ASSERT_EQ(ftruncate(file_.get(), 0), 0);
    ASSERT_EQ(pwrite(file_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  static std::string BytesOf(const std::string& name) {
    std::ifstream in(TestPlugin(name), std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
  }

  std::string path_;
  UniqueFd file_;
};

TEST_F(PluginFile, IsWholeOrCutShortWhereverItIsCut) {
  const std::string whole = BytesOf("versions_1");
  Write(whole);
  EXPECT_TRUE(CheckWholeElf(file_.get()).ok());
  for (size_t size = 0; size < whole.size(); size += 97) {
    Write(whole.substr(0, size));
    EXPECT_TRUE(absl::IsInvalidArgument(CheckWholeElf(file_.get()))) << size;
  }
  Write(whole.substr(0, whole.size() - 1));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckWholeElf(file_.get())));
}

TEST_F(PluginFile, HeadersThatLieAreNoReasonToReadElsewhere) {
  const std::string whole = BytesOf("versions_1");
  // Overwrites the headers byte by byte, including the offsets and sizes of the
  // tables of segments and sections.
  for (size_t at = 16; at < sizeof(ElfW(Ehdr)); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(0xff);
    Write(bytes);
    CheckWholeElf(file_.get()).IgnoreError();
  }
  std::string bytes = whole;
  std::memset(bytes.data() + offsetof(ElfW(Ehdr), e_phoff), 0xff, 8);
  Write(bytes);
  EXPECT_TRUE(absl::IsInvalidArgument(CheckWholeElf(file_.get())));
}

TEST_F(PluginFile, AFileThatIsWrittenOverIsLoadedAgain) {
  const auto load = [this](const char* name) {
    Write(BytesOf(name));
    return Plugin::Load(path_);
  };
  const auto first = load("versions_1");
  const auto second = load("versions_2");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_STREQ((*first)->info().version, "1");
  EXPECT_STREQ((*second)->info().version, "2");
  EXPECT_EQ((*first)->path(), (*second)->path());
  EXPECT_NE((*first)->digest(), (*second)->digest());
  // A reused descriptor number does not lead to the former file.
  EXPECT_TRUE(absl::IsInvalidArgument(load("no_symbol").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(load("other_abi").status()));
  const auto third = load("versions_3");
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_STREQ((*third)->info().version, "3");
}

TEST_F(PluginFile, LibraryPathsAreAbsolute) {
  const auto check = [](const std::string& name) {
    const UniqueFd file(open(TestPlugin(name).c_str(), O_RDONLY | O_CLOEXEC));
    return CheckLibraryPaths(file.get());
  };
  EXPECT_TRUE(check("versions_1").ok()) << check("versions_1");
  EXPECT_TRUE(check("absolute_path").ok()) << check("absolute_path");
  EXPECT_THAT(std::string(check("relative_path").message()),
              HasSubstr("its RUNPATH is 'lib', which is relative"));
  EXPECT_THAT(
      std::string(check("origin_path").message()),
      HasSubstr("its RUNPATH is '/opt/lib:$ORIGIN/lib', which is relative"));
}

TEST_F(PluginFile, ADynamicSectionThatLiesIsNoReasonToReadElsewhere) {
  const std::string whole = BytesOf("origin_path");
  ElfW(Ehdr) header;
  std::memcpy(&header, whole.data(), sizeof(header));
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const size_t at = header.e_phoff + i * sizeof(ElfW(Phdr));
    ElfW(Phdr) segment;
    std::memcpy(&segment, whole.data() + at, sizeof(segment));
    if (segment.p_type != PT_DYNAMIC) continue;
    for (size_t byte = 0; byte < segment.p_filesz; ++byte) {
      std::string bytes = whole;
      bytes[segment.p_offset + byte] = static_cast<char>(0xff);
      Write(bytes);
      CheckLibraryPaths(file_.get()).IgnoreError();
    }
  }
}

}  // namespace
}  // namespace actord::handlers
