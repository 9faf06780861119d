// Dormant processes whose image or history is damaged, and other reasons to
// stay in memory.
#include "tests/runtime/dormant/dormant_replay_fixture.h"

namespace actord::runtime {
namespace {

TEST_F(DormantReplay, OtherRefusalsDoNotDoubleTheIdleTime) {
  const Pid pid = New("listener");
  const Calls::Id waits = world_.runtime().calls.Begin(
      Owner::kAny, pid, {"get", {}}, [](const absl::StatusOr<Payload>&) {});
  for (int i = 0; i < 200; ++i) Look();
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_TRUE(world_.runtime().calls.Cancel(waits));
  Wait();
  EXPECT_TRUE(IsDormant(pid));
}

// The daemon goes on without a process whose part of the store is damaged.
TEST_F(DormantReplay, DamagedHistoryPutsTheProcessAloneIntoQuarantine) {
  const Pid pid = New("logbook", "in,");
  const Pid other = New("logbook", "other,");
  world_.Tell(pid, "a");
  Wait();
  ASSERT_TRUE(IsDormant(pid));
  const std::string prefix = KeyOf(KeyKind::kHistory, pid);
  std::string key;
  ASSERT_TRUE(world_.state
                  .Scan(prefix, BehindPrefix(prefix),
                        [&](std::string_view found, std::string_view) {
                          key = found;
                          return true;
                        })
                  .ok());
  ASSERT_FALSE(key.empty());
  const StateWrite damage{.key = key, .value = "no entry"};
  ASSERT_TRUE(world_.state.Write({&damage, 1}).ok());

  EXPECT_TRUE(world_.Send(pid, "b", "").status.ok());
  world_.Settle();
  EXPECT_EQ(world_.failed, absl::OkStatus());
  EXPECT_TRUE(world_.runtime().durable->quarantine().Has(pid));
  ASSERT_EQ(errors_.size(), 1u);
  EXPECT_THAT(errors_[0], HasSubstr(FormatPid(pid)));
  EXPECT_THAT(errors_[0], HasSubstr("the store is damaged"));
  EXPECT_THAT(LinesOf(pid), HasSubstr("the store is damaged"));
  EXPECT_EQ(LinesOf(other), "other,");
  // Code that is loaded later does not help.
  absl::Status retried;
  world_.runtime().RetryQuarantine(
      pid, [&](const absl::Status& status) { retried = status; }, Owner::kAny);
  world_.Settle();
  EXPECT_FALSE(retried.ok());
  EXPECT_TRUE(world_.runtime().durable->quarantine().Has(pid));
  EXPECT_TRUE(world_.runtime()
                  .Control(Owner::kAny, pid, kEventTerminate, "enough")
                  .status.ok());
  world_.Settle();
  EXPECT_TRUE(world_.runtime().processes.HasEnded(pid, Owner::kAny));
}

TEST_F(DormantReplay, MissingImagePutsTheProcessIntoQuarantine) {
  const Pid pid = world_.NewAccount(5);
  Wait();
  ASSERT_TRUE(IsDormant(pid));
  const StateWrite lost{.key = KeyOf(KeyKind::kImage, pid), .value = {}};
  ASSERT_TRUE(world_.state.Write({&lost, 1}).ok());
  EXPECT_THAT(LinesOf(pid), HasSubstr("it has no image"));
  EXPECT_EQ(world_.failed, absl::OkStatus());
  EXPECT_TRUE(world_.runtime().durable->quarantine().Has(pid));
}

}  // namespace
}  // namespace actord::runtime
