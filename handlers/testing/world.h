// The inside of a harness: its processes, its clock, its commands.
//
// What happens is what docs/plugins.md says of the daemon; where that leaves a
// choice, the seed decides.
//
// Thread-safety: none. Ownership: owns everything but the plugin's tables.
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
#include <vector>

#include "handlers/testing/record.h"

namespace actord::testing {

class Harness::World {
 public:
  World(const actord_plugin_info& plugin, const HarnessOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // ---- Processes (world.cc, turn.cc).

  // Null: the plugin has none of this name.
  const actord_process_type* FindType(std::string_view name) const;
  static std::optional<uint32_t> FindMethod(const actord_process_type& type,
                                            std::string_view name);
  // Precondition for a process: IsRoom().
  Record& NewRecord(const Pid& parent);
  [[nodiscard]] bool IsRoom() const {
    return living.size() < options.max_processes;
  }
  // Null: there never was one.
  Record* Find(const Pid& pid);
  // A process from outside; its Init comes next. Breaks if the plugin has no
  // such type or method.
  Record& Start(std::string_view type, std::string_view method,
                const OwnedPayload& input);
  Record& LiveOrBreak(const Pid& pid);
  Record& ProbeOrBreak(const Pid& pid);
  // What a process that lives waits for, in words.
  std::string WaitOf(const Pid& pid);
  // Runs Init. False: it was refused, and the process has ended.
  bool Admit(Record& record);
  // As Harness::Upgrade (upgrade.cc).
  Status Upgrade(Record& record, const actord_process_type& to,
                 std::string_view from_version);
  // Into the mailbox, or to the dead letters. False: the latter.
  bool DeliverMessage(const Pid& to, OwnedEvent message);
  void End(Record& record, EndKind kind, Status status, OwnedPayload result);
  // One turn of a process that is ready, chosen by the seed. False: none is.
  bool RunOne();
  size_t Run();
  void Advance(uint64_t duration_ns);

  // ---- Commands (commands.cc).

  void Dispatch(Record& record, Effect yield);
  // An outstanding yield, with its timeout.
  actord_completion Open(Record& record, Effect& yield);
  // False: it had ended before.
  bool Complete(actord_completion completion, Code code, OwnedPayload payload);
  // The same for what a test holds.
  bool CompleteHeld(const HeldYield& yield, Code code, OwnedPayload payload);
  // At its time it completes the yield, unless that has ended: with an empty
  // result, or with DEADLINE_EXCEEDED.
  void AddTimer(actord_completion completion, uint64_t deadline_ns,
                bool is_result);
  void FireTimersAt(uint64_t now_ns);
  // Those of a process that has ended.
  void DropYields(Record& record);
  void SpawnFor(const Pid& parent, const actord_spawn& spawn,
                actord_completion completion);
  // Init has returned: ties the child to its parent and completes the command.
  void AnswerSpawn(Record& child);
  // A cancel, or kTerminate.
  Code Control(const Pid& to, uint32_t type, std::string_view reason);

  // ---- Processes among themselves (ties.cc).

  // A call of a process, or of the test (then `from` is a probe).
  void BeginCall(const Pid& from, actord_completion completion, Effect call);
  void Reply(actord_completion call, Code code, OwnedPayload payload);
  void Monitor(Record& record, Tag tag, const Pid& pid);
  void Link(Record& record, const Pid& pid);
  // No event by what these two take away stays in the mailbox.
  void Unlink(Record& record, const Pid& pid);
  static void Demonitor(Record& record, Tag tag);
  // Tells whoever is tied to a process that has ended.
  void TellTied(const Record& record);
  Pid HolderOf(std::string_view name) const;

  // ---- What both use.

  [[noreturn]] void Break(const std::string& what) const;
  // Into the trace.
  void Note(std::string line);
  [[nodiscard]] std::string Trace() const;
  static std::string FormatPid(const Pid& pid);
  static std::optional<Pid> ParsePid(std::string_view text);
  [[nodiscard]] bool Fits(const actord_payload& payload,
                          const actord_bytes& name) const;

  const actord_plugin_info& plugin;
  const HarnessOptions options;
  uint64_t now_ns;  // since the Unix epoch
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Record>> records;  // slot n is the n-th, from 1
  std::map<actord_completion, Outstanding> outstanding;  // oldest first
  std::map<std::string, Stubbed, std::less<>> stubs;
  std::set<std::string, std::less<>> held_commands;
  std::vector<LogLine> log;
  std::map<std::string, Pid, std::less<>> names;
  std::map<std::string, std::set<Pid>, std::less<>> groups;
  size_t late_replies = 0;
  size_t dead_letters = 0;
  // Those that have not ended, the reserved ones too; oldest first.
  std::map<uint32_t, Record*> living;  // by slot

  struct Host;
  static constexpr size_t kMaxNameBytes = 1024;
  static constexpr size_t kMaxEffects = 65536;

 private:
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

  static std::unique_ptr<std::byte, Freed> NewState(
      const actord_process_type& type);
  void CloseState(Record& record);
  // What it throws goes to the log.
  void CloseObject(const actord_process_type& type, void* state);
  void Turn(Record& record);
  // What waits to end the process ends it before another step, whatever else
  // waits. False: nothing does.
  bool EndBy(Record& record);
  void TakeUrgent(Record& record, size_t most, std::vector<OwnedEvent>& batch);
  void Step(Record& record, const std::vector<OwnedEvent>& batch);
  void Commit(Record& record, Effect effect);
  void Tell(Record& record, Tag tag, const Pid& ended, uint32_t reason,
            const Status& status, OwnedPayload result);
  void EndLinked(Record& record, const Pid& ended, detail::FirstFailure cause);
  size_t DrawBatch();

  std::unique_ptr<Host> host_;
  std::vector<Handler> handlers_;
  std::multimap<uint64_t, Timer> timers_;
  actord_completion next_completion_ = 1;
  std::deque<std::string> trace_;
};

}  // namespace actord::testing
