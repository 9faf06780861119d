// The harness lets processes begin again, also where they crash everywhere.
#include "tests/handlers/testing/durable_fixture.h"

namespace actord::durable_test {
namespace {

// Begins again with its text after every second visit; other messages do not
// count. Ends at the sixth visit, with the first message that is no visit.
class Rounds : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "rounds";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;

  actord::Task<std::string> Main(Context& ctx, OwnedPayload input) {
    std::string text = input.bytes;
    ctx.Every(std::chrono::hours(1), ctx.self(), "visit", "late");
    for (int i = 0; i < 2; ++i) {
      const Message visit = co_await ctx.Receive("visit");
      text += visit.payload().bytes;
      ctx.Send(visit.from(), "at", text);
    }
    if (text.starts_with("static")) {
      text += std::to_string(++statics);
    } else if (text.size() >= 6) {
      const Message other = co_await ctx.Receive();
      co_return text + std::string(other.payload().bytes);
    }
    co_await Ask(ctx, text);
    co_return "";
  }

 private:
  // Any coroutine of the process may ask for it.
  static actord::Task<> Ask(Context& ctx, std::string text) {
    ctx.ContinueAs(std::move(text));
    co_return;
  }
};

// An image type that begins again with its sum at each third message.
class Laps : public actord::Process {
 public:
  static constexpr const char* kName = "laps";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;

  Status Init(std::string_view /*method*/, const Payload& input) {
    if (input.bytes == "12") return {Code::kOutOfRange, "is at its end"};
    sum_ = input.bytes.empty() ? 0 : std::stoi(std::string(input.bytes));
    return {};
  }
  SnapshotResult Snapshot() const {
    return std::to_string(added_) + " " + std::to_string(sum_);
  }
  void Restore(std::string_view /*method*/, const RestoreFrom& from,
               RestoreContext& /*context*/) {
    const std::string text(from.snapshot.bytes);
    added_ = std::stoi(text);
    sum_ = std::stoi(text.substr(text.find(' ')));
  }
  void Step(Events events, StepOutput& out) {
    for (size_t i = 0; i < events.size(); ++i) {
      ++sum_;
      if (++added_ == 3) {
        out.ContinueAs(std::to_string(sum_), "", events.From(i + 1));
        return;
      }
    }
  }

 private:
  int sum_ = 0;
  int added_ = 0;
};

inline const actord_plugin_info kContinuing =
    actord::MakePlugin<actord::ProcessTypes<Rounds, Laps>>("continuing", "1");

class HarnessContinue : public DurableTest {};

TEST_F(HarnessContinue, CoroutineGoesOnWithItsInputAndItsMessages) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    for (const bool crashes : {false, true}) {
      SCOPED_TRACE(seed);
      Harness harness(kContinuing, {.seed = seed});
      if (crashes) harness.CrashEverywhere();
      const Pid probe = harness.Probe();
      const Pid pid = harness.Submit("rounds");
      for (const char* text : {"a", "b", "c", "d", "e", "f"}) {
        harness.Deliver(pid, "other", "!", probe);
        harness.Deliver(pid, "visit", text, probe);
        if (seed % 2 == 0) harness.Run();
      }
      EXPECT_EQ(harness.ExpectResult(pid).bytes, "abcdef!");
      EXPECT_EQ(harness.MessagesAt(probe), 6u);
    }
  }
}

TEST_F(HarnessContinue, TimersEndWithTheLife) {
  Harness harness(kContinuing);
  const Pid probe = harness.Probe();
  const Pid pid = harness.Submit("rounds");
  harness.Deliver(pid, "visit", "a", probe);
  harness.Advance(std::chrono::minutes(59));
  harness.Deliver(pid, "visit", "b", probe);
  harness.Advance(std::chrono::minutes(59));
  EXPECT_EQ(harness.MessagesAt(probe), 2u);
  EXPECT_TRUE(harness.IsLive(pid));
}

TEST_F(HarnessContinue, InputThatDependsOnAStaticIsReported) {
  Harness harness(kContinuing);
  const Pid probe = harness.Probe();
  const Pid pid = harness.Submit("rounds");
  harness.Deliver(pid, "visit", "sta", probe);
  harness.Deliver(pid, "visit", "tic", probe);
  EXPECT_THAT(WhatFails([&] { harness.Run(); }),
              AllOf(HasSubstr("cannot be replayed"),
                    HasSubstr("next life at first: method '' with 'static1'"),
                    HasSubstr("next life again: method '' with 'static2'")));
}

TEST_F(HarnessContinue, HandsOnMoreMessagesThanAStepCanGet) {
  for (const bool crashes : {false, true}) {
    Harness harness(kContinuing);
    if (crashes) harness.CrashEverywhere();
    const Pid probe = harness.Probe();
    const Pid pid = harness.Submit("rounds");
    for (int i = 0; i < 700; ++i) {
      harness.Deliver(pid, "other", std::to_string(i), probe);
    }
    for (const char* text : {"a", "b", "c", "d", "e", "f"}) {
      harness.Deliver(pid, "visit", text, probe);
    }
    EXPECT_EQ(harness.ExpectResult(pid).bytes, "abcdef0");
  }
}

TEST_F(HarnessContinue, ImageTypeGoesOnUntilItsInitRefuses) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Harness harness(kContinuing, {.seed = seed});
    if (seed % 2 == 0) harness.CrashEverywhere();
    const Pid pid = harness.Submit("laps");
    for (int i = 0; i < 11; ++i) harness.Deliver(pid, "on");
    harness.Run();
    EXPECT_TRUE(harness.IsLive(pid));
    harness.Deliver(pid, "on");
    const Outcome outcome = harness.ExpectEnded(pid);
    EXPECT_EQ(outcome.kind, EndKind::kInitRefused);
    EXPECT_EQ(outcome.status.code(), Code::kOutOfRange);
    EXPECT_EQ(outcome.status.message(), "is at its end");
  }
}

}  // namespace
}  // namespace actord::durable_test
