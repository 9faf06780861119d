// The simulator's knowledge of a world of processes, without asking the
// runtime: live processes, sent messages, outstanding yields. From this
// knowledge it checks these promises:
//  (1) no two calls of one process at once; Init first, Close once and last,
//      and none if Init failed;
//  (2) each accepted message arrives once, in the order of its sender, or is
//      counted as a dead letter;
//  (3) each yield of a step that returned OK has exactly one completion, of its
//      own process, and an allowed one;
//  (4) a blocked process sees no message before a completion or a cancel;
//  (5) a step that fails leaves nothing: its sends and spawns never arrive;
//  (6) when all threads wait: no process is ready, unless it waits for a worker
//      whose thread a step keeps; accepted messages have arrived; no timer is
//      overdue and somebody keeps the time;
//  (7) each ready process runs within a bound of rounds, and before a process
//      that continues runs for the third time (README.md);
//  (8) with one worker that keeps its thread, no process runs while a higher
//      priority is ready, except in one turn of 61 (README.md);
//  (9) the runtime's counters are those of the world;
//  (10) each callback is called exactly once; at the end nothing is left;
//  (11) each monitor has exactly one exit, behind all messages of the process
//      that ended, and with its result, and none after the step that gave it
//      up; a step that fails watches nobody;
//  (12) a failure ends both sides of a link once, or reaches a side that traps
//       exits once; no end and no exit by a link follows the step that gave it
//       up;
//  (13) each call has exactly one answer, a reply to it or an error. The error
//       says that the callee has ended only if it has. No call waits for an
//       ended process;
//  (14) no two processes hold a name, and no look-up finds a process that had
//       ended before;
//  (15) a process that begins again is closed, begins with its new input in a
//       new state, and gets the handed-on events before all other messages;
//  (16) a message for the lone process of another owner waits at most a bounded
//       number of rounds, with a crowd of any size (docs/scheduler.md).
//
// Thread-safety: one thread (schedule.h), whose fibers switch only at fail
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

// How a process behaves.
enum class Habit {
  kMixed,     // all actions
  kPlayer,    // sends each message back to its sender
  kSpinner,   // always continues
  kFlooder,   // sends and spawns in bursts
  kSleeper,   // blocks on timers
  kBlocker,   // blocks its thread
  kShort,     // ends at once
  kListener,  // waits for messages
};
inline constexpr int kHabits = 8;

struct Actor;

// An outstanding yield or call.
struct Outstanding {
  std::string_view command;  // a literal
  uint64_t number = 0;       // unique; the expected result repeats it
  uint64_t earliest_ns = 0;  // of a sleep: the earliest completion
  uint64_t timeout_ns = 0;   // 0: none
  uint64_t yielded_ns = 0;
  uint64_t rested_ns = 0;         // first time that all threads waited
  const Actor* callee = nullptr;  // of a call
  bool given_up = false;
};

// The model of one process.
struct Actor {
  World* world = nullptr;
  uint64_t id = 0;
  Habit habit = Habit::kMixed;
  bool poisoned = false;    // spawned by a failed step: must never start
  bool init_fails = false;  // refuses or throws
  bool close_throws = false;
  uint64_t steps_left = 0;  // until it ends; UINT64_MAX: it does not
  int priority = runtime::kDefaultPriority;
  runtime::Pid pid;  // empty until known

  bool busy = false;  // a call into it is running
  uint64_t inits = 0;
  uint64_t closes = 0;
  uint64_t lives = 1;         // it begins one more with each ContinueAs
  bool begins_again = false;  // a step said so, and Init has not been called
  bool live = false;  // Init succeeded, the last Close has not been called
  // The Close of its last life has been called.
  [[nodiscard]] bool is_closed() const { return closes == lives; }
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
  bool is_submitted = false;  // accepted, and Init has not been called
  bool waits_to_run = false;
  uint64_t waits_since_round = 0;
  uint64_t waits_since_step = 0;
  uint64_t waits_since_spin = 0;

  // (16): the lone process of its owner.
  bool is_stranger = false;
  bool has_note = false;  // a message is on its way to the stranger
  uint64_t note_since_round = 0;

  // (8)
  bool waits_in_order = false;
  uint64_t in_order_since_round = 0;
  uint64_t in_order_since_turn = 0;
  uint64_t lower_steps = 0;  // meanwhile, of lower priorities
};

// The content of a message.
struct Note {
  uint64_t from = 0;    // an actor, or a client
  uint64_t number = 0;  // sequence number to this receiver
};
inline constexpr uint64_t kPoison = UINT64_MAX;
// Instead of the sender: the message is a call, and the number is that of its
// yield.
inline constexpr uint64_t kCall = UINT64_MAX - 1;
// Senders from this number on are clients.
inline constexpr uint64_t kFirstClient = uint64_t{1} << 32;
// In bytes; the runtime's limit.
inline constexpr size_t kMostPayload = 4096;

// An answer that a deferred or spawning handler owes.
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
    bool steps_last = false;       // many processes block their thread
    bool are_tied = false;         // they call, watch and name each other
    bool is_crowded = false;    // players, spinners, and a flood of short ones
    bool has_stranger = false;  // a crowd and another owner (16)
    // A refusal that names the holder of a name comes later, when the disk has
    // all that it may rest on. So nobody submits under a name.
    bool has_store = false;
    // There is only one worker, and it has hardly more turns than there are
    // rounds. So the world can check that a process that continues runs after
    // the others.
    bool spins_are_counted = false;
    uint64_t most_actors = 64;
    uint64_t most_steps = 1000;  // afterwards every process ends soon
  };

  World(Schedule& schedule, const Limits& limits, uint64_t seed);

  Actor* NewActor(bool poisoned);
  // An actor that nobody of the others knows, and that waits for messages.
  Actor* NewStranger();
  // Its process has this PID.
  void Enter(Actor& actor, const runtime::Pid& pid);
  // Null: a client.
  Actor* ActorOf(uint64_t id);
  // The player that a player sends to if no other process has sent to it.
  Actor* PartnerOf(const Actor& player);
  static std::string NameOf(const Actor& actor);
  // A receiver, possibly an ended one; null: none is known.
  Actor* Pick(uint64_t random);
  [[nodiscard]] bool MayGrow() const {
    return actors_.size() < limits.most_actors && !stopping;
  }

  // A promise is broken. Does not return.
  [[noreturn]] void Broken(const Actor* actor, const std::string& what);
  void Check(bool holds, const Actor* actor, const char* what) {
    if (!holds) [[unlikely]]
      Broken(actor, what);
  }

  // (3)
  void CheckCompletion(const Actor& actor, const Outstanding& yield, Code code,
                       std::string_view bytes);
  // Checks the answer of a call from outside.
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
  // (14): the processes that no look-up may find from now on.
  absl::flat_hash_set<const Actor*> Gone() const;
  // (6): called when all threads wait, until `next_ns`.
  void CheckQuiet(uint64_t next_ns);
  // (7): called from time to time.
  void CheckWaiting();
  // (16): called when a step of the stranger begins.
  void CheckStranger(Actor& stranger);
  // (8): called when a step of `runs` begins.
  void CheckOrder(Actor& runs);
  // (9), (10): called when the runtime has shut down and no call is running.
  void CheckEnd(const runtime::RuntimeStats& stats);
  // Checks that each dead letter is kept, within the limits, or was forgotten.
  void CheckDeadLetters(const runtime::RuntimeStats& stats);

  Schedule& schedule;
  const Limits limits;
  runtime::Runtime::Core* core = nullptr;
  bool stopping = false;  // processes end as soon as they can
  bool shutdown_begun = false;
  bool shut_down = false;  // the shutdown has returned

  // Counters of the model.
  uint64_t steps = 0;
  uint64_t inits = 0;  // called
  uint64_t live = 0;
  uint64_t most_live = 0;
  uint64_t dones = 0;
  uint64_t submits = 0, submit_answers = 0, submits_refused = 0;
  uint64_t spawns = 0;  // in successful steps
  uint64_t awaits = 0, await_answers = 0;
  uint64_t sent = 0;      // sum of sent_to_it
  uint64_t received = 0;  // sum
  uint64_t yields = 0;    // in successful steps
  uint64_t completions = 0;
  uint64_t next_yield = 1;
  uint64_t calls = 0;                           // including those from outside
  uint64_t ties = 0;                            // sides of monitors and links
  std::map<uint64_t, const Actor*> open_calls;  // from outside
  std::map<std::string, Actor*> names;
  uint64_t longest_wait = 0;         // rounds
  uint64_t longest_bound = 0;        // the bound for that wait
  uint64_t longest_of_stranger = 0;  // rounds
  std::vector<Debt> debts;
  std::vector<std::unique_ptr<Actor>>& actors() { return actors_; }

  // (7): the bound for `ready` processes that are ready at once.
  static uint64_t BoundOf(uint64_t ready) { return 66 * ready + 3; }
  // (16): for two owners.
  static constexpr uint64_t kBoundOfStranger = 4 * 2 + 4;
  // The bound for a process that continues.
  static uint64_t BoundBehind(uint64_t ready) { return 244 * ready + 3; }
  // Counts a finished step of this actor, which ends its turn.
  void CountSpin(const Actor& actor);

 private:
  Habit DrawHabit(uint64_t id, runtime::Random& random) const;
  // True if a worker sleeps.
  bool IsAnyAsleep() const;
  // Due time of the first timer of all wheels; kNever: there is none.
  uint64_t FirstTimerNs() const;
  void CheckTimers(uint64_t next_ns);
  // True if the processes ready on this worker, behind a long step, were made
  // ready by timers, and no worker needs to have been woken for them yet.
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
  const Actor* spinner_ = nullptr;  // the spinner that is counted
  uint64_t spins_ = 0;              // rounds in which that one ran
  uint64_t last_spin_round_ = 0;
  uint64_t first_timer_ns_ = runtime::TimerWheel::kNever;
  uint64_t late_ns_ = 0;  // of that timer, while all threads waited
  // For each worker: its turns_since_due at the moment when it had been alone
  // for the maximum time with the processes that timers made ready; 0: not yet.
  std::map<size_t, uint32_t> alone_too_long_since_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<Actor*> known_;
};

// (1): lives as long as one call of the runtime into a process.
class CallScope {
 public:
  CallScope(Actor& actor, const char* name);
  ~CallScope() { actor_.busy = false; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  Actor& actor_;
};

// The input of the first life.
inline std::string InputOf(const Actor* actor) {
  const uint64_t life = 1;
  return std::string(reinterpret_cast<const char*>(&actor), sizeof(actor)) +
         std::string(reinterpret_cast<const char*>(&life), sizeof(life));
}
std::string BytesOf(const Note& note, size_t padding);

}  // namespace actord::sim
