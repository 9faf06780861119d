#include "tests/sim/world.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace actord::sim {

using runtime::Activity;

namespace {

// No bound is stated for more processes than a local queue holds.
constexpr uint64_t kMostForBound = 250;

}  // namespace

std::string BytesOf(const Note& note, size_t padding) {
  std::string bytes(sizeof(note) + padding, 'x');
  std::memcpy(bytes.data(), &note, sizeof(note));
  return bytes;
}

CallScope::CallScope(Actor& actor, const char* name) : actor_(actor) {
  World& world = *actor.world;
  world.Check(!actor.busy, &actor, "two calls at once");
  world.Check(!actor.is_closed(), &actor, "a call after Close");
  actor.busy = true;
  if (world.schedule.traces()) {
    world.schedule.Trace("%s: %s", World::NameOf(actor).c_str(), name);
  }
}

World::World(Schedule& its_schedule, const Limits& its_limits, uint64_t seed)
    : schedule(its_schedule), limits(its_limits), seed_(seed) {}

Habit World::DrawHabit(uint64_t id, runtime::Random& random) const {
  if (!limits.is_crowded) return static_cast<Habit>(random.Next() % kHabits);
  // A pair of players, a spinner, and then any others.
  if (id <= 3) return id < 3 ? Habit::kPlayer : Habit::kSpinner;
  constexpr Habit kCrowd[] = {
      Habit::kPlayer, Habit::kSpinner, Habit::kListener, Habit::kListener,
      Habit::kShort,  Habit::kShort,   Habit::kShort,    Habit::kShort};
  return kCrowd[random.Next() % std::size(kCrowd)];
}

Actor* World::NewActor(bool poisoned) {
  auto actor = std::make_unique<Actor>();
  actor->world = this;
  actor->id = actors_.size() + 1;
  actor->poisoned = poisoned;
  actor->random = runtime::Random(seed_ ^ (actor->id << 20));
  runtime::Random& random = actor->random;
  actor->habit = DrawHabit(actor->id, random);
  actor->init_fails = random.Next() % 32 == 0;
  actor->close_throws = random.Next() % 32 == 0;
  if (limits.priorities_differ) {
    actor->priority = static_cast<int>(random.Next() % 32);
  }
  actor->steps_left = limits.is_crowded || random.Next() % 2 == 0
                          ? UINT64_MAX
                          : 1 + random.Next() % 64;
  actors_.push_back(std::move(actor));
  return actors_.back().get();
}

Actor* World::NewStranger() {
  Actor* const stranger = NewActor(/*poisoned=*/false);
  stranger->habit = Habit::kListener;
  stranger->init_fails = false;
  stranger->is_stranger = true;
  return stranger;
}

void World::Enter(Actor& actor, const runtime::Pid& pid) {
  if (actor.pid.empty()) {
    actor.pid = pid;
    if (!actor.is_stranger) known_.push_back(&actor);
  }
  Check(actor.pid == pid, &actor, "it has two PIDs");
}

Actor* World::ActorOf(uint64_t id) {
  return id == 0 || id >= kFirstClient ? nullptr : actors_[id - 1].get();
}

Actor* World::PartnerOf(const Actor& player) {
  const uint64_t index = (player.id - 1) ^ 1;
  if (index >= actors_.size() || actors_[index]->is_stranger) return nullptr;
  return actors_[index].get();
}

std::string World::NameOf(const Actor& actor) {
  constexpr const char* kNames[kHabits] = {"mixed",   "player",  "spinner",
                                           "flooder", "sleeper", "blocker",
                                           "short",   "listener"};
  return std::string(kNames[static_cast<int>(actor.habit)]) + " " +
         std::to_string(actor.id);
}

Actor* World::Pick(uint64_t random) {
  return known_.empty() ? nullptr : known_[random % known_.size()];
}

void World::Broken(const Actor* actor, const std::string& what) {
  schedule.when_broken(actor == nullptr ? what : NameOf(*actor) + ": " + what);
  std::abort();
}

void World::CheckCompletion(const Actor& actor, const Outstanding& yield,
                            Code code, std::string_view bytes) {
  const uint64_t now = schedule.MonotonicNs();
  const std::string_view command = yield.command;
  const bool is_own = bytes == std::to_string(yield.number);
  bool may_be = false;
  if (code == Code::kDeadlineExceeded) {
    may_be =
        yield.timeout_ns != 0 && now >= yield.yielded_ns + yield.timeout_ns;
  } else if (code == Code::kCancelled) {
    may_be = yield.given_up;
  } else if (code == Code::kResourceExhausted) {
    may_be = limits.yields_are_few ||
             (command == "call" && limits.mailboxes_are_small) ||
             (command.starts_with("pooled") &&
              (limits.pool_is_small || shutdown_begun));
  } else if (command == "call") {
    const bool has_ended =
        code == Code::kAborted || code == Code::kFailedPrecondition;
    may_be = has_ended ? !Lives(*yield.callee) : code == Code::kOk && is_own;
  } else if (command == "sleep") {
    may_be = code == Code::kOk && bytes.empty() && now >= yield.earliest_ns;
  } else if (command == "inline" || command == "pooled") {
    may_be = code == Code::kOk && is_own;
  } else if (command == "late" || command == "pooled.late" ||
             command == "ext.e") {
    may_be = (code == Code::kOk || code == Code::kAborted) && is_own;
  } else if (command == "fails") {
    may_be = code == Code::kAborted && is_own;
  } else if (command == "throws") {
    may_be = code == Code::kInternal;
  } else if (command == "unknown") {
    may_be = code == Code::kNotFound;
  } else if (command == "spawn") {
    may_be = true;
  }
  if (may_be) return;
  Broken(&actor, "yield " + std::to_string(yield.number) + " of " +
                     std::string(command) + " completed with code " +
                     std::to_string(static_cast<int>(code)) + " and \"" +
                     std::string(bytes) + "\"");
}

bool World::IsAnyAsleep() const {
  for (size_t i = 0; i < core->scheduler.size(); ++i) {
    uint64_t deadline = 0;
    if (schedule.IsWaitedFor(&core->scheduler.queue(i).parker, &deadline)) {
      return true;
    }
  }
  return false;
}

void World::CheckQuiet(uint64_t next_ns) {
  if (core == nullptr || shut_down) return;
  CheckTimers(next_ns);
  if (!IsAnyAsleep()) return;
  // Counted here, independently of the workers' own last check.
  bool has_work = core->scheduler.GlobalLevels() != 0;
  std::string where;
  for (size_t i = 0; i < core->scheduler.size(); ++i) {
    runtime::WorkerQueue& queue = core->scheduler.queue(i);
    const size_t ready = queue.ready.SizeOf();
    uint64_t deadline = 0;
    const bool asleep = schedule.IsWaitedFor(&queue.parker, &deadline);
    const bool held_back = IsHeldBack(i, next_ns) && !asleep;
    has_work = has_work || (ready != 0 && !held_back);
    where += " " + std::to_string(ready) + (asleep ? "s" : "");
  }
  if (has_work) {
    Broken(nullptr, "there is work, and workers sleep; ready:" + where);
  }
  Check(core->scheduler.idle().searchers() == 0, nullptr,
        "a searcher is counted, and nobody searches");
  if (!core->scheduler.idle().AllSleep()) return;
  CheckTimekeeper();
  CheckNobodyIsReady();
  Check(submits == submit_answers, nullptr, "a submit has no answer");
  CheckTiesAtRest();
  for (const auto& actor : actors_) {
    if (actor->live && !actor->busy) CheckAtRest(*actor);
    if (actor->awaits == 0) continue;
    Check(core->processes.Find(actor->pid) != nullptr, actor.get(),
          "it has ended, and an await of it has no answer");
  }
}

void World::CheckNobodyIsReady() {
  for (uint32_t slot = 0; slot < core->processes.SlotsInUse(); ++slot) {
    const runtime::Process& process = core->processes.At(slot);
    if (!Activity::Runnable(process.activity) || process.running) continue;
    Broken(nullptr, "the process in slot " + std::to_string(slot) +
                        " is ready, and all workers sleep");
  }
}

void World::CheckAtRest(Actor& actor) {
  const runtime::Process& process = core->processes.At(actor.pid.slot);
  Check(process.generation == actor.pid.generation, &actor,
        "lives, and its slot is another's");
  Check(actor.steps != 0, &actor, "it had no first step");
  // All of these end when they see a cancel.
  Check(!actor.told_to_end && !core->orders.cancel && !core->orders.terminate,
        &actor, "it was told to end, and lives");
  if (!actor.blocked) {
    if (!limits.mailboxes_are_small && actor.received != actor.sent_to_it) {
      Broken(&actor, std::to_string(actor.sent_to_it) +
                         " messages were sent to it, and it has seen " +
                         std::to_string(actor.received));
    }
  }
  Check(actor.blocked == ((process.activity & Activity::kBlocked) != 0), &actor,
        "it is blocked, and its word says otherwise, or the other way round");
  for (auto& [tag, yield] : actor.outstanding) CheckOverdue(actor, yield);
  CheckTies(actor);
}

void World::CheckWaiting() {
  if (shut_down || core == nullptr) return;
  most_ready_ = std::max(most_ready_, core->LiveProcesses());
  if (most_ready_ > kMostForBound || limits.priorities_differ) return;
  for (const auto& actor : actors_) {
    if (!actor->is_closed()) CheckWaitOf(*actor);
  }
}

void World::CheckStranger(Actor& stranger) {
  if (!std::exchange(stranger.has_note, false) || shutdown_begun) return;
  const uint64_t waits = schedule.rounds() - stranger.note_since_round;
  longest_of_stranger = std::max(longest_of_stranger, waits);
  if (waits <= kBoundOfStranger) return;
  Broken(&stranger, "a message for it has waited for " + std::to_string(waits) +
                        " rounds beside another owner; the bound is " +
                        std::to_string(kBoundOfStranger));
}

bool World::IsReady(const Actor& actor) const {
  if (actor.pid.empty()) return actor.is_submitted;
  const runtime::Process& process = core->processes.At(actor.pid.slot);
  return process.generation == actor.pid.generation &&
         Activity::Runnable(process.activity) && !process.running;
}

void World::CheckWaitOf(Actor& actor) {
  const bool ready = IsReady(actor);
  const bool waited = std::exchange(actor.waits_to_run, ready);
  if (!ready) return;
  if (!waited || actor.waits_since_step != actor.steps) {
    actor.waits_since_round = schedule.rounds();
    actor.waits_since_step = actor.steps;
    actor.waits_since_spin = spins_;
    return;
  }
  const bool continues =
      actor.steps != 0 && core->processes.At(actor.pid.slot).step_due;
  const uint64_t bound =
      continues ? BoundBehind(most_ready_) : BoundOf(most_ready_);
  const uint64_t waits = schedule.rounds() - actor.waits_since_round;
  if (waits > longest_wait) {
    longest_wait = waits;
    longest_bound = bound;
  }
  // Every 61st turn takes from the global queue first, where the ready process
  // may be.
  const uint64_t spins = spins_ - actor.waits_since_spin;
  Check(spins <= 2 + waits / 4, &actor,
        "a process that continues runs before one that is ready");
  if (waits <= bound) return;
  Broken(&actor,
         "it is ready for more than " + std::to_string(bound) + " rounds");
}

void World::CheckOrder(Actor& runs) {
  if (!limits.order_is_strict || shutdown_begun) return;
  runs.waits_in_order = false;
  for (const auto& actor : actors_) {
    if (actor.get() != &runs && !actor->is_closed()) CheckOrderOf(*actor, runs);
  }
}

void World::CheckOrderOf(Actor& actor, const Actor& runs) {
  const bool waited = std::exchange(actor.waits_in_order, IsReady(actor));
  if (!actor.waits_in_order) return;
  // There is only one worker.
  const uint64_t turns = core->threads.worker(0).turns();
  if (!waited) {
    actor.in_order_since_round = schedule.rounds();
    actor.in_order_since_turn = turns;
    actor.lower_steps = 0;
    return;
  }
  // The code that made it ready has enqueued it after two rounds, and the
  // worker may have chosen this process a round ago.
  if (schedule.rounds() < actor.in_order_since_round + 3) return;
  actor.lower_steps += runs.priority < actor.priority ? 1 : 0;
  // One turn of 61 takes an aged process; a turn may have more than one step.
  Check(actor.lower_steps <= 1 + (turns - actor.in_order_since_turn) / 40,
        &actor, "lower priorities run before it");
}

void World::CountSpin(const Actor& actor) {
  if (!limits.spins_are_counted || actor.habit != Habit::kSpinner) return;
  if (spinner_ == nullptr || spinner_->done) {
    spinner_ = &actor;
    return;
  }
  if (actor.done || spinner_ != &actor) return;
  // The first step of its new life is in the same turn.
  if (actor.begins_again) return;
  if (last_spin_round_ == schedule.rounds()) return;
  ++spins_;
  last_spin_round_ = schedule.rounds();
}

void World::CheckEnd(const runtime::RuntimeStats& stats) {
  const auto same = [this](uint64_t theirs, uint64_t ours, const char* what) {
    if (theirs == ours) return;
    Broken(nullptr, std::string(what) + ": the runtime counts " +
                        std::to_string(theirs) + ", the world " +
                        std::to_string(ours));
  };
  same(stats.processes_live, 0, "processes that live");
  same(stats.processes_started, submits - submits_refused + spawns,
       "processes started");
  same(stats.processes_ended, stats.processes_started, "processes ended");
  same(stats.processes_failed, stats.processes_ended - dones,
       "processes failed");
  same(stats.steps, steps, "steps");
  same(stats.yields, yields, "yields");
  Check(stats.completions >= completions && stats.completions <= yields,
        nullptr, "completions do not fit");
  same(stats.external_yields_waiting, 0, "external yields that wait");
  same(stats.blocking_queue, 0, "commands that wait for the pool");
  same(submit_answers, submits, "answers to submits");
  same(await_answers, awaits, "answers to awaits");
  same(live, 0, "processes without Close");
  uint64_t late = 0;
  for (uint32_t slot = 0; slot < core->processes.SlotsInUse(); ++slot) {
    const runtime::Process& process = core->processes.At(slot);
    late += Activity::Messages(process.activity);
  }
  const uint64_t messages = stats.dead_letters + received + late;
  if (!limits.are_tied) same(messages, sent, "messages");
  // Calls are dead letters, too. Calls and exits may also be late.
  Check(messages >= sent && messages <= sent + calls + ties, nullptr,
        "messages do not fit");
  same(open_calls.size(), 0, "calls from outside without an answer");
  same(core->ties.size(), 0, "processes with watches");
  same(core->names.size(), 0, "names");
  CheckNothingIsLeft();
}

void World::CheckNothingIsLeft() {
  for (uint32_t slot = 0; slot < core->processes.SlotsInUse(); ++slot) {
    const runtime::Process& process = core->processes.At(slot);
    Check(process.generation % 2 == 0, nullptr, "a process is left");
    Check((process.activity & Activity::kEnded) != 0, nullptr,
          "a free slot has not ended");
    Check(process.yields == runtime::kNoYieldSlot && process.yields_count == 0,
          nullptr, "a yield is left");
    Check(process.state == nullptr && !process.init_due &&
              process.input == nullptr && process.admitted == nullptr &&
              process.urgent_taken.empty() && process.in_hand == nullptr,
          nullptr, "something of a process is left");
    Check(process.replies == 0, nullptr, "a reply is still counted");
    Check(process.owed_calls == nullptr, nullptr, "a call is still owed");
  }
  for (const auto& actor : actors_) {
    Check(actor->closes == (actor->init_fails ? 0 : actor->inits), actor.get(),
          "Close does not match Init");
  }
}

}  // namespace actord::sim
