// Which publications reach which subscription, and what is lost.
#include "runtime/topics/topics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/process/errors.h"
#include "tests/runtime/stepped_core.h"
#include "tests/runtime/topics/topics_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace t = actord::testing;

constexpr Owner kTopicAlice{5};
constexpr Owner kTopicBob{6};

class TopicsTest : public ::testing::Test {
 protected:
  Topics& topics() { return core_.core->topics; }
  RuntimeStats Stats() { return core_.core->Stats(); }
  // A process publishes in its first step.
  void Publish(const std::string& topic, const std::string& bytes,
               Owner owner = Owner::kNobody) {
    core_.Submit(t::Script{.step =
                               [&](actord::Events, actord::StepOutput& out) {
                                 out.Publish(topic, bytes);
                                 out.Done();
                               }},
                 "script", owner);
  }
  // Publishes without a process.
  void PublishRaw(std::string_view topic, size_t bytes,
                  Owner owner = Owner::kNobody) {
    const std::string payload(bytes, 'p');
    Lane& lane = core_.core->lane;
    topics().Publish(
        owner,
        Own(lane.NewEnvelope(ACTORD_EVENT_MESSAGE, topic, {ToAbi(payload), {}}),
            lane),
        lane);
  }
  static bool Eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 10'000 && !holds(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return holds();
  }

  SteppedCore core_{1};
};

TEST_F(TopicsTest, ReachesTopicsAndPrefixes) {
  TestSubscriber exact(topics(), {"room/7"});
  TestSubscriber prefix(topics(), {"room/*"});
  TestSubscriber all(topics(), {"*"});
  TestSubscriber other(topics(), {"room/70", "roo", "room"});
  Publish("room/7", "a");
  Publish("room/8", "b");
  Publish("door", "c");
  EXPECT_THAT(exact.Take(), ElementsAre("room/7=a"));
  EXPECT_THAT(prefix.Take(), ElementsAre("room/7=a", "room/8=b"));
  EXPECT_THAT(all.Take(), ElementsAre("room/7=a", "room/8=b", "door=c"));
  EXPECT_THAT(other.Take(), IsEmpty());
  EXPECT_EQ(Stats().publications, 3u);
  EXPECT_EQ(Stats().publications_queued, 6u);
  EXPECT_EQ(Stats().subscriptions_open, 4u);
}

TEST_F(TopicsTest, ReachesEachSubscriptionOnce) {
  TestSubscriber both(topics(), {"a", "a", "a*", "*"});
  Publish("a", "1");
  Publish("a", "2");
  EXPECT_THAT(both.Take(), ElementsAre("a=1", "a=2"));
}

TEST_F(TopicsTest, SaysWhoHasPublishedWhatAndWhen) {
  TestSubscriber subscriber(topics(), {"a"});
  core_.clock.manual.AdvanceNs(5);
  const Pid pid = core_.Submit([](actord::Events, actord::StepOutput& out) {
    out.Publish("a", actord::Payload::Text("text"));
  });
  const Subscription::Batch batch = subscriber.subscription->Take({});
  ASSERT_EQ(batch.items.size(), 1u);
  const Publication& publication = *batch.items[0].publication;
  EXPECT_EQ(FromAbi(publication.content->from), pid);
  EXPECT_EQ(View(publication.content->payload().content_type), "text/plain");
  EXPECT_EQ(publication.unix_ns, core_.clock.UnixNs());
  EXPECT_EQ(batch.items[0].sequence, 1u);
}

TEST_F(TopicsTest, OwnersAreApart) {
  TestSubscriber alice(topics(), {"*"}, kTopicAlice);
  TestSubscriber bob(topics(), {"*"}, kTopicBob);
  TestSubscriber nobody(topics(), {"*"});
  TestSubscriber any(topics(), {"*"}, Owner::kAny);
  Publish("a", "alice", kTopicAlice);
  Publish("a", "bob", kTopicBob);
  Publish("a", "nobody");
  EXPECT_THAT(alice.Take(), ElementsAre("a=alice"));
  EXPECT_THAT(bob.Take(), ElementsAre("a=bob"));
  EXPECT_THAT(nobody.Take(), ElementsAre("a=nobody"));
  EXPECT_THAT(any.Take(), ElementsAre("a=alice", "a=bob", "a=nobody"));
}

TEST_F(TopicsTest, NothingIsKeptWithoutSubscribers) {
  EXPECT_FALSE(topics().IsHeard());
  Publish("a", "before");
  {
    TestSubscriber subscriber(topics(), {"a"});
    EXPECT_TRUE(topics().IsHeard());
    EXPECT_THAT(subscriber.Take(), IsEmpty());
  }
  EXPECT_FALSE(topics().IsHeard());
  Publish("a", "after");
  TestSubscriber later(topics(), {"a"});
  EXPECT_THAT(later.Take(), IsEmpty());
  EXPECT_EQ(Stats().publications, 2u);
  EXPECT_EQ(Stats().publications_queued, 0u);
}

TEST_F(TopicsTest, FailedStepPublishesNothing) {
  TestSubscriber subscriber(topics(), {"*"});
  core_.Submit([](actord::Events, actord::StepOutput& out) {
    out.Publish("a", "never");
    out.Fail(actord::Code::kAborted, "on purpose");
  });
  EXPECT_THAT(subscriber.Take(), IsEmpty());
}

TEST_F(TopicsTest, StepFailsWithoutATopicOrWithALongOne) {
  TestSubscriber subscriber(topics(), {"*"});
  for (const size_t bytes : {size_t{0}, kMaxLabelBytes + 1}) {
    const uint64_t failed = Stats().processes_failed;
    Publish(std::string(bytes, 't'), "x");
    EXPECT_EQ(Stats().processes_failed, failed + 1) << bytes;
  }
  Publish(std::string(kMaxLabelBytes, 't'), "x");
  EXPECT_EQ(subscriber.Take().size(), 1u);
}

TEST_F(TopicsTest, DropsTheOldestAboveTheNumber) {
  TestSubscriber subscriber(topics(), {"*"});
  for (size_t i = 0; i < Subscription::kMaxPublications + 3; ++i) {
    PublishRaw(absl::StrCat(i), 0);
  }
  const auto lines = subscriber.Take({.items = 2});
  EXPECT_THAT(lines, ElementsAre("-3", "3=", "4="));
  EXPECT_EQ(Stats().publications_lost, 3u);
  // A gap in the middle: the two that were taken have left room for two.
  for (int i = 0; i < 4; ++i) PublishRaw("late", 0);
  EXPECT_THAT(subscriber.Take({.items = 1}), ElementsAre("-2", "7="));
}

TEST_F(TopicsTest, DropsTheOldestAboveTheBytes) {
  TestSubscriber subscriber(topics(), {"*"});
  constexpr size_t kThird = Subscription::kMaxBytes / 3 - 4096;
  for (const char* topic : {"a", "b", "c", "d"}) PublishRaw(topic, kThird);
  const Subscription::Batch batch =
      subscriber.subscription->Take({.items = 10, .bytes = SIZE_MAX});
  ASSERT_EQ(batch.items.size(), 3u);
  EXPECT_EQ(batch.items[0].missed, 1u);
  EXPECT_EQ(batch.items[0].sequence, 2u);
  // A publication above the bound has the queue for itself.
  PublishRaw("small", 1);
  PublishRaw("large", 2 * Subscription::kMaxBytes);
  const Subscription::Batch large = subscriber.subscription->Take({});
  ASSERT_EQ(large.items.size(), 1u);
  EXPECT_EQ(large.items[0].publication->content->topic(), "large");
  EXPECT_EQ(large.items[0].missed, 1u);
}

TEST_F(TopicsTest, BatchHasItsLimits) {
  TestSubscriber subscriber(topics(), {"*"});
  for (const char* topic : {"a", "b", "c"}) PublishRaw(topic, 1000);
  EXPECT_EQ(subscriber.Take({.items = 10, .bytes = 2500}).size(), 2u);
  EXPECT_EQ(subscriber.Take({.items = 10, .bytes = 1}).size(), 1u);
}

TEST_F(TopicsTest, OwnersHaveAShareOfTheMemory) {
  constexpr size_t kBytes = Subscription::kMaxBytes - 4096;
  constexpr size_t kFit = Topics::kMaxBytesOfOwner / kBytes;
  std::vector<std::unique_ptr<TestSubscriber>> slow;
  for (size_t i = 0; i <= kFit; ++i) {
    slow.push_back(std::make_unique<TestSubscriber>(
        topics(), std::vector<std::string>{absl::StrCat(i)}, kTopicAlice));
    PublishRaw(absl::StrCat(i), kBytes, kTopicAlice);
  }
  // The last one was lost, and its subscriber is told.
  EXPECT_THAT(slow.back()->Take(), ElementsAre("-1"));
  EXPECT_EQ(Stats().publications_lost, 1u);
  EXPECT_EQ(slow.front()->Take().size(), 1u);
  PublishRaw(absl::StrCat(kFit), kBytes, kTopicAlice);
  EXPECT_EQ(slow.back()->Take().size(), 1u);
  // Others have their own share.
  TestSubscriber bob(topics(), {"b"}, kTopicBob);
  PublishRaw("b", kBytes, kTopicBob);
  EXPECT_EQ(bob.Take().size(), 1u);
}

TEST_F(TopicsTest, MemoryOfAllIsBounded) {
  constexpr size_t kBytes = Subscription::kMaxBytes - 4096;
  std::vector<std::unique_ptr<TestSubscriber>> slow;
  for (size_t i = 0; i <= Topics::kMaxBytes / kBytes; ++i) {
    slow.push_back(std::make_unique<TestSubscriber>(
        topics(), std::vector<std::string>{absl::StrCat(i)}));
    PublishRaw(absl::StrCat(i), kBytes);
  }
  EXPECT_THAT(slow.back()->Take(), ElementsAre("-1"));
  // One publication in many queues counts once.
  slow.clear();
  for (int i = 0; i < 100; ++i) {
    slow.push_back(std::make_unique<TestSubscriber>(
        topics(), std::vector<std::string>{"a"}));
  }
  PublishRaw("a", kBytes);
  for (const auto& one : slow) EXPECT_EQ(one->Take().size(), 1u);
}

TEST_F(TopicsTest, RefusesWrongPatternsAndTooManySubscriptions) {
  const auto why = [&](std::vector<std::string> patterns) {
    const auto opened =
        topics().Open(Owner::kNobody, std::move(patterns), nullptr);
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(opened.status().message());
  };
  EXPECT_THAT(why({}), HasSubstr("there are 0 patterns"));
  EXPECT_THAT(why(std::vector<std::string>(65, "a")),
              HasSubstr("there are 65 patterns; a subscription has 1 to 64"));
  EXPECT_THAT(why({"a", ""}), HasSubstr("neither a topic nor a prefix"));
  EXPECT_THAT(why({"a*b"}), HasSubstr("neither a topic nor a prefix"));
  EXPECT_THAT(why({std::string(kMaxLabelBytes + 1, 'a')}),
              HasSubstr("1025 bytes"));
  std::vector<std::unique_ptr<TestSubscriber>> open;
  for (size_t i = 0; i < Topics::kMaxOpen; ++i) {
    open.push_back(std::make_unique<TestSubscriber>(
        topics(), std::vector<std::string>{"a"}));
  }
  const auto refused = topics().Open(Owner::kNobody, {"a"}, nullptr);
  EXPECT_EQ(ReasonOf(refused.status()), reason::kSubscriptionLimit);
  EXPECT_EQ(Stats().refused_subscriptions, 1u);
  open.pop_back();
  TestSubscriber again(topics(), {"a"});
  Publish("a", "x");
  EXPECT_THAT(again.Take(), ElementsAre("a=x"));
}

TEST_F(TopicsTest, WakesOnceForAnEmptyTake) {
  TestSubscriber subscriber(topics(), {"a"});
  Publish("a", "1");
  EXPECT_EQ(subscriber.Take().size(), 1u);
  EXPECT_THAT(subscriber.Take(), IsEmpty());
  Publish("b", "for somebody else");
  Publish("a", "2");
  Publish("a", "3");
  EXPECT_TRUE(Eventually([&] { return subscriber.listener->wakes == 1; }));
  EXPECT_EQ(subscriber.Take().size(), 2u);
  subscriber.Close();
  EXPECT_EQ(subscriber.listener->wakes, 1);
}

}  // namespace
}  // namespace actord::runtime
