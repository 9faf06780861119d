// recipe: monitor
#include <actord/coroutine.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>

namespace {

// A lock. A call of "lock" is answered when the caller holds it; "unlock", or
// the end of the holder, hands it to the next caller.
class Lock : public actord::Process {
 public:
  static constexpr const char* kName = "lock";
  static constexpr actord::Method kMethods[] = {{"run", "Begins unlocked."}};
  static constexpr size_t kMaxCallers = 1000;

  void Step(actord::Events events, actord::StepOutput& out) {
    for (const actord::Event event : events) {
      if (event.topic() == "lock" && event.call() != 0) Take(event, out);
      if (event.topic() == "unlock" || event.is_exit()) {
        GiveBack(event.from(), out);
      }
    }
  }

 private:
  struct Caller {
    actord::Pid pid;
    actord::CallId call;
    actord::Tag monitor;
  };

  void Take(const actord::Event& event, actord::StepOutput& out) {
    if (event.from().empty() || callers_.size() == kMaxCallers) {
      return out.ReplyError(event.call(), actord::Code::kFailedPrecondition,
                            "not a process, or too many callers wait");
    }
    const actord::Tag monitor = out.Monitor(event.from());
    callers_.push_back({event.from(), event.call(), monitor});
    if (callers_.size() == 1) out.Reply(event.call());
  }

  void GiveBack(const actord::Pid& pid, actord::StepOutput& out) {
    const auto caller =
        std::find_if(callers_.begin(), callers_.end(),
                     [&](const Caller& each) { return each.pid == pid; });
    if (caller == callers_.end()) return;
    const bool held_it = caller == callers_.begin();
    out.Demonitor(caller->monitor);
    callers_.erase(caller);
    if (held_it && !callers_.empty()) out.Reply(callers_.front().call);
  }

  std::deque<Caller> callers_;  // the first one holds the lock
};

// Prints alone: its input is the PID of the lock. It never unlocks: its end is
// enough.
class PrintJob : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "print_job";
  static constexpr actord::Method kMethods[] = {{"run", "Prints alone."}};

  actord::Task<> Main(actord::Context& ctx, actord::OwnedPayload input) {
    const auto lock = ctx.ParsePid(input.bytes);
    if (!lock) {
      throw actord::Failure(actord::Code::kInvalidArgument, "not a PID");
    }
    const actord::YieldOptions options = {.timeout = actord::Duration::max()};
    (co_await ctx.Call(*lock, "lock", {}, options)).value();
    (co_await ctx.Run("page.print")).value();
  }
};

}  // namespace

ACTORD_EXPORT_PLUGIN("locks", "1.0.0", actord::ProcessTypes<Lock, PrintJob>);
// end
