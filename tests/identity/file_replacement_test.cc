#include "identity/file_replacement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "tests/identity/directory.h"

namespace actord::identity {
namespace {

using testing::HasSubstr;

class FileReplacement : public WithDirectory {
 protected:
  absl::Status Replace(const std::string& text, const FileCalls& calls = {}) {
    const std::string path = PathOf("tokens.toml");
    return ReplaceFile(path, text, StatusOf(path), calls);
  }
};

ssize_t WriteNothing(int /*fd*/, const void* /*bytes*/, size_t /*count*/) {
  errno = ENOSPC;
  return -1;
}
// A disk that is full after the first bytes.
ssize_t WriteLittle(int fd, const void* bytes, size_t count) {
  static thread_local int calls = 0;
  if (++calls % 2 == 0) return WriteNothing(fd, bytes, count);
  return write(fd, bytes, std::min<size_t>(count, 2));
}
ssize_t WriteByThrees(int fd, const void* bytes, size_t count) {
  static thread_local int calls = 0;
  if (++calls % 2 == 0) {
    errno = EINTR;
    return -1;
  }
  return write(fd, bytes, std::min<size_t>(count, 3));
}
int FailToSync(int /*fd*/) {
  errno = EIO;
  return -1;
}
int FailToSyncDirectories(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || S_ISDIR(status.st_mode)) return FailToSync(fd);
  return fsync(fd);
}
int FailToRename(const char* /*from*/, const char* /*to*/) {
  errno = EROFS;
  return -1;
}

TEST_F(FileReplacement, KeepsModeAndOwner) {
  const std::string path = Write("old", 0600);
  const struct stat before = StatusOf(path);
  ASSERT_TRUE(Replace("new").ok());
  EXPECT_EQ(Content(path), "new");
  const struct stat after = StatusOf(path);
  EXPECT_NE(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
  EXPECT_EQ(Files(), "tokens.toml ");
}

TEST_F(FileReplacement, KeepsAnOwnerThatOnlyRootCanGive) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const std::string path = Write("old");
  ASSERT_EQ(chown(path.c_str(), 1234, 5678), 0);
  ASSERT_TRUE(Replace("new").ok());
  EXPECT_EQ(StatusOf(path).st_uid, 1234u);
  EXPECT_EQ(StatusOf(path).st_gid, 5678u);
  EXPECT_EQ(StatusOf(path).st_mode & 07777u, 0640u);
}

TEST_F(FileReplacement, WritesWhatTheSystemTakesPieceByPiece) {
  const std::string path = Write("old");
  const std::string text = "a text of some length";
  ASSERT_TRUE(Replace(text, {.write = WriteByThrees}).ok());
  EXPECT_EQ(Content(path), text);
}

TEST_F(FileReplacement, FailureOfAnyStepLeavesTheOldFile) {
  const struct {
    FileCalls calls;
    absl::StatusCode code;
    const char* message;
  } cases[] = {
      {{.write = WriteNothing},
       absl::StatusCode::kResourceExhausted,
       "the new file cannot be written: No space left on device; the file is "
       "unchanged"},
      {{.write = WriteLittle},
       absl::StatusCode::kResourceExhausted,
       "the new file cannot be written: No space left on device; the file is "
       "unchanged"},
      {{.fsync = FailToSync},
       absl::StatusCode::kUnknown,
       "the new file cannot be written to the disk: Input/output error; the "
       "file is unchanged"},
      {{.rename = FailToRename},
       absl::StatusCode::kPermissionDenied,
       "cannot be replaced: Read-only file system; the file is unchanged"},
  };
  const std::string path = Write("old");
  for (const auto& c : cases) {
    const absl::Status status = Replace("new", c.calls);
    EXPECT_EQ(status.code(), c.code);
    EXPECT_EQ(status.message(), path + ": " + c.message);
    EXPECT_EQ(Content(path), "old");
    EXPECT_EQ(Files(), "tokens.toml ");
  }
}

TEST_F(FileReplacement, DirectoryThatIsNotSynchronisedIsReported) {
  const std::string path = Write("old");
  const absl::Status status = Replace("new", {.fsync = FailToSyncDirectories});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is replaced, but"));
  EXPECT_EQ(Content(path), "new");
}

TEST_F(FileReplacement, FileOfAnEarlierCrashIsRemoved) {
  const std::string path = Write("old");
  const std::string left = PathOf(".tokens.toml.new");
  ASSERT_EQ(symlink("/dev/null", left.c_str()), 0);
  ASSERT_TRUE(Replace("new").ok());
  EXPECT_EQ(Content(path), "new");
  EXPECT_EQ(Files(), "tokens.toml ");
  ASSERT_EQ(mkdir(left.c_str(), 0700), 0);
  EXPECT_THAT(std::string(Replace("newer").message()),
              HasSubstr("the file of an earlier edit cannot be removed"));
  EXPECT_EQ(Content(path), "new");
}

}  // namespace
}  // namespace actord::identity
