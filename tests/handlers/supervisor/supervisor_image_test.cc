// Durable supervisors: their images, and children that end with the daemon.
#include "handlers/supervisor/supervisor_image.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/handlers/supervisor/supervisor_plan_fixture.h"

namespace actord::handlers {
namespace {

constexpr const char* kInput =
    R"({"strategy": "rest_for_one", "children": [
        {"id": "a", "type": "t"},
        {"id": "b", "type": "t", "final_codes": ["INTERNAL"]}]})";

std::string Again(const std::string& image) {
  const Result<SupervisorImage> read = DecodeImage(image);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? EncodeImage(read->input, read->plan, read->work)
                   : std::string();
}

TEST(SupervisorImage, HoldsAllThatTheSupervisorKnows) {
  SupervisorPlan::Memory plan = Plan(*ParseSupervisorSpec(kInput)).memory();
  SupervisorWork work;
  EXPECT_EQ(Again(EncodeImage(kInput, plan, work)),
            EncodeImage(kInput, plan, work));

  Plan::Child child = plan.children[1];
  child.state = Plan::State::kStopping;
  child.pid = actord_pid{1U << 31 | 5, 2, 3, 4};
  child.wanted = false;
  child.stop = child.held = child.is_new = child.was_up = true;
  child.lost = child.terminated = child.is_late = true;
  child.until = Duration(7);
  child.late_in_row = 2;
  child.not_before = Duration(8);
  child.up_since = Duration(9);
  child.failures = 3;
  child.restarts = 4;
  child.last_end = "failed: \"broken\"";
  child.call = uint64_t{1} << 63 | 11;
  Plan::Child added;
  added.key = 3;
  added.spec = {.id = "c",
                .type = "u",
                .restart = Restart::kTemporary,
                .stop_timeout = Duration(0),
                .spawn = R"({"type":"u"})",
                .start_timeout = Duration(5),
                .final_codes = 6};
  plan.children[1] = child;
  plan.children.push_back(added);
  plan.next_key = 4;
  plan.window = {Duration(1), Duration(2)};
  plan.restarts = 5;
  plan.end = Status(Code::kAborted, "why");
  plan.is_started = true;
  work = {.start = 1,
          .starting = 3,
          .sleep = 2,
          .sleeps_until = Duration(10),
          .terminates = {{3, child.pid}},
          .wait_for_start = {12, 13},
          .has_said_all = true};
  const std::string image = EncodeImage(kInput, plan, work);
  EXPECT_EQ(Again(image), image);

  const Result<SupervisorImage> read = DecodeImage(image);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->input, kInput);
  EXPECT_EQ(read->plan.spec.strategy, Strategy::kRestForOne);
  ASSERT_THAT(read->plan.children, SizeIs(3));
  const Plan::Child& b = read->plan.children[1];
  EXPECT_EQ(b.spec.id, "b");
  EXPECT_EQ(b.spec.final_codes, plan.children[1].spec.final_codes);
  EXPECT_EQ(b.pid, child.pid);
  EXPECT_EQ(b.call, child.call);
  EXPECT_FALSE(b.wanted);
  EXPECT_TRUE(b.lost);
  EXPECT_EQ(read->plan.children[2].spec.spawn, added.spec.spawn);
  EXPECT_EQ(read->plan.end->code(), Code::kAborted);
  EXPECT_EQ(read->work.terminates, work.terminates);
}

TEST(SupervisorImage, DamagedImageIsRefused) {
  const std::string good = EncodeImage(
      kInput, Plan(*ParseSupervisorSpec(kInput)).memory(), SupervisorWork());
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string image = good;
    const size_t at = image.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << image;
    return image.replace(at, from.size(), to);
  };
  for (const std::string& image :
       {std::string(), std::string("{}"), std::string("[]"),
        good.substr(0, good.size() - 1), changed("rest_for_one", "all_or_none"),
        changed("\"key\":1", "\"key\":9"), changed("\"key\":1", "\"key\":\"\""),
        changed("\"key\":1", "\"key\":1,\"state\":4"),
        changed("\"key\":1", "\"key\":1,\"pid\":[1,2,3]")}) {
    const Result<SupervisorImage> read = DecodeImage(image);
    ASSERT_FALSE(read.ok()) << image;
    EXPECT_EQ(read.status().code(), Code::kDataLoss);
    EXPECT_THAT(read.status().message(), HasSubstr("cannot be read"));
  }
}

// ---- Children that end with the daemon

class LostChildren : public PlanTest {
 protected:
  void Restarts(const std::vector<std::string_view>& ids) {
    for (const std::string_view id : ids) {
      Exits(id, ExitReason::kRestarted, Code::kAborted);
    }
  }
};

TEST_F(LostChildren, StartInOrderWithoutAPauseAndCountForNothing) {
  for (const Strategy strategy :
       {Strategy::kOneForOne, Strategy::kOneForAll, Strategy::kRestForOne}) {
    BeginAndStartAll(strategy, {ChildOf("a"), ChildOf("durable"), ChildOf("b")},
                     /*intensity=*/0);
    for (int i = 0; i < 5; ++i) {
      Restarts({"b", "a"});
      EXPECT_THAT(Next(), ElementsAre("start a"));
      EXPECT_FALSE(plan_->is_started());
      Started("a");
      EXPECT_THAT(Next(), ElementsAre("start b"));
      Started("b");
      EXPECT_THAT(Next(), IsEmpty());
      EXPECT_TRUE(plan_->is_started());
    }
    EXPECT_EQ(Child("a").restarts, 0u);
    EXPECT_EQ(Child("a").last_end, "ended with the daemon: broken");
    EXPECT_EQ(Child("durable").state, Plan::State::kUp);
    EXPECT_EQ(plan_->restarts(), 0u);
    EXPECT_THAT(reports_, IsEmpty());
  }
}

TEST_F(LostChildren, FinalCodesAndGoodEndsMakeNoDifference) {
  ChildSpec final = ChildOf("a", Restart::kTransient);
  final.final_codes = 1U << static_cast<uint32_t>(Code::kAborted);
  BeginAndStartAll(Strategy::kOneForOne, {final});
  Restarts({"a"});
  EXPECT_THAT(Next(), ElementsAre("start a"));
}

TEST_F(LostChildren, TemporaryOnesAreForgotten) {
  BeginAndStartAll(Strategy::kOneForOne,
                   {ChildOf("a", Restart::kTemporary), ChildOf("b")});
  Restarts({"a"});
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(Ids(), ElementsAre("b"));
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("ended with the daemon")));
  EXPECT_TRUE(plan_->is_started());
}

TEST_F(LostChildren, ChildThatWasBeingStoppedHasStopped) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a"), ChildOf("b")});
  ASSERT_TRUE(plan_->StopChild("a", 1).ok());
  ASSERT_TRUE(plan_->RestartChild("b", 2).ok());
  EXPECT_THAT(Next(), ElementsAre("cancel b"));
  Restarts({"a", "b"});
  EXPECT_THAT(Next(), ElementsAre("answer 1 a", "start b"));
  Started("b");
  EXPECT_THAT(Next(), ElementsAre("answer 2 b with a PID"));
  EXPECT_EQ(Child("a").state, Plan::State::kDown);
  EXPECT_TRUE(plan_->is_started());
}

TEST_F(LostChildren, ChildThatDoesNotStartAgainCountsAsUsual) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a"), ChildOf("b")},
                   /*intensity=*/1);
  Restarts({"a", "b"});
  EXPECT_THAT(Next(), ElementsAre("start a"));
  StartFailed("a");
  EXPECT_EQ(Child("a").restarts, 1u);
  EXPECT_THAT(Next(), ElementsAre("start b")) << "as after any failure";
  Started("b");
  EXPECT_FALSE(plan_->is_started());
  PassToNextLook();
  EXPECT_THAT(Next(), ElementsAre("start a"));
  StartFailed("a");
  EXPECT_THAT(Next(), ElementsAre("cancel b"));
  EXPECT_THAT(reports_.back(), HasSubstr("gives up"));
}

TEST_F(LostChildren, NothingStartsBeforeAllEndsAreKnown) {
  BeginAndStartAll(Strategy::kOneForOne, {ChildOf("a"), ChildOf("b")});
  Restarts({"b"});
  EXPECT_THAT(plan_->Next(now_, /*may_start=*/false), IsEmpty());
  Restarts({"a"});
  EXPECT_THAT(Next(), ElementsAre("start a"));
}

}  // namespace
}  // namespace actord::handlers
