// What a supervisor does about its children: a state machine without processes,
// clock or random source. supervisor.h carries out what it asks for, and tells
// it what has become of that.
//
// A child is in one of these states:
//
//   down ──Start──► starting ──Started──► up ──Cancel──► stopping
//    ▲                 │                   │                │
//    │                 │ StartFailed       │ Exited         │ Exited
//    └─────────────────┴───────────────────┴────────────────┘
//
// One that is stopping is terminated when its time is over. Each is marked with
// what is to become of it: `wanted`, it shall be up; `stop`, it goes down
// first. What happens to the supervisor only changes the marks; Next() finds
// the one thing that comes next:
//
//   (1) Of those that are to stop the last one is stopped, and no other before
//       it has ended.
//   (2) When none is to stop, the first one that is wanted and down is started,
//       unless its pause is not over; no other before its Init has returned.
//   (3) One that is down and wanted holds up those behind it, until it is up;
//       with one_for_one only until it has been up once.
//
// A volatile child of a durable supervisor ends with the daemon. That end
// counts for nothing: the child, unless it is temporary, starts again without a
// pause, and no sibling goes with it, because durable siblings have not ended.
//
// So starts have the order of the children, stops the reverse, and whatever
// happens in between is taken into account by the next look.
//
// Thread-safety: none.
#pragma once

#include <actord/process.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handlers/supervisor/supervisor_spec.h"

namespace actord::handlers {

class SupervisorPlan {
 public:
  // Names a child for good, also when its id is used again.
  using Key = uint64_t;

  // When something happens: a monotonic clock, and 64 random bits.
  struct Moment {
    Duration now{0};
    uint64_t random = 0;
  };

  // One thing to do.
  struct Action {
    enum class Kind {
      kStart,      // `child`, by process.spawn with `text` as its payload
      kGiveUp,     // the start of `child`: StartFailed follows, or Started
      kCancel,     // `pid`
      kTerminate,  // `pid`
      kAnswer,     // `call`, with `status`, or with `child`'s id and PID
      kReport      // `text` to the log; a warning unless `status` is OK
    };
    Kind kind = Kind::kReport;
    Key child = 0;
    Pid pid;
    CallId call = 0;
    Status status;
    std::string text;
  };

  // The numbers are in the images of durable supervisors.
  enum class State { kDown, kStarting, kUp, kStopping };

  struct Child {
    Key key = 0;
    ChildSpec spec;
    State state = State::kDown;
    Pid pid;              // of kUp and kStopping
    bool wanted = true;   // it shall be up
    bool stop = false;    // it goes down first
    bool held = false;    // stop_child has stopped it
    bool is_new = false;  // start_child waits for its first Init
    bool was_up = false;
    bool lost = false;  // it has ended with the daemon, and was not up since
    bool terminated = false;  // of kStopping; of kStarting: given up
    // Of kStopping: when it is terminated. Of kStarting: when its start is
    // given up.
    std::optional<Duration> until;
    bool is_late = false;    // of kStarting: given up because of its timeout
    int late_in_row = 0;     // starts given up since the last that was in time
    Duration not_before{0};  // of kDown
    Duration up_since{0};    // of kUp
    int failures = 0;        // without a period in between
    uint64_t restarts = 0;
    std::string last_end;  // how it ended last; empty: it never has
    CallId call = 0;       // who waits for it; 0: nobody
  };

  // All that a plan knows between two calls of Next. Another plan can go on
  // from it.
  struct Memory {
    SupervisorSpec spec;  // its children are in `children`
    // The keys of those in the input of the supervisor are 1 to `of_input`.
    std::vector<Child> children;
    Key of_input = 0;
    Key next_key = 1;
    std::deque<Duration> window;  // the restarts of the last period
    uint64_t restarts = 0;
    std::optional<Status> end;  // it is to end, with this
    // All children have been up, or are not wanted.
    bool is_started = false;
  };

  explicit SupervisorPlan(SupervisorSpec spec);
  explicit SupervisorPlan(Memory memory) : memory_(std::move(memory)) {}

  // ---- What has happened.

  void Started(Key child, const Pid& pid, Duration now);
  void StartFailed(Key child, const Status& why, const Moment& moment);
  // Does nothing if `pid` is none of its children. `why` is OK for Done.
  void Exited(const Pid& pid, ExitReason reason, const Error& why,
              const Moment& moment);
  // The terminate of this process was refused.
  void TerminateFailed(const Pid& pid, Duration now);
  // All children are to end, and then the supervisor, with `why`. The first
  // call counts.
  void End(const Status& why);

  // ---- What is asked of it. An error is the answer; otherwise an action
  // answers `call` later.

  Status StartChild(ChildSpec spec, CallId call);
  Status StopChild(std::string_view id, CallId call);
  Status RestartChild(std::string_view id, CallId call);
  // Forgets a child that is down for good.
  Status DeleteChild(std::string_view id);

  // ---- What comes of it.

  // What is to be done now, in this order. `may_start`: false, while more is
  // about to happen on which the order of the starts depends.
  std::vector<Action> Next(Duration now, bool may_start = true);
  // When to look again, if nothing happens before; nullopt: never.
  [[nodiscard]] std::optional<Duration> NextLook(Duration now) const;
  // The supervisor is to end with this: all of its children have.
  [[nodiscard]] const Status* verdict() const;
  // All children have been up, or are not wanted, and none was given up before.
  // Those that have ended with the daemon are up again.
  [[nodiscard]] bool is_started() const;

  // Precondition: all actions that Next had were taken.
  [[nodiscard]] const Memory& memory() const { return memory_; }
  [[nodiscard]] const std::vector<Child>& children() const {
    return memory_.children;
  }
  [[nodiscard]] const SupervisorSpec& spec() const { return memory_.spec; }
  [[nodiscard]] uint64_t restarts() const { return memory_.restarts; }
  [[nodiscard]] const Child* Find(Key key) const;

  // Between two attempts to terminate.
  static constexpr Duration kTerminateAgain = std::chrono::milliseconds(100);

 private:
  Child* Find(Key key);
  Child* FindById(std::string_view id);
  Child& Add(ChildSpec spec);
  void Forget(const Child& child);

  // A child is down that was not to stop. `is_failure`: neither Done nor
  // cancelled. `code` is looked up in the child's final codes.
  void EndedBySelf(Child& child, bool is_failure, Code code,
                   const Moment& moment);
  // A volatile child of a durable supervisor has ended with the daemon.
  void EndedWithDaemon(Child& child);
  // One that was to stop is down.
  void HasStopped(Child& child);
  // A duration for people, such as "0.25 s".
  static std::string Seconds(Duration duration);
  // Counts a restart. False: that is one too many.
  bool CountRestart(Duration now);
  [[nodiscard]] Duration PauseOf(const Child& child, uint64_t random) const;
  // Those whom the end of `child` concerns too are to stop, and to start again
  // when it does.
  void TakeAlong(const Child& child);
  void GiveUp(const Child& child);

  Status CheckAsked(const Child* child, std::string_view id) const;
  void Answer(Child& child, const Status& status);
  void Report(const Child& child, std::string text, bool is_warning);

  // Each does the next thing of its kind; false: there is none, or it has to
  // wait.
  bool StopNext(Duration now);
  bool GiveUpLateStart(Duration now);
  bool StartNext(Duration now);

  Memory memory_;
  std::vector<Action> actions_;
};

}  // namespace actord::handlers
