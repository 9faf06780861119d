// Stores in a directory of their own, and a store of a runtime to copy from.
//
// Thread-safety: one thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/store_tools/examine_store.h"
#include "runtime/store_tools/items/export_store.h"
#include "runtime/store_tools/items/salvage_store.h"
#include "runtime/store_tools/items/write_items.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {

// Makes stores below a directory that ends with the test.
class StoreItems : public ::testing::Test {
 protected:
  StoreItems() {
    std::string path = ::testing::TempDir() + "/items_XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    made_ = path + "/made";
  }
  ~StoreItems() override { std::filesystem::remove_all(directory_); }

  static absl::Status Put(const std::vector<AnyItem>& items,
                          const std::string& directory) {
    auto writer = StoreWriter::Begin(directory, FileSystem::System());
    if (!writer.ok()) return writer.status();
    for (const AnyItem& item : items) {
      absl::Status status = (*writer)->Add(item);
      if (!status.ok()) return status;
    }
    return (*writer)->End();
  }
  // Of the store in the real directory.
  static std::vector<AnyItem> ItemsOf(const std::string& directory) {
    std::vector<AnyItem> items;
    const auto report =
        ExportStore({.store = {.directory = directory}}, [&](AnyItem&& item) {
          items.push_back(std::move(item));
          return absl::OkStatus();
        });
    EXPECT_TRUE(report.ok()) << report.status();
    if (report.ok()) {
      EXPECT_TRUE(report->findings.empty());
    }
    return items;
  }
  static bool IsIntact(const std::string& directory) {
    const auto report = ExamineStore({.directory = directory});
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() && !report->is_damaged();
  }

  std::string directory_;
  std::string made_;
};

// A store on a simulated disk, with a state store in memory.
class StoreOfAWorld : public StoreItems {
 protected:
  void Fill() {
    ASSERT_TRUE(world.Start().ok());
    first = world.NewAccount(10, "first");
    second = world.NewAccount(20);
    world.SubmitOnce("request", "1");
    world.CallOnce("call", first, "add", "5");
    puppet = world.NewPuppet();
    world.CallOnce("open", puppet, "hold");
    world.Settle();
  }
  // Ends the program with messages that wait.
  void Crash() {
    world.Send(second, "add", "1");
    world.Send(second, "add", "2");
    world.store->Work();
    world.Crash(/*keep_cache=*/true);
  }
  // Lets the state store keep all, and the journal begin later.
  void TrimJournal() {
    world.Stop();
    world.round_bytes = 64;
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(world.Start().ok());
      for (int j = 0; j < 100; ++j) {
        world.Tell(first, "set", std::string(1000, '0') + "77");
      }
      world.Stop();
    }
  }
  absl::StatusOr<SalvageReport> Run() {
    return SalvageStore({.directory = "/srv/store",
                         .new_directory = made_,
                         .files = &world.disk,
                         .open_state = [this] { return OpenState(); }});
  }
  virtual absl::StatusOr<std::unique_ptr<StateStore>> OpenState() {
    return std::make_unique<OverlayForTest>(world.state);
  }
  // The image of the process in the new store.
  std::string ImageOf(const Pid& pid) {
    for (const AnyItem& item : ItemsOf(made_)) {
      const auto* const process = std::get_if<ProcessItem>(&item);
      if (process == nullptr || process->pid != pid) continue;
      StateImage image;
      EXPECT_TRUE(DecodeFields(process->image->image, image).ok());
      return image.state.bytes;
    }
    return "none";
  }
  size_t EventsOf(const Pid& pid) {
    for (const AnyItem& item : ItemsOf(made_)) {
      const auto* const process = std::get_if<ProcessItem>(&item);
      if (process != nullptr && process->pid == pid) {
        return process->mailbox.size();
      }
    }
    return 0;
  }
  // Changes a byte of the first file of the journal.
  void Flip(uint64_t offset) {
    const auto names = world.disk.List("/srv/store/journal");
    ASSERT_TRUE(names.ok() && !names->empty());
    auto file = world.disk.Open("/srv/store/journal/" + names->front(),
                                OpenMode::kReadWrite);
    ASSERT_TRUE(file.ok()) << file.status();
    char byte = 0;
    ASSERT_TRUE((*file)->Read(offset, 1, &byte).ok());
    byte = static_cast<char>(byte ^ 1);
    ASSERT_TRUE((*file)->Write(offset, {&byte, 1}).ok());
  }

  // Reads of the memory below; can refuse entries as a disk does.
  class OverlayForTest final : public StateStore {
   public:
    explicit OverlayForTest(StateStore& below, std::string bad = "")
        : below_(below), bad_(std::move(bad)) {}
    absl::StatusOr<std::optional<std::string>> Get(
        std::string_view key) override {
      if (!bad_.empty() && key == bad_) return Broken();
      return below_.Get(key);
    }
    absl::Status Write(std::span<const StateWrite>) override {
      return absl::InternalError("written");
    }
    absl::Status Flush() override { return absl::InternalError("flushed"); }
    absl::Status Scan(std::string_view begin, std::string_view end,
                      Use use) override {
      bool is_broken = false;
      absl::Status status = below_.Scan(
          begin, end, [&](std::string_view key, std::string_view value) {
            is_broken = !bad_.empty() && key == bad_;
            return !is_broken && use(key, value);
          });
      return is_broken ? Broken() : status;
    }

   private:
    static absl::Status Broken() {
      return absl::DataLossError("a block is damaged");
    }
    StateStore& below_;
    const std::string bad_;
  };

  DurableWorld world;
  Pid first;
  Pid second;
  Pid puppet;
};

}  // namespace actord::runtime
