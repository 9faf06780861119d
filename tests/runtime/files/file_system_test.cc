// What the system's files and the simulated ones have in common.
#include "runtime/files/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/simulated_disk.h"

namespace actord::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FileSystemTest : public testing::TestWithParam<bool> {
 protected:
  FileSystemTest() : disk_(1) {
    if (GetParam()) {
      std::string name = testing::TempDir() + "/actord_files_XXXXXX";
      directory_ = mkdtemp(name.data());
      files_ = &FileSystem::System();
    } else {
      directory_ = "/files";
      files_ = &disk_;
      EXPECT_TRUE(files_->MakeDirectory(directory_).ok());
    }
  }
  ~FileSystemTest() override {
    if (GetParam()) std::filesystem::remove_all(directory_);
  }
  std::string Path(const std::string& name) const {
    return directory_ + "/" + name;
  }
  std::string ReadBack(const std::string& name) {
    auto file = files_->Open(Path(name), OpenMode::kRead);
    if (!file.ok()) return std::string(file.status().message());
    std::string bytes(100, '\0');
    bytes.resize((*file)->Read(0, bytes.size(), bytes.data()).value_or(0));
    return bytes;
  }

  SimulatedDisk disk_;
  FileSystem* files_;
  std::string directory_;
};

TEST_P(FileSystemTest, WritesAndReads) {
  auto file = files_->Open(Path("a"), OpenMode::kCreate);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Write(0, "abcdef").ok());
  ASSERT_TRUE((*file)->Write(3, "XYZ!").ok());
  EXPECT_TRUE((*file)->SyncData().ok());
  EXPECT_EQ(*(*file)->Size(), 7u);
  EXPECT_EQ(ReadBack("a"), "abcXYZ!");
  char two[2];
  EXPECT_EQ(*(*file)->Read(1, 2, two), 2u);
  EXPECT_EQ(std::string(two, 2), "bc");
  EXPECT_EQ(*(*file)->Read(6, 2, two), 1u) << "the end of the file";
}

TEST_P(FileSystemTest, AllocatesZeros) {
  auto file = files_->Open(Path("a"), OpenMode::kCreate);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Allocate(8192).ok());
  EXPECT_EQ(*(*file)->Size(), 8192u);
  ASSERT_TRUE((*file)->Allocate(4096).ok());
  EXPECT_EQ(*(*file)->Size(), 8192u);
  char byte = 'x';
  EXPECT_EQ(*(*file)->Read(5000, 1, &byte), 1u);
  EXPECT_EQ(byte, '\0');
}

TEST_P(FileSystemTest, NamesTellErrorsApart) {
  EXPECT_EQ(files_->Open(Path("a"), OpenMode::kRead).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(files_->Open(Path("a"), OpenMode::kReadWrite).status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(files_->Open(Path("a"), OpenMode::kCreate).ok());
  EXPECT_EQ(files_->Open(Path("a"), OpenMode::kCreate).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(files_->Unlink(Path("b")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(files_->Rename(Path("b"), Path("c")).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(files_->List(Path("b")).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_P(FileSystemTest, RenamesAndLists) {
  for (const char* name : {"c", "a", "b"}) {
    auto file = files_->Open(Path(name), OpenMode::kCreate);
    ASSERT_TRUE((*file)->Write(0, name).ok());
  }
  ASSERT_TRUE(files_->MakeDirectory(Path("d")).ok());
  ASSERT_TRUE(files_->MakeDirectory(Path("d")).ok()) << "it exists";
  EXPECT_THAT(*files_->List(directory_), ElementsAre("a", "b", "c", "d"));
  ASSERT_TRUE(files_->Rename(Path("c"), Path("a")).ok());
  ASSERT_TRUE(files_->Unlink(Path("b")).ok());
  EXPECT_THAT(*files_->List(directory_), ElementsAre("a", "d"));
  EXPECT_EQ(ReadBack("a"), "c");
  EXPECT_TRUE(files_->SyncDirectory(directory_).ok());
}

TEST_P(FileSystemTest, OneLockForADirectory) {
  auto lock = files_->LockDirectory(directory_);
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(files_->LockDirectory(directory_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  lock->reset();
  EXPECT_TRUE(files_->LockDirectory(directory_).ok());
}

INSTANTIATE_TEST_SUITE_P(Real, FileSystemTest, testing::Bool());

TEST(IoError, NamesCallPathAndCause) {
  const absl::Status full = IoError(ENOSPC, "pwrite", "/a");
  EXPECT_TRUE(IsNoRoom(full));
  EXPECT_THAT(std::string(full.message()), HasSubstr("pwrite /a: No space"));
  EXPECT_TRUE(IsNoRoom(IoError(EDQUOT, "pwrite", "/a")));
  EXPECT_FALSE(IsNoRoom(IoError(EIO, "pwrite", "/a")));
  EXPECT_EQ(IoError(EIO, "pread", "/a").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(IoError(EACCES, "open", "/a").code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(IoError(EFBIG, "pwrite", "/a").code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace actord::runtime
