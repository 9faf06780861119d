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
  std::vector<std::string> Files() {
    return disk_.List("/srv/store/plugins").value();
  }

  runtime::SimulatedDisk disk_{1};
  std::unique_ptr<runtime::OpenedStore> store_;
  std::unique_ptr<KeptPlugins> kept_;
};

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
