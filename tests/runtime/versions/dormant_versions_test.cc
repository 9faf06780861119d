// Processes that decline an upgrade, fall asleep and are asked again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/passivator.h"
#include "tests/runtime/versions/books.h"

namespace actord::runtime {
namespace {

class DormantVersions : public DurableVersions {
 protected:
  DormantVersions() { passivates_ = true; }

  void FallAsleep(const Pid& pid) {
    for (int looks = 0; looks < 6 && VersionOf(pid) != "dormant"; ++looks) {
      world_.Settle();
      ASSERT_TRUE(world_.store->CatchUp().ok());
      world_.runtime().passivator->LookIfDue();
      world_.Elapse(10'000'000'000);
    }
    ASSERT_EQ(VersionOf(pid), "dormant");
  }
  const ProcessType& InForce() {
    return *world_.core->catalog.FindProcessType("book");
  }
  uint64_t Declined() { return world_.runtime().Stats().upgrades_declined; }
};

TEST_F(DormantVersions, ProcessThatDeclinesAgainIsCountedOnceAVersion) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  Image2::script.refuses_restore = true;
  Load(Plugin<Image2>(2));
  EXPECT_EQ(Declined(), 1u);
  for (int wakes = 1; wakes <= 3; ++wakes) {
    FallAsleep(pid);
    EXPECT_EQ(InForce().declined_live, 0u);
    Image2::script.restored.clear();
    world_.Tell(pid, "note", "a");
    EXPECT_FALSE(Image2::script.restored.empty()) << "it is asked again";
    EXPECT_EQ(VersionOf(pid), "1");
    EXPECT_EQ(InForce().declined, 1u);
    EXPECT_EQ(InForce().declined_live, 1u);
    EXPECT_EQ(Declined(), 1u);
  }
  FallAsleep(pid);
  Load(Plugin<Image2>(3));
  for (int wakes = 1; wakes <= 2; ++wakes) {
    world_.Tell(pid, "note", "b");
    EXPECT_EQ(VersionOf(pid), "1");
    EXPECT_EQ(InForce().declined, 1u);
    EXPECT_EQ(Declined(), 2u);
    FallAsleep(pid);
  }
  Image2::script.refuses_restore = false;
  world_.Tell(pid, "note", "c");
  EXPECT_EQ(VersionOf(pid), "3");
  EXPECT_EQ(InForce().declined, 1u);
}

}  // namespace
}  // namespace actord::runtime
