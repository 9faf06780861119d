// recipe: supervise
#include <actord/coroutine.h>

namespace {

// Fails when it is told that its paper is jammed.
class Press : public actord::Process {
 public:
  static constexpr const char* kName = "press";
  static constexpr actord::Method kMethods[] = {{"run", "Prints."}};

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.topic() == "jam") out.Fail(actord::Code::kInternal, "jammed");
    }
  }
};

// Keeps two presses running. More than three restarts in a minute are too many.
class Printery : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "printery";
  static constexpr actord::Method kMethods[] = {{"run", "Until 'close'."}};

  actord::Task<> Main(actord::Context& ctx) {
    const actord::Pid supervisor = ctx.Spawn(
        "supervisor", "", R"({"intensity": 3, "period_ms": 60000, "children": [
            {"id": "left", "type": "press", "name": "press/left"},
            {"id": "right", "type": "press", "name": "press/right"}]})",
        {.link = true});
    (co_await ctx.Call(supervisor, "started")).value();
    co_await ctx.Receive("close");
    const std::string pid = ctx.FormatPid(supervisor);
    ctx.Unlink(supervisor);
    (co_await ctx.Run(actord::commands::Cancel(pid, "closed"))).value();
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("printery", "1.0.0",
                     actord::ProcessTypes<Press, Printery>);
// end
