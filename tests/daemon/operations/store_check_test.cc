#include "daemon/operations/store/store_check.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class StoreCheckTest : public ::testing::Test {
 protected:
  StoreCheckTest()
      : folder_(absl::StrCat(::testing::TempDir(), "store_check.", getpid())) {
    std::filesystem::create_directory(folder_);
  }
  ~StoreCheckTest() override { std::filesystem::remove_all(folder_); }

  std::string WhyRefused(const std::string& directory) {
    return std::string(CheckStoreDirectory(directory).status.message());
  }

  const std::string folder_;
};

TEST_F(StoreCheckTest, DirectoryThatAStartCouldUseIsGood) {
  for (const std::string& directory :
       {std::string(), folder_, folder_ + "/new",
        std::string("/var/lib/actord-of-no-service/store")}) {
    const StoreCheck check = CheckStoreDirectory(directory);
    EXPECT_TRUE(check.status.ok()) << check.status;
    EXPECT_EQ(check.in_use, "");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(StoreCheckTest, NamesTheDirectoryAndTheReason) {
  const std::string file = folder_ + "/file";
  std::ofstream(file) << "x";
  EXPECT_EQ(WhyRefused(file),
            "store.directory " + file + ": it is not a directory");
  EXPECT_THAT(WhyRefused(folder_ + "/no/store"),
              HasSubstr("it cannot be made, because of " + folder_ +
                        "/no: No such file or directory"));
  EXPECT_THAT(WhyRefused(file + "/store"),
              StartsWith("store.directory " + file + "/store: "));
}

TEST_F(StoreCheckTest, NamesAStoreThatCannotBeRead) {
  std::ofstream(folder_ + "/META-0") << std::string(4096, 'x');
  const absl::Status status = CheckStoreDirectory(folder_).status;
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      StartsWith("store.directory " + folder_ + ": " + folder_ + "/META-0"));
}

TEST_F(StoreCheckTest, StoreInUseIsGoodAndNamesItsUser) {
  const int descriptor = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(descriptor, LOCK_EX | LOCK_NB), 0);
  const StoreCheck check = CheckStoreDirectory(folder_);
  EXPECT_TRUE(check.status.ok()) << check.status;
  EXPECT_THAT(check.in_use,
              StartsWith(absl::StrCat("store.directory ", folder_,
                                      " is in use by another program (PID ",
                                      getpid(), ", ")));
  close(descriptor);
}

}  // namespace
}  // namespace actord::daemon
