// What the simulator knows of a world of processes without asking the runtime:
// who lives, what was sent to whom, which yields are outstanding. And the
// promises that it checks by that knowledge:
//  (1) no two calls of one process at once; Init first, Close once and last,
//      and none if Init failed;
//  (2) each accepted message arrives once, in the order of its sender, or is
//      counted as a dead letter;
//  (3) each yield of a step that returned well has exactly one completion, of
//      its own process, and one that it may have;
//  (4) a blocked process sees no message before a completion or a cancel;
//  (5) a step that fails leaves nothing: what it sent and spawned never
//      arrives;
//  (6) when all threads wait: nobody is ready, unless it waits for a worker
//      whose thread a step keeps; what was accepted has arrived; no timer is
//      overdue and somebody keeps the time;
//  (7) each ready process runs within a bound of rounds, and before a process
//      that continues runs for the third time (README.md);
//  (8) with one worker that keeps its thread, none runs while a higher priority
//      is ready, but in a turn of 61 (README.md);
//  (9) the runtime's counters are those of the world;
//  (10) each callback is called exactly once; at the end nothing is left;
//  (11) each monitor has exactly one exit, behind all messages of the process
//      that ended, and with its result, and none after the step that gave it
//      up; a step that fails watches nobody;
//  (12) a failure ends both sides of a link, or is told to who traps exits,
//      once; no end and no exit by a link follows the step that gave it up;
//  (13) each call has exactly one answer: a reply to it, or an error, which
//  says
//      that the callee has ended only if it has; none waits for who has ended;
//  (14) no two hold a name, and nobody finds by it who had ended before.
//
// Thread-safety: one thread (schedule.h), whose fibers change only at fail
// points. Ownership: the world owns its actors, which outlive their processes.
#pragma once

#include <actord/process.h>
#include <actord/values.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/core.h"
#include "runtime/process/pid.h"
#include "runtime/system/random.h"
#include "tests/sim/schedule.h"

namespace actord::sim {

class World;

// How a process spends its life.
enum class Habit {
  kMixed,     // a bit of everything
  kPlayer,    // sends each message back to its sender
  kSpinner,   // always continues
  kFlooder,   // sends and spawns in bursts
  kSleeper,   // blocks on timers
  kBlocker,   // keeps its thread
  kShort,     // ends at once
  kListener,  // waits for messages
};
inline constexpr int kHabits = 8;

struct Actor;

// An outstanding yield, or call.
struct Outstanding {
  std::string_view command;  // a literal
  uint64_t number = 0;       // of all yields; what a good answer repeats
  uint64_t earliest_ns = 0;  // sleep: not before
  uint64_t timeout_ns = 0;   // 0: none; how long
  uint64_t yielded_ns = 0;
  uint64_t rested_ns = 0;         // when all waited for the first time since
  const Actor* callee = nullptr;  // of a call
  bool given_up = false;
};

// What the simulator knows of one process.
struct Actor {
  World* world = nullptr;
  uint64_t id = 0;
  Habit habit = Habit::kMixed;
  bool poisoned = false;    // of a step that failed: must never start
  bool init_fails = false;  // refuses or throws
  bool close_throws = false;
  uint64_t steps_left = 0;  // then it ends; UINT64_MAX: it does not
  int priority = runtime::kDefaultPriority;
  runtime::Pid pid;  // empty until known

  bool busy = false;  // a call of it is under way
  int inits = 0;
  int closes = 0;
  bool live = false;  // Init went well, Close has not been called
  uint64_t steps = 0;
  bool done = false;    // said Done
  bool failed = false;  // by a step of its own
  std::string result;

  runtime::Random random{0};
  absl::flat_hash_map<uint64_t, uint64_t> next_from;       // by sender
  absl::flat_hash_map<uint64_t, uint64_t> next_to;         // by receiver
  absl::flat_hash_map<uint64_t, Outstanding> outstanding;  // by tag
  absl::flat_hash_map<uint64_t, Actor*> monitors;  // by tag, without an exit
  std::set<uint64_t> links;                        // of which it was not told
  std::set<uint64_t> late_links;    // of these: made after the other's end
  std::set<uint64_t> own_links;     // that it made, and has not given up
  std::set<uint64_t> others_links;  // that the other may make again, not it
  std::vector<std::pair<CallId, uint64_t>> calls;  // to it, and their numbers
  bool blocked = false;
  bool cancelled = false;
  bool told_to_end = false;  // a cancel or terminate for it was accepted
  bool may_be_told = false;  // somebody has called to have it accepted
  int64_t awaits = 0;        // of its end, without an answer so far
  uint64_t sent_to_it = 0;   // accepted, or said in a step that went well
  uint64_t received = 0;

  // (7)
  bool is_submitted = false;  // and accepted, and Init has not been called
  bool waits_to_run = false;
  uint64_t waits_since_round = 0;
  uint64_t waits_since_step = 0;
  uint64_t waits_since_spin = 0;

  // (8)
  bool waits_in_order = false;
  uint64_t in_order_since_round = 0;
  uint64_t in_order_since_turn = 0;
  uint64_t lower_steps = 0;  // meanwhile
};

// What a message carries.
struct Note {
  uint64_t from = 0;    // actor, or client
  uint64_t number = 0;  // the how-manieth to this receiver
};
inline constexpr uint64_t kPoison = UINT64_MAX;
// In place of the sender: it is a call, and the number is its yield's.
inline constexpr uint64_t kCall = UINT64_MAX - 1;
// Senders from here on are clients.
inline constexpr uint64_t kFirstClient = uint64_t{1} << 32;
// Bytes; the runtime's limit.
inline constexpr size_t kMostPayload = 4096;

// A deferred or spawning handler's debt.
struct Debt {
  actord_completion handle = 0;
  uint64_t number = 0;  // of the yield
  bool paid = false;
};

class World {
 public:
  struct Limits {
    bool mailboxes_are_small = false;  // sends may be refused
    bool yields_are_few = false;       // yields may be refused
    bool pool_is_small = false;
    bool processes_are_few = false;
    bool priorities_differ = false;
    bool order_is_strict = false;  // (8)
    bool steps_last = false;       // many keep their thread
    bool are_tied = false;         // they call, watch and name each other
    bool is_crowded = false;  // players, spinners and a flood of short ones
    // Only one worker, whose turns are not much more than the rounds: so a
    // process that continues can be seen to go behind the others.
    bool spins_are_counted = false;
    uint64_t most_actors = 64;
    uint64_t most_steps = 1000;  // then everybody ends as it can
  };

  World(Schedule& schedule, const Limits& limits, uint64_t seed);

  Actor* NewActor(bool poisoned);
  // Its process has this PID.
  void Enter(Actor& actor, const runtime::Pid& pid);
  // Null: a client.
  Actor* ActorOf(uint64_t id);
  // Of a player: with whom it plays when nobody else has sent it anything.
  Actor* PartnerOf(const Actor& player);
  static std::string NameOf(const Actor& actor);
  // Somebody to send to, dead ones among them; null: nobody is known.
  Actor* Pick(uint64_t random);
  [[nodiscard]] bool MayGrow() const {
    return actors_.size() < limits.most_actors && !stopping;
  }

  // What was promised is not kept. Does not return.
  [[noreturn]] void Broken(const Actor* actor, const std::string& what);
  void Check(bool holds, const Actor* actor, const char* what) {
    if (!holds) [[unlikely]]
      Broken(actor, what);
  }

  // (3)
  void CheckCompletion(const Actor& actor, const Outstanding& yield, Code code,
                       std::string_view bytes);
  // A call from outside was answered.
  void CheckAnswer(uint64_t number, const Actor& callee,
                   const absl::StatusOr<runtime::Payload>& answer);
  // (11), (12)
  void CheckExit(Actor& watcher, const Event& event);
  // (12): it is closed.
  void CheckWhyEnded(const Actor& actor);
  // Its process can be found.
  bool Lives(const Actor& actor) const {
    return core->processes.Find(actor.pid) != nullptr;
  }
  Actor* ActorOfPid(const runtime::Pid& pid);
  // (14): those whom nobody may find from now on.
  absl::flat_hash_set<const Actor*> Gone() const;
  // All threads wait, until `next_ns`: (6).
  void CheckQuiet(uint64_t next_ns);
  // Now and then: (7).
  void CheckWaiting();
  // A step of it begins: (8).
  void CheckOrder(Actor& runs);
  // The runtime has shut down and nobody calls it any more: (9), (10).
  void CheckEnd(const runtime::RuntimeStats& stats);
  // Each dead letter is kept, within the limits, or was forgotten.
  void CheckDeadLetters(const runtime::RuntimeStats& stats);

  Schedule& schedule;
  const Limits limits;
  runtime::Runtime::Core* core = nullptr;
  bool stopping = false;  // processes end as they can
  bool shutdown_begun = false;
  bool shut_down = false;  // it has returned

  // Counted here.
  uint64_t steps = 0;
  uint64_t inits = 0;  // called
  uint64_t live = 0;
  uint64_t most_live = 0;
  uint64_t dones = 0;
  uint64_t submits = 0, submit_answers = 0, submits_refused = 0;
  uint64_t spawns = 0;  // in steps that went well
  uint64_t awaits = 0, await_answers = 0;
  uint64_t sent = 0;      // sum of sent_to_it
  uint64_t received = 0;  // sum
  uint64_t yields = 0;    // in steps that went well
  uint64_t completions = 0;
  uint64_t next_yield = 1;
  uint64_t calls = 0;                           // also from outside
  uint64_t ties = 0;                            // sides of monitors and links
  std::map<uint64_t, const Actor*> open_calls;  // from outside
  std::map<std::string, Actor*> names;
  uint64_t longest_wait = 0;   // rounds
  uint64_t longest_bound = 0;  // what that one might have been
  std::vector<Debt> debts;
  std::vector<std::unique_ptr<Actor>>& actors() { return actors_; }

  // (7): the bound for `ready` processes that are ready at once.
  static uint64_t BoundOf(uint64_t ready) { return 66 * ready + 3; }
  // That of one that continues.
  static uint64_t BoundBehind(uint64_t ready) { return 244 * ready + 3; }
  // A step of this actor is over.
  void CountSpin(const Actor& actor);

 private:
  Habit DrawHabit(uint64_t id, runtime::Random& random) const;
  // Some worker sleeps.
  bool IsAnyAsleep() const;
  // When the first timer of all wheels is due; kNever: there is none.
  uint64_t FirstTimerNs() const;
  void CheckTimers(uint64_t next_ns);
  // What is ready there, behind a step that lasts, was made so by timers, and
  // nobody need have been woken for it yet.
  bool IsHeldBack(size_t worker, uint64_t next_ns);
  void CheckTimekeeper();
  void CheckNobodyIsReady();
  void CheckAtRest(Actor& actor);
  void CheckOverdue(const Actor& actor, Outstanding& yield);
  void CheckTies(const Actor& actor);
  void CheckTiesAtRest();
  void CheckNothingIsLeft();
  bool IsReady(const Actor& actor) const;
  void CheckWaitOf(Actor& actor);
  void CheckOrderOf(Actor& actor, const Actor& runs);

  const uint64_t seed_;
  uint64_t most_ready_ = 0;
  const Actor* spinner_ = nullptr;  // the one that is counted
  uint64_t spins_ = 0;              // rounds in which it ran
  uint64_t last_spin_round_ = 0;
  uint64_t first_timer_ns_ = runtime::TimerWheel::kNever;
  uint64_t late_ns_ = 0;  // of that one, while all threads waited
  // Of each worker: its turns_since_due when it had been alone with what timers
  // made ready for as long as it may be; 0: it has not.
  std::map<size_t, uint32_t> alone_too_long_since_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<Actor*> known_;
};

// A call of the runtime into a process lasts as long as one of these: (1).
class CallScope {
 public:
  CallScope(Actor& actor, const char* name);
  ~CallScope() { actor_.busy = false; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  Actor& actor_;
};

inline std::string InputOf(const Actor* actor) {
  return {reinterpret_cast<const char*>(&actor), sizeof(actor)};
}
std::string BytesOf(const Note& note, size_t padding);

}  // namespace actord::sim
