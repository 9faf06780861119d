#include "tests/runtime/stress_world.h"

#include <cstring>

namespace actord::runtime::stress {

// The time between entry and exit of one call: promise (1).
class StressProcess::Call {
 public:
  Call(Actor& actor, const char* name) : actor_(actor) {
    if (actor.busy.exchange(true)) {
      actor.world->Broken(std::string(name) + " beside another call");
    }
    if (actor.closes != 0) {
      actor.world->Broken(std::string(name) + " after Close");
    }
  }
  ~Call() { actor_.busy.store(false); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Actor& actor_;
};

Status StressProcess::Init(std::string_view, const actord::Payload& input) {
  std::memcpy(&actor_, input.bytes.data(), sizeof(actor_));
  const Call call(*actor_, "Init");
  if (actor_->inits.fetch_add(1) != 0) actor_->world->Broken("Init twice");
  if (actor_->must_not_start) {
    actor_->world->Broken("a step that failed has started a process");
  }
  if (actor_->refuses_init) return {Code::kInvalidArgument, "not this one"};
  actor_->world->live.fetch_add(1);
  return {};
}

void StressProcess::Close() {
  const Call call(*actor_, "Close");
  actor_->closes.fetch_add(1);
  actor_->next_from.clear();
  actor_->next_to.clear();
  actor_->outstanding.clear();
  actor_->world->live.fetch_sub(1);
}

void StressProcess::Step(Events events, StepOutput& out) {
  const Call call(*actor_, "Step");
  if (actor_->inits != 1) actor_->world->Broken("Step without Init");
  if (actor_->blocked) {
    if (events.empty()) actor_->world->Broken("a blocked process ran");
    for (const Event event : events) {
      if (event.is_message()) {
        actor_->world->Broken("a blocked process got a message");
      }
    }
    actor_->blocked = false;
  }
  for (const Event event : events) See(event);
  // A cancelled one gets no second cancel from the shutdown: it ends by itself.
  if (actor_->world->stopping || actor_->cancelled) {
    if (actor_->outstanding.empty()) out.Done();
    return;
  }
  if (actor_->random.Next() % 64 == 0) {
    ActAndFail(out);
    return;
  }
  Act(out);
  Decide(out);
}

void StressProcess::See(const Event& event) {
  World& world = *actor_->world;
  if (event.is_message()) {
    Note note;
    std::memcpy(&note, event.payload().bytes.data(), sizeof(note));
    if (note.number == kPoison) {
      world.Broken("a step that failed has sent a message");
    } else if (note.number != actor_->next_from[note.from]++) {
      world.Broken("message " + std::to_string(note.number) + " of sender " +
                   std::to_string(note.from) + " came as number " +
                   std::to_string(actor_->next_from[note.from] - 1));
    }
    world.received.fetch_add(1);
  } else if (event.is_completion()) {
    if (actor_->outstanding.erase(event.tag()) != 1) {
      world.Broken("a completion without its yield");
    }
    world.completed.fetch_add(1);
  } else if (event.is_cancel()) {
    if (std::exchange(actor_->cancelled, true)) world.Broken("a second cancel");
  }
}

void StressProcess::Act(StepOutput& out) {
  World& world = *actor_->world;
  for (uint64_t left = actor_->random.Next() % 4; left > 0; --left) {
    const uint64_t kind = actor_->random.Next() % 10;
    if (kind < 5) {
      SendTo(world.Pick(actor_->random.Next()), out, false);
    } else if (kind < 8) {
      if (actor_->outstanding.size() < 8) YieldOne(out, false);
    } else if (kind == 8) {
      SendTo({FromAbi(out.self()), actor_->id}, out, false);
    } else if (world.live.load() < 500) {
      SpawnOne(out, false);
    }
  }
}

void StressProcess::ActAndFail(StepOutput& out) {
  SendTo(actor_->world->Pick(actor_->random.Next()), out, true);
  SpawnOne(out, true);
  YieldOne(out, true);
  switch (actor_->random.Next() % 3) {
    case 0:
      throw std::runtime_error("by intention");
    case 1:
      out.Fail(Code::kAborted, "by intention");
      return;
    default:
      // A step must not be larger than the limit allows.
      out.Send(out.self(), "huge", std::string((1 << 20) + 1, 'x'));
  }
}

void StressProcess::SendTo(const World::Entry& to, StepOutput& out,
                           bool poison) {
  if (to.pid.empty()) return;
  const Note note{actor_->id, poison ? kPoison : actor_->next_to[to.id]++};
  const size_t padding = actor_->random.Next() % 16 == 0 ? 2000 : 0;
  out.Send(ToAbi(to.pid), "note", BytesOf(note, padding));
}

void StressProcess::SpawnOne(StepOutput& out, bool poison) {
  Actor* child = actor_->world->NewActor();
  child->must_not_start = poison;
  const actord::Pid pid =
      out.Spawn(child->id % 2 == 0 ? "stress" : "stress.cancellable", "run",
                InputOf(child));
  if (poison || pid.empty()) return;
  actor_->world->Enter(FromAbi(pid), child->id);
  SendTo({FromAbi(pid), child->id}, out, false);
}

void StressProcess::YieldOne(StepOutput& out, bool poison) {
  constexpr const char* kCommands[] = {"sleep",    "inline", "pooled",
                                       "deferred", "ext.e",  "unknown"};
  const uint64_t r = actor_->random.Next();
  const char* command = kCommands[r % std::size(kCommands)];
  YieldOptions options;
  // Some time out on their own while others answer them.
  if (r / 8 % 2 == 0 || std::string_view(command) == "ext.e") {
    options.timeout = std::chrono::microseconds(1 + r / 16 % 5000);
  }
  const Tag tag =
      out.Yield(command, std::to_string(r / 64 % 2'000'000), options);
  if (!poison && !actor_->outstanding.insert(tag).second) {
    actor_->world->Broken("a tag came twice");
  }
}

void StressProcess::Decide(StepOutput& out) {
  const uint64_t r = actor_->random.Next() % 100;
  if (r < 40 && !actor_->outstanding.empty()) {
    actor_->blocked = true;
    out.Block();
  } else if (r < 50) {
    out.Continue();
  } else if (r < 53) {
    out.Done("bye");
  }
}

}  // namespace actord::runtime::stress
