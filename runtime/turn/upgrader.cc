#include "runtime/turn/upgrader.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/crash/running_code.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/errors.h"
#include "runtime/process/upgrading.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

// Whether `urgent_taken` holds an order to end, which goes before an upgrade.
bool IsAskedToEnd(const Process& process) {
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed);
  for (const Envelope* envelope = process.urgent_taken.head();
       envelope != nullptr; envelope = process.urgent_taken.After(envelope)) {
    if (envelope->generation == generation &&
        envelope->type != ACTORD_EVENT_COMPLETION &&
        envelope->type != kEventUpgrade && envelope->type != kEventTraceNote &&
        !Inbox::IsUnseen(*envelope)) {
      return true;
    }
  }
  return false;
}

bool IsFenced(const Process& process, uint64_t tag) {
  return process.upgrading != nullptr &&
         process.upgrading->fenced.contains(tag);
}

}  // namespace

void Upgrader::BeforeStep(Process& process, Turn& turn,
                          const ProcessType& target) {
  const Upgrading* const upgrading = process.upgrading;
  // A process that has put the upgrade off is asked after its steps.
  if (upgrading != nullptr &&
      (upgrading->declined == &target || upgrading->put_off == &target)) {
    return;
  }
  Upgrade(process, turn, target);
}

void Upgrader::AfterSteps(Process& process, Turn& turn) {
  ACTORD_ASSERT(process.upgrading != nullptr,
                "upgrader.h: the process has data about upgrades");
  const ProcessType* const target =
      process.type.load(std::memory_order_relaxed)
          ->upgrade_to.load(std::memory_order_acquire);
  if (target == nullptr) {
    // The upgrade has been called off.
    Upgrading::ForgetAttempts(process);
  } else if (process.upgrading->put_off != nullptr) {
    Upgrade(process, turn, *target);
  }
}

rules::Upgrade Upgrader::Ask(Process& process, const ProcessType& target,
                             uint32_t& method) {
  const ProcessType& from = *process.type.load(std::memory_order_relaxed);
  const char* const name =
      from.descriptor->methods[process.method.load(std::memory_order_relaxed)]
          .name;
  method = target.FindMethod(name);
  const bool was_cancelled =
      process.cancel_requested.load(std::memory_order_relaxed);
  const rules::Upgrade answer =
      rules::MayUpgrade(was_cancelled, IsAskedToEnd(process),
                        method != ProcessType::kNoSuchMethod);
  switch (answer) {
    case rules::Upgrade::kGoesOn:
      break;
    case rules::Upgrade::kIsPutOff:
      // The old version gets the order to end. If it does not end, it has seen
      // a cancel and declines.
      PutOff(process, target);
      break;
    case rules::Upgrade::kIsDeclined:
      // A process that has seen a cancel is about to end: no warning.
      Decline(process, target,
              was_cancelled
                  ? std::nullopt
                  : std::optional(absl::StrCat("it has no method ", name)));
      break;
  }
  return answer;
}

void Upgrader::Upgrade(Process& process, Turn& turn,
                       const ProcessType& target) {
  const ProcessType& from = *process.type.load(std::memory_order_relaxed);
  if (from.descriptor == target.descriptor) {
    SetType(process, target, process.method.load(std::memory_order_relaxed));
    Upgrading::ForgetAttempts(process);
    return;
  }
  uint32_t method = 0;
  if (Ask(process, target, method) != rules::Upgrade::kGoesOn) return;
  Payload snapshot;
  if (!TakeSnapshot(process, turn, from, target, snapshot)) return;
  YieldAdoption adoption = AdoptableYields(process);
  void* const state =
      Restore(process, turn, target,
              {.struct_size = sizeof(actord_restore),
               .method = method,
               .snapshot = ToAbi(snapshot),
               .from_version = ToAbi(std::string_view(from.version)),
               .reason = ACTORD_RESTORE_UPGRADE,
               .from_flat_version = 0},
              adoption);
  if (state == nullptr) return;
  caller_.Close(process, from, std::exchange(process.state, state));
  process.step_due = true;
  Fence(process, turn, adoption);
  Finish(process, target, static_cast<uint16_t>(method));
}

void Upgrader::Finish(Process& process, const ProcessType& target,
                      uint16_t method) {
  Upgrading::ForgetAttempts(process);
  target.upgraded.fetch_add(1, std::memory_order_relaxed);
  lane_.Count(&Counters::upgrades);
  // Last: a reader that sees the new version also sees these changes.
  SetType(process, target, method);
}

bool Upgrader::TakeSnapshot(Process& process, const Turn& turn,
                            const ProcessType& from, const ProcessType& target,
                            Payload& snapshot) {
  const StepCaller::UpgradeCallResult result =
      caller_.Snapshot(process, turn, from);
  StepRecord& record = caller_.record();
  snapshot = record.TakeResult();
  switch (rules::AfterSnapshot(KindOf(result), result.status)) {
    case rules::Upgrade::kGoesOn:
      return true;
    case rules::Upgrade::kIsPutOff:
      PutOff(process, target);
      return false;
    case rules::Upgrade::kIsDeclined:
      break;
  }
  Decline(process, target,
          absl::StrCat("Snapshot of version ", from.version, " ",
                       WhyRefused(result)));
  return false;
}

void* Upgrader::Restore(Process& process, const Turn& turn,
                        const ProcessType& target,
                        const actord_restore& restore,
                        YieldAdoption& adoption) {
  const VersionScope version(target);
  const size_t state_size = target.descriptor->state_size;
  void* const state = process.NewState(lane_.buffers(), state_size);
  const StepCaller::UpgradeCallResult result =
      caller_.Restore(process, turn, target, state, restore, adoption);
  if (rules::AfterRestore(KindOf(result)) == rules::Upgrade::kGoesOn) {
    return state;
  }
  Decline(process, target, absl::StrCat("Restore ", WhyRefused(result)));
  if (rules::MadeObject(result.thrown != nullptr, result.status)) {
    caller_.Close(process, target, state);
  } else {
    process.FreeState(lane_.buffers(), state, state_size);
  }
  return nullptr;
}

rules::PluginCallEnd Upgrader::KindOf(
    const StepCaller::UpgradeCallResult& result) {
  return rules::PluginCallEndOf(result.thrown != nullptr,
                                !caller_.record().misuse.ok(), result.status);
}

std::string Upgrader::WhyRefused(const StepCaller::UpgradeCallResult& result) {
  if (result.thrown != nullptr) return *result.thrown;
  StepRecord& record = caller_.record();
  if (!record.misuse.ok()) {
    return absl::StrCat("broke a rule: ", record.misuse.message());
  }
  return absl::StrCat("refused with ",
                      absl::StatusCodeToString(ErrorCodeFromAbi(result.status)),
                      ": ", record.TakeFailure());
}

void Upgrader::PutOff(Process& process, const ProcessType& target) {
  Upgrading::AskAgain(process);
  Upgrading::Of(process).put_off = &target;
}

void Upgrader::Decline(Process& process, const ProcessType& target,
                       const std::optional<std::string>& why) {
  const ProcessType& from = *process.type.load(std::memory_order_relaxed);
  // A process that was dormant is asked again, and declines again.
  const bool is_counted = Upgrading::CountedIn(process) == target.number;
  Upgrading::AskAgain(process);
  Upgrading::Of(process).declined = &target;
  Upgrading::IsCountedIn(process, target.number);
  if (!is_counted) {
    target.declined.fetch_add(1, std::memory_order_relaxed);
    lane_.Count(&Counters::upgrades_declined);
  }
  // Release: a reader that sees that no process is left to ask also sees the
  // counts.
  target.declined_live.fetch_add(1, std::memory_order_release);
  if (!why || target.warned.exchange(true, std::memory_order_relaxed)) return;
  log_(LogLevel::kWarning,
       absl::StrCat("process type ", target.name, ": a process of version ",
                    from.version, " does not go on in version ", target.version,
                    ": ", *why, ". More of them are counted, not logged"));
}

void Upgrader::SetType(Process& process, const ProcessType& type,
                       uint16_t method) {
  // The orders are explained at Process::method.
  process.method.store(Process::kNoMethod, std::memory_order_release);
  process.type.store(&type, std::memory_order_release);
  process.method.store(method, std::memory_order_release);
}

YieldAdoption Upgrader::AdoptableYields(const Process& process) const {
  YieldAdoption adoption;
  broker_.ForEachTag(process, [&](uint64_t tag) {
    if (!IsFenced(process, tag)) adoption.outstanding.insert(tag);
  });
  AddCompletedYields(process, adoption.outstanding);
  return adoption;
}

void Upgrader::Fence(Process& process, Turn& turn,
                     const YieldAdoption& adoption,
                     std::vector<YieldToken>* withdrawn) {
  const auto is_dropped = [&adoption](uint64_t tag) {
    return !adoption.adopted.contains(tag);
  };
  inbox_.DropCompletions(process, turn, is_dropped);
  inbox_.ForgetTraces(process, turn, is_dropped);
  broker_.CloseOthers(
      process, turn.generation, adoption.adopted, lane_,
      [&process](uint64_t tag) { Upgrading::Of(process).fenced.insert(tag); },
      withdrawn);
}

}  // namespace actord::runtime
