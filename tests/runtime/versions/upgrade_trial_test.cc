// A trial of an upgrade says what a start with the new version then does.
#include "runtime/upgrade_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/runtime/versions/books.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;
using Kind = TrialResult::Kind;
using Then = TrialResult::Then;

class UpgradeTrialTest : public DurableVersions {
 protected:
  // What the store has of the process, as a start reads it.
  StoredProcess Stored(const Pid& pid) {
    while (world_.store->Work()) {
    }
    EXPECT_TRUE(world_.store->CatchUp().ok());
    StoredProcess found;
    const absl::Status status = world_.store->ForEachProcess(
        DurableStore::WithState, [&](StoredProcess&& stored) {
          if (stored.pid == pid) found = std::move(stored);
          return absl::OkStatus();
        });
    EXPECT_EQ(status, absl::OkStatus());
    EXPECT_EQ(found.pid, pid);
    return found;
  }
  // A trial of `in_force`, for a store that keeps `former`.
  TrialResult Try(const Pid& pid, const CatalogEntries& in_force,
                  const std::vector<CatalogEntries>& former,
                  size_t max_record_bytes = 256 << 10) {
    Catalog catalog;
    EXPECT_TRUE(catalog.Add(in_force).ok());
    UpgradeTrial trial(catalog,
                       {.incarnation = static_cast<uint32_t>(
                            world_.store->journal().report().incarnation),
                        .store_ns = world_.store->NowNs(),
                        .max_record_bytes = max_record_bytes,
                        .load_former = [&](records::PluginNumber number) {
                          for (const CatalogEntries& entries : former) {
                            if (entries.plugin_number != number) continue;
                            EXPECT_TRUE(catalog.AddFormer(entries).ok());
                          }
                        }});
    // Nothing of the first trial is left for the second one.
    for (int i = 0; i < 2; ++i) {
      const auto result = trial.Run(Stored(pid));
      EXPECT_TRUE(result.ok()) << result.status();
      if (i == 1) return *result;
    }
    return {};
  }
};

// Another version of the type that has no method of the name "run".
class WithoutRun : public Image2 {
 public:
  static constexpr actord::Method kMethods[] = {{"walk", nullptr}};
};
// A new version that cannot be durable.
class Volatile : public Image2 {
 public:
  static constexpr actord::Durability kDurability = actord::Durability::kNone;
};

TEST_F(UpgradeTrialTest, SaysWhatAStartThenDoes) {
  struct Case {
    std::string name;
    CatalogEntries before;
    CatalogEntries after;
    bool is_kept = true;  // the file of the version before
    std::function<void()> change;
    Kind kind = Kind::kUpgrades;
    Then then = Then::kNewVersion;
    std::string why;
  };
  const auto nothing = [] {};
  const std::vector<Case> cases = {
      {"image",
       Plugin<Image1>(1),
       Plugin<Image2>(2),
       true,
       nothing,
       {},
       {},
       ""},
      {"image without its file",
       Plugin<Image1>(1),
       Plugin<Image2>(2),
       false,
       nothing,
       {},
       {},
       ""},
      {"same file", Plugin<Image1>(1), Plugin<Image1>(1), true, nothing,
       Kind::kStays, Then::kOldVersion, "of this version already"},
      {"image that is refused", Plugin<Image1>(1), Plugin<Image2>(2), true,
       [] { Image2::script.refuses_restore = true; }, Kind::kFails,
       Then::kOldVersion, "Restore refused: not this one"},
      {"image that nobody takes", Plugin<Image1>(1), Plugin<Image2>(2), false,
       [] { Image2::script.refuses_restore = true; }, Kind::kFails,
       Then::kQuarantine, "not this one"},
      {"without the method", Plugin<Image1>(1), Plugin<WithoutRun>(2), true,
       nothing, Kind::kStays, Then::kOldVersion, "has no method run"},
      {"volatile", Plugin<Image1>(1), Plugin<Volatile>(2), true, nothing,
       Kind::kStays, Then::kOldVersion, "cannot be durable"},
      {"replay",
       Plugin<Replay1>(1),
       Plugin<Replay2>(2),
       true,
       nothing,
       {},
       {},
       ""},
      {"replay without its file", Plugin<Replay1>(1), Plugin<Replay2>(2), false,
       nothing, Kind::kDiverges, Then::kQuarantine,
       "step 2 differs from its record: effect 1, a message, is not"},
      {"replay that is put off", Plugin<Replay1>(1), Plugin<Replay2>(2), true,
       [] { Replay1::script.not_now = true; }, Kind::kStays, Then::kOldVersion,
       "not now"},
      {"replay that is refused", Plugin<Replay1>(1), Plugin<Replay2>(2), true,
       [] { Replay2::script.refuses_restore = true; }, Kind::kFails,
       Then::kOldVersion, "not this one"},
      {"an image that fits in no record", Plugin<Replay1>(1),
       Plugin<Replay2>(2), true, [] { Replay1::script.padding = 300 << 10; },
       Kind::kFails, Then::kOldVersion, "does not fit"},
      {"replay to image", Plugin<Replay1>(1), Plugin<Image2>(2), true, nothing,
       Kind::kStays, Then::kOldVersion, "different ways"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    SetUp();
    Start(one.before);
    const Pid pid = NewBook();
    world_.Tell(pid, "note", "@");
    one.change();
    const std::vector<CatalogEntries> former =
        one.is_kept ? std::vector<CatalogEntries>{one.before}
                    : std::vector<CatalogEntries>();
    const TrialResult result = Try(pid, one.after, former);
    EXPECT_EQ(result.kind, one.kind) << result.why;
    EXPECT_EQ(result.then, one.then) << result.why;
    EXPECT_THAT(result.why, HasSubstr(one.why));
    if (result.kind == Kind::kDiverges) EXPECT_EQ(result.step, 2u);
    Start(one.after, former);
    // Replay types restore with the first event.
    world_.Tell(pid, "note", "then");
    EXPECT_EQ(!InQuarantine().empty(), one.then == Then::kQuarantine);
    if (one.then != Then::kQuarantine) {
      const bool is_old = one.then == Then::kOldVersion;
      EXPECT_EQ(VersionOf(pid),
                is_old ? one.before.version : one.after.version);
    }
    SetUp();
    Start(one.before);
    world_.Tell(pid, "end");
  }
}

TEST_F(UpgradeTrialTest, YieldsAndCompletionsCanBeAdopted) {
  Start(Plugin<Replay1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "sleep");
  EXPECT_EQ(Try(pid, Plugin<Replay2>(2), {Plugin<Replay1>(1)}).kind,
            Kind::kUpgrades);
}

TEST_F(UpgradeTrialTest, ProcessThatIsCancelledStays) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  ASSERT_TRUE(world_.runtime()
                  .Control(Owner::kAny, pid, ACTORD_EVENT_CANCEL, "enough")
                  .status.ok());
  // No turn takes the cancel, so it waits in the mailbox. The store knows of
  // it.
  const TrialResult result = Try(pid, Plugin<Image2>(2), {Plugin<Image1>(1)});
  EXPECT_EQ(result.kind, Kind::kStays);
  EXPECT_EQ(result.then, Then::kOldVersion);
  EXPECT_THAT(result.why, HasSubstr("it was cancelled"));
}

TEST_F(UpgradeTrialTest, ProcessWithoutItsTypeIsInQuarantine) {
  Start(Plugin<Image1>(1));
  const Pid pid = NewBook();
  CatalogEntries none = Plugin<Image2>(2);
  none.process_types.clear();
  const TrialResult result = Try(pid, none, {Plugin<Image1>(1)});
  EXPECT_EQ(result.kind, Kind::kFails);
  EXPECT_EQ(result.then, Then::kQuarantine);
  EXPECT_THAT(result.why, HasSubstr("no plugin has process type book"));
}

}  // namespace
}  // namespace actord::runtime
