// The process types of the simulator's worlds. Their actions are drawn from the
// seed, and their observations are checked (world.h).
//
// Thread-safety: as for every process. Ownership: borrows its Actor, whose
// address is its input.
#pragma once

#include <actord/plugin.h>

#include "tests/sim/world.h"

namespace actord::sim {

class SimProcess : public Process {
 public:
  static constexpr const char* kName = "sim";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  Status Init(std::string_view, const actord::Payload& input);
  void Step(Events events, StepOutput& out);
  void Close();

 private:
  void See(const Event& event, StepOutput& out);
  void SeeMessage(const Event& event, StepOutput& out);
  void SeeCompletion(const Event& event);
  // In process_ties.cc.
  void Tie(StepOutput& out);
  void CallOne(Actor* to, StepOutput& out, bool poison);
  void ReplyOne(StepOutput& out);
  void MonitorOne(Actor* other, StepOutput& out, bool poison);
  void DemonitorOne(StepOutput& out);
  void LinkOne(Actor* other, StepOutput& out, bool poison);
  void NoteLink(Actor& other);
  void UnlinkOne(StepOutput& out);
  void GiveUpOne(StepOutput& out);
  void TieAndFail(StepOutput& out);
  // (15): how many of the events the last step of a life sees; more than there
  // are: the life goes on.
  size_t DrawLast(const Events& events);
  void BeginAgain(const Events& unseen, StepOutput& out);
  void Act(StepOutput& out);
  void Flood(StepOutput& out);
  void Decide(StepOutput& out);
  void ActAndFail(StepOutput& out);
  void SendTo(Actor* to, StepOutput& out, bool poison);
  void SpawnOne(StepOutput& out, bool poison);
  void YieldOne(std::string_view command, StepOutput& out, bool poison);
  void YieldAny(StepOutput& out, bool poison);
  void Done(StepOutput& out);
  uint64_t Draw(uint64_t below) { return actor_->random.Next() % below; }

  Actor* actor_ = nullptr;
  uint64_t life_ = 1;
  // True: this step will fail.
  bool fails_ = false;
};

class CancellableSimProcess : public SimProcess {
 public:
  static constexpr const char* kName = "sim.cancellable";
  static constexpr bool kHandlesCancel = true;
};

class BlockingSimProcess : public SimProcess {
 public:
  static constexpr const char* kName = "sim.blocking";
  static constexpr bool kHandlesCancel = true;
  static constexpr bool kBlocksThread = true;
};

class TrappingSimProcess : public SimProcess {
 public:
  static constexpr const char* kName = "sim.trapping";
  static constexpr bool kHandlesCancel = true;
  static constexpr bool kTrapsExits = true;
};

// The process type of an actor.
const char* TypeOf(const Actor& actor);
bool TrapsExits(const Actor& actor);

}  // namespace actord::sim
