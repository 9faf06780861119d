#include "daemon/plugins/kept_plugins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/store_tools/sha256.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/support/simulated_disk.h"

namespace actord::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kReserve = 1 << 20;
constexpr uint64_t kRoom = 8 << 20;

std::string DigestOf(const std::string& content) {
  runtime::Sha256 hash;
  hash.Add(content);
  return hash.TakeHex();
}

class KeptPluginsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk_.MakeDirectory("/srv").ok());
    disk_.set_capacity(kRoom);
    Open();
  }
  void Open() {
    kept_.reset();
    store_.reset();
    runtime::OpenedStore::Options options;
    options.journal.directory = "/srv/store";
    options.journal.segment_bytes = 1 << 20;
    options.journal.max_record_bytes = 64 << 10;
    options.journal.max_unsynced_bytes = 64 << 10;
    options.journal.ring_bytes = 1 << 20;
    options.journal.max_group_bytes = 64 << 10;
    options.journal.threads = false;
    options.journal.files = &disk_;
    options.disk_reserve_bytes = kReserve;
    options.open_state =
        []() -> absl::StatusOr<std::unique_ptr<runtime::StateStore>> {
      return std::make_unique<runtime::MemoryStateStore>();
    };
    auto store = runtime::OpenedStore::Open(std::move(options));
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    auto kept = KeptPlugins::Open(*store_, "/srv/store", disk_);
    ASSERT_TRUE(kept.ok()) << kept.status();
    kept_ = *std::move(kept);
  }
  absl::StatusOr<uint32_t> Keep(const std::string& name,
                                const std::string& content) {
    const int file = memfd_create(name.c_str(), MFD_CLOEXEC);
    EXPECT_EQ(write(file, content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    auto number = kept_->Keep(name, "1", DigestOf(content), file);
    close(file);
    return number;
  }
  // Returns the log lines.
  std::string RemoveUnused(const absl::flat_hash_set<uint32_t>& used,
                           size_t most) {
    ::testing::internal::CaptureStderr();
    kept_->RemoveUnused(used, most, logger_);
    logger_.Flush(LogWriter::kLastPatience);
    return ::testing::internal::GetCapturedStderr();
  }
  // Leaves a file as a crash does before the number of a plugin is durable.
  void Leave(const std::string& content, const std::string& suffix) {
    auto file = disk_.Open("/srv/store/plugins/" + DigestOf(content) + suffix,
                           runtime::OpenMode::kCreate);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Write(0, content).ok());
  }
  std::vector<std::string> Files() {
    return disk_.List("/srv/store/plugins").value();
  }

  runtime::SimulatedDisk disk_{1};
  std::unique_ptr<runtime::OpenedStore> store_;
  std::unique_ptr<KeptPlugins> kept_;
  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kInfo};
};

TEST_F(KeptPluginsTest, FilesWithoutANumberAreRemoved) {
  ASSERT_EQ(Keep("a", "the code of a").value(), 1u);
  Leave("lost", ".so");
  Leave("unfinished", ".so.new");
  Leave("text", ".txt");
  const std::string log = RemoveUnused({1}, 10);
  EXPECT_THAT(log, HasSubstr("removed the plugin file with SHA-256 " +
                             DigestOf("lost") +
                             ", which no record of the "
                             "store names"));
  EXPECT_THAT(log, HasSubstr("removed 1 unfinished plugin files"));
  EXPECT_THAT(Files(), UnorderedElementsAre(DigestOf("the code of a") + ".so",
                                            DigestOf("text") + ".txt"));
  EXPECT_EQ(RemoveUnused({1}, 10), "");
}

TEST_F(KeptPluginsTest, NothingIsGuessedIfANumberInUseIsUnknown) {
  ASSERT_EQ(Keep("a", "the code of a").value(), 1u);
  Leave("lost", ".so");
  EXPECT_THAT(RemoveUnused({1, 7}, 10),
              HasSubstr("plugin number 7, which the store does not know"));
  EXPECT_THAT(Files(), UnorderedElementsAre(DigestOf("the code of a") + ".so",
                                            DigestOf("lost") + ".so"));
}

TEST_F(KeptPluginsTest, FileThatWouldTakeOfTheReserveIsRefused) {
  const uint64_t room = disk_.Space("/srv/store").value().available;
  const std::string large(room - kReserve + 1, 'c');
  const absl::Status refused = Keep("large", large).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the store cannot keep the file: the file has"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("store.disk_reserve"));
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_EQ(disk_.Space("/srv/store").value().available, room);
  EXPECT_EQ(Keep("small", "small").value(), 1u) << "no number is used up";
  EXPECT_THAT(Files(), ElementsAre(DigestOf("small") + ".so"));
}

}  // namespace
}  // namespace actord::daemon
