// Upgrades of durable processes: while the daemon runs, at a start, and when a
// dormant one comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/versions/books.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(DurableVersions, ImageTypeUpgradesWhileTheDaemonRuns) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  EXPECT_EQ(PluginOf(pid), 1u);
  Load(Plugin<Image2>(2));
  EXPECT_EQ(VersionOf(pid), "2");
  EXPECT_THAT(Image2::script.restored, ElementsAre("from 1 recovery"));
  EXPECT_EQ(PluginOf(pid), 2u);
  world_.Tell(pid, "note", "b");
  EXPECT_EQ(world_.NotesOf(pid), "v1:a v2:b ");
  EXPECT_EQ(world_.runtime().Stats().upgrades, 1u);
  // Nobody needs the code of version 1 any more.
  Start(Plugin<Image2>(2));
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(world_.NotesOf(pid), "v1:a v2:b ");
}

TEST_F(DurableVersions, CrashBehindAnUpgradeLosesNothing) {
  for (const bool is_durable : {false, true}) {
    SCOPED_TRACE(is_durable);
    Start(Plugin<Image1>(1));
    const Pid pid = NewBook();
    world_.Tell(pid, "note", "a");
    Load(Plugin<Image2>(2));
    EXPECT_EQ(VersionOf(pid), "2");
    if (is_durable) world_.Settle();
    world_.Crash(/*keep_cache=*/false);
    Start(Plugin<Image2>(2));
    EXPECT_EQ(asked_.empty(), is_durable);
    EXPECT_EQ(world_.NotesOf(pid), "v1:a ");
    EXPECT_EQ(PluginOf(pid), 2u);
  }
}

TEST_F(DurableVersions, ImageTypeUpgradesAtAStart) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  Start(Plugin<Image2>(2), {Plugin<Image1>(1)});
  EXPECT_THAT(asked_, ElementsAre(1));
  world_.Tell(pid, "note", "b");
  EXPECT_EQ(world_.NotesOf(pid), "v1:a v2:b ");
  EXPECT_EQ(VersionOf(pid), "2");
  EXPECT_EQ(PluginOf(pid), 2u);
  EXPECT_TRUE(Image1::script.restored.empty()) << "the image was enough";
  EXPECT_EQ(world_.runtime().Stats().upgrades, 1u);
}

TEST_F(DurableVersions, ProcessStaysInItsVersionIfTheNewOneRefuses) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  Image2::script.refuses_restore = true;
  Load(Plugin<Image2>(2));
  EXPECT_EQ(VersionOf(pid), "1");
  world_.Tell(pid, "note", "b");
  EXPECT_EQ(world_.runtime().Stats().upgrades_declined, 1u);
  for (int start = 0; start < 2; ++start) {
    log_.clear();
    Start(Plugin<Image2>(2), {Plugin<Image1>(1)});
    EXPECT_EQ(world_.NotesOf(pid), "v1:a v1:b ");
    EXPECT_EQ(VersionOf(pid), "1");
    EXPECT_EQ(PluginOf(pid), 1u);
    EXPECT_THAT(log_, ElementsAre(AllOf(HasSubstr("not this one"),
                                        HasSubstr("does not go on"))));
  }
  Image2::script.refuses_restore = false;
  Start(Plugin<Image2>(2), {Plugin<Image1>(1)});
  world_.Tell(pid, "note", "c");
  EXPECT_EQ(world_.NotesOf(pid), "v1:a v1:b v2:c ");
}

TEST_F(DurableVersions, QuarantineIfNoVersionCanRestore) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  Image2::script.refuses_restore = true;
  Start(Plugin<Image2>(2));  // the file of version 1 is lost
  EXPECT_THAT(asked_, ElementsAre(1));
  EXPECT_THAT(world_.NotesOf(pid), HasSubstr("not this one"));
  ASSERT_EQ(InQuarantine().size(), 1u);
  Image2::script.refuses_restore = false;
  absl::Status told = absl::UnknownError("nobody was told");
  world_.runtime().RetryQuarantine(
      pid, [&told](const absl::Status& status) { told = status; }, Owner::kAny);
  world_.Settle();
  EXPECT_EQ(told, absl::OkStatus());
  EXPECT_EQ(world_.NotesOf(pid), "v1:a ");
  EXPECT_EQ(PluginOf(pid), 2u);
}

TEST_F(DurableVersions, MendedVersionTakesAProcessOutOfQuarantine) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  Image1::script.refuses_restore = true;
  Start(Plugin<Image1>(1));
  world_.Tell(pid, "note", "b");
  ASSERT_EQ(InQuarantine().size(), 1u);
  Load(Plugin<Image2>(2));
  world_.runtime().RetryQuarantine(
      pid, [](const absl::Status&) {}, Owner::kAny);
  world_.Settle();
  EXPECT_TRUE(InQuarantine().empty());
  EXPECT_EQ(world_.NotesOf(pid), "v1:a v2:b ");
  EXPECT_EQ(PluginOf(pid), 2u);
}

TEST_F(DurableVersions, ReplayTypeUpgradesWhileTheDaemonRunsAndCutsItsHistory) {
  Start(Plugin<Replay1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "@");
  Load(Plugin<Replay2>(2));
  EXPECT_EQ(VersionOf(pid), "2");
  world_.Tell(pid, "note", "@");
  world_.Settle();
  EXPECT_EQ(PluginOf(pid), 2u);
  Start(Plugin<Replay2>(2));
  EXPECT_EQ(world_.NotesOf(pid), "v1:@ v1:from 1 v2:@ v2:from 2 ");
  EXPECT_TRUE(InQuarantine().empty());
  EXPECT_TRUE(asked_.empty());
}

TEST_F(DurableVersions, UpgradeThatIsPutOffIsAskedAgainAfterAStep) {
  Start(Plugin<Replay1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  Replay1::script.not_now = true;
  Load(Plugin<Replay2>(2));
  EXPECT_EQ(VersionOf(pid), "1");
  world_.Tell(pid, "note", "b");
  EXPECT_EQ(VersionOf(pid), "1");
  world_.Tell(pid, "note", "now");
  EXPECT_EQ(VersionOf(pid), "2");
  EXPECT_EQ(world_.NotesOf(pid), "v1:a v1:b v1:now ");
}

TEST_F(DurableVersions, OldCodeTakesTheStepsOfItsHistoryAgainAtAStart) {
  Start(Plugin<Replay1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "@");
  world_.Tell(pid, "sleep");
  Start(Plugin<Replay2>(2), {Plugin<Replay1>(1)});
  EXPECT_EQ(VersionOf(pid), "dormant");
  world_.Elapse(2'000'000'000);
  EXPECT_EQ(VersionOf(pid), "2");
  EXPECT_EQ(world_.NotesOf(pid), "v1:@ v1:from 1 v2:woken ");
  EXPECT_EQ(PluginOf(pid), 2u);
  // The history of version 1 is cut.
  Start(Plugin<Replay2>(2));
  EXPECT_EQ(world_.NotesOf(pid), "v1:@ v1:from 1 v2:woken v2:get ");
}

TEST_F(DurableVersions, HistoryOfAVersionThatIsLostIsNotGuessed) {
  Start(Plugin<Replay1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "@");
  Start(Plugin<Replay2>(2));
  EXPECT_THAT(world_.NotesOf(pid), HasSubstr("differs from its record"));
  ASSERT_EQ(InQuarantine().size(), 1u);
  // The file is there again.
  Start(Plugin<Replay2>(2), {Plugin<Replay1>(1)});
  EXPECT_EQ(world_.NotesOf(pid), "v1:@ v1:from 1 ");
}

TEST_F(DurableVersions, YieldsStayOutstanding) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "sleep");
  Load(Plugin<Image2>(2));
  EXPECT_EQ(VersionOf(pid), "2");
  world_.Elapse(2'000'000'000);
  EXPECT_EQ(world_.NotesOf(pid), "v2:woken ");
  world_.Tell(pid, "sleep");
  Start(Plugin<Image1>(3), {Plugin<Image2>(2)});
  world_.Elapse(2'000'000'000);
  EXPECT_EQ(world_.NotesOf(pid), "v2:woken v1:woken ");
}

TEST_F(DurableVersions, UpgradeThatTheJournalRefusesHasNotBeen) {
  Start(Plugin<Replay1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "@");
  Replay1::script.padding = 300 << 10;  // above the limit of a record
  Load(Plugin<Replay2>(2));
  EXPECT_EQ(VersionOf(pid), "1");
  EXPECT_THAT(log_, ElementsAre(HasSubstr("record")));
  world_.Tell(pid, "note", "b");
  Start(Plugin<Replay1>(1));
  EXPECT_EQ(world_.NotesOf(pid), "v1:@ v1:from 1 v1:b ");
  EXPECT_EQ(PluginOf(pid), 1u);
}

TEST_F(DurableVersions, ProcessSleepsWhenItsUpgradeIsInTheStateStore) {
  passivates_ = true;
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  world_.Settle();
  ASSERT_TRUE(world_.store->CatchUp().ok());
  const uint64_t before = world_.store->journal().Tail();
  Load(Plugin<Image2>(2));
  EXPECT_EQ(VersionOf(pid), "2");
  const PassivateHeader order{.steps = 2, .position = before};
  struct Run run(
      Run::Kind::kControl,
      world_.runtime().lane.NewEnvelope(
          kEventPassivate,
          {reinterpret_cast<const char*>(&order), sizeof(order)}, {}),
      Owner::kAny);
  ASSERT_EQ(world_.runtime().delivery.Post(pid, run, world_.runtime().lane),
            Posted::kDelivered);
  world_.Turn();
  world_.Tell(pid, "note", "b");
  EXPECT_EQ(world_.failed, absl::OkStatus());
  ASSERT_TRUE(world_.store->CatchUp().ok());
  EXPECT_EQ(world_.NotesOf(pid), "v1:a v2:b ");
}

TEST_F(DurableVersions, RetryAsksTheVersionAgainThatRefused) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  Image1::script.refuses_restore = Image2::script.refuses_restore = true;
  Start(Plugin<Image2>(2), {Plugin<Image1>(1)});
  EXPECT_THAT(world_.NotesOf(pid), HasSubstr("not this one"));
  Image2::script.refuses_restore = false;
  world_.runtime().RetryQuarantine(
      pid, [](const absl::Status&) {}, Owner::kAny);
  world_.Settle();
  EXPECT_EQ(world_.NotesOf(pid), "v1:a ");
  EXPECT_EQ(VersionOf(pid), "2");
}

TEST_F(DurableVersions, RetryReplaysWithTheInput) {
  Start(Plugin<Replay1>(1));
  auto told = world_.Submit("begin ", "", true, "book");
  world_.Settle();
  const Pid pid = ***told;
  world_.Tell(pid, "note", "@");
  Start(Plugin<Replay2>(2));
  world_.Tell(pid, "note", "b");
  ASSERT_EQ(InQuarantine().size(), 1u);
  for (int i = 0; i < 2; ++i) {
    world_.runtime().RetryQuarantine(
        pid, [](const absl::Status&) {}, Owner::kAny);
    world_.Settle();
    EXPECT_EQ(Replay2::script.inputs.back(), "begin ");
  }
  EXPECT_EQ(Replay2::script.inputs.size(), 3u);
}

TEST_F(DurableVersions, NewProcessesOnlyLeavesTheOthers) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  Load(Plugin<Image2>(2), /*upgrade_processes=*/false);
  world_.Tell(pid, "note", "a");
  EXPECT_EQ(world_.NotesOf(pid), "v1:a ");
  const Pid other = NewBook();
  world_.Tell(other, "note", "a");
  EXPECT_EQ(world_.NotesOf(other), "v2:a ");
  EXPECT_EQ(PluginOf(pid), 1u);
  EXPECT_EQ(PluginOf(other), 2u);
}

TEST_F(DurableVersions, ProcessThatIsToEndEndsInItsVersion) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  ASSERT_TRUE(world_.runtime()
                  .Control(Owner::kAny, pid, ACTORD_EVENT_CANCEL, "now")
                  .status.ok());
  while (world_.store->Work()) {
  }
  Start(Plugin<Image2>(2), {Plugin<Image1>(1)});
  EXPECT_TRUE(Image2::script.restored.empty());
  EXPECT_THAT(Image1::script.restored, ElementsAre("from 1 recovery"));
  const auto outcome = world_.Await(pid);
  world_.Settle();
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_EQ((**outcome)->kind, EndKind::kCancelled);
}

TEST_F(DurableVersions, DormantProcessComesBackInTheNewVersion) {
  passivates_ = true;
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note", "a");
  Start(Plugin<Image1>(1));  // a process that waits begins dormant
  EXPECT_EQ(VersionOf(pid), "dormant");
  Load(Plugin<Image2>(2));
  EXPECT_EQ(VersionOf(pid), "dormant");
  world_.Tell(pid, "note", "b");
  EXPECT_EQ(VersionOf(pid), "2");
  EXPECT_EQ(world_.NotesOf(pid), "v1:a v2:b ");
  EXPECT_EQ(PluginOf(pid), 2u);
}

TEST_F(DurableVersions, TypeThatIsNotInForceBringsNoCodeBack) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  CatalogEntries none{.plugin = "books", .version = "2", .plugin_number = 2};
  Start(none, {Plugin<Image1>(1)});
  EXPECT_TRUE(asked_.empty());
  EXPECT_THAT(world_.NotesOf(pid), HasSubstr("no plugin has process type"));
  EXPECT_EQ(world_.runtime().plugins_of_store,
            (absl::flat_hash_set<uint32_t>{1}));
}

}  // namespace
}  // namespace actord::runtime
