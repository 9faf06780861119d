// Processes that do what a script says, and note what they are given.
//
// A puppet gets its name as its input, and may get more: `NAME refuse TEXT` and
// `NAME throw TEXT` are for its Init, `NAME do ACTIONS` for its first step. A
// message of the topic "do" has actions as its payload, of one step, separated
// by
// ";". Perform in puppet.cc lists them.
//
// Thread-safety: as Stage.
#pragma once

#include <actord/plugin.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace actord::conformance {

// The state and the actions of a puppet of any type.
class Puppet : public Process {
 public:
  static constexpr Method kMethods[] = {{"run", nullptr}, {"other", nullptr}};

  Status Init(std::string_view method, const Payload& input);
  void Step(Events events, StepOutput& out);
  void Close();

  // For puppets that can be upgraded.
  [[nodiscard]] SnapshotResult Write() const;
  Status Read(std::string_view method, const RestoreFrom& from,
              RestoreContext& context);

 private:
  void Note(std::string_view what) const;
  void See(const Event& event);
  void Perform(std::string_view actions, StepOutput& out);
  void Act(std::string_view action, StepOutput& out);
  void Reply(std::string_view rest, StepOutput& out);
  void Spawn(std::string_view rest, StepOutput& out);
  void Tie(std::string_view verb, std::string_view rest, StepOutput& out);
  bool End(std::string_view verb, std::string_view rest, StepOutput& out);
  // The label of a tag; a tag that has none is "?".
  [[nodiscard]] std::string LabelOf(Tag tag) const;
  // Begins again, if an action asked for it. `unseen`: the rest of the step.
  bool BeginsAgain(const Events& unseen, StepOutput& out);

  std::string name_;
  std::string then_;                 // what comes after a `continue`
  std::map<std::string, Tag> tags_;  // of yields, calls and monitors
  std::set<std::string> adopted_;    // labels that the next version takes over
  std::string refuses_upgrade_;      // why Snapshot says no
  // How it begins again: the method and the input.
  std::optional<std::pair<std::string, std::string>> again_;
};

template <int V>
class Version : public Puppet {
 public:
  static constexpr const char* kName = "puppet";

  [[nodiscard]] SnapshotResult Snapshot() const { return Write(); }
  Status Restore(std::string_view method, const RestoreFrom& from,
                 RestoreContext& context) {
    if (V == 3) return {Code::kDataLoss, "version 3 reads nothing"};
    return Read(method, from, context);
  }
};

class CancelledPuppet : public Puppet {
 public:
  static constexpr const char* kName = "asked";
  static constexpr bool kHandlesCancel = true;
};

class TrappingPuppet : public Puppet {
 public:
  static constexpr const char* kName = "watcher";
  static constexpr bool kTrapsExits = true;
};

// Answers calls in the step that gets them.
class AnsweringPuppet : public Process {
 public:
  static constexpr const char* kName = "answering";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "ask") {
        out.Reply(event.call(), event.payload());
      } else if (event.topic() == "refuse") {
        out.ReplyError(event.call(), Code::kOutOfRange, event.payload().bytes);
      } else {
        out.Done();
      }
    }
  }
};

// Spawns a process. Unlike process.spawn it checks nothing itself, so it shows
// what the runtime refuses. The payload is TYPE[.METHOD] OPTION... INPUT, where
// an option is `+priority=N`, `+name=NAME` or `+letters=N`, which adds a
// space and N letters to the input.
class UncheckedSpawn : public Handler {
 public:
  static constexpr const char* kCommand = "puppet.spawn";
  void Handle(const Command& command, Completion done);
};

inline constexpr actord_plugin_info kPuppets = MakePlugin<
    ProcessTypes<Version<1>, CancelledPuppet, TrappingPuppet, AnsweringPuppet>,
    Handlers<UncheckedSpawn>>("puppets", "1");

// The limits in scripts.
inline constexpr size_t kMaxPayloadBytes = 4096;
inline constexpr size_t kMaxProcesses = 8;

}  // namespace actord::conformance
