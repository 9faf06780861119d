// Publications of durable processes: released when their step is durable, and
// never twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/runtime/durable/durable_fixture.h"
#include "tests/runtime/topics/topics_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Counts its messages, and publishes the count. Replay runs its steps again.
class PublishingNotebook : public actord::Process {
 public:
  static constexpr const char* kName = "publishing";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr actord::Durability kDurability = actord::Durability::kReplay;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.topic() == "get") {
        out.Reply(event.call(), std::to_string(count_));
      } else {
        out.Publish("count", std::to_string(++count_));
      }
    }
  }

 private:
  int count_ = 0;
};

class DurableTopics : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.more_types = {&actord::kProcessType<PublishingNotebook>};
    ASSERT_TRUE(world_.Start().ok());
  }
  Topics& topics() { return world_.runtime().topics; }

  DurableWorld world_;
};

TEST_F(DurableTopics, PublicationWaitsForTheDisk) {
  const Pid pid = world_.NewPuppet();
  TestSubscriber subscriber(topics(), {"*"});
  ASSERT_TRUE(world_.Send(pid, "publish", "a text").status.ok());
  world_.Turn();
  EXPECT_THAT(subscriber.Take(), IsEmpty());
  world_.Settle();
  EXPECT_THAT(subscriber.Take(), ElementsAre("a=text"));
  EXPECT_EQ(world_.runtime().Stats().publications, 1u);
}

TEST_F(DurableTopics, PublicationOfAStepThatIsLostIsLost) {
  const Pid pid = world_.NewPuppet();
  auto subscriber =
      std::make_unique<TestSubscriber>(topics(), std::vector<std::string>{"*"});
  ASSERT_TRUE(world_.Send(pid, "publish", "a text").status.ok());
  world_.Turn();
  EXPECT_THAT(subscriber->Take(), IsEmpty());
  subscriber = nullptr;
  world_.Restart(/*keep_cache=*/false);
  TestSubscriber again(topics(), {"*"});
  world_.Settle();
  EXPECT_THAT(again.Take(), IsEmpty());
}

TEST_F(DurableTopics, RecoveryPublishesNothingAgain) {
  for (const char* type : {"puppet", "publishing"}) {
    const Pid pid = world_.NewPuppet(type);
    {
      TestSubscriber subscriber(topics(), {"*"});
      world_.Tell(pid, "publish", "count 1");
      EXPECT_THAT(subscriber.Take(), ElementsAre("count=1"));
    }
    world_.Restart();
    TestSubscriber subscriber(topics(), {"*"});
    world_.Tell(pid, "publish", "count 2");
    EXPECT_THAT(subscriber.Take(), ElementsAre("count=2")) << type;
  }
}

TEST_F(DurableTopics, WithoutSubscribersNothingWaits) {
  const Pid pid = world_.NewPuppet();
  world_.Tell(pid, "publish", "a text");
  EXPECT_EQ(world_.runtime().Stats().publications, 1u);
  TestSubscriber subscriber(topics(), {"*"});
  EXPECT_THAT(subscriber.Take(), IsEmpty());
}

}  // namespace
}  // namespace actord::runtime
