// The acts of the processes of the simulator's worlds on each other: they call,
// answer, monitor and link, and give up what they wait for.
#include <algorithm>
#include <iterator>

#include "tests/sim/process.h"

namespace actord::sim {

using runtime::ToAbi;

void SimProcess::Tie(StepOutput& out) {
  World& world = *actor_->world;
  const uint64_t kind = Draw(20);
  if (kind < 5) {
    if (actor_->outstanding.size() < 8) {
      CallOne(world.Pick(actor_->random.Next()), out, false);
    }
  } else if (kind < 10) {
    ReplyOne(out);
  } else if (kind < 13) {
    MonitorOne(world.Pick(actor_->random.Next()), out, false);
  } else if (kind < 15) {
    LinkOne(world.Pick(actor_->random.Next()), out, false);
  } else if (kind < 18) {
    UnlinkOne(out);
  } else if (kind < 19) {
    DemonitorOne(out);
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
  // Sometimes it replies a second time.
  if (Draw(8) != 0) actor_->calls.erase(at);
}

void SimProcess::MonitorOne(Actor* other, StepOutput& out, bool poison) {
  if (other == nullptr || other->pid.empty()) return;
  const Tag tag = out.Monitor(ToAbi(other->pid));
  if (poison) return;
  ++actor_->world->ties;
  if (Draw(4) == 0) {
    // Also if it has ended: nothing comes of it.
    out.Demonitor(tag);
    return;
  }
  actor_->monitors.emplace(tag, other);
}

void SimProcess::DemonitorOne(StepOutput& out) {
  // The newest, so that the choice does not depend on a hash.
  Tag newest = 0;
  for (const auto& [tag, watched] : actor_->monitors) {
    newest = std::max(newest, tag);
  }
  if (newest == 0) return;
  out.Demonitor(newest);
  actor_->monitors.erase(newest);
}

void SimProcess::LinkOne(Actor* other, StepOutput& out, bool poison) {
  if (other == nullptr || other->pid.empty() || other == actor_ ||
      actor_->links.contains(other->id) ||
      actor_->others_links.contains(other->id)) {
    return;
  }
  out.Link(ToAbi(other->pid));
  if (poison) return;
  NoteLink(*other);
  if (!actor_->world->Lives(*other)) actor_->late_links.insert(other->id);
}

void SimProcess::NoteLink(Actor& other) {
  actor_->links.insert(other.id);
  actor_->own_links.insert(other.id);
  other.links.insert(actor_->id);
  actor_->world->ties += 2;
}

void SimProcess::UnlinkOne(StepOutput& out) {
  if (actor_->own_links.empty()) return;
  const auto at =
      std::next(actor_->own_links.begin(),
                static_cast<std::ptrdiff_t>(Draw(actor_->own_links.size())));
  Actor& other = *actor_->world->ActorOf(*at);
  actor_->own_links.erase(at);
  out.Unlink(ToAbi(other.pid));
  actor_->links.erase(other.id);
  actor_->late_links.erase(other.id);
  other.links.erase(actor_->id);
  // Until this step has committed, a link that the other makes would be untied
  // by it; and so afterwards this process alone links the two again.
  other.others_links.insert(actor_->id);
  if (Draw(2) == 0) LinkOne(&other, out, false);
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
