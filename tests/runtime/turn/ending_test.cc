// In which order an end becomes known (ending.h).
#include "runtime/turn/ending.h"

#include <type_traits>

#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

static_assert(
    std::is_same_v<Ending::Observers, EndObservers<Names, Groups, Calls, Ties,
                                                   LabelTable, Recordings>>);

// Writes down that it was called.
template <uint8_t kBit, char kName>
struct Scribe {
  static constexpr uint8_t kEndWanted = kBit;
  static constexpr bool kEndNeedsOutcome = kName == 'c';
  void OnEnd(const EndRecord& end, Lane& /*lane*/) {
    written += kName;
    if (end.outcome != nullptr) written += '!';
  }
  std::string& written;
};

TEST(EndObservers, WantedObserversAreCalledInTheOrderOfTheList) {
  std::string written;
  Scribe<1, 'a'> a{written};
  Scribe<2, 'b'> b{written};
  Scribe<4, 'c'> c{written};
  using List = EndObservers<Scribe<1, 'a'>, Scribe<4, 'c'>, Scribe<2, 'b'>>;
  const List list(a, c, b);
  EXPECT_EQ(List::kNeedOutcome, 4);
  BufferPool pool;
  Lane lane(pool, Lane::Use::kShared);
  Process process;
  const Pid pid;
  const Outcome outcome;
  const auto told = [&](uint8_t wanted) {
    written.clear();
    list.Tell({process, pid, &outcome}, wanted, lane);
    return written;
  };
  EXPECT_EQ(told(7), "a!c!b!");
  EXPECT_EQ(told(3), "a!b!");
  EXPECT_EQ(told(4), "c!");
  EXPECT_EQ(told(0), "");
}

// With its result kept, and without.
class EndOrder : public ToldTest, public ::testing::WithParamInterface<bool> {
 protected:
  void TearDown() override { core().lifecycle_log.Close(reader_); }

  // A process that has everything that an end tells somebody of. It ends with
  // its first message but the call, which it owes.
  void BeginWithTies() {
    Start();
    reader_ = core().lifecycle_log.Open(listener_).value();
    Begin("watcher", "trapping");
    core().admission.Submit(
        SubmitRequest{
            "script", "", {actord::testing::InputOf(script_), ""}, {}},
        Pid{}, /*keep_result=*/GetParam(),
        [this](absl::StatusOr<Pid> pid) { pid_ = pid.value_or(Pid{}); });
    core_->Settle();
    Pid holder;
    ASSERT_TRUE(core().names.Register("name", pid_, holder).ok());
    ASSERT_TRUE(core().groups.Join("group", pid_).ok());
    Do("watcher", [this](StepOutput& out) { out.Monitor(ToAbi(pid_)); });
    core().calls.Begin(
        Owner::kAny, pid_, {"call", {}},
        [this](absl::StatusOr<Payload>) { WriteDown("call answered"); });
    core_->Settle();
    core().results.Await(
        Owner::kAny, pid_,
        [this](absl::StatusOr<Outcome>) { WriteDown("await answered"); },
        [this] {
          core().processes.At(pid_.slot).Want(Wanted::kAwaited);
          return true;
        },
        [] { return absl::NotFoundError("none"); });
    log_end_ = core().lifecycle_log.end();
  }
  // The parts of the end that have happened when `who` hears of it.
  void WriteDown(const std::string& who) {
    std::string seen = who + ":";
    if (core().processes.Find(pid_) == nullptr) seen += " unfindable";
    if (core().lifecycle_log.end() != log_end_) seen += " logged";
    if (core().names.size() == 0) seen += " unnamed";
    if (core().groups.size() == 0) seen += " ungrouped";
    if (Waiting("watcher") != 0) seen += " told";
    if (core().Stats().dead_letters != 0) seen += " dropped";
    seen_.push_back(seen);
  }
  uint64_t Waiting(const std::string& who) {
    return Activity::Messages(core_->process(pids_[who]).activity.load());
  }

  class Listener final : public LifecycleListener {
    void Wake() override {}
  };
  const std::shared_ptr<LifecycleListener> listener_ =
      std::make_shared<Listener>();
  LifecycleLog::ReaderId reader_ = 0;
  actord::testing::Script script_{.step = [](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_message() && event.topic() != "call") out.Done("result");
    }
  }};
  Pid pid_;
  uint64_t log_end_ = 0;
  std::vector<std::string> seen_;
};

TEST_P(EndOrder, ResultThenLogThenNamesThenGroupsThenCallsThenTies) {
  BeginWithTies();
  // Messages that the process has not taken are dropped.
  ASSERT_TRUE(core()
                  .SendFromOutside(Owner::kAny, pid_, {"end", {}}, nullptr)
                  .status.ok());
  ASSERT_TRUE(core_->WakeIfNotified(0));
  core_->RunOne(0);
  EXPECT_THAT(
      seen_, ElementsAre("await answered: unfindable logged",
                         "call answered: unfindable logged unnamed ungrouped"));
  WriteDown("after it");
  EXPECT_EQ(seen_.back(), "after it: unfindable logged unnamed ungrouped told");
  EXPECT_THAT(Told("watcher"), ElementsAre(HasSubstr(":result")));
}

TEST_P(EndOrder, TheMailboxIsEmptiedWhenAllHaveHeardOfTheEnd) {
  BeginWithTies();
  ASSERT_TRUE(core()
                  .SendFromOutside(Owner::kAny, pid_, {"too late", {}}, nullptr)
                  .status.ok());
  ASSERT_TRUE(
      core()
          .delivery
          .Control(Owner::kAny, pid_, kEventTerminate, "enough", core().lane)
          .ok());
  ASSERT_TRUE(core_->WakeIfNotified(0));
  core_->RunOne(0);
  ASSERT_EQ(seen_.size(), 2u);
  EXPECT_EQ(seen_.back(), "call answered: unfindable logged unnamed ungrouped");
  WriteDown("after it");
  EXPECT_EQ(seen_.back(),
            "after it: unfindable logged unnamed ungrouped told dropped");
}

INSTANTIATE_TEST_SUITE_P(Kept, EndOrder, ::testing::Bool(),
                         [](const auto& instance) {
                           return instance.param ? "Kept" : "NotKept";
                         });

using EndUnwanted = ToldTest;

TEST_F(EndUnwanted, BuildsNoOutcome) {
  Start();
  const actord::testing::Script script{
      .step = [](Events events, StepOutput& out) {
        for (const Event event : events) {
          if (event.is_message()) out.Done("result");
        }
      }};
  const auto looks_of_end = [&](bool is_awaited) {
    Pid pid;
    core().admission.Submit(
        SubmitRequest{"script", "", {actord::testing::InputOf(script), ""}, {}},
        Pid{}, /*keep_result=*/false,
        [&pid](absl::StatusOr<Pid> begun) { pid = begun.value_or(Pid{}); });
    core_->Settle();
    if (is_awaited) core_->process(pid).Want(Wanted::kAwaited);
    // An Outcome has the time.
    const uint64_t before = core_->clock.unix_looks;
    EXPECT_TRUE(core()
                    .SendFromOutside(Owner::kAny, pid, {"end", {}}, nullptr)
                    .status.ok());
    core_->Settle();
    EXPECT_EQ(core().processes.Find(pid), nullptr);
    return core_->clock.unix_looks - before;
  };
  EXPECT_EQ(looks_of_end(true), 1u);
  EXPECT_EQ(looks_of_end(false), 0u);
}

}  // namespace
}  // namespace actord::runtime
