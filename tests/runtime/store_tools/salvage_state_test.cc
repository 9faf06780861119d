// A salvage of a store whose state store RocksDB cannot open: a real state
// store with a damaged file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/store/data_files/data_files_state.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/store/state_keys.h"
#include "runtime/store_tools/read_only_files.h"
#include "runtime/table/home_pid.h"
#include "tests/runtime/store_tools/store_items_fixture.h"

namespace actord::runtime {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A file system with little room.
class FullFiles final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path,
                                             OpenMode mode) override {
    return below_.Open(path, mode);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return below_.Rename(from, to);
  }
  absl::Status Unlink(const std::string& path) override {
    return below_.Unlink(path);
  }
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& directory) override {
    return below_.List(directory);
  }
  absl::Status MakeDirectory(const std::string& path) override {
    return below_.MakeDirectory(path);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    return below_.SyncDirectory(path);
  }
  absl::StatusOr<DiskSpace> Space(const std::string& /*path*/) override {
    return DiskSpace{.total = 4096, .available = 1000};
  }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDirectory(
      const std::string& path) override {
    return below_.LockDirectory(path);
  }

 private:
  FileSystem& below_ = FileSystem::System();
};

std::string BytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void PutBytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string Changed(std::string bytes, size_t offset) {
  for (size_t i = offset; i < std::min(bytes.size(), offset + 4); ++i) {
    bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
  }
  return bytes;
}

class SalvagedState : public StoreItems {
 protected:
  static constexpr uint32_t kProcesses = 300;

  SalvagedState() : store_(directory_ + "/store"), state_(store_ + "/state") {}

  static Pid PidOf(uint32_t slot) { return HomePid(3, 1, slot, 1); }
  static ProcessItem ProcessOf(uint32_t slot) {
    ProcessItem process;
    process.pid = PidOf(slot);
    process.entry.process_type = "account";
    process.entry.input.bytes =
        std::string(2000, static_cast<char>('a' + slot % 20));
    process.entry.runtime.names = {absl::StrCat("n", slot)};
    return process;
  }
  static StateWrite WriteOf(const ProcessItem& process) {
    return {KeyOf(KeyKind::kProcess, process.pid), ValueOf(process.entry)};
  }
  // A store with one data file. Its journal begins behind all records.
  void Make() {
    std::vector<AnyItem> items = {
        StoreItem{.position = 8000, .incarnation = 1}};
    for (uint32_t slot = 1; slot <= kProcesses; ++slot) {
      items.push_back(ProcessOf(slot));
    }
    ASSERT_EQ(Put(items, store_), absl::OkStatus());
    big_ = DataFiles().at(0);
  }
  // Adds a data file; returns its path.
  fs::path Add(const std::vector<StateWrite>& writes) {
    const std::vector<fs::path> before = DataFiles();
    auto state =
        RocksStateStore::Open({.directory = state_, .await_room = nullptr});
    EXPECT_TRUE(state.ok()) << state.status();
    EXPECT_EQ((*state)->Write(writes), absl::OkStatus());
    EXPECT_EQ((*state)->Flush(), absl::OkStatus());
    for (const fs::path& file : DataFiles()) {
      if (std::count(before.begin(), before.end(), file) == 0) return file;
    }
    ADD_FAILURE() << "no new file";
    return {};
  }
  [[nodiscard]] std::vector<fs::path> DataFiles() const {
    return FilesOf(".sst");
  }
  [[nodiscard]] std::vector<fs::path> FilesOf(const std::string& part) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(state_)) {
      if (entry.path().filename().string().find(part) != std::string::npos) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  // Changes four bytes so that RocksDB cannot open the store: the index.
  void BreakIndex(const fs::path& file) {
    const std::string intact = BytesOf(file);
    for (size_t at = intact.size() - 60; at > 0;
         at -= std::min<size_t>(at, 8)) {
      PutBytes(file, Changed(intact, at));
      if (!RocksStateStore::OpenToRead(state_).ok()) return;
    }
    FAIL() << "the store can always be opened";
  }
  // The bytes and times of all files.
  [[nodiscard]] std::map<std::string, std::string> Contents() const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(store_)) {
      contents[entry.path()] =
          absl::StrCat(entry.last_write_time().time_since_epoch().count(), " ",
                       entry.is_regular_file() ? BytesOf(entry.path()) : "");
    }
    return contents;
  }
  // Salvages. Afterwards only the store and the new one are there.
  absl::StatusOr<SalvageReport> Run(
      FileSystem& new_files = FileSystem::System()) {
    const std::map<std::string, std::string> before = Contents();
    auto report = SalvageStore(
        {.directory = store_, .new_directory = made_, .new_files = &new_files});
    EXPECT_EQ(Contents(), before);
    for (const auto& entry : fs::directory_iterator(directory_)) {
      EXPECT_TRUE(entry.path() == store_ || entry.path() == made_)
          << entry.path();
    }
    if (report.ok()) {
      EXPECT_TRUE(IsIntact(made_));
      EXPECT_THAT(report->lost, Each(Not(HasSubstr("store verify"))));
    }
    return report;
  }
  // The process in the new store.
  std::optional<ProcessEntry> Find(const Pid& pid) {
    for (const AnyItem& item : ItemsOf(made_)) {
      const auto* const process = std::get_if<ProcessItem>(&item);
      if (process != nullptr && process->pid == pid) return process->entry;
    }
    return std::nullopt;
  }

  const std::string store_;
  const std::string state_;
  fs::path big_;
};

TEST_F(SalvagedState, DamagedIndexCostsItsFileAlone) {
  Make();
  const fs::path tiny = Add({WriteOf(ProcessOf(kProcesses + 1))});
  // The list does not name this file, so the store no longer uses it.
  fs::copy(tiny, state_ + "/000900.sst");
  BreakIndex(tiny);
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->processes, kProcesses);
  EXPECT_EQ(report->position, 8000u);
  EXPECT_THAT(
      report->lost,
      ElementsAre(AllOf(HasSubstr("the state store could not be opened: "),
                        HasSubstr(tiny.filename().string()),
                        HasSubstr("It was repaired")),
                  AllOf(HasSubstr("the entries of a data file"),
                        HasSubstr(tiny.string()))));
}

TEST_F(SalvagedState, MissingDataFileCostsItsEntriesAlone) {
  Make();
  const fs::path tiny = Add({WriteOf(ProcessOf(kProcesses + 1))});
  fs::remove(tiny);
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->processes, kProcesses);
}

TEST_F(SalvagedState, LostListOfFilesCostsNothing) {
  Make();
  ProcessItem changed = ProcessOf(1);
  changed.entry.input.bytes = "changed";
  Add({WriteOf(changed),
       {KeyOf(KeyKind::kProcess, PidOf(2)), std::nullopt},
       {KeyOf(KeyKind::kName, Owner::kNobody, std::string("n2")), std::nullopt},
       WriteOf(ProcessOf(kProcesses + 1))});
  const fs::path manifest = FilesOf("MANIFEST").at(0);
  const fs::path current = state_ + "/CURRENT";
  const auto damages = std::to_array<std::function<void()>>({
      [&] { PutBytes(manifest, Changed(BytesOf(manifest), 20)); },
      [&] { fs::remove(manifest); },
      [&] { PutBytes(current, "MANIFEST-"); },
      [&] { PutBytes(current, "MANIFEST-000999\n"); },
      [&] { fs::remove(current); },
  });
  const std::string kept = directory_ + "_kept";
  fs::copy(store_, kept, fs::copy_options::recursive);
  for (size_t i = 0; i < damages.size(); ++i) {
    SCOPED_TRACE(i);
    damages[i]();
    const auto report = Run();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->processes, kProcesses);
    EXPECT_THAT(report->lost, ElementsAre(HasSubstr("It was repaired")));
    EXPECT_EQ(Find(PidOf(1))->input.bytes, "changed");
    EXPECT_FALSE(Find(PidOf(2)));
    EXPECT_TRUE(Find(PidOf(kProcesses + 1)));
    fs::remove_all(made_);
    fs::remove_all(store_);
    fs::copy(kept, store_, fs::copy_options::recursive);
  }
  fs::remove_all(kept);
}

// A file with a damaged block is read before and behind the block.
TEST_F(SalvagedState, DamagedBlockOfAnotherFileCostsThatBlock) {
  Make();
  const fs::path tiny = Add({WriteOf(ProcessOf(kProcesses + 1))});
  BreakIndex(tiny);
  PutBytes(big_, Changed(BytesOf(big_), fs::file_size(big_) / 4));
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GE(report->processes, kProcesses - 8);
  EXPECT_LT(report->processes, kProcesses);
  EXPECT_THAT(report->lost,
              Contains(HasSubstr("processes that cannot be read")));
}

TEST_F(SalvagedState, WithoutAReadableFileNothingIsTaken) {
  Make();
  BreakIndex(big_);
  const auto report = Run();
  EXPECT_TRUE(absl::IsDataLoss(report.status())) << report.status();
  EXPECT_THAT(
      std::string(report.status().message()),
      AllOf(HasSubstr("none of its data files can be read"),
            HasSubstr(big_.filename().string()),
            HasSubstr("begins at position 8000"),
            HasSubstr("Nothing was changed in " + store_ +
                      ": keep it, and "
                      "restore a backup"),
            HasSubstr("Only if there is no backup, begin with an empty store "
                      "in another directory")));
}

// The file in which a process was removed is lost, so it is back.
TEST_F(SalvagedState, OldEntriesDoNotContradictNewerOnes) {
  Make();
  const fs::path removed = Add(
      {{KeyOf(KeyKind::kProcess, PidOf(7)), std::nullopt},
       {KeyOf(KeyKind::kName, Owner::kNobody, std::string("n7")), std::nullopt},
       {KeyOf(KeyKind::kProcess, PidOf(9)), std::nullopt},
       {KeyOf(KeyKind::kName, Owner::kNobody, std::string("n9")),
        std::nullopt}});
  ProcessItem heir = ProcessOf(kProcesses + 1);
  heir.entry.runtime.names = {"n7"};
  Add({WriteOf(heir),
       {KeyOf(KeyKind::kOutcome, PidOf(9)), ValueOf(OutcomeEntry{})}});
  BreakIndex(removed);
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(Find(PidOf(7)));
  EXPECT_FALSE(Find(PidOf(9)));
  ASSERT_TRUE(Find(heir.pid));
  EXPECT_TRUE(Find(heir.pid)->runtime.names.empty());
  EXPECT_THAT(report->lost, Contains(HasSubstr("the name n7 of process " +
                                               FormatPid(heir.pid))));
  EXPECT_EQ(report->outcomes, 1u);
}

TEST_F(SalvagedState, WithoutRoomForTheCopySaysSo) {
  Make();
  fs::remove(state_ + "/CURRENT");
  FullFiles full;
  const auto report = Run(full);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(report.status().message()),
              AllOf(HasSubstr("no room for a temporary copy"),
                    HasSubstr("1000 are free"), HasSubstr("Make room")));
  EXPECT_FALSE(fs::exists(made_));
}

TEST_F(SalvagedState, UnfinishedCopyIsRemoved) {
  Make();
  fs::remove(state_ + "/CURRENT");
  fs::create_directory(made_ + ".reading");
  PutBytes(made_ + ".reading/CURRENT", "MANIFEST-000001\n");
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->processes, kProcesses);
}

// Many files, whose versions of entries overlap, some of them compacted.
TEST_F(SalvagedState, DataFilesHaveTheNewestVersions) {
  std::mt19937 random(7);
  std::map<std::string, std::string> expected;
  {
    fs::create_directory(store_);
    auto state = RocksStateStore::Open({.directory = state_,
                                        .write_buffer_bytes = 64 << 10,
                                        .await_room = nullptr});
    ASSERT_TRUE(state.ok()) << state.status();
    for (int i = 0; i < 20'000; ++i) {
      const std::string key = absl::StrCat(random() % 2'000);
      std::vector<StateWrite> write = {{key, std::nullopt}};
      if (random() % 4 == 0) {
        expected.erase(key);
      } else {
        write[0].value = expected[key] = std::string(random() % 100, 'v') + key;
      }
      ASSERT_EQ((*state)->Write(write), absl::OkStatus());
      if (i % 1'000 == 0) {
        ASSERT_EQ((*state)->Flush(), absl::OkStatus());
      }
    }
    ASSERT_EQ((*state)->Flush(), absl::OkStatus());
  }
  fs::remove(state_ + "/CURRENT");
  ReadOnlyFiles files(FileSystem::System());
  auto opened =
      DataFilesState::Open({.directory = state_,
                            .files = &files,
                            .folder = directory_ + "/copy",
                            .new_files = &FileSystem::System()},
                           [](const std::string& path, const std::string& why) {
                             ADD_FAILURE() << path << ": " << why;
                           });
  ASSERT_TRUE(opened.ok()) << opened.status();
  std::map<std::string, std::string> found;
  EXPECT_EQ((*opened)->Scan("", "\xff",
                            [&](std::string_view key, std::string_view value) {
                              EXPECT_TRUE(found.emplace(key, value).second);
                              return true;
                            }),
            absl::OkStatus());
  EXPECT_EQ(found, expected);
  for (int key = 0; key < 2'000; ++key) {
    const auto got = (*opened)->Get(absl::StrCat(key));
    ASSERT_TRUE(got.ok()) << got.status();
    const auto entry = expected.find(absl::StrCat(key));
    EXPECT_EQ(*got, entry == expected.end()
                        ? std::optional<std::string>()
                        : std::optional<std::string>(entry->second));
  }
  EXPECT_EQ((*opened)->Close(), absl::OkStatus());
  EXPECT_FALSE(fs::exists(directory_ + "/copy"));
}

}  // namespace
}  // namespace actord::runtime
