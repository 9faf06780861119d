// The knowledge of the world outside about the durable processes of a simulated
// daemon, over all of its lives. From this knowledge, the store and the diaries
// (diary.h) it checks these promises:
//  (1) acknowledged work is there after a crash;
//  (2) each request id, message and yield has at most one effect, and each
//      input is consumed at most once;
//  (3) everything that a client has seen is there afterwards, unchanged;
//  (4) a store holds one prefix of the order for all processes: no process has
//      a message that its sender has not sent, and none lacks a message that
//      its sender has sent;
//  (5) messages of one sender to one receiver arrive in order;
//  (6) each yield has one completion and each monitor one exit, over restarts;
//  (7) a task with one attempt is handed out once, ever;
//  (8) no timer is early, and each fires once;
//  (9) money is neither lost nor made;
//  (10) the journal, applied once more, makes the same state store;
//  (11) what a process has not taken before its end is a dead letter, once;
//  (12) an acknowledged cancel ends its process, over restarts. A process of a
//       type that does not handle cancels takes no step behind it, and once a
//       restart has found the cancel, the outcome of the process is the cancel;
//  (13) a process that was seen in a version of its type is never again in an
//       older one, and stays in an older one only if it has a reason;
//  (14) a process in quarantine takes no step before somebody asks for a new
//       try. It loses nothing, and goes on once its code is there;
//  (15) an answer to a task that waits is not called unknown, also if a worker
//       has held the task since an earlier life.
//
// Thread-safety: one thread (schedule.h). Ownership: borrows the schedule and
// the disk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process/outcome.h"
#include "runtime/process/pid.h"
#include "runtime/system/random.h"
#include "runtime/tasks/external_yield.h"
#include "runtime/tasks/remote_tasks.h"
#include "tests/sim/schedule.h"
#include "tests/sim/store/cut.h"
#include "tests/sim/store/diary.h"
#include "tests/support/simulated_disk.h"

namespace actord::sim {

class Outside {
 public:
  Outside(Schedule& schedule, runtime::SimulatedDisk& disk, uint64_t seed);
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

  // A promise is broken. Does not return.
  [[noreturn]] void Broken(const std::string& what) const;
  void Check(bool holds, const runtime::Pid& pid, const char* what) const {
    if (!holds) Broken(FormatPid(pid) + ": " + what);
  }

  // ---- The program -------------------------------------------------------

  // True: the program has ended here. What it does after that, nobody sees.
  [[nodiscard]] bool IsDead() const { return failed || disk.has_crashed(); }

  // ---- What the outside asks for -----------------------------------------

  // A Submit. One with an id is repeated, always with the same content.
  struct Submission {
    uint64_t number = 0;
    std::string id;  // "": none
    std::string name;
    bool is_replayed = false;
    runtime::Pid pid;  // of the acknowledgement; empty: none came
    uint64_t asked = 0;
  };
  Submission& NewSubmission();
  // A message or a call. One with an id is repeated.
  struct Sending {
    uint64_t client = 0;
    std::string id;
    bool is_call = false;
    runtime::Pid to;
    Errand errand;
    bool is_acknowledged = false;
  };
  // To somebody that is known. Null: nobody is.
  Sending* NewSending(uint64_t client);

  // ---- What the outside is told ------------------------------------------
  // Each does nothing if the program has ended before.

  void HearSubmitted(Submission& submission, const runtime::Pid& pid);
  void HearSent(Sending& sending);
  // Somebody was told of this process: by a name, or a refusal.
  void HearOf(const runtime::Pid& pid);
  void HearDiary(const runtime::Pid& pid, const std::string& bytes);
  void HearOutcome(const runtime::Pid& pid, const runtime::Outcome& outcome);
  void HearTold(const runtime::Pid& scribe, uint64_t number);
  void HearTerminated(const runtime::Pid& pid);
  // Somebody is about to ask for an end by a termination or a deadline.
  // Precondition of both: the process is known.
  void HearMayBeTerminated(const runtime::Pid& pid) {
    known.at(pid).may_be_terminated = true;
  }
  void HearCancelAsked(const runtime::Pid& pid) {
    known.at(pid).is_cancel_asked = true;
  }
  void HearCancelled(const runtime::Pid& pid);
  // A scribe begins a step; in a recovery of the replay type perhaps again.
  void HearStep(const runtime::Pid& pid, uint16_t version, bool is_replayed);
  // A call of the process was refused with PROCESS_QUARANTINED. `tries`:
  // TriesOf when it was called.
  void HearQuarantined(const runtime::Pid& pid, uint64_t tries);
  // Somebody is about to ask for a new try of a process in quarantine.
  void HearTry(const runtime::Pid& pid);
  // The new try has an answer.
  void HearTried(const runtime::Pid& pid);
  // The number of new tries so far; kIsTried: one has no answer yet, so the
  // process may leave the quarantine at any time. Precondition: the process is
  // known.
  static constexpr uint64_t kIsTried = UINT64_MAX;
  [[nodiscard]] uint64_t TriesOf(const runtime::Pid& pid) const {
    const Known& what = known.at(pid);
    return what.pending_tries != 0 ? kIsTried : what.tries;
  }
  // The diary of a process at the end of a life after which Init refuses. What
  // a crash has undone is replaced by what the process does instead.
  void HearLast(const runtime::Pid& pid, const Diary& diary) {
    last_[pid] = diary;
  }
  // A worker has the task. `is_once`: it has one attempt.
  void HearTask(const runtime::TaskToken& token, bool is_once);
  void HearCompleted(const runtime::YieldToken& yield, uint64_t value);
  // The daemon knows no such task.
  void HearUnknown(const runtime::YieldToken& yield);
  // A handler of a plugin was called.
  void HearEffect(const runtime::YieldToken& yield);

  // ---- Checks ------------------------------------------------------------

  // Checks the contents of a store, or the diaries of all.
  void CheckCut(const Cut& cut) const;
  // A store that was opened: what it has is there for good.
  void TakeStored(const Cut& cut);
  // Checks (13) when nothing is under way.
  void CheckVersions(const Cut& cut) const;
  // Nothing is under way: nothing waits in a mailbox, and every yield has
  // ended. Null: all of it holds; otherwise what does not.
  [[nodiscard]] std::optional<std::string> FindUnrest(const Cut& cut) const;

  // Somebody that is known; not set: nobody is.
  [[nodiscard]] std::optional<runtime::Pid> Pick();
  uint64_t Draw(uint64_t below) { return (random.Next() >> 16) % below; }

  Schedule& schedule;
  runtime::SimulatedDisk& disk;
  runtime::Random random;
  // The store has told that the disk has failed.
  bool failed = false;
  runtime::Pid witness;
  // The newest file of the scribes' plugin. A life begins with it.
  uint16_t newest = 1;
  // The version that is in force in this life; 0: it is not known.
  uint16_t in_force = 0;
  // In this life something has put processes into quarantine.
  bool has_trouble = false;
  // Restore of the scribes fails, whatever the state is.
  bool refuses_restores = false;
  uint64_t cancels = 0;      // acknowledged
  uint64_t quarantined = 0;  // calls that were refused by a quarantine
  // To be called before each life.
  void BeginLife();

  struct Known {
    bool is_terminated = false;
    bool may_be_terminated = false;
    bool is_cancel_asked = false;
    bool is_cancelled = false;  // acknowledged
    // A restart has found the cancel, and the type does not handle cancels.
    bool ends_cancelled = false;
    // The steps that it may still take behind its cancel.
    uint32_t steps_left = 0;
    bool is_quarantined = false;  // for certain
    uint64_t tries = 0;           // to bring it back from a quarantine
    uint64_t pending_tries = 0;   // without an answer
    uint16_t version = 0;         // the newest that was seen outside
    // The longest diary that was seen.
    std::vector<Entry> seen;
    std::optional<runtime::Outcome> outcome;
    std::set<uint64_t> told;  // numbers of what the witness has heard
  };
  std::map<runtime::Pid, Known> known;
  struct Task {
    std::set<uint32_t> attempts;
    uint64_t effects = 0;
    std::set<uint64_t> answers;  // values that somebody has answered with
    std::optional<uint64_t> acknowledged;
    bool is_unknown = false;
  };
  std::map<std::pair<runtime::Pid, uint64_t>, Task> tasks;
  // The tasks that the worker has, until it answers. It outlives the daemon.
  std::vector<runtime::TaskAttempt> held;
  std::vector<std::unique_ptr<Submission>> submissions;
  std::vector<std::unique_ptr<Sending>> sendings;

 private:
  // cut_checks.cc
  void CheckProcess(const Cut& cut, const runtime::Pid& pid,
                    const Cut::Process& process) const;
  void CheckMessages(const Cut& cut, const runtime::Pid& to,
                     const Cut::Process& process) const;
  void CheckFromClients(const runtime::Pid& to,
                        const Cut::Process& process) const;
  void CheckSent(const Cut& cut, const runtime::Pid& from,
                 const Diary& diary) const;
  void CheckYields(const Cut& cut, const runtime::Pid& pid,
                   const Cut::Process& process) const;
  void CheckExits(const Cut& cut, const runtime::Pid& pid,
                  const Diary& diary) const;
  void CheckKnown(const Cut& cut, const runtime::Pid& pid,
                  const Known& what) const;
  void CheckSubmissions(const Cut& cut) const;
  // Of the messages to a process that has ended.
  void CheckLetters(const Cut& cut, const runtime::Pid& to,
                    const Cut::Process& process) const;

  std::map<std::pair<uint64_t, runtime::Pid>, uint64_t> next_numbers_;
  std::vector<runtime::Pid> order_;  // of `known`, as they came
  std::map<runtime::Pid, Diary> last_;
};

}  // namespace actord::sim
