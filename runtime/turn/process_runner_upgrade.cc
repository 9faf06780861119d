// How a process goes on in a newer version of its type, between two steps:
// Snapshot of the old one, Restore of the new one, and then the old one is
// closed. Until Restore has returned well nothing has changed, so whatever goes
// wrong leaves the process as it was.
//
// What is the old version's own affair does not reach the new one: its yields
// are closed. Those of them whose completions have left the broker, but have
// not come to the mailbox, are fenced: Upgrading keeps their tags until they
// come. Everything else is the process's and stays.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/process/upgrading.h"
#include "runtime/step/foreign.h"
#include "runtime/turn/process_runner.h"

namespace actord::runtime {
namespace {

Upgrading& UpgradingOf(Process& process) {
  if (process.upgrading == nullptr) process.upgrading = new Upgrading;
  return *process.upgrading;
}

// Whether what was taken has an order to end, which comes before any upgrade.
bool IsAskedToEnd(const Process& process) {
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed);
  for (const Envelope* envelope = process.urgent_taken.head();
       envelope != nullptr; envelope = process.urgent_taken.After(envelope)) {
    if (envelope->generation == generation &&
        envelope->type != ACTORD_EVENT_COMPLETION &&
        envelope->type != kEventUpgrade) {
      return true;
    }
  }
  return false;
}

bool IsFenced(const Process& process, uint64_t tag) {
  return process.upgrading != nullptr &&
         process.upgrading->fenced.contains(tag);
}

void Tidy(Process& process) {
  if (process.upgrading == nullptr || !process.upgrading->empty()) return;
  delete std::exchange(process.upgrading, nullptr);
}

}  // namespace

size_t ProcessRunner::FencedYields(const Process& process) {
  return process.upgrading == nullptr ? 0 : process.upgrading->fenced.size();
}

void ProcessRunner::MayUpgrade(Process& process, Turn& turn,
                               const ProcessType& target) {
  const Upgrading* const upgrading = process.upgrading;
  // One that put it off is asked after its steps.
  if (upgrading != nullptr &&
      (upgrading->declined == &target || upgrading->put_off == &target)) {
    return;
  }
  Upgrade(process, turn, target);
}

void ProcessRunner::AskAgain(Process& process, Turn& turn) {
  const ProcessType* const target =
      process.type.load(std::memory_order_relaxed)
          ->upgrade_to.load(std::memory_order_acquire);
  if (target == nullptr) {
    // Called off.
    ForgetAttempts(process);
  } else if (process.upgrading->put_off != nullptr) {
    Upgrade(process, turn, *target);
  }
}

void ProcessRunner::Upgrade(Process& process, Turn& turn,
                            const ProcessType& target) {
  const ProcessType& from = *process.type.load(std::memory_order_relaxed);
  const uint16_t old_method = process.method.load(std::memory_order_relaxed);
  const char* const name = from.descriptor->methods[old_method].name;
  const uint32_t method = target.FindMethod(name);
  if (from.descriptor == target.descriptor) {
    SetType(process, target, old_method);
    ForgetAttempts(process);
    return;
  }
  if (process.cancel_requested.load(std::memory_order_relaxed)) {
    // It was asked to end, and is about to.
    Decline(process, target, std::nullopt);
    return;
  }
  if (IsAskedToEnd(process)) {
    // The version that was asked to ends; if it does not, it is the case above.
    PutOff(process, target);
    return;
  }
  if (method == ProcessType::kNoSuchMethod) {
    Decline(process, target, absl::StrCat("it has no method ", name));
    return;
  }
  Payload snapshot;
  if (!TakeSnapshot(process, turn, from, target, snapshot)) return;
  YieldAdoption adoption = AdoptableYields(process);
  void* const state =
      Restore(process, turn, target,
              {.struct_size = sizeof(actord_restore),
               .method = method,
               .snapshot = ToAbi(snapshot),
               .from_version = ToAbi(std::string_view(from.version))},
              adoption);
  if (state == nullptr) return;
  CloseState(process, from, std::exchange(process.state, state));
  process.step_due = true;
  ForgetAttempts(process);
  Fence(process, turn, adoption);
  target.upgraded.fetch_add(1, std::memory_order_relaxed);
  lane_.Count(&Counters::upgrades);
  // Last: whoever sees that it is of the new version has seen all of this.
  SetType(process, target, static_cast<uint16_t>(method));
}

bool ProcessRunner::TakeSnapshot(Process& process, const Turn& turn,
                                 const ProcessType& from,
                                 const ProcessType& target, Payload& snapshot) {
  FillInput(process, turn, process.steps.load(std::memory_order_relaxed));
  context_.Begin(input_, StepContext::Call::kSnapshot);
  int32_t status = ACTORD_OK;
  GiveWorkerAwayIfBlocking(*from.descriptor);
  const Thrown thrown = CallForeign(lane_.hold(), process, "Snapshot", [&] {
    status = from.snapshot(process.state, context_.abi());
  });
  CountRefusedPayloads();
  snapshot = record_.TakeResult();
  if (!thrown && record_.misuse.ok()) {
    if (status == ACTORD_OK) return true;
    if (status == ACTORD_UNAVAILABLE) {
      PutOff(process, target);
      return false;
    }
  }
  Decline(process, target,
          absl::StrCat("Snapshot of version ", from.version, " ",
                       WhyRefused(thrown.get(), status)));
  return false;
}

void* ProcessRunner::Restore(Process& process, const Turn& turn,
                             const ProcessType& target,
                             const actord_restore& restore,
                             YieldAdoption& adoption) {
  const actord_process_type& descriptor = *target.descriptor;
  void* const state = process.NewState(lane_.buffers(), descriptor.state_size);
  FillInput(process, turn, process.steps.load(std::memory_order_relaxed));
  context_.Begin(input_, StepContext::Call::kRestore, &adoption);
  int32_t status = ACTORD_OK;
  GiveWorkerAwayIfBlocking(descriptor);
  const Thrown thrown = CallForeign(lane_.hold(), process, "Restore", [&] {
    status = target.restore(state, &restore, context_.abi());
  });
  CountRefusedPayloads();
  const bool has_begun = !thrown && status == ACTORD_OK;
  if (has_begun && record_.misuse.ok()) return state;
  Decline(process, target,
          absl::StrCat("Restore ", WhyRefused(thrown.get(), status)));
  if (has_begun) {
    CloseState(process, target, state);
  } else {
    process.FreeState(lane_.buffers(), state, descriptor.state_size);
  }
  return nullptr;
}

std::string ProcessRunner::WhyRefused(const std::string* thrown,
                                      int32_t status) {
  if (thrown != nullptr) return *thrown;
  if (!record_.misuse.ok()) {
    return absl::StrCat("broke a rule: ", record_.misuse.message());
  }
  return absl::StrCat("refused with ",
                      absl::StatusCodeToString(ErrorCodeFromAbi(status)), ": ",
                      record_.TakeFailure());
}

void ProcessRunner::PutOff(Process& process, const ProcessType& target) {
  ForgetAttempts(process);
  UpgradingOf(process).put_off = &target;
}

void ProcessRunner::Decline(Process& process, const ProcessType& target,
                            const std::optional<std::string>& why) {
  const ProcessType& from = *process.type.load(std::memory_order_relaxed);
  ForgetAttempts(process);
  UpgradingOf(process).declined = &target;
  target.declined.fetch_add(1, std::memory_order_relaxed);
  lane_.Count(&Counters::upgrades_declined);
  // Release: whoever sees that nobody is to come any more sees the counts.
  target.declined_live.fetch_add(1, std::memory_order_release);
  if (!why || target.warned.exchange(true, std::memory_order_relaxed)) return;
  parts_.log(
      LogLevel::kWarning,
      absl::StrCat("process type ", target.name, ": a process of version ",
                   from.version, " does not go on in version ", target.version,
                   ": ", *why, ". More of them are counted, not logged"));
}

void ProcessRunner::ForgetAttempts(Process& process) {
  if (process.upgrading == nullptr) return;
  if (const ProcessType* declined =
          std::exchange(process.upgrading->declined, nullptr)) {
    declined->declined_live.fetch_sub(1, std::memory_order_relaxed);
  }
  process.upgrading->put_off = nullptr;
  Tidy(process);
}

void ProcessRunner::ForgetUpgrading(Process& process) {
  ForgetAttempts(process);
  delete std::exchange(process.upgrading, nullptr);
}

void ProcessRunner::SetType(Process& process, const ProcessType& type,
                            uint16_t method) {
  // Orders: Process::method.
  process.method.store(Process::kNoMethod, std::memory_order_release);
  process.type.store(&type, std::memory_order_release);
  process.method.store(method, std::memory_order_release);
}

YieldAdoption ProcessRunner::AdoptableYields(const Process& process) const {
  YieldAdoption adoption;
  parts_.broker.ForEachTag(process, [&](uint64_t tag) {
    if (!IsFenced(process, tag)) adoption.outstanding.insert(tag);
  });
  // Those that were answered at once have no record.
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed);
  for (const Envelope* envelope = process.urgent_taken.head();
       envelope != nullptr; envelope = process.urgent_taken.After(envelope)) {
    if (envelope->type == ACTORD_EVENT_COMPLETION &&
        envelope->generation == generation) {
      adoption.outstanding.insert(envelope->completion.tag);
    }
  }
  return adoption;
}

void ProcessRunner::Fence(Process& process, Turn& turn,
                          const YieldAdoption& adoption) {
  DropCompletions(process, turn, [&adoption](uint64_t tag) {
    return !adoption.adopted.contains(tag);
  });
  parts_.broker.CloseOthers(
      process, turn.generation, adoption.adopted, lane_,
      [&process](uint64_t tag) { UpgradingOf(process).fenced.insert(tag); });
}

void ProcessRunner::DropFenced(Process& process, Turn& turn) {
  DropCompletions(process, turn, [&process](uint64_t tag) {
    return process.upgrading->fenced.erase(tag) != 0;
  });
  Tidy(process);
}

void ProcessRunner::FinishWithoutStep(Process& process, Turn& turn) {
  const bool blocked = (turn.word & Activity::kBlocked) != 0;
  Finish(process, turn, blocked ? ACTORD_STEP_BLOCK : ACTORD_STEP_IDLE);
}

void ProcessRunner::DropCompletions(
    Process& process, Turn& turn,
    absl::FunctionRef<bool(uint64_t tag)> is_dropped) {
  EnvelopeList taken = std::exchange(process.urgent_taken, {});
  while (Envelope* const envelope = taken.PopFront()) {
    if (envelope->type != ACTORD_EVENT_COMPLETION ||
        envelope->generation != turn.generation ||
        !is_dropped(envelope->completion.tag)) {
      process.urgent_taken.PushBack(envelope);
      continue;
    }
    ++turn.dropped;
    Uncharge(process, *envelope);
    if (envelope->completion.yield_slot != kNoYieldSlot) {
      parts_.broker.Close(process, envelope->completion.yield_slot, lane_);
    }
    lane_.Free(envelope);
  }
}

}  // namespace actord::runtime
