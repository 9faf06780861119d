// Process types whose steps do all that a step may do, as their own random bits
// and what they are told decide: so a record of their steps is enough to repeat
// them.
//
// Thread-safety: as of every process.
#pragma once

#include <actord/coroutine.h>
#include <actord/plugin.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actord::replay {

class Life : public Process {
 public:
  static constexpr const char* kName = "life";
  static constexpr Method kMethods[] = {{"run", nullptr}, {"other", nullptr}};

  // The input: for how many generations it has children.
  Status Init(std::string_view method, const Payload& input);
  void Step(Events events, StepOutput& out);

 private:
  void See(const Event& event);
  void Act(StepOutput& out);
  void ActOnOthers(uint64_t kind, StepOutput& out);
  void SpawnOne(StepOutput& out);
  void YieldOne(StepOutput& out);
  void Decide(StepOutput& out);
  // Changes with all that it has seen.
  std::string Mark() const { return std::to_string(mark_); }
  void Mix(uint64_t seen) { mark_ = (mark_ ^ seen) * 0x9e3779b97f4a7c15u; }
  void Mix(std::string_view seen) {
    for (const char c : seen) Mix(static_cast<unsigned char>(c));
  }
  Pid Somebody(StepOutput& out) const;

  uint64_t generations_ = 0;
  uint64_t steps_ = 0;
  uint64_t mark_ = 1;
  bool cancelled_ = false;
  std::vector<Pid> others_;
  std::vector<CallId> calls_;
  std::vector<Tag> outstanding_;
  std::vector<Tag> monitors_;
};

class CancellableLife : public Life {
 public:
  static constexpr const char* kName = "life.cancellable";
  static constexpr bool kHandlesCancel = true;
};

class TrappingLife : public Life {
 public:
  static constexpr const char* kName = "life.trapping";
  static constexpr bool kHandlesCancel = true;
  static constexpr bool kTrapsExits = true;
};

// Sleeps, runs commands and waits for messages.
class CoroutineLife : public CoroutineProcess {
 public:
  static constexpr const char* kName = "life.coroutine";
  static constexpr Method kMethods[] = {{"run", nullptr}, {"other", nullptr}};

  Task<OwnedPayload> Main(Context& ctx);
};

inline constexpr const actord_process_type* kLifeTypes[] = {
    &kProcessType<Life>, &kProcessType<CancellableLife>,
    &kProcessType<TrappingLife>, &kProcessType<CoroutineLife>};

}  // namespace actord::replay
