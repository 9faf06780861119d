#include "runtime/durable_turn/durable_turn.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "handlers/rules/process_rules.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/upgrading.h"
#include "runtime/step/record_format.h"

namespace actord::runtime {
DurableTurn::DurableTurn(const Shared& shared, LiveWorld& world,
                         TurnParts& parts, BlockingCalls& blocking_calls,
                         Lane& lane)
    : shared_(shared),
      inbox_(parts.inbox),
      caller_(parts.caller),
      beginning_(parts.beginning),
      applier_(parts.applier),
      upgrader_(parts.upgrader),
      teardown_(parts.teardown),
      continuing_(parts.continuing),
      world_(world),
      lane_(lane),
      mark_(shared.durable.store().marks() == nullptr
                ? nullptr
                : shared.durable.store().marks()->Take()),
      images_(parts.caller, lane),
      replay_(shared.processes, shared.calls, blocking_calls, shared.log,
              shared.limits, images_, lane),
      upgrade_(parts.caller, parts.upgrader, images_, replay_),
      sends_(shared.durable, shared.delivery, shared.undelivered, shared.lane,
             lane),
      yields_(shared.durable, shared.delivery, shared.dispatcher, shared.broker,
              shared.calls, shared.tasks, sends_, shared.lane, lane),
      durable_applier_({.durable = shared.durable,
                        .processes = shared.processes,
                        .scheduler = shared.scheduler,
                        .calls = shared.calls,
                        .ties = shared.ties,
                        .topics = shared.topics,
                        .process_log = shared.process_log,
                        .lane = shared.lane},
                       world, sends_, yields_, lane) {}

Pid DurableTurn::PidOf(const Process& process, const Turn& turn) const {
  return shared_.delivery.processes().PidOf(process, turn.generation);
}

int32_t DurableTurn::Run(Process& process, Turn& turn) {
  // Each call of the plugin sees the store's clock.
  world_.TakeMonotonicTimeFrom(&durable());
  const int32_t verdict = RunTurn(process, turn);
  world_.TakeMonotonicTimeFrom(nullptr);
  return verdict;
}

int32_t DurableTurn::RunTurn(Process& process, Turn& turn) {
  if (shared_.orders.freeze.load(std::memory_order_relaxed)) {
    process.running.store(false, std::memory_order_relaxed);
    return kIsFrozen;
  }
  DurableState& state = durable().StateOf(process);
  // A process that has ended writes no more records, and somebody may wait for
  // its end.
  if (!state.end && IsParked(process)) return kIsFrozen;
  inbox_.TakeUrgent(process, turn);
  if (state.end) return AwaitEnd(process, turn, state);
  NewTry attempt;
  attempt.blocked = (turn.word & Activity::kBlocked) != 0;
  std::optional<StepMarks::Running> running;
  while (true) {
    if (state.quarantined) {
      if (const auto verdict = Idle(process, turn, state, attempt)) {
        return *verdict;
      }
    } else if (const auto dormant = MayPassivate(process, turn, state)) {
      return *dormant;
    }
    running.emplace(
        mark_, PidOf(process, turn),
        process.steps.load(std::memory_order_relaxed) - state.queries + 1,
        process.type.load(std::memory_order_relaxed)->newest_durable().code);
    if (!state.restore_due) break;
    const absl::Status restored = Restore(process, turn, state);
    if (restored.ok()) break;
    running.reset();
    EnterQuarantine(process, turn, state, restored, attempt);
  }
  if (!attempt.waiting.empty()) attempt.Tell(absl::OkStatus());
  if (process.init_due) {
    if (const auto verdict = Begin(process, turn, state)) return *verdict;
    // As with a volatile process, an order to end that came while Init ran is
    // seen before the first step. Acquire: activity.h, (3) for urgent events.
    const uint64_t now = process.activity.load(std::memory_order_acquire);
    if (Activity::Urgent(now) != Activity::Urgent(turn.word)) {
      turn.word += (Activity::Urgent(now) - Activity::Urgent(turn.word)) *
                   Activity::kUrgentOne;
      inbox_.TakeUrgent(process, turn);
    }
  }
  if (const ProcessType* const newer = DurableUpgrade::DueVersion(process)) {
    Upgrade(process, turn, state, *newer);
  }
  if (process.upgrading != nullptr) inbox_.NoteTraces(process, turn);
  if (!inbox_.FillFromUrgent(process, turn)) {
    return BeginEnd(process, turn, state, inbox_.TakeEndCause(), 0);
  }
  if (!attempt.blocked) inbox_.FillFromMessages(process, turn);
  if (turn.count != 0 || process.step_due) {
    const int32_t verdict = Step(process, turn, state);
    if (process.upgrading != nullptr && !state.end) {
      inbox_.KeepTraces(process, turn);
    }
    if (!state.end && !process.init_due) UpgradeIfPutOff(process, turn, state);
    return verdict;
  }
  return attempt.blocked ? ACTORD_STEP_BLOCK : ACTORD_STEP_IDLE;
}

bool DurableTurn::IsParked(Process& process) {
  if (!durable().store().journal().Behind()) return false;
  // Before another thread can run the process.
  process.running.store(false, std::memory_order_relaxed);
  if (shared_.parked.Park(process)) return true;
  process.running.store(true, std::memory_order_relaxed);
  return false;
}

absl::Status DurableTurn::Restore(Process& process, const Turn& turn,
                                  DurableState& state) {
  if (!state.damage.ok()) return state.damage;
  const bool step_due = process.step_due;
  absl::Status status = upgrade_.Restore(process, turn, state);
  process.step_due = step_due;
  if (!status.ok()) return status;
  // Only a failed journal refuses so small a record; then the program is about
  // to end.
  NoteVersion(process, turn, state,
              *process.type.load(std::memory_order_relaxed), std::nullopt)
      .IgnoreError();
  for (const StepOfHistory& step : state.history) {
    uint64_t consumed_bytes = 0;
    for (const Consumed& one : step.consumed) {
      consumed_bytes += one.mail.body->payload.bytes.size();
    }
    state.CountStep(step.step, consumed_bytes);
  }
  state.restore_due = false;
  state.image.reset();
  state.init = {};
  state.input = {};
  state.history = {};
  BeginLifetime(process, turn, state);
  const std::vector<records::YieldImage> yields =
      std::exchange(state.yields, {});
  // Position 1: everything that the recovery has read is durable.
  yields_.Resume(yields, process, PidOf(process, turn), 1);
  return absl::OkStatus();
}

void DurableTurn::UpgradeIfPutOff(Process& process, Turn& turn,
                                  DurableState& state) {
  if (process.upgrading == nullptr || process.upgrading->put_off == nullptr) {
    return;
  }
  if (const ProcessType* const newer = DurableUpgrade::NewerVersion(process)) {
    Upgrade(process, turn, state, *newer);
  }
}

void DurableTurn::Upgrade(Process& process, Turn& turn, DurableState& state,
                          const ProcessType& target) {
  upgrade_.Upgrade(
      process, turn, target, upgrader_.AdoptableYields(process).outstanding,
      [&](std::string&& image) {
        absl::Status noted =
            NoteVersion(process, turn, state, target, std::move(image));
        if (noted.ok()) state.history_steps = state.history_bytes = 0;
        return noted;
      });
}

absl::Status DurableTurn::NoteVersion(const Process& process, const Turn& turn,
                                      DurableState& state,
                                      const ProcessType& type,
                                      std::optional<std::string> image) {
  if (type.plugin_number == state.plugin && !image) return absl::OkStatus();
  const absl::StatusOr<uint64_t> position = durable().Append(
      records::Upgraded{.pid = PidOf(process, turn),
                        .from = state.plugin,
                        .to = type.plugin_number,
                        .traps_exits = rules::TrapsExits(*type.descriptor),
                        .image = std::move(image)});
  if (!position.ok()) return position.status();
  state.plugin = type.plugin_number;
  state.upgraded_at = *position;
  return absl::OkStatus();
}

std::optional<int32_t> DurableTurn::Begin(Process& process, Turn& turn,
                                          DurableState& state) {
  process.init_due = false;
  Admitted admitted;
  if (process.admitted != nullptr) admitted = process.TakeAdmitted();
  CallInit(process, turn, state);
  const rules::PluginCallEnd end = rules::PluginCallEndOf(
      !caller_.record().thrown.empty(), !caller_.record().misuse.ok(),
      caller_.record().verdict);
  const auto refuse = [&](EndCause cause, bool has_object) {
    if (!has_object) {
      // The state is freed without Close, because Init has failed.
      process.FreeState(
          lane_.buffers(), std::exchange(process.state, nullptr),
          process.type.load(std::memory_order_relaxed)->descriptor->state_size);
    } else {
      caller_.Close(process, *process.type.load(std::memory_order_relaxed),
                    std::exchange(process.state, nullptr));
    }
    if (admitted) process.KeepAdmitted(std::move(admitted));
    return BeginEnd(process, turn, state, std::move(cause), 0);
  };
  if (end != rules::PluginCallEnd::kOk) {
    return refuse(beginning_.WhyInitFailed(), false);
  }
  process.step_due = true;
  const Pid pid = PidOf(process, turn);
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  records::Started started{.pid = pid,
                           .turn = TurnOf(process, state),
                           .traps_exits = rules::TrapsExits(*type.descriptor),
                           .plugin = type.plugin_number};
  const bool is_first = process.steps.load(std::memory_order_relaxed) == 0;
  const uint64_t lifetime_ns = shared_.limits.max_lifetime_ns();
  if (is_first && lifetime_ns != LiveLimits::kForeverNs) {
    state.lifetime_ns = durable().NowNs() + lifetime_ns;
  }
  started.lifetime_ns = state.lifetime_ns;
  if (IsReplayed(process)) {
    started.durability = records::Durability::kReplay;
    EncodeTurn({}, caller_.record(), started.record);
    caller_.record().answers.clear();
  } else {
    const absl::Status taken =
        images_.Take(process, turn, started.image.emplace());
    if (!taken.ok()) {
      return refuse(
          {EndKind::kInitRefused, taken.code(),
           absl::StrCat("a durable process needs an image after Init: ",
                        taken.message())},
          true);
    }
  }
  state.plugin = type.plugin_number;
  const absl::StatusOr<uint64_t> position = durable().Append(started);
  if (!position.ok()) {
    return refuse({EndKind::kInitRefused, position.status().code(),
                   std::string(position.status().message())},
                  true);
  }
  BeginLifetime(process, turn, state);
  CompleteSpawn(state, ACTORD_OK, FormatPid(pid), *position);
  TellOfStart(process, pid, state, is_first, std::move(admitted), *position);
  return std::nullopt;
}

void DurableTurn::TellOfStart(const Process& process, const Pid& pid,
                              DurableState& state, bool is_first,
                              Admitted admitted, uint64_t position) {
  state.starting = std::make_shared<std::atomic<bool>>(true);
  durable().releases().After(
      position,
      [&log = shared_.lifecycle_log, &process, pid, is_first,
       starting = state.starting, done = std::move(admitted)]() mutable {
        // The process can end or fall asleep only after this release, so it
        // still exists.
        if (is_first && log.IsRecording()) log.Started(process, pid);
        starting->store(false);
        if (done) std::move(done)(pid);
      });
}

void DurableTurn::BeginLifetime(const Process& process, const Turn& turn,
                                DurableState& state) {
  const uint64_t end_ns = state.lifetime_ns;
  if (end_ns == 0 || std::exchange(state.has_lifetime_timer, true)) return;
  const uint64_t now_ns = durable().NowNs();
  shared_.lifetimes.Begin(process, turn.generation,
                          end_ns > now_ns ? end_ns - now_ns : 1, lane_);
}

}  // namespace actord::runtime
