// What the processes of the simulator's worlds do to each other: they call,
// answer, monitor and link, and give up what they wait for.
#include "tests/sim/process.h"

namespace actord::sim {

using runtime::ToAbi;

void SimProcess::Tie(StepOutput& out) {
  World& world = *actor_->world;
  const uint64_t kind = Draw(16);
  if (kind < 5) {
    if (actor_->outstanding.size() < 8) {
      CallOne(world.Pick(actor_->random.Next()), out, false);
    }
  } else if (kind < 10) {
    ReplyOne(out);
  } else if (kind < 13) {
    MonitorOne(world.Pick(actor_->random.Next()), out, false);
  } else if (kind < 14) {
    LinkOne(world.Pick(actor_->random.Next()), out, false);
  } else {
    GiveUpOne(out);
  }
}

void SimProcess::CallOne(Actor* to, StepOutput& out, bool poison) {
  if (to == nullptr || to->pid.empty()) return;
  World& world = *actor_->world;
  Outstanding yield;
  yield.command = "call";
  yield.number = world.next_yield++;
  yield.yielded_ns = world.schedule.MonotonicNs();
  yield.callee = to;
  YieldOptions options;
  if (Draw(2) == 0) {
    options.timeout = std::chrono::nanoseconds(1 + Draw(5'000'000));
    yield.timeout_ns = static_cast<uint64_t>(options.timeout.count());
  }
  const Note note{kCall, poison ? kPoison : yield.number};
  const Tag tag = out.Call(ToAbi(to->pid), "call", BytesOf(note, 0), options);
  if (poison) return;
  ++world.yields;
  ++world.calls;
  world.Check(actor_->outstanding.emplace(tag, yield).second, actor_,
              "a tag came twice");
}

void SimProcess::ReplyOne(StepOutput& out) {
  if (actor_->calls.empty()) return;
  const auto at = actor_->calls.begin() +
                  static_cast<std::ptrdiff_t>(Draw(actor_->calls.size()));
  out.Reply(at->first, std::to_string(at->second));
  // At times it answers once more.
  if (Draw(8) != 0) actor_->calls.erase(at);
}

void SimProcess::MonitorOne(Actor* other, StepOutput& out, bool poison) {
  if (other == nullptr || other->pid.empty()) return;
  const Tag tag = out.Monitor(ToAbi(other->pid));
  if (poison) return;
  if (Draw(4) == 0) {
    // It may have ended just before, and then it still fires.
    out.Demonitor(tag);
    actor_->demonitored.emplace(tag, other);
    ++actor_->world->ties;
    return;
  }
  actor_->monitors.emplace(tag, other);
  ++actor_->world->ties;
}

void SimProcess::LinkOne(Actor* other, StepOutput& out, bool poison) {
  if (other == nullptr || other->pid.empty() || other == actor_ ||
      actor_->links.contains(other->id)) {
    return;
  }
  out.Link(ToAbi(other->pid));
  if (poison) return;
  actor_->links.insert(other->id);
  other->links.insert(actor_->id);
  actor_->world->ties += 2;
}

void SimProcess::GiveUpOne(StepOutput& out) {
  // The oldest, so that the choice does not depend on a hash.
  Tag oldest = 0;
  for (const auto& [tag, yield] : actor_->outstanding) {
    if (oldest == 0 || tag < oldest) oldest = tag;
  }
  if (oldest == 0) return;
  out.CancelYield(oldest);
  actor_->outstanding[oldest].given_up = true;
}

void SimProcess::TieAndFail(StepOutput& out) {
  World& world = *actor_->world;
  CallOne(world.Pick(actor_->random.Next()), out, true);
  MonitorOne(world.Pick(actor_->random.Next()), out, true);
  LinkOne(world.Pick(actor_->random.Next()), out, true);
  if (!actor_->calls.empty()) out.Reply(actor_->calls[0].first, "poison");
  for (const auto& [tag, yield] : actor_->outstanding) out.CancelYield(tag);
}

}  // namespace actord::sim
