// Which due times a schedule runs when it was away, paused, or short of room,
// and when somebody sets the clock.
#include "handlers/schedule/schedule_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace actord::handlers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
// 2026-01-01, 00:00.
constexpr int64_t kStart = 1'767'225'600 * kSecond;
constexpr size_t kRoom = 64;

ScheduleSpec SpecOf(const std::string& when, const std::string& catch_up) {
  auto spec = ParseScheduleSpec("{" + when + R"(, "catch_up": ")" + catch_up +
                                R"(", "submit": {"type": "t"}})");
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return *spec;
}

// Both clocks `ns` after the start. The origin of the monotonic one is another.
Moment At(int64_t ns) { return {.wall_ns = kStart + ns, .monotonic_ns = ns}; }

// The times after the start, in seconds.
std::vector<int64_t> Take(SchedulePlan& plan, const Moment& now,
                          size_t room = kRoom) {
  std::vector<int64_t> taken = plan.Take(now, room);
  for (int64_t& each : taken) each = (each - kStart) / kSecond;
  return taken;
}

const char* const kWhens[] = {R"("cron": "* * * * *")", R"("every_ms": 60000)"};

TEST(SchedulePlan, RunsEachDueTimeOnceAndNeverEarly) {
  for (const char* const when : kWhens) {
    for (const char* const catch_up : {"skip", "once", "all"}) {
      SchedulePlan plan(SpecOf(when, catch_up), At(0));
      EXPECT_THAT(Take(plan, At(0)), IsEmpty()) << when;
      EXPECT_THAT(Take(plan, At(kMinute - 1)), IsEmpty()) << when;
      EXPECT_EQ(plan.NextLook(At(kMinute - 1)), Duration(1));
      EXPECT_EQ(plan.Next(At(1)), kStart + kMinute);
      EXPECT_THAT(Take(plan, At(kMinute)), ElementsAre(60)) << when;
      EXPECT_THAT(Take(plan, At(kMinute)), IsEmpty()) << when;
      EXPECT_EQ(plan.NextLook(At(kMinute)), std::chrono::minutes(1));
      EXPECT_THAT(Take(plan, At(2 * kMinute + 5)), ElementsAre(120)) << when;
      EXPECT_EQ(plan.state().missed, 0u);
    }
  }
}

TEST(SchedulePlan, SkipLeavesOutWhatIsOver) {
  for (const char* const when : kWhens) {
    SchedulePlan plan(SpecOf(when, "skip"), At(0));
    // The last one is over by less than a minute of grace.
    EXPECT_THAT(Take(plan, At(10 * kMinute + kSecond)), ElementsAre(600));
    EXPECT_EQ(plan.state().missed, 9u);
  }
  for (const char* const when :
       {R"("cron": "0 * * * *")", R"("every_ms": 3600000)"}) {
    SchedulePlan plan(SpecOf(when, "skip"), At(0));
    EXPECT_THAT(Take(plan, At(3 * kHour + kMinute + 1)), IsEmpty());
    EXPECT_EQ(plan.state().missed, 3u);
    EXPECT_EQ(plan.Next(At(3 * kHour + kMinute + 1)), kStart + 4 * kHour);
    EXPECT_THAT(Take(plan, At(4 * kHour + kMinute)), ElementsAre(4 * 3'600));
  }
}

TEST(SchedulePlan, OnceRunsTheLatestForAll) {
  for (const char* const when : kWhens) {
    SchedulePlan plan(SpecOf(when, "once"), At(0));
    EXPECT_THAT(Take(plan, At(24 * kHour)), ElementsAre(86'400));
    EXPECT_EQ(plan.state().missed, 24u * 60 - 1);
    EXPECT_THAT(Take(plan, At(24 * kHour)), IsEmpty());
  }
}

TEST(SchedulePlan, AllRunsThemInOrderWithinTheRoom) {
  for (const char* const when : kWhens) {
    SchedulePlan plan(SpecOf(when, "all"), At(0));
    EXPECT_THAT(Take(plan, At(5 * kMinute), 3), ElementsAre(60, 120, 180));
    EXPECT_EQ(plan.NextLook(At(5 * kMinute)), Duration(0));
    EXPECT_THAT(Take(plan, At(5 * kMinute), 0), IsEmpty());
    EXPECT_THAT(Take(plan, At(6 * kMinute), 3), ElementsAre(240, 300, 360));
    EXPECT_EQ(plan.state().missed, 0u);
  }
}

TEST(SchedulePlan, AllRunsTheLastThousand) {
  for (const char* const when : kWhens) {
    SchedulePlan plan(SpecOf(when, "all"), At(0));
    const Moment now = At(1'500 * kMinute);
    std::vector<int64_t> taken;
    for (;;) {
      const std::vector<int64_t> more = Take(plan, now);
      if (more.empty()) break;
      taken.insert(taken.end(), more.begin(), more.end());
    }
    ASSERT_EQ(taken.size(), SchedulePlan::kMaxCaughtUp);
    EXPECT_EQ(taken.front(), 501 * 60);
    EXPECT_EQ(taken.back(), 1'500 * 60);
    EXPECT_EQ(plan.state().missed, 500u);
  }
}

// A clock that begins in 1970 and is set later must not take a worker away.
TEST(SchedulePlan, DecadesAreOneStep) {
  SchedulePlan plan(SpecOf(R"("cron": "* * * * *")", "once"),
                    Moment{.wall_ns = 0, .monotonic_ns = 0});
  EXPECT_THAT(Take(plan, At(0)), ElementsAre(0));
  EXPECT_EQ(plan.state().missed, 1'767'225'600u / 60 - 1);
}

TEST(SchedulePlan, TimesOfAPauseAreNotMissed) {
  for (const char* const when : kWhens) {
    SchedulePlan plan(SpecOf(when, "all"), At(0));
    plan.Pause();
    EXPECT_EQ(plan.NextLook(At(0)), std::nullopt);
    EXPECT_EQ(plan.Next(At(0)), std::nullopt);
    EXPECT_THAT(Take(plan, At(kHour)), IsEmpty());
    plan.Resume(At(kHour + 1));
    EXPECT_THAT(Take(plan, At(kHour + 1)), IsEmpty());
    // An interval keeps its beat.
    EXPECT_EQ(plan.Next(At(kHour + 1)), kStart + kHour + kMinute);
    EXPECT_EQ(plan.state().missed, 0u);
    plan.Resume(At(2 * kHour));
    EXPECT_EQ(Take(plan, At(2 * kHour)).size(), 60u)
        << "a second resume is none";
  }
}

TEST(SchedulePlan, BeginsPausedIfItIsToldTo) {
  ScheduleSpec spec = SpecOf(kWhens[0], "all");
  spec.paused = true;
  SchedulePlan plan(spec, At(0));
  EXPECT_THAT(Take(plan, At(kHour)), IsEmpty());
}

TEST(SchedulePlan, StateIsAllThatItKnows) {
  for (const char* const when : kWhens) {
    const ScheduleSpec spec = SpecOf(when, "all");
    SchedulePlan plan(spec, At(0));
    EXPECT_THAT(Take(plan, At(90 * kSecond)), ElementsAre(60));
    SchedulePlan restored(spec, plan.state());
    EXPECT_THAT(Take(restored, At(181 * kSecond)), ElementsAre(120, 180));
  }
}

TEST(SchedulePlan, IntervalKeepsItsPaceIfTheWallClockIsSet) {
  SchedulePlan plan(SpecOf(kWhens[1], "all"), At(0));
  Moment now = {.wall_ns = kStart + 100 * kHour, .monotonic_ns = kMinute};
  EXPECT_THAT(Take(plan, now), ElementsAre(100 * 3'600));
  now = {.wall_ns = kStart - 100 * kHour, .monotonic_ns = 2 * kMinute - 1};
  EXPECT_THAT(Take(plan, now), IsEmpty());
  EXPECT_EQ(plan.Next(now), now.wall_ns + 1);
  now.monotonic_ns += 1;
  EXPECT_EQ(Take(plan, now).size(), 1u);
}

TEST(SchedulePlan, CronFollowsTheWallClock) {
  SchedulePlan plan(SpecOf(R"("cron": "0 * * * *")", "once"), At(0));
  EXPECT_EQ(plan.NextLook(At(0)), SchedulePlan::kMaxSleep);
  // Set forward.
  EXPECT_THAT(
      Take(plan, {.wall_ns = kStart + 5 * kHour + 1, .monotonic_ns = 1}),
      ElementsAre(5 * 3'600));
  // Set back by three hours: nothing runs again.
  EXPECT_THAT(Take(plan, {.wall_ns = kStart + 2 * kHour, .monotonic_ns = 2}),
              IsEmpty());
  EXPECT_THAT(Take(plan, {.wall_ns = kStart + 5 * kHour, .monotonic_ns = 3}),
              IsEmpty());
  EXPECT_FALSE(plan.TakeSetBack());
  EXPECT_EQ(plan.Next({.wall_ns = kStart + 2 * kHour, .monotonic_ns = 4}),
            kStart + 6 * kHour);
  // Set back by more: the clock was wrong.
  EXPECT_THAT(
      Take(plan, {.wall_ns = kStart + 2 * kHour - 1, .monotonic_ns = 5}),
      IsEmpty());
  EXPECT_TRUE(plan.TakeSetBack());
  EXPECT_FALSE(plan.TakeSetBack());
  EXPECT_THAT(Take(plan, {.wall_ns = kStart + 2 * kHour, .monotonic_ns = 6}),
              ElementsAre(2 * 3'600));
}

TEST(SchedulePlan, TheClocksEndIn2262) {
  SchedulePlan cron(SpecOf(R"("cron": "0 0 1 1 *")", "all"),
                    Moment{.wall_ns = INT64_MAX - 1, .monotonic_ns = 0});
  const Moment now = {.wall_ns = INT64_MAX - 1, .monotonic_ns = 0};
  EXPECT_EQ(cron.Next(now), std::nullopt);
  EXPECT_EQ(cron.NextLook(now), std::nullopt);
  EXPECT_THAT(cron.Take(now, kRoom), IsEmpty());
  SchedulePlan every(SpecOf(kWhens[1], "all"),
                     Moment{.wall_ns = 0, .monotonic_ns = INT64_MAX - 1});
  EXPECT_EQ(every.NextLook({.wall_ns = 0, .monotonic_ns = INT64_MAX - 1}),
            std::nullopt);
}

}  // namespace
}  // namespace actord::handlers
