// The implementation of a harness: its processes, its clock, its commands.
//
// The harness behaves as docs/plugins.md describes the daemon. Where the
// description leaves a choice, the seed decides.
//
// Thread-safety: none. Ownership: owns everything except the plugin's tables.
#pragma once

#include <actord/abi.h>
#include <actord/testing.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handlers/testing/record.h"

namespace actord::testing {

struct StepCall;

class Harness::World {
 public:
  World(const actord_plugin_info& plugin, const HarnessOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Processes (world.cc, turn.cc).

  // Null: the plugin has no type of this name.
  const actord_process_type* FindType(std::string_view name) const;
  // Precondition, unless the record is a probe: IsRoom().
  Record& NewRecord(const Pid& parent);
  [[nodiscard]] bool IsRoom() const {
    return living.size() < options.max_processes;
  }
  // Null: there never was such a process.
  Record* Find(const Pid& pid);
  // Creates a process submitted from outside; its Init is next. Breaks if the
  // plugin has no such type or method.
  Record& Start(std::string_view type, std::string_view method,
                const OwnedPayload& input);
  Record& LiveOrBreak(const Pid& pid);
  Record& ProbeOrBreak(const Pid& pid);
  // Describes what a live process waits for.
  std::string WaitOf(const Pid& pid);
  // Runs Init. False: Init refused, and the process has ended.
  bool Admit(Record& record);
  // Implements Harness::Upgrade (upgrade.cc).
  // Forgets the yields that an upgrade has not adopted.
  void ForgetOtherYields(Record& record, const std::set<Tag>& adopted);
  Status Upgrade(Record& record, const actord_process_type& to,
                 std::string_view from_version);
  // Puts the message into the mailbox, or counts it as a dead letter. False:
  // the message is a dead letter.
  bool DeliverMessage(const Pid& to, OwnedEvent message);
  void End(Record& record, EndKind kind, Status status, OwnedPayload result);
  // Runs one turn of a ready process, chosen by the seed. False: no process is
  // ready.
  bool RunOne();
  size_t Run();
  void Advance(uint64_t duration_ns);

  // Commands (commands.cc).

  void Dispatch(Record& record, Effect yield);
  // Creates an outstanding yield with its timeout.
  actord_completion Open(Record& record, Effect& yield);
  // False: the yield had already ended.
  bool Complete(actord_completion completion, Code code, OwnedPayload payload);
  // Completes a yield that is held for the test. False: the yield had already
  // ended.
  bool CompleteHeld(const HeldYield& yield, Code code, OwnedPayload payload);
  // Adds a timer that completes the yield, unless the yield has ended by then.
  // The timer completes it with an empty result if `is_result`, and otherwise
  // with DEADLINE_EXCEEDED.
  void AddTimer(actord_completion completion, uint64_t deadline_ns,
                bool is_result);
  void FireTimersAt(uint64_t now_ns);
  // Drops the yields of a process that has ended.
  void DropYields(Record& record);
  void SpawnFor(const Pid& parent, const actord_spawn& spawn,
                actord_completion completion);
  // Called after Init has returned. Ties the child to its parent and completes
  // the command.
  void AnswerSpawn(Record& child);
  // Sends an urgent event. `type`: a cancel, or kTerminate.
  Code Control(const Pid& to, uint32_t type, std::string_view reason);

  // Relations between processes (ties.cc).

  // Starts a call from a process, or from the test (`from` is then a probe).
  void BeginCall(const Pid& from, actord_completion completion, Effect call);
  void Reply(actord_completion call, Code code, OwnedPayload payload);
  void Monitor(Record& record, Tag tag, const Pid& pid);
  void Link(Record& record, const Pid& pid);
  // Unlink and Demonitor also remove the events of the removed tie from the
  // mailbox.
  void Unlink(Record& record, const Pid& pid);
  static void Demonitor(Record& record, Tag tag);
  // Tells every process that is tied to a process that has ended.
  void TellTied(const Record& record);
  Pid HolderOf(std::string_view name) const;

  // Checks of durable types (durable.cc).

  // From now on, every process of a durable type crashes after Init and after
  // each step.
  void CrashEverywhere(const CrashOptions& how) { crashes = how; }
  // Called when a state has begun, by Init, or by Restore after an upgrade.
  // With a status: the state cannot be durable.
  std::optional<Status> Begun(Record& record, Beginning beginning);

  // Shared by the parts above.

  [[noreturn]] void Break(const std::string& what) const;
  // Adds a line to the trace.
  void Note(std::string line);
  [[nodiscard]] std::string Trace() const;
  static std::string FormatPid(const Pid& pid);
  static std::optional<Pid> ParsePid(std::string_view text);
  [[nodiscard]] bool Fits(const actord_payload& payload,
                          const actord_bytes& name) const;

  const actord_plugin_info& plugin;
  const HarnessOptions options;
  // The time since the Unix epoch.
  uint64_t now_ns;
  std::mt19937_64 random;
  // Slot n is the n-th record, from 1.
  std::vector<std::unique_ptr<Record>> records;
  // The outstanding yields, oldest first.
  std::map<actord_completion, Outstanding> outstanding;
  std::map<std::string, Stubbed, std::less<>> stubs;
  std::set<std::string, std::less<>> held_commands;
  std::vector<LogLine> log;
  std::map<std::string, Pid, std::less<>> names;
  std::map<std::string, std::set<Pid>, std::less<>> groups;
  // The publications that the test has not taken yet, oldest first.
  std::deque<Published> published;
  size_t late_replies = 0;
  size_t dead_letters = 0;
  // Processes that have not ended, including reserved ones, by slot; oldest
  // first.
  std::map<uint32_t, Record*> living;
  // Set by CrashEverywhere.
  std::optional<CrashOptions> crashes;

  struct Host;

 private:
  // The image of a state; nullopt: none was taken.
  using Image = std::optional<OwnedPayload>;
  struct Call;
  struct Handler {
    const actord_command_handler* descriptor = nullptr;
    void* self = nullptr;
  };
  struct Timer {
    actord_completion completion = 0;
    bool is_result = false;
  };
  static constexpr size_t kMaxBatch = 64;
  static constexpr size_t kTraceLines = 60;

  void AddHandler(const actord_command_handler& descriptor);
  const Handler* FindHandler(std::string_view command) const;
  void Carry(const Handler& handler, actord_completion completion);
  static const actord_call_api& CallApi();
  // Why a command may not start this process. Checks in the order in which the
  // daemon checks, so that of several errors both report the same.
  // `type`: null if there is none.
  [[nodiscard]] Status CheckSpawn(const actord_spawn& spawn,
                                  const actord_process_type* type,
                                  uint32_t method) const;

  static StateMemory NewState(const actord_process_type& type);
  void CloseState(Record& record);
  // Logs an exception from Close.
  void CloseObject(const actord_process_type& type, void* state);
  void Turn(Record& record);
  // If an urgent event ends the process, ends it before another step,
  // regardless of other events. False: there is no such event.
  bool EndBy(Record& record);
  void TakeUrgent(Record& record, size_t most, std::vector<OwnedEvent>& batch);
  void Step(Record& record, std::vector<OwnedEvent> batch);
  // Applies a step that has not failed. `image`: the image of the process, if
  // it goes on.
  void ApplyStep(Record& record, StepCall& call, int32_t verdict, Image image);
  // The process begins again, and its Init is next.
  void StartNextLife(Record& record, NextLife next);
  void Commit(Record& record, Effect effect);
  void Tell(Record& record, Tag tag, const Pid& ended, uint32_t reason,
            const Status& status, OwnedPayload result);
  void EndLinked(Record& record, const Pid& ended, detail::FirstFailure cause);
  size_t DrawBatch();

  // True if each step of the process is run again in a second state.
  [[nodiscard]] bool IsChecked(const Record& record) const;
  // Runs the step again; for replay types also the steps before it. Breaks if a
  // step differs from its first run.
  void CheckAgain(Record& record, StepLog done);
  void ReplayAgain(Record& record, StepLog done);
  // Makes a state that begins as the process began.
  StateMemory BeginAgain(Record& record, const Beginning& beginning);
  StepEnd StepAgain(Record& record, const StepLog& done, void* state);
  // Takes the image of an image type whose processes crash. Returns the reason
  // if there is none.
  std::optional<Status> TakeImage(Record& record, Image& image);
  StateMemory RestoreImage(Record& record, const OwnedPayload& image);
  // Replaces the state of a process that crashes. `image`: used for an image
  // type.
  void Crash(Record& record, Image image);
  // Closes the state in which steps were run again.
  void CloseShadow(Record& record);

  // States that were lost in a crash. The destructor closes them, so that a
  // test finds no leak.
  std::vector<std::pair<const actord_process_type*, StateMemory>> lost_states_;
  std::unique_ptr<Host> host_;
  std::vector<Handler> handlers_;
  std::multimap<uint64_t, Timer> timers_;
  actord_completion next_completion_ = 1;
  std::deque<std::string> trace_;
};

}  // namespace actord::testing
