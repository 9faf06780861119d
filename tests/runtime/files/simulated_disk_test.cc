// The simulated disk loses what a real one may lose, and nothing else.
#include "tests/support/simulated_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace actord::runtime {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

constexpr uint64_t kSector = SimulatedDisk::kSectorBytes;

// A disk with a durable, empty file /a.
std::unique_ptr<SimulatedDisk> DiskWithFile(uint64_t seed) {
  auto disk = std::make_unique<SimulatedDisk>(seed);
  EXPECT_TRUE(disk->Open("/a", OpenMode::kCreate).ok());
  EXPECT_TRUE(disk->SyncDirectory("/").ok());
  return disk;
}

std::unique_ptr<File> OpenA(SimulatedDisk& disk) {
  auto file = disk.Open("/a", OpenMode::kReadWrite);
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

// The contents of /a after a power failure, for 200 seeds: four sectors of 'o'
// that were synced, and then four of 'n' that were not.
std::set<std::string> AfterPowerFailures(uint64_t tear_bytes) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto disk = DiskWithFile(seed);
    const auto file = OpenA(*disk);
    EXPECT_TRUE(file->Write(0, std::string(4 * kSector, 'o')).ok());
    EXPECT_TRUE(file->SyncData().ok());
    EXPECT_TRUE(file->Write(0, std::string(4 * kSector, 'n')).ok());
    disk->Restart(false, tear_bytes);
    const std::string after = disk->Contents("/a");
    std::string sectors;
    for (uint64_t i = 0; i < 4; ++i) {
      sectors += after[i * kSector];
      EXPECT_EQ(after.substr(i * kSector, kSector),
                std::string(kSector, sectors.back()));
    }
    seen.insert(sectors);
  }
  return seen;
}

TEST(SimulatedDisk, PowerFailuresTearUnsyncedWritesInAnyWay) {
  EXPECT_EQ(AfterPowerFailures(512).size(), 16u);
  EXPECT_THAT(AfterPowerFailures(4096), ElementsAre("nnnn", "oooo"));
}

TEST(SimulatedDisk, KeepsWhatWasSyncedAndACacheThatIsKept) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto disk = DiskWithFile(seed);
    const auto file = OpenA(*disk);
    ASSERT_TRUE(file->Write(0, "synced").ok());
    ASSERT_TRUE(file->SyncData().ok());
    disk->Restart(false, kSector);
    EXPECT_EQ(disk->Contents("/a"), "synced");
    ASSERT_TRUE(OpenA(*disk)->Write(0, "cached").ok());
    disk->Restart(true, kSector);
    EXPECT_EQ(disk->Contents("/a"), "cached");
    EXPECT_EQ(file->Size().status().code(), absl::StatusCode::kAborted)
        << "a file of a program that has ended";
  }
}

TEST(SimulatedDisk, SizesOfUnsyncedFilesAreUndone) {
  std::set<uint64_t> sizes;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const auto disk = DiskWithFile(seed);
    ASSERT_TRUE(OpenA(*disk)->Write(0, "123456").ok());
    disk->Restart(false, kSector);
    sizes.insert(disk->Contents("/a").size());
  }
  EXPECT_THAT(sizes, ElementsAre(0, 6));
}

TEST(SimulatedDisk, NamesAreUndoneFromTheEnd) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SimulatedDisk disk(seed);
    ASSERT_TRUE(disk.Open("/a", OpenMode::kCreate).ok());
    ASSERT_TRUE(disk.SyncDirectory("/").ok());
    ASSERT_TRUE(disk.Rename("/a", "/b").ok());
    ASSERT_TRUE(disk.Open("/c", OpenMode::kCreate).ok());
    ASSERT_TRUE(disk.Unlink("/b").ok());
    disk.Restart(false, kSector);
    std::string names;
    for (const std::string& path : disk.Files()) names += path;
    seen.insert(names);
  }
  EXPECT_THAT(seen, ElementsAre("/a", "/b", "/b/c", "/c"));
}

TEST(SimulatedDisk, AFailedSyncDropsOrKeepsPagesAndTheNextOneLies) {
  for (const bool keeps : {false, true}) {
    const auto disk = DiskWithFile(1);
    disk->set_failed_sync(keeps ? SimulatedDisk::FailedSync::kKeepsPages
                                : SimulatedDisk::FailedSync::kDropsPages);
    const auto file = OpenA(*disk);
    ASSERT_TRUE(file->Write(0, "old").ok());
    ASSERT_TRUE(file->SyncData().ok());
    ASSERT_TRUE(file->Write(0, "new").ok());
    disk->FailNext(SimulatedDisk::Call::kSync, "/a", EIO);
    EXPECT_EQ(file->SyncData().code(), absl::StatusCode::kDataLoss);
    EXPECT_TRUE(file->SyncData().ok());
    EXPECT_EQ(disk->Contents("/a"), keeps ? "new" : "old");
    disk->Restart(false, kSector);
    EXPECT_EQ(disk->Contents("/a"), "old");
  }
}

TEST(SimulatedDisk, EndsTheProgramAtACall) {
  const auto disk = DiskWithFile(1);
  const auto file = OpenA(*disk);
  disk->CrashAt(disk->calls() + 1);
  EXPECT_TRUE(file->Write(0, "one").ok());
  EXPECT_EQ(file->Write(0, "two").code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(disk->has_crashed());
  EXPECT_EQ(file->SyncData().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(disk->Unlink("/a").code(), absl::StatusCode::kAborted);
  disk->Restart(true, kSector);
  EXPECT_TRUE(disk->Unlink("/a").ok());
}

TEST(SimulatedDisk, WritesShortRunsFullAndFailsReads) {
  const auto disk = DiskWithFile(1);
  const auto file = OpenA(*disk);
  disk->set_short_writes(true);
  std::set<size_t> counts;
  for (int i = 0; i < 50; ++i) counts.insert(*file->WriteSome(0, "123456"));
  EXPECT_THAT(counts, IsSupersetOf({1u, 3u, 6u}));
  EXPECT_THAT(counts, Not(Contains(0u)));
  disk->set_short_writes(false);
  disk->set_capacity(10);
  EXPECT_TRUE(file->Write(4, "567890").ok());
  EXPECT_TRUE(IsNoRoom(file->Write(10, "1")));
  EXPECT_TRUE(IsNoRoom(file->Allocate(11)));
  disk->FailReads("/a", 8, 1);
  char bytes[10];
  EXPECT_EQ(*file->Read(0, 8, bytes), 8u);
  EXPECT_EQ(file->Read(0, 9, bytes).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(SimulatedDisk, CountsSyncsThatChangeMetadata) {
  const auto disk = DiskWithFile(1);
  const auto file = OpenA(*disk);
  const auto syncs = [&] {
    EXPECT_TRUE(file->SyncData().ok());
    return disk->syncs_with_metadata();
  };
  ASSERT_TRUE(file->Allocate(4 * kSector).ok());
  EXPECT_EQ(syncs(), 1u);
  ASSERT_TRUE(file->Write(0, std::string(2 * kSector, 'a')).ok());
  EXPECT_EQ(syncs(), 2u) << "an allocated block is written for the first time";
  ASSERT_TRUE(file->Write(kSector, "b").ok());
  EXPECT_EQ(syncs(), 2u);
  ASSERT_TRUE(file->Write(4 * kSector, "b").ok());
  EXPECT_EQ(syncs(), 3u) << "the file grows";
}

}  // namespace
}  // namespace actord::runtime
