// Steps and handlers that keep their thread, with real threads.
#include <chrono>
#include <thread>

#include "tests/runtime/runtime_fixture.h"
#include "tests/support/script_handler.h"

namespace actord::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class BlockingScript : public actord::testing::ScriptProcess {
 public:
  static constexpr const char* kName = "blocking";
  static constexpr bool kBlocksThread = true;
};

class Blocking : public RuntimeTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        catalog_.AddProcessType(&actord::kProcessType<BlockingScript>, "test")
            .ok());
  }

  static Script Sleeper(milliseconds time) {
    return {.step = [time](actord::Events, actord::StepOutput& out) {
      std::this_thread::sleep_for(time);
      out.Done();
    }};
  }

  // Submits `script` as `count` processes, without waiting for them.
  void Flood(const Script& script, int count, std::string type = "script") {
    for (int i = 0; i < count; ++i) {
      runtime_->Submit(SubmitRequest{type, "", {InputOf(script), ""}, {}},
                       [](const absl::StatusOr<Pid>& pid) {
                         EXPECT_TRUE(pid.ok()) << pid.status();
                       });
    }
  }

  // How long 10,000 processes of one step need.
  milliseconds TimeManyShortOnes() {
    constexpr uint64_t kMany = 10'000;
    static const Script short_one{
        .step = [](actord::Events, actord::StepOutput& out) { out.Done(); }};
    const uint64_t before = runtime_->Stats().processes_ended;
    const auto begin = steady_clock::now();
    Flood(short_one, kMany);
    EXPECT_TRUE(Eventually(
        [&] { return runtime_->Stats().processes_ended >= before + kMany; }));
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() -
                                                    begin);
  }

  // 8 processes block 2 workers for 2 s each: held to them, the others would
  // need 8 s.
  void OthersGoOnBeside(const std::string& type) {
    // The machine may be busy, now and then for as long as all of this takes.
    // What holds the others up does so each time.
    constexpr int kTries = 3;
    for (int tries = 1; tries <= kTries; ++tries) {
      const milliseconds alone = TimeManyShortOnes();
      const Script sleeper = Sleeper(milliseconds(2000));
      Flood(sleeper, 8, type);
      const milliseconds beside = TimeManyShortOnes();
      // The sleepers live in `sleeper`.
      EXPECT_TRUE(
          Eventually([&] { return runtime_->Stats().processes_live == 0; }));
      // The order of magnitude is what counts here.
      if (beside < 5 * alone + milliseconds(1000)) return;
      EXPECT_LT(tries, kTries)
          << beside.count() << " ms, alone " << alone.count() << " ms";
    }
  }
};

TEST_F(Blocking, OtherProcessesGoOnBesideAnnouncedBlockingSteps) {
  Start();
  OthersGoOnBeside("blocking");
}

TEST_F(Blocking, OtherProcessesGoOnBesideUnannouncedBlockingSteps) {
  std::atomic<int> warnings{0};
  RuntimeOptions options;
  options.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning &&
        message.find(" (script): its ") != message.npos) {
      ++warnings;
    }
  };
  Start(options);
  OthersGoOnBeside("script");
  // One for the type, not one for each process.
  EXPECT_EQ(warnings, 1);
  runtime_.reset();
}

TEST_F(Blocking, OtherProcessesGoOnBesideABlockingInlineHandler) {
  actord::testing::ScriptHandler handler(
      "nap", ACTORD_HANDLER_INLINE, [](actord::testing::Call&) {
        std::this_thread::sleep_for(milliseconds(2000));
        return ACTORD_HANDLED;
      });
  ASSERT_TRUE(catalog_.AddCommand(handler.descriptor(), &handler, "test").ok());
  RuntimeOptions options;
  options.workers = 1;
  Start(options);
  std::atomic<bool> completed{false};
  const Script napper{
      .step = [&](actord::Events events, actord::StepOutput& out) {
        if (events.empty()) {
          out.Yield("nap");
          out.Block();
          return;
        }
        completed = true;
        out.Done();
      }};
  const Pid pid = MustSubmit(napper);
  const auto begin = steady_clock::now();
  MustAwait(MustSubmit(Sleeper(milliseconds(0))));
  EXPECT_LT(steady_clock::now() - begin, milliseconds(1500));
  EXPECT_FALSE(completed);
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kResult);
  EXPECT_TRUE(completed);
  runtime_.reset();
}

TEST_F(Blocking, WithoutAThreadLeftAStepKeepsItsWorkerAndSaysSo) {
  std::atomic<bool> warned{false};
  RuntimeOptions options;
  options.workers = 1;
  options.max_blocked_threads = 0;
  options.log = [&](LogLevel, std::string_view message) {
    if (message.find("no thread is left") != message.npos) warned = true;
  };
  Start(options);
  const Script sleeper = Sleeper(milliseconds(200));
  Flood(sleeper, 1);
  Flood(sleeper, 1, "blocking");
  EXPECT_TRUE(
      Eventually([&] { return runtime_->Stats().processes_live == 0; }));
  EXPECT_TRUE(warned);
  runtime_.reset();
}

}  // namespace
}  // namespace actord::runtime
