#include "handlers/loader/plugin_copies.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace actord::handlers {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// `printf abc | sha256sum`.
constexpr char kDigestOfAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class Copies : public ::testing::Test {
 protected:
  Copies() {
    std::string pattern = ::testing::TempDir() + "/copies-XXXXXX";
    root_ = fs::canonical(mkdtemp(pattern.data()));
    original_ = root_ / "orders.so";
    Write("abc");
  }
  ~Copies() override { fs::remove_all(root_); }
  void Write(const std::string& bytes) {
    std::ofstream(original_, std::ios::binary) << bytes;
  }
  [[nodiscard]] UniqueFd Open() const {
    return UniqueFd(open(original_.c_str(), O_RDONLY | O_CLOEXEC));
  }
  static std::string Read(int file) {
    std::string bytes(1 << 20, '\0');
    const ssize_t size = pread(file, bytes.data(), bytes.size(), 0);
    bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return bytes;
  }
  static mode_t ModeOf(const fs::path& path) {
    struct stat info = {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  static size_t CountFiles(const fs::path& directory) {
    const fs::directory_iterator files(directory);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  fs::path root_;
  fs::path original_;
};

TEST_F(Copies, AreNamedByTheirContentAndNobodyMayWriteThem) {
  const fs::path directory = root_ / "a" / "cache";
  const PluginCopies copies(directory);
  ASSERT_TRUE(copies.status().ok()) << copies.status();
  EXPECT_EQ(ModeOf(directory), 0700);
  const auto copy = copies.Copy(Open().get(), original_.string());
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->digest, kDigestOfAbc);
  EXPECT_EQ(copy->path,
            (directory / ("orders-" + copy->digest + ".so")).string());
  EXPECT_EQ(ModeOf(copy->path), 0500);
  EXPECT_EQ(Read(copy->file.get()), "abc");
  Write("xyz");
  EXPECT_EQ(Read(copy->file.get()), "abc");
  EXPECT_EQ(CountFiles(directory), 1U);
}

TEST_F(Copies, AreUsedAgain) {
  const PluginCopies copies((root_ / "cache").string());
  const auto inode = [](int file) {
    struct stat info = {};
    EXPECT_EQ(fstat(file, &info), 0);
    return info.st_ino;
  };
  const auto first = copies.Copy(Open().get(), "orders.so");
  ASSERT_TRUE(first.ok());
  const auto long_ago =
      fs::file_time_type::clock::now() - std::chrono::hours(31 * 24);
  fs::last_write_time(first->path, long_ago);
  const auto second = copies.Copy(Open().get(), "orders.so");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(inode(second->file.get()), inode(first->file.get()));
  const PluginCopies again((root_ / "cache").string());
  EXPECT_TRUE(fs::exists(second->path)) << "it is old no more";
}

TEST_F(Copies, ReplaceAnEarlierCopyThatIsDamaged) {
  const PluginCopies copies((root_ / "cache").string());
  const auto first = copies.Copy(Open().get(), "orders.so");
  ASSERT_TRUE(first.ok());
  fs::permissions(first->path, fs::perms::owner_all);
  std::ofstream(first->path) << "xyz";
  fs::permissions(first->path, static_cast<fs::perms>(0500));
  const auto second = copies.Copy(Open().get(), "orders.so");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->path, first->path);
  EXPECT_EQ(Read(second->file.get()), "abc");
  EXPECT_EQ(ModeOf(second->path), 0500);
}

TEST_F(Copies, HaveSafeNames) {
  const PluginCopies copies((root_ / "cache").string());
  const auto copy = copies.Copy(Open().get(), "/x/..\n$(reboot) \xff.so");
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_THAT(copy->path, HasSubstr("/cache/_____reboot___-"));
  const auto longer = copies.Copy(Open().get(), std::string(5000, 'x'));
  ASSERT_TRUE(longer.ok()) << longer.status();
  EXPECT_EQ(longer->digest, copy->digest);
}

TEST_F(Copies, AreInMemoryAndSealedWithoutADirectory) {
  const PluginCopies copies("");
  EXPECT_FALSE(copies.status().ok());
  const auto copy = copies.Copy(Open().get(), "orders.so");
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->path, "");
  EXPECT_EQ(copy->digest, kDigestOfAbc);
  EXPECT_EQ(Read(copy->file.get()), "abc");
  EXPECT_EQ(pwrite(copy->file.get(), "x", 1, 0), -1);
  EXPECT_EQ(ftruncate(copy->file.get(), 0), -1);
}

TEST_F(Copies, AreInMemoryIfTheDirectoryIsNotPrivate) {
  const fs::path directory = root_ / "open";
  fs::create_directory(directory);
  fs::permissions(directory, fs::perms::all);
  const PluginCopies copies(directory);
  EXPECT_THAT(std::string(copies.status().message()),
              HasSubstr("can be written by everybody (mode 0777)"));
  const auto copy = copies.Copy(Open().get(), "orders.so");
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->path, "");
  EXPECT_EQ(CountFiles(directory), 0U);
}

TEST_F(Copies, AreInMemoryIfOthersCanExchangeTheDirectory) {
  const fs::path parent = root_ / "open";
  const fs::path directory = parent / "between" / "cache";
  fs::create_directories(directory);
  fs::permissions(directory, fs::perms::owner_all);
  fs::permissions(parent, fs::perms::all);
  {
    const PluginCopies copies(directory);
    EXPECT_THAT(std::string(copies.status().message()),
                HasSubstr("the directory " + parent.string() +
                          " above it can be written by everybody"));
    const auto copy = copies.Copy(Open().get(), "orders.so");
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ(copy->path, "");
    EXPECT_EQ(CountFiles(directory), 0U);
  }
  // In a sticky directory a user can rename only own files.
  fs::permissions(parent, fs::perms::all | fs::perms::sticky_bit);
  EXPECT_TRUE(PluginCopies(directory).status().ok());
  if (geteuid() != 0) return;
  // The owner of a directory can, also of a sticky one.
  constexpr uid_t kOther = 4711;
  ASSERT_EQ(chown(parent.c_str(), kOther, kOther), 0);
  EXPECT_THAT(std::string(PluginCopies(directory).status().message()),
              HasSubstr("above it belongs to user 4711"));
}

TEST_F(Copies, HaveAPathWithoutLinks) {
  fs::create_directory(root_ / "real");
  fs::create_symlink(root_ / "real", root_ / "link");
  const PluginCopies copies((root_ / "link" / "cache").string());
  ASSERT_TRUE(copies.status().ok()) << copies.status();
  const auto copy = copies.Copy(Open().get(), "orders.so");
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(fs::path(copy->path).parent_path(), root_ / "real" / "cache");
}

TEST_F(Copies, DoNotFollowALinkInPlaceOfTheDirectory) {
  fs::create_directory(root_ / "elsewhere");
  fs::create_symlink(root_ / "elsewhere", root_ / "link");
  const PluginCopies copies((root_ / "link").string());
  EXPECT_FALSE(copies.status().ok());
}

TEST_F(Copies, OldCopiesAreRemoved) {
  const fs::path directory = root_ / "cache";
  std::string old_copy;
  {
    const PluginCopies copies(directory);
    const auto copy = copies.Copy(Open().get(), "orders.so");
    ASSERT_TRUE(copy.ok());
    old_copy = copy->path;
    Write("new");
    ASSERT_TRUE(copies.Copy(Open().get(), "orders.so").ok());
  }
  std::ofstream(directory / ".orders-1-1.tmp") << "unfinished";
  std::ofstream(directory / "notes.txt") << "of somebody else";
  const auto long_ago =
      fs::file_time_type::clock::now() - std::chrono::hours(31 * 24);
  for (const fs::path& path :
       {fs::path(old_copy), directory / ".orders-1-1.tmp",
        directory / "notes.txt"}) {
    fs::last_write_time(path, long_ago);
  }
  const PluginCopies again(directory);
  EXPECT_FALSE(fs::exists(old_copy));
  EXPECT_FALSE(fs::exists(directory / ".orders-1-1.tmp"));
  EXPECT_TRUE(fs::exists(directory / "notes.txt"));
  EXPECT_EQ(CountFiles(directory), 2U);
}

TEST_F(Copies, AreMadeOfFilesOnly) {
  const PluginCopies copies("");
  const UniqueFd directory(open(root_.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(copies.Copy(directory.get(), "x").status().message(), "not a file");
  const UniqueFd endless(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(copies.Copy(endless.get(), "x").status().message(), "not a file");
  const UniqueFd huge(memfd_create("huge", MFD_CLOEXEC));
  ASSERT_EQ(
      ftruncate(huge.get(), static_cast<off_t>(PluginCopies::kMaxBytes) + 1),
      0);
  EXPECT_THAT(std::string(copies.Copy(huge.get(), "x").status().message()),
              HasSubstr("longer than 1073741824 bytes"));
}

TEST_F(Copies, AFileThatOthersCanWriteIsNotTrusted) {
  fs::permissions(original_, static_cast<fs::perms>(0755));
  fs::permissions(root_, static_cast<fs::perms>(0755));
  EXPECT_TRUE(CheckOnlyOwnersWrite(Open().get()).ok());
  fs::permissions(original_, static_cast<fs::perms>(0775));
  if (geteuid() == 0) {
    // A group of its own, in which root alone is, does no harm.
    EXPECT_TRUE(CheckOnlyOwnersWrite(Open().get()).ok());
    constexpr gid_t kStrangers = 12'345;
    ASSERT_EQ(chown(original_.c_str(), 0, kStrangers), 0);
    EXPECT_THAT(std::string(CheckOnlyOwnersWrite(Open().get()).message()),
                HasSubstr("the file can be written by its group (mode 0775)"));
  }
  fs::permissions(original_, static_cast<fs::perms>(0757));
  EXPECT_THAT(std::string(CheckOnlyOwnersWrite(Open().get()).message()),
              HasSubstr("the file can be written by everybody (mode 0757)"));
  fs::permissions(original_, static_cast<fs::perms>(0755));
  fs::permissions(root_, static_cast<fs::perms>(01777));
  EXPECT_THAT(std::string(CheckOnlyOwnersWrite(Open().get()).message()),
              HasSubstr("can be written by everybody (mode 1777)"));
  fs::permissions(root_, static_cast<fs::perms>(0755));
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kStranger = 12'345;
  ASSERT_EQ(chown(original_.c_str(), kStranger, 0), 0);
  EXPECT_THAT(std::string(CheckOnlyOwnersWrite(Open().get()).message()),
              HasSubstr("the file belongs to user 12345"));
  ASSERT_EQ(chown(original_.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(root_.c_str(), kStranger, 0), 0);
  EXPECT_THAT(std::string(CheckOnlyOwnersWrite(Open().get()).message()),
              HasSubstr("belongs to user 12345"));
}

}  // namespace
}  // namespace actord::handlers
