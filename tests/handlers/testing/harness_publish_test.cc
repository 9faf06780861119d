// The harness shows what processes publish, in steps and in coroutines.
#include <gmock/gmock.h>

#include "tests/handlers/testing/durable_fixture.h"

namespace actord::durable_test {
namespace {

using actord::testing::Published;

class Crier : public actord::Process {
 public:
  static constexpr const char* kName = "crier";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      out.Publish("news", event.payload());
      if (event.topic() == "fail") out.Fail(Code::kAborted, "as told");
    }
  }
};

class CoroutineCrier : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "crier.coroutine";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;

  actord::Task<> Main(Context& ctx, OwnedPayload /*input*/) {
    for (;;) {
      const Message message = co_await ctx.Receive();
      ctx.Publish("coroutine", message.payload());
    }
  }
};

const actord_plugin_info kCriers =
    actord::MakePlugin<actord::ProcessTypes<Crier, CoroutineCrier>>("criers",
                                                                    "1");

std::string TextOf(const Published& published) {
  return published.topic + "=" + published.payload.bytes;
}

TEST(HarnessPublish, ShowsWhatIsPublished) {
  Harness harness(kCriers);
  const Pid crier = harness.Submit("crier");
  const Pid coroutine = harness.Submit("crier.coroutine");
  harness.Deliver(crier, "m", OwnedPayload::Text("one"));
  const Published one = harness.ExpectPublished("news");
  EXPECT_EQ(one.from, crier);
  EXPECT_EQ(one.payload, OwnedPayload::Text("one"));
  harness.Deliver(crier, "m", OwnedPayload::Text("two"));
  harness.Deliver(coroutine, "m", OwnedPayload::Text("three"));
  EXPECT_EQ(TextOf(harness.ExpectPublished("coroutine")), "coroutine=three");
  harness.Deliver(crier, "fail", OwnedPayload::Text("never"));
  harness.Run();
  const auto left = harness.TakePublished();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(TextOf(left[0]), "news=two");
  EXPECT_THROW(harness.ExpectPublished("news"),
               actord::testing::ExpectationFailed);
}

TEST(HarnessPublish, PublishesOnceWhereProcessesCrashEverywhere) {
  Harness harness(kCriers);
  harness.CrashEverywhere();
  for (const char* type : {"crier", "crier.coroutine"}) {
    const Pid pid = harness.Submit(type);
    for (const char* text : {"1", "2", "3"}) {
      harness.Deliver(pid, "m", OwnedPayload::Text(text));
      harness.Run();
    }
    EXPECT_EQ(harness.TakePublished().size(), 3u) << type;
  }
}

}  // namespace
}  // namespace actord::durable_test
