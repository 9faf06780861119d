// The plugin files of a store, over crashes at each call of the system.
#include "runtime/store_tools/plugin_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "runtime/store_tools/sha256.h"
#include "tests/support/simulated_disk.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kStore = "/srv/store";

std::string DigestOf(const std::string& content) {
  Sha256 hash;
  hash.Add(content);
  return hash.TakeHex();
}

absl::Status Keep(PluginFiles& files, const std::string& sha256,
                  const std::string& content) {
  return files.Keep(
      sha256, content.size(),
      [&](uint64_t offset, size_t bytes, char* into) -> absl::StatusOr<size_t> {
        const size_t size = std::min(bytes, content.size() - offset);
        std::memcpy(into, content.data() + offset, size);
        return size;
      });
}

void MakeStore(SimulatedDisk& disk) {
  ASSERT_TRUE(disk.MakeDirectory("/srv").ok());
  ASSERT_TRUE(disk.SyncDirectory("/").ok());
  ASSERT_TRUE(disk.MakeDirectory(kStore).ok());
  ASSERT_TRUE(disk.SyncDirectory("/srv").ok());
}

class PluginFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { MakeStore(disk_); }

  const std::string content_ = std::string(700'000, 'c') + "ode";
  const std::string digest_ = DigestOf(content_);
  SimulatedDisk disk_{1};
  PluginFiles files_{kStore, disk_};
};

TEST_F(PluginFilesTest, KeepsAFileUnderItsDigest) {
  EXPECT_THAT(files_.List().value(), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(files_.Check(digest_)));
  ASSERT_EQ(Keep(files_, digest_, content_), absl::OkStatus());
  EXPECT_EQ(files_.PathOf(digest_),
            std::string(kStore) + "/plugins/" + digest_ + ".so");
  EXPECT_EQ(disk_.Contents(files_.PathOf(digest_)), content_);
  EXPECT_EQ(files_.Check(digest_), absl::OkStatus());
  const std::string other = DigestOf("other");
  ASSERT_EQ(Keep(files_, other, "other"), absl::OkStatus());
  disk_.Open(std::string(kStore) + "/plugins/README.so", OpenMode::kCreate)
      .IgnoreError();
  EXPECT_EQ(files_.List().value().size(), 2u);
  ASSERT_EQ(files_.Remove(other), absl::OkStatus());
  EXPECT_THAT(files_.List().value(), ElementsAre(digest_));
  EXPECT_TRUE(absl::IsNotFound(files_.Remove(other)));
}

TEST_F(PluginFilesTest, MendsADamagedFile) {
  ASSERT_EQ(Keep(files_, digest_, content_), absl::OkStatus());
  std::string damaged = content_;
  damaged[5] = '!';
  disk_.SetContents(files_.PathOf(digest_), damaged);
  const absl::Status status = files_.Check(digest_);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("is damaged"));
  ASSERT_EQ(Keep(files_, digest_, content_), absl::OkStatus());
  EXPECT_EQ(files_.Check(digest_), absl::OkStatus());
}

TEST_F(PluginFilesTest, OriginalThatHasChangedIsNotKept) {
  const absl::Status status = Keep(files_, digest_, "something else");
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("has changed"));
  EXPECT_THAT(disk_.List(std::string(kStore) + "/plugins").value(), IsEmpty());
}

TEST_F(PluginFilesTest, FileThatLeavesLessThanTheReserveIsNotKept) {
  constexpr uint64_t kReserve = 100'000;
  disk_.set_capacity(content_.size() + kReserve - 1);
  PluginFiles files(kStore, disk_, kReserve);
  const absl::Status status = Keep(files, digest_, content_);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("the file has 700003 bytes, the disk of the store has 800002 "
                "bytes free, and store.disk_reserve is 100000 bytes"));
  EXPECT_THAT(disk_.List(std::string(kStore) + "/plugins").value(), IsEmpty());
  disk_.set_capacity(content_.size() + kReserve);
  ASSERT_EQ(Keep(files, digest_, content_), absl::OkStatus());
  // A file that is already in the store needs no more room.
  EXPECT_EQ(Keep(files, digest_, content_), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(Keep(files, DigestOf("a"), "a")));
}

TEST_F(PluginFilesTest, RemovesWhatCrashesHaveLeftUnfinished) {
  ASSERT_EQ(Keep(files_, digest_, content_), absl::OkStatus());
  EXPECT_EQ(files_.RemoveUnfinished().value(), 0u);
  const std::string folder = std::string(kStore) + "/plugins";
  for (const std::string& name :
       {digest_ + ".so.new", DigestOf("a") + ".so.new",
        std::string("README.so.new")}) {
    ASSERT_TRUE(disk_.Open(folder + "/" + name, OpenMode::kCreate).ok());
  }
  EXPECT_EQ(files_.RemoveUnfinished().value(), 2u);
  EXPECT_THAT(disk_.List(folder).value(),
              ElementsAre("README.so.new", digest_ + ".so"));
}

// A file whose name no sync has made durable gets its sync from the next Keep.
TEST_F(PluginFilesTest, FileThatIsThereIsMadeDurable) {
  for (uint64_t call = 0;; ++call) {
    SCOPED_TRACE(call);
    SimulatedDisk disk(call + 1);
    MakeStore(disk);
    disk.CrashAt(disk.calls() + call);
    PluginFiles files(kStore, disk);
    const bool is_done = Keep(files, digest_, content_).ok();
    disk.Restart(/*keep_cache=*/true, SimulatedDisk::kSectorBytes);
    ASSERT_EQ(Keep(files, digest_, content_), absl::OkStatus());
    disk.CrashNow();
    disk.Restart(/*keep_cache=*/false, SimulatedDisk::kSectorBytes);
    EXPECT_EQ(files.Check(digest_), absl::OkStatus());
    if (is_done) break;
  }
}

// The program or the machine may end at any call: the file is whole or missing,
// and the next Keep makes it.
TEST_F(PluginFilesTest, CrashAtEachCallLeavesAWholeFileOrNone) {
  uint64_t crashes = 0;
  for (const bool keep_cache : {false, true}) {
    for (uint64_t call = 0;; ++call) {
      SCOPED_TRACE(call);
      SimulatedDisk disk(call + 1);
      MakeStore(disk);
      const uint64_t first = disk.calls();
      disk.CrashAt(first + call);
      absl::Status kept;
      {
        PluginFiles files(kStore, disk);
        kept = Keep(files, digest_, content_);
      }
      disk.Restart(keep_cache, SimulatedDisk::kSectorBytes);
      PluginFiles files(kStore, disk);
      const absl::Status found = files.Check(digest_);
      if (kept.ok()) {
        EXPECT_EQ(found, absl::OkStatus());
        break;
      }
      ++crashes;
      EXPECT_TRUE(found.ok() || absl::IsNotFound(found)) << found;
      EXPECT_EQ(Keep(files, digest_, content_), absl::OkStatus());
      EXPECT_EQ(files.Check(digest_), absl::OkStatus());
      EXPECT_THAT(files.List().value(), ElementsAre(digest_));
    }
  }
  EXPECT_GT(crashes, 20u);
}

}  // namespace
}  // namespace actord::runtime
