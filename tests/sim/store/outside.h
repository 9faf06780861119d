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
//  (11) what a process has not taken before its end is a dead letter, once.
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
  // A message, or a call with a message id. One with an id is repeated.
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
  // The diary of a process at the end of a life after which Init refuses. What
  // a crash has undone is replaced by what the process does instead.
  void HearLast(const runtime::Pid& pid, const Diary& diary) {
    last_[pid] = diary;
  }
  // A worker has the task. `is_once`: it has one attempt.
  void HearTask(const runtime::TaskToken& token, bool is_once);
  void HearCompleted(const runtime::YieldToken& yield, uint64_t value);
  // A handler of a plugin was called.
  void HearEffect(const runtime::YieldToken& yield);

  // ---- Checks ------------------------------------------------------------

  // Checks the contents of a store.
  void CheckCut(const Cut& cut) const;
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

  struct Known {
    bool is_terminated = false;
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
  };
  std::map<std::pair<runtime::Pid, uint64_t>, Task> tasks;
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
