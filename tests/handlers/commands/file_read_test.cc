#include "handlers/commands/file_read.h"

#include <actord/commands.h>
#include <actord/plugin.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "handlers/builtin_handlers.h"
#include "tests/support/fake_host.h"

namespace actord::handlers {
namespace {

namespace fs = std::filesystem;
using testing::Answer;
using testing::FakeHost;
using ::testing::HasSubstr;

constexpr size_t kMaxBytes = 1000;

//   root/allowed/…   root/allowed-not/secret   root/secret
class FileReadTest : public ::testing::Test {
 protected:
  FileReadTest() {
    std::string name = ::testing::TempDir() + "/file_read_XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    fs::create_directories(allowed() / "below");
    fs::create_directories(root_ / "allowed-not");
    Write(allowed() / "file", "text");
    Write(allowed() / "below/file", "text below");
    Write(root_ / "secret", "secret");
    Write(root_ / "allowed-not/secret", "secret");
    auto directories = AllowedDirectories::Open({allowed().string()});
    EXPECT_TRUE(directories.ok());
    self_ = HandlerThunks<FileRead>::Make(&host_, *std::move(directories),
                                          kMaxBytes);
  }
  ~FileReadTest() override {
    kCommandHandler<FileRead>.destroy(self_);
    fs::remove_all(root_);
  }

  [[nodiscard]] fs::path allowed() const { return root_ / "allowed"; }
  static void Write(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  const Answer& Read(const fs::path& path) {
    return host_.Run(kCommandHandler<FileRead>, self_,
                     commands::ReadFile(path.string()).payload());
  }

  fs::path root_;
  FakeHost host_;
  void* self_ = nullptr;
};

TEST_F(FileReadTest, ReadsBelowAnAllowedDirectory) {
  for (const fs::path& path : {allowed() / "file", allowed() / "." / "file",
                               allowed() / "below/../file",
                               fs::path(root_.string() + "//allowed///file")}) {
    const Answer& answer = Read(path);
    EXPECT_EQ(answer.code, Code::kOk) << path << answer.payload.bytes;
    EXPECT_EQ(answer.payload.bytes, "text");
    EXPECT_EQ(answer.payload.content_type, "application/octet-stream");
  }
  EXPECT_EQ(Read(allowed() / "below/file").payload.bytes, "text below");
}

TEST_F(FileReadTest, FollowsLinksThatStayBelow) {
  fs::create_symlink("below/file", allowed() / "link");
  EXPECT_EQ(Read(allowed() / "link").payload.bytes, "text below");
}

TEST_F(FileReadTest, RefusesEveryWayOut) {
  fs::create_symlink("../secret", allowed() / "link_out");
  fs::create_symlink(root_ / "secret", allowed() / "absolute_link_out");
  fs::create_directory_symlink("..", allowed() / "directory_out");
  for (const fs::path& path :
       {root_ / "secret", root_ / "allowed-not/secret", allowed() / "../secret",
        allowed() / "below/../../secret", allowed() / "link_out",
        allowed() / "absolute_link_out", allowed() / "directory_out/secret",
        fs::path("/etc/passwd"), fs::path("/proc/self/cwd")}) {
    const Answer& answer = Read(path);
    EXPECT_EQ(answer.code, Code::kPermissionDenied) << path;
    EXPECT_THAT(answer.payload.bytes, HasSubstr(path.string()));
    EXPECT_THAT(answer.payload.bytes, ::testing::Not(HasSubstr("secret\n")));
  }
}

TEST_F(FileReadTest, RefusesRelativePathsAndNul) {
  EXPECT_EQ(Read("file").code, Code::kInvalidArgument);
  EXPECT_EQ(Read("").code, Code::kInvalidArgument);
  const std::string nul = (allowed() / "file").string() + '\0' + "x";
  EXPECT_EQ(Read(nul).code, Code::kInvalidArgument);
}

TEST_F(FileReadTest, SaysThatThereIsNoSuchFile) {
  EXPECT_EQ(Read(allowed() / "none").code, Code::kNotFound);
  EXPECT_EQ(Read(allowed() / "file/none").code, Code::kNotFound);
}

TEST_F(FileReadTest, ReadsRegularFilesOnly) {
  ASSERT_EQ(mkfifo((allowed() / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(Read(allowed() / "fifo").code, Code::kFailedPrecondition);
  EXPECT_EQ(Read(allowed() / "below").code, Code::kFailedPrecondition);
  EXPECT_EQ(Read(allowed()).code, Code::kFailedPrecondition);
}

TEST_F(FileReadTest, KeepsTheLimit) {
  Write(allowed() / "fits", std::string(kMaxBytes, 'x'));
  Write(allowed() / "too_large", std::string(kMaxBytes + 1, 'x'));
  EXPECT_EQ(Read(allowed() / "fits").payload.bytes.size(), kMaxBytes);
  const Answer& answer = Read(allowed() / "too_large");
  EXPECT_EQ(answer.code, Code::kResourceExhausted);
  EXPECT_THAT(answer.payload.bytes, HasSubstr("limit of 1000 bytes"));
}

TEST_F(FileReadTest, ReadsAnEmptyFile) {
  Write(allowed() / "empty", "");
  const Answer& answer = Read(allowed() / "empty");
  EXPECT_EQ(answer.code, Code::kOk);
  EXPECT_EQ(answer.payload.bytes, "");
}

TEST_F(FileReadTest, RefusesUnreadableFiles) {
  Write(allowed() / "locked", "text");
  fs::permissions(allowed() / "locked", fs::perms::none);
  // Root may read every file, so the test runs as another user for a moment.
  const uid_t user = geteuid();
  constexpr uid_t kNobody = 65534;
  if (user == 0) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  const Answer& answer = Read(allowed() / "locked");
  ASSERT_EQ(seteuid(user), 0);
  EXPECT_EQ(answer.code, Code::kPermissionDenied);
}

TEST(FileRead, ReadsFilesThatDoNotSayTheirSize) {
  FakeHost host;
  auto directories = AllowedDirectories::Open({"/proc/self"});
  ASSERT_TRUE(directories.ok());
  void* self = HandlerThunks<FileRead>::Make(&host, *std::move(directories),
                                             size_t{1} << 20);
  const Answer& answer =
      host.Run(kCommandHandler<FileRead>, self,
               commands::ReadFile("/proc/self/status").payload());
  EXPECT_EQ(answer.code, Code::kOk);
  EXPECT_THAT(answer.payload.bytes, HasSubstr("VmPeak"));
  kCommandHandler<FileRead>.destroy(self);
}

TEST(FileRead, WithoutDirectoriesRefusesEverything) {
  FakeHost host;
  auto handlers = CreateBuiltinHandlers({}, &host);
  ASSERT_TRUE(handlers.ok());
  const HandlerInstance& file_read = handlers->instances().back();
  const Answer& answer =
      host.Run(*file_read.descriptor, file_read.self,
               commands::ReadFile("/etc/hostname").payload());
  EXPECT_EQ(answer.code, Code::kPermissionDenied);
}

}  // namespace
}  // namespace actord::handlers
