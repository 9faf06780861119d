// Upgrades of durable processes with flat states: between layouts, and over
// versions that have taken no step.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

#include "tests/runtime/versions/books.h"

namespace actord::runtime {
namespace {

// A message is counted; a call is answered with the version and the count.
void CountEvents(int version, int64_t& messages, actord::Events events,
                 actord::StepOutput& out) {
  for (const actord::Event event : events) {
    if (event.call() != 0) {
      out.Reply(event.call(),
                "v" + std::to_string(version) + ":" + std::to_string(messages));
    } else if (event.is_message()) {
      ++messages;
    }
  }
}

// Counts its messages in a flat state.
template <int V, uint32_t Layout>
class Count : public actord::Process {
 public:
  struct State {
    int64_t messages = 0;
  };
  static constexpr const char* kName = "book";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr uint32_t kStateVersion = Layout;

  void Step(actord::Events events, actord::StepOutput& out) {
    CountEvents(V, state.messages, events, out);
  }

  State state;
};

// The same in layout 4, with a Restore for layout 3.
class Recount : public actord::Process {
 public:
  struct State {
    int64_t messages = 0;
  };
  static constexpr const char* kName = "book";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kImage;
  static constexpr uint32_t kStateVersion = 4;

  void Step(actord::Events events, actord::StepOutput& out) {
    CountEvents(2, state.messages, events, out);
  }
  actord::SnapshotResult Snapshot() const { return std::string(); }
  actord::Status Restore(std::string_view /*method*/,
                         const actord::RestoreFrom& from,
                         actord::RestoreContext& /*context*/) {
    if (from.state_version != 3)
      return {actord::Code::kInternal, "not this one"};
    std::memcpy(&state, from.snapshot.bytes.data(), sizeof(state));
    return actord::Status::Ok();
  }

  State state;
};

TEST_F(DurableVersions, FlatStateIsCopiedIntoTheSameLayout) {
  using Count1 = Count<1, 3>;
  using Count2 = Count<2, 3>;
  using Other = Count<3, 4>;
  Start(Plugin<Count1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note");
  Load(Plugin<Count2>(2));
  EXPECT_EQ(world_.NotesOf(pid), "v2:1");
  world_.Tell(pid, "note");
  // Nobody can make the one out of the other.
  Load(Plugin<Other>(3));
  EXPECT_EQ(world_.NotesOf(pid), "v2:2");
  Start(Plugin<Other>(3), {Plugin<Count2>(2)});
  EXPECT_EQ(world_.NotesOf(pid), "v2:2");
  EXPECT_EQ(PluginOf(pid), 2u);
}

TEST_F(DurableVersions, StoreHasAnImageThatItsVersionCanRead) {
  using Count1 = Count<1, 3>;
  using Count2 = Recount;
  using Count3 = Count<3, 4>;
  Start(Plugin<Count1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note");
  // No step comes between the two, and the third cannot read the first.
  Load(Plugin<Count2>(2));
  Load(Plugin<Count3>(3));
  EXPECT_EQ(VersionOf(pid), "3");
  Start(Plugin<Count3>(3));
  EXPECT_EQ(world_.NotesOf(pid), "v3:1");
  EXPECT_TRUE(InQuarantine().empty());
}

TEST_F(DurableVersions, ImageOfAnOlderVersionGoesThroughTheFormerOne) {
  using Count1 = Count<1, 3>;
  using Count2 = Recount;
  using Count3 = Count<3, 4>;
  Start(Plugin<Count1>(1));
  const Pid pid = NewBook();
  world_.Tell(pid, "note");
  Start(Plugin<Count2>(2), {Plugin<Count1>(1)});
  EXPECT_EQ(world_.NotesOf(pid), "v2:1");
  Start(Plugin<Count3>(3), {Plugin<Count2>(2)});
  EXPECT_EQ(world_.NotesOf(pid), "v3:1");
}

}  // namespace
}  // namespace actord::runtime
