// The threads of a runtime know which plugin code they run.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/crash/running_code.h"
#include "tests/runtime/runtime_fixture.h"
#include "tests/support/script_handler.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;

class RunningCodeThreads : public RuntimeTest {
 protected:
  // Written by one thread at a time, one after the other.
  std::vector<std::string> seen_;

  void See() {
    const auto code = RunningCodeHere();
    seen_.push_back(!code ? "nothing"
                          : absl::StrCat(std::string(code->plugin), " ",
                                         std::string(code->version), ": ",
                                         std::string(code->function), " of ",
                                         std::string(code->command), "/",
                                         std::string(code->process_type)));
    if (code) pids_.push_back(code->pid);
  }
  std::vector<Pid> pids_;
};

TEST_F(RunningCodeThreads, CallsOfOneProcess) {
  std::vector<std::unique_ptr<actord::testing::ScriptHandler>> handlers;
  const auto handle = [this](actord::testing::Call& call) {
    See();
    call.Reply(ACTORD_OK, "");
    return ACTORD_HANDLED;
  };
  handlers.push_back(std::make_unique<actord::testing::ScriptHandler>(
      "inline", ACTORD_HANDLER_INLINE, handle));
  handlers.push_back(std::make_unique<actord::testing::ScriptHandler>(
      "pooled", ACTORD_HANDLER_POOLED, handle));
  ASSERT_TRUE(
      catalog_
          .Add({.plugin = "commands",
                .version = "3",
                .commands = {{handlers[0]->descriptor(), handlers[0].get()},
                             {handlers[1]->descriptor(), handlers[1].get()}}})
          .ok());
  Start();
  const Pid pid = MustSubmit(
      {.init =
           [this](std::string_view) {
             See();
             return actord::Status();
           },
       .step =
           [this, steps = 0](actord::Events, actord::StepOutput& out) mutable {
             See();
             ++steps;
             if (steps == 1) out.Yield("inline", "");
             if (steps == 2) out.Yield("pooled", "");
             if (steps == 3) out.Done();
           },
       .close = [this] { See(); }});
  MustAwait(pid);
  runtime_->Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
  EXPECT_THAT(seen_,
              ElementsAre("test : Init of /script", "test : Step of /script",
                          "commands 3: inline command handler of inline/script",
                          "test : Step of /script",
                          "commands 3: pooled command handler of pooled/",
                          "test : Step of /script", "test : Close of /script"));
  EXPECT_EQ(pids_, std::vector<Pid>(7, pid));
  See();
  EXPECT_EQ(seen_.back(), "nothing");
}

}  // namespace
}  // namespace actord::runtime
