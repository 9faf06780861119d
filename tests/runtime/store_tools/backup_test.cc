// A backup of a store that is used, and the store that is made from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/durable/opened_store.h"
#include "runtime/durable/store_backup.h"
#include "runtime/store_tools/backup_manifest.h"
#include "runtime/store_tools/examine_store.h"
#include "runtime/store_tools/restore_backup.h"
#include "runtime/store_tools/sha256.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() {
    std::string path = ::testing::TempDir() + "/backup_XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    backup_ = path + "/backup";
  }
  ~BackupTest() override {
    store_.reset();
    fs::remove_all(directory_);
  }

  void Open(const std::string& name) {
    store_.reset();
    OpenedStore::Options options;
    options.journal.directory = directory_ + "/" + name;
    options.journal.segment_bytes = 1 << 20;
    options.journal.max_record_bytes = 256 << 10;
    options.journal.max_unsynced_bytes = 1 << 20;
    options.journal.ring_bytes = 1 << 20;
    options.journal.max_group_bytes = 64 << 10;
    options.round_bytes = 1 << 20;
    auto store = OpenedStore::Open(std::move(options));
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  // Owners are the simplest records that the state store keeps.
  void Add(int count) {
    for (int i = 0; i < count; ++i) {
      ++added_;
      // Long names, so that the journal has several segments.
      ASSERT_TRUE(
          store_
              ->KeepOwner(Owner{static_cast<uint16_t>(added_)},
                          std::to_string(added_) + std::string(10'000, 'x'))
              .ok());
    }
    Journal& journal = store_->journal();
    ASSERT_TRUE(journal.AwaitDurable(journal.Tail()).ok());
  }
  int CountOwners() {
    int count = 0;
    EXPECT_TRUE(
        store_->ForEachOwner([&](Owner, std::string_view) { ++count; }).ok());
    return count;
  }
  // The parts of the daemon and of actorctl, in one.
  void WriteBackup(StoreBackup& backup) {
    for (const char* const folder : {"", "/journal", "/state", "/plugins"}) {
      fs::create_directories(backup_ + folder);
    }
    BackupManifest manifest{.unix_seconds = 1,
                            .incarnation = backup.incarnation(),
                            .position = backup.position(),
                            .files = {}};
    for (size_t i = 0; i < backup.entries().size(); ++i) {
      const StoreBackup::Entry& entry = backup.entries()[i];
      Sha256 hash;
      std::ofstream file(backup_ + "/" + entry.name, std::ios::binary);
      for (uint64_t offset = 0; offset < entry.bytes;) {
        const auto piece = backup.Read(i, offset, 100'000);
        ASSERT_TRUE(piece.ok()) << piece.status();
        ASSERT_FALSE(piece->empty());
        hash.Add(*piece);
        file << *piece;
        offset += piece->size();
      }
      file.close();
      fs::resize_file(backup_ + "/" + entry.name, entry.size);
      manifest.files.push_back({.name = entry.name,
                                .bytes = entry.bytes,
                                .size = entry.size,
                                .sha256 = hash.TakeHex()});
    }
    std::ofstream(backup_ + "/BACKUP", std::ios::binary)
        << EncodeManifest(manifest);
  }
  void MakeBackup() {
    auto backup = store_->BeginBackup();
    ASSERT_TRUE(backup.ok()) << backup.status();
    WriteBackup(**backup);
  }
  absl::Status Check() {
    return CheckBackup(backup_, FileSystem::System()).status();
  }
  absl::Status Restore(const std::string& name) {
    return RestoreBackup(backup_, directory_ + "/" + name, FileSystem::System())
        .status();
  }

  std::string directory_;
  std::string backup_;
  std::unique_ptr<OpenedStore> store_;
  int added_ = 0;
};

TEST_F(BackupTest, HoldsWhatWasDurableBefore) {
  Open("store");
  Add(300);  // Three segments.
  auto backup = store_->BeginBackup();
  ASSERT_TRUE(backup.ok()) << backup.status();
  // The store goes on, and gives up the segments that the backup reads.
  const uint64_t first = store_->journal().FirstLsn();
  for (int i = 0; i < 1'000 && store_->journal().FirstLsn() == first; ++i) {
    Add(15);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(store_->journal().FirstLsn(), first);
  WriteBackup(**backup);
  backup->reset();
  EXPECT_FALSE(fs::exists(directory_ + "/store/backup"));
  const uint64_t incarnation = store_->journal().report().incarnation;
  EXPECT_TRUE(Check().ok()) << Check();

  const auto report = ExamineStore({.directory = backup_});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->findings.empty()) << report->findings.front().text;
  EXPECT_EQ(report->owners.size(), 300U);

  ASSERT_TRUE(Restore("restored").ok());
  EXPECT_FALSE(fs::exists(directory_ + "/restored.restoring"));
  EXPECT_FALSE(fs::exists(directory_ + "/restored/BACKUP"));
  Open("restored");
  EXPECT_EQ(CountOwners(), 300);
  // The copy gives out no PID that the store gives out in the meantime.
  EXPECT_GT(store_->journal().report().incarnation,
            incarnation + kRestoreIncarnations);
  // It takes more, and starts again.
  const int before = added_;
  Add(50);
  Open("restored");
  EXPECT_EQ(CountOwners(), 300 + added_ - before);
}

TEST_F(BackupTest, BackupOfAnEmptyOrGrowingStoreIsComplete) {
  Open("store");
  for (int round = 0; round < 4; ++round) {
    const int before = added_;
    MakeBackup();
    ASSERT_TRUE(Check().ok()) << Check();
    const std::string name = "restored" + std::to_string(round);
    ASSERT_TRUE(Restore(name).ok());
    Add(150);
    std::unique_ptr<OpenedStore> original = std::move(store_);
    Open(name);
    EXPECT_EQ(CountOwners(), before);
    store_ = std::move(original);
    fs::remove_all(backup_);
  }
}

TEST_F(BackupTest, DamageIsFound) {
  Open("store");
  Add(10);
  MakeBackup();
  for (const auto& entry : fs::recursive_directory_iterator(backup_)) {
    if (!entry.is_regular_file() || entry.file_size() == 0) continue;
    SCOPED_TRACE(entry.path());
    // The last byte of a segment is a zero that is not hashed.
    for (const uint64_t at : {uint64_t{0}, entry.file_size() - 1}) {
      std::fstream file(entry.path(),
                        std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const int byte = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 1));
      file.flush();
      EXPECT_TRUE(absl::IsDataLoss(Check())) << Check();
      EXPECT_TRUE(absl::IsDataLoss(Restore("restored")));
      EXPECT_FALSE(fs::exists(directory_ + "/restored"));
      EXPECT_FALSE(fs::exists(directory_ + "/restored.restoring"));
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte));
    }
  }
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(BackupTest, IncompleteBackupIsRefused) {
  Open("store");
  Add(1);
  MakeBackup();
  fs::create_directory(directory_ + "/there");
  EXPECT_TRUE(absl::IsAlreadyExists(Restore("there"))) << Restore("there");
  // The remains of a restore that was interrupted.
  fs::create_directories(directory_ + "/new.restoring/journal");
  EXPECT_TRUE(Restore("new").ok());
  fs::remove(backup_ + "/META-1");
  EXPECT_TRUE(absl::IsDataLoss(Check()));
  fs::remove(backup_ + "/BACKUP");
  EXPECT_TRUE(absl::IsNotFound(Check()));
  EXPECT_THAT(std::string(Check().message()), HasSubstr("written last"));
}

TEST(BackupManifest, EveryChangeOfAByteIsRefused) {
  const std::string hash(64, 'a');
  const BackupManifest manifest{
      .unix_seconds = 1,
      .incarnation = 2,
      .position = 3,
      .files = {
          {.name = "META-0", .bytes = 1, .size = 4096, .sha256 = hash},
          {.name = "META-1", .bytes = 1, .size = 4096, .sha256 = hash},
          {.name = "state/000012.sst", .bytes = 5, .size = 5, .sha256 = hash}}};
  std::string text = EncodeManifest(manifest);
  const auto decoded = DecodeManifest(text);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->position, 3U);
  EXPECT_EQ(decoded->files.size(), 3U);
  EXPECT_EQ(decoded->files[2].name, "state/000012.sst");
  EXPECT_EQ(EncodeManifest(*decoded), text);
  for (char& byte : text) {
    byte = static_cast<char>(byte ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(DecodeManifest(text).status()));
    byte = static_cast<char>(byte ^ 1);
  }
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_TRUE(
        absl::IsDataLoss(DecodeManifest(text.substr(0, size)).status()));
  }
}

TEST(BackupManifest, SizeIsNoReasonToFillTheDisk) {
  const auto decodes = [](uint64_t size) {
    const std::string hash(64, 'a');
    const BackupManifest manifest{
        .unix_seconds = 1,
        .incarnation = 2,
        .position = 3,
        .files = {
            {.name = "META-0", .bytes = 1, .size = size, .sha256 = hash},
            {.name = "META-1", .bytes = 1, .size = 4096, .sha256 = hash}}};
    return DecodeManifest(EncodeManifest(manifest)).ok();
  };
  EXPECT_TRUE(decodes(1 + kMostZeros));
  EXPECT_FALSE(decodes(2 + kMostZeros));
}

TEST(BackupManifest, NamesStayInTheDirectory) {
  for (const char* const name :
       {"META-0", "META-1", "journal/0000000000000000.seg", "state/CURRENT",
        "state/OPTIONS-000007", "plugins/abc.so"}) {
    EXPECT_TRUE(IsBackupName(name)) << name;
  }
  for (const char* const name :
       {"", "META-2", "BACKUP", "/etc/passwd", "../META-0", "state/",
        "state/..", "state/.x", "state/a/b", "state/a b", "state/a\n",
        "other/file", "journal/../../x"}) {
    EXPECT_FALSE(IsBackupName(name)) << name;
  }
}

}  // namespace
}  // namespace actord::runtime
