// The decisions of a supervisor about its children: a state machine without
// processes, clock or random source. supervisor.h carries out its actions, and
// reports the results to it.
//
// A child is in one of these states:
//
//   down ──Start──► starting ──Started──► up ──Cancel──► stopping
//    ▲                 │                   │                │
//    │                 │ StartFailed       │ Exited         │ Exited
//    └─────────────────┴───────────────────┴────────────────┘
//
// A child that is stopping is terminated when its time is over. Two marks say
// what the plan intends for a child: `wanted`: it shall be up; `stop`: it must
// go down first. Events and calls only change the marks; Next() finds the one
// action that comes next:
//
//   (1) Of the children with `stop` the last one is stopped. No other child is
//       stopped until it has ended.
//   (2) If no child has `stop`, the first child that is wanted and down is
//       started as soon as its pause is over. No other child is started until
//       its Init has returned.
//   (3) A child that is down and wanted holds up the children behind it until
//       it is up; with one_for_one only until it has been up once.
//
// A volatile child of a durable supervisor ends with the daemon. That end is
// not counted: unless the child is temporary, it starts again without a pause.
// No sibling is stopped for it, because durable siblings have not ended.
//
// So starts follow the order of the children, and stops the reverse order. The
// next call of Next() takes into account everything that happened in between.
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

  // The moment of a call: a monotonic time, and 64 random bits.
  struct Moment {
    Duration now{0};
    uint64_t random = 0;
  };

  // One action to carry out.
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
    // For kStopping: the time at which the child is terminated. For kStarting:
    // the time at which the start is given up.
    std::optional<Duration> until;
    bool is_late = false;    // of kStarting: given up because of its timeout
    int late_in_row = 0;     // starts given up since the last that was in time
    Duration not_before{0};  // of kDown
    Duration up_since{0};    // of kUp
    int failures = 0;        // without a period in between
    uint64_t restarts = 0;
    std::string last_end;  // its last end; empty: it has not ended yet
    CallId call = 0;       // the call that waits for it; 0: none
  };

  // The whole state of a plan between two calls of Next. Another plan can
  // continue from it.
  struct Memory {
    SupervisorSpec spec;  // its children are in `children`
    // Children of the supervisor's input have the keys 1 to `of_input`.
    std::vector<Child> children;
    Key of_input = 0;
    Key next_key = 1;
    std::deque<Duration> window;  // the restarts of the last period
    uint64_t restarts = 0;
    std::optional<Status> end;  // the supervisor is to end with this status
    // All children have been up, or are not wanted.
    bool is_started = false;
  };

  explicit SupervisorPlan(SupervisorSpec spec);
  explicit SupervisorPlan(Memory memory) : memory_(std::move(memory)) {}

  // ---- Events.

  void Started(Key child, const Pid& pid, Duration now);
  void StartFailed(Key child, const Status& why, const Moment& moment);
  // Does nothing if `pid` is not one of the children. `why` is OK for Done.
  void Exited(const Pid& pid, ExitReason reason, const Error& why,
              const Moment& moment);
  // The terminate of this process was refused.
  void TerminateFailed(const Pid& pid, Duration now);
  // All children are to end, and then the supervisor, with `why`. The first
  // call counts.
  void End(const Status& why);

  // ---- Calls to the supervisor. An error is the answer; otherwise an action
  // answers `call` later.

  Status StartChild(ChildSpec spec, CallId call);
  Status StopChild(std::string_view id, CallId call);
  Status RestartChild(std::string_view id, CallId call);
  // Forgets a child that is down for good.
  Status DeleteChild(std::string_view id);

  // ---- Results.

  // The actions to carry out now, in this order. `may_start`: false while
  // further events are expected that may change the order of the starts.
  std::vector<Action> Next(Duration now, bool may_start = true);
  // When to call Next again, if no event comes before; nullopt: never.
  [[nodiscard]] std::optional<Duration> NextLook(Duration now) const;
  // Not null when all children have ended: the supervisor is to end with this
  // status.
  [[nodiscard]] const Status* verdict() const;
  // All children have been up, or are not wanted, and none was given up before.
  // Children that have ended with the daemon are up again.
  [[nodiscard]] bool is_started() const;

  // Precondition: Next has no more actions.
  [[nodiscard]] const Memory& memory() const { return memory_; }
  [[nodiscard]] const std::vector<Child>& children() const {
    return memory_.children;
  }
  [[nodiscard]] const SupervisorSpec& spec() const { return memory_.spec; }
  [[nodiscard]] uint64_t restarts() const { return memory_.restarts; }
  [[nodiscard]] const Child* Find(Key key) const;

  // Pause between two attempts to terminate a child.
  static constexpr Duration kTerminateAgain = std::chrono::milliseconds(100);

 private:
  Child* Find(Key key);
  Child* FindById(std::string_view id);
  Child& Add(ChildSpec spec);
  void Forget(const Child& child);

  // A child without the mark `stop` is down. `is_failure`: it ended neither by
  // Done nor by a cancel. `code` is looked up in the child's final codes.
  void EndedBySelf(Child& child, bool is_failure, Code code,
                   const Moment& moment);
  // A volatile child of a durable supervisor has ended with the daemon.
  void EndedWithDaemon(Child& child);
  // A child with the mark `stop` is down.
  void HasStopped(Child& child);
  // A duration for people, such as "0.25 s".
  static std::string Seconds(Duration duration);
  // Counts a restart. False: it is one restart too many.
  bool CountRestart(Duration now);
  [[nodiscard]] Duration PauseOf(const Child& child, uint64_t random) const;
  // Marks the other children that the end of `child` concerns: they stop, and
  // start again together with it.
  void TakeAlong(const Child& child);
  void GiveUp(const Child& child);

  Status CheckAsked(const Child* child, std::string_view id) const;
  void Answer(Child& child, const Status& status);
  void Report(const Child& child, std::string text, bool is_warning);

  // Each finds the next action of its kind. False: there is none, or it has to
  // wait.
  bool StopNext(Duration now);
  bool GiveUpLateStart(Duration now);
  bool StartNext(Duration now);

  Memory memory_;
  std::vector<Action> actions_;
};

}  // namespace actord::handlers
