// A client of the runtime on a thread of its own. It makes calls from outside
// in an order drawn from the seed, and checks the answers.
//
// Thread-safety: as World. Ownership: borrows everything.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/runtime.h"
#include "tests/sim/world.h"

namespace actord::sim {

class Client {
 public:
  Client(World& world, runtime::Runtime& runtime, uint64_t number,
         uint64_t seed);

  // Performs `acts` actions, with pauses.
  void Run(uint64_t acts);
  // (16) of world.h: submits the stranger and sends to it, one message at a
  // time, for as long as the world goes on, and at most `notes`.
  void RunStranger(uint64_t notes);

 private:
  // An external yield that this client has answered.
  struct Answered {
    runtime::YieldToken token;
    runtime::CompleteAnswer answer;
    runtime::YieldResult result;
  };

  void Act();
  void Submit();
  void Submit(Actor* actor, runtime::Owner owner);
  void Send();
  // False: refused.
  bool SendTo(Actor& to);
  void Control();
  void Await();
  void Look();
  void Call();
  void LookUp();
  void PayDebt();
  void AnswerExternal();
  void AnswerAgain();
  void AnswerNonsense();
  void Pause();
  uint64_t Draw(uint64_t below) { return random_.Next() % below; }

  World& world_;
  runtime::Runtime& runtime_;
  const uint64_t number_;
  runtime::Random random_;
  absl::flat_hash_map<uint64_t, uint64_t> next_to_;
  std::vector<Answered> answered_;
  std::vector<runtime::Runtime::CallId> calls_;  // some may have ended
  // Numbers of those calls.
  absl::flat_hash_map<runtime::Runtime::CallId, uint64_t> numbers_;
};

}  // namespace actord::sim
