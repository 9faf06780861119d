#include "tests/sim/process.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace actord::sim {

using runtime::FromAbi;
using runtime::ToAbi;

bool TrapsExits(const Actor& actor) {
  return actor.world->limits.are_tied && actor.id % 5 == 0 &&
         actor.habit != Habit::kBlocker;
}

const char* TypeOf(const Actor& actor) {
  if (actor.habit == Habit::kBlocker && actor.id % 2 == 0) {
    return BlockingSimProcess::kName;
  }
  if (TrapsExits(actor)) return TrappingSimProcess::kName;
  return actor.id % 3 == 0 ? SimProcess::kName : CancellableSimProcess::kName;
}

Status SimProcess::Init(std::string_view, const actord::Payload& input) {
  std::memcpy(&actor_, input.bytes.data(), sizeof(actor_));
  World& world = *actor_->world;
  const CallScope call(*actor_, "Init");
  std::memcpy(&life_, input.bytes.data() + sizeof(actor_), sizeof(life_));
  world.Check(life_ == actor_->lives, actor_, "Init with a former input");
  world.Check(actor_->inits++ == actor_->closes, actor_, "Init before Close");
  if (std::exchange(actor_->begins_again, false)) {
    runtime::FailPoint();
    return {};
  }
  world.Check(actor_->inits == 1, actor_, "Init twice");
  world.Check(!actor_->poisoned, actor_,
              "a step that failed has started a process");
  ++world.inits;
  actor_->is_submitted = false;
  runtime::FailPoint();
  if (actor_->init_fails) {
    if (actor_->id % 2 == 0) throw std::runtime_error("by intention");
    return {Code::kInvalidArgument, "by intention"};
  }
  actor_->live = true;
  ++world.live;
  world.most_live = std::max(world.most_live, world.live);
  return {};
}

void SimProcess::Close() {
  World& world = *actor_->world;
  {
    const CallScope call(*actor_, "Close");
    world.Check(actor_->live, actor_, "Close without Init");
    runtime::FailPoint();
    ++actor_->closes;
    if (actor_->begins_again) return;
    world.CheckWhyEnded(*actor_);
    actor_->live = false;
    --world.live;
  }
  if (actor_->close_throws) throw std::runtime_error("by intention");
}

void SimProcess::Step(Events events, StepOutput& out) {
  World& world = *actor_->world;
  const CallScope call(*actor_, "Step");
  world.Check(actor_->live, actor_, "Step without Init");
  world.Check(!actor_->done, actor_, "Step after Done");
  world.Check(life_ == actor_->lives && !actor_->begins_again, actor_,
              "its state is that of a former life");
  ++actor_->steps;
  ++world.steps;
  world.CheckOrder(*actor_);
  if (actor_->is_stranger) world.CheckStranger(*actor_);
  if (world.steps >= world.limits.most_steps) world.stopping = true;
  if (actor_->blocked) {
    world.Check(!events.empty(), actor_, "a blocked process ran");
    for (const Event event : events) {
      world.Check(!event.is_message(), actor_,
                  "a blocked process got a message");
    }
    actor_->blocked = false;
  }
  const bool ends = world.stopping || actor_->cancelled ||
                    actor_->steps >= actor_->steps_left;
  fails_ = !ends && !world.limits.is_crowded && Draw(64) == 0;
  if (!world.limits.is_crowded &&
      Draw(world.limits.steps_last || actor_->habit == Habit::kBlocker
               ? 4
               : 64) == 0) {
    world.schedule.SleepFor(Draw(30'000'000), /*busy=*/true);
  }
  runtime::FailPoint();
  const size_t last = fails_ || ends ? events.size() + 1 : DrawLast(events);
  for (size_t i = 0; i < std::min(last, events.size()); ++i) {
    See(events[i], out);
  }
  if (last <= events.size()) {
    BeginAgain(events.From(last), out);
  } else if (fails_) {
    ActAndFail(out);
  } else if (ends || actor_->cancelled) {
    Done(out);
  } else {
    Act(out);
    Decide(out);
  }
  if (world.schedule.traces()) {
    world.schedule.Trace("%s: %zu events, verdict %d%s",
                         World::NameOf(*actor_).c_str(), events.size(),
                         out.verdict(), actor_->done ? ", done" : "");
  }
  world.CountSpin(*actor_);
  if (world.steps % 8 == 0) world.CheckWaiting();
  world.schedule.Boundary();
}

size_t SimProcess::DrawLast(const Events& events) {
  const size_t never = events.size() + 1;
  // Its yields would be cancelled, and calls that it has not answered fail.
  if (!actor_->outstanding.empty() || !actor_->calls.empty() ||
      actor_->is_stranger || actor_->cancelled || Draw(16) != 0) {
    return never;
  }
  const size_t last = Draw(events.size() + 1);
  for (size_t i = 0; i < events.size(); ++i) {
    const Event event = events[i];
    // It would end as cancelled.
    if (event.is_cancel()) return never;
    // Its answer.
    if (i < last && event.call() != 0) return never;
  }
  return last;
}

void SimProcess::BeginAgain(const Events& unseen, StepOutput& out) {
  actor_->begins_again = true;
  std::string input = InputOf(actor_);
  const uint64_t life = ++actor_->lives;
  std::memcpy(input.data() + sizeof(actor_), &life, sizeof(life));
  out.ContinueAs(input, "", unseen);
}

void SimProcess::See(const Event& event, StepOutput& out) {
  if (event.is_message()) {
    SeeMessage(event, out);
  } else if (event.is_completion()) {
    SeeCompletion(event);
  } else if (event.is_exit()) {
    actor_->world->CheckExit(*actor_, event);
  } else if (event.is_cancel()) {
    actor_->world->Check(!std::exchange(actor_->cancelled, true), actor_,
                         "a second cancel");
  }
}

void SimProcess::SeeMessage(const Event& event, StepOutput& out) {
  World& world = *actor_->world;
  Note note;
  world.Check(event.payload().bytes.size() >= sizeof(note), actor_,
              "a message is cut");
  std::memcpy(&note, event.payload().bytes.data(), sizeof(note));
  world.Check(note.number != kPoison, actor_,
              "a step that failed has sent a message");
  if (note.from == kCall) {
    world.Check(event.call() != 0, actor_, "a call wants no answer");
    actor_->calls.emplace_back(event.call(), note.number);
    return;
  }
  world.Check(event.call() == 0, actor_, "a message wants an answer");
  uint64_t& next = actor_->next_from[note.from];
  // Numbers may be missing where sends can be refused.
  const bool in_order = world.limits.mailboxes_are_small ? note.number >= next
                                                         : note.number == next;
  if (!in_order) {
    world.Broken(actor_, "message " + std::to_string(note.number) +
                             " of sender " + std::to_string(note.from) +
                             " came instead of " + std::to_string(next));
  }
  next = note.number + 1;
  ++actor_->received;
  ++world.received;
  world.Check(event.from().empty() == (note.from >= kFirstClient), actor_,
              "a message has another sender");
  if (actor_->habit == Habit::kPlayer && !world.stopping && !fails_) {
    Actor* sender = world.ActorOf(note.from);
    SendTo(sender != nullptr ? sender : world.PartnerOf(*actor_), out, false);
  }
}

void SimProcess::SeeCompletion(const Event& event) {
  World& world = *actor_->world;
  ++world.completions;
  const auto it = actor_->outstanding.find(event.tag());
  world.Check(it != actor_->outstanding.end(), actor_,
              "a completion without its yield");
  world.CheckCompletion(*actor_, it->second, event.error().code,
                        event.payload().bytes);
  actor_->outstanding.erase(it);
}

void SimProcess::Act(StepOutput& out) {
  World& world = *actor_->world;
  switch (actor_->habit) {
    case Habit::kFlooder:
      return Flood(out);
    case Habit::kSleeper:
      return YieldOne("sleep", out, false);
    case Habit::kPlayer:
      // One of the players must begin.
      if (actor_->steps == 1) {
        return SendTo(world.PartnerOf(*actor_), out, false);
      }
      [[fallthrough]];
    case Habit::kSpinner:
    case Habit::kListener:
      if (world.limits.is_crowded || Draw(8) != 0) return;
      break;
    default:
      break;
  }
  for (uint64_t left = Draw(4); left > 0; --left) {
    if (world.limits.are_tied && Draw(2) == 0) {
      Tie(out);
      continue;
    }
    const uint64_t kind = Draw(12);
    if (kind < 5) {
      SendTo(world.Pick(actor_->random.Next()), out, false);
    } else if (kind < 10) {
      if (actor_->outstanding.size() < 8) YieldAny(out, false);
    } else if (kind == 10) {
      SendTo(actor_, out, false);
    } else if (world.MayGrow()) {
      SpawnOne(out, false);
    }
  }
}

void SimProcess::Flood(StepOutput& out) {
  World& world = *actor_->world;
  if (Draw(4) == 0) {
    // More than a queue holds, in worlds that allow that many processes.
    for (uint64_t left = Draw(300); left > 0 && world.MayGrow(); --left) {
      SpawnOne(out, false);
    }
    return;
  }
  Actor* to = world.Pick(actor_->random.Next());
  for (uint64_t left = Draw(64); left > 0; --left) {
    if (Draw(16) == 0) to = world.Pick(actor_->random.Next());
    SendTo(to, out, false);
  }
}

void SimProcess::Decide(StepOutput& out) {
  if (actor_->habit == Habit::kSpinner) return out.Continue();
  const bool can_block = !actor_->outstanding.empty();
  if (actor_->habit == Habit::kSleeper && can_block) {
    actor_->blocked = true;
    return out.Block();
  }
  if (actor_->habit == Habit::kShort) return Done(out);
  // In a crowd they stay alive, so that a starved process is noticed.
  if (actor_->world->limits.is_crowded) return;
  const uint64_t r = Draw(100);
  if (r < 40 && can_block) {
    actor_->blocked = true;
    out.Block();
  } else if (r < 50) {
    out.Continue();
  } else if (r < 53) {
    Done(out);
  }
}

void SimProcess::Done(StepOutput& out) {
  actor_->done = true;
  actor_->result = "result of " + std::to_string(actor_->id);
  ++actor_->world->dones;
  out.Done(actor_->result);
}

void SimProcess::ActAndFail(StepOutput& out) {
  actor_->failed = true;
  SendTo(actor_->world->Pick(actor_->random.Next()), out, true);
  SpawnOne(out, true);
  YieldAny(out, true);
  if (actor_->world->limits.are_tied) TieAndFail(out);
  switch (Draw(4)) {
    case 0:
      throw std::runtime_error("by intention");
    case 1:
      throw 1;
    case 2:
      return out.Fail(Code::kAborted, "by intention");
    default:
      // Larger than the limit: a step must not send it.
      out.Send(out.self(), "huge", std::string(kMostPayload + 1, 'x'));
  }
}

void SimProcess::SendTo(Actor* to, StepOutput& out, bool poison) {
  if (to == nullptr || to->pid.empty()) return;
  uint64_t number = kPoison;
  if (!poison) {
    number = actor_->next_to[to->id]++;
    ++to->sent_to_it;
    ++actor_->world->sent;
  }
  const size_t padding = Draw(16) == 0 ? 1500 : 0;
  out.Send(ToAbi(to->pid), "note", BytesOf({actor_->id, number}, padding));
}

void SimProcess::SpawnOne(StepOutput& out, bool poison) {
  World& world = *actor_->world;
  Actor* child = world.NewActor(poison);
  ChildOptions options;
  options.keep_result = child->id % 4 == 0;
  options.priority = child->priority;
  Tag monitor = 0;
  if (world.limits.are_tied) {
    options.link = Draw(16) == 0;
    if (Draw(4) == 0) options.monitor = &monitor;
  }
  const actord::Pid pid =
      out.Spawn(TypeOf(*child), "run", InputOf(child), options);
  if (pid.empty()) {
    world.Check(world.limits.processes_are_few, actor_,
                "a spawn found no room");
    return;
  }
  if (poison) return;
  ++world.spawns;
  world.Enter(*child, FromAbi(pid));
  if (options.link) {
    NoteLink(*child);
  }
  if (monitor != 0) {
    actor_->monitors.emplace(monitor, child);
    ++world.ties;
  }
  SendTo(child, out, false);
}

void SimProcess::YieldAny(StepOutput& out, bool poison) {
  constexpr const char* kCommands[] = {
      "sleep", "inline", "pooled",  "late",  "ext.e",
      "fails", "throws", "unknown", "never", "pooled.late"};
  YieldOne(kCommands[Draw(std::size(kCommands))], out, poison);
}

void SimProcess::YieldOne(std::string_view command, StepOutput& out,
                          bool poison) {
  World& world = *actor_->world;
  Outstanding yield;
  yield.command = command;
  yield.number = world.next_yield++;
  yield.yielded_ns = world.schedule.MonotonicNs();
  YieldOptions options;
  const bool timed =
      command == "never" || command == "ext.e" ? Draw(8) != 0 : Draw(4) == 0;
  if (timed) {
    options.timeout = std::chrono::nanoseconds(1 + Draw(5'000'000));
    yield.timeout_ns = static_cast<uint64_t>(options.timeout.count());
  }
  std::string payload = std::to_string(yield.number);
  if (command == "sleep") {
    const uint64_t sleep_ns = Draw(3'000'000);
    yield.earliest_ns = yield.yielded_ns + sleep_ns;
    payload = std::to_string(sleep_ns);
  }
  const Tag tag = out.Yield(command, payload, options);
  if (poison) return;
  ++world.yields;
  world.Check(actor_->outstanding.emplace(tag, yield).second, actor_,
              "a tag came twice");
}

}  // namespace actord::sim
