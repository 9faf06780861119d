#include "runtime/durable_turn/durable_upgrade.h"

#include <utility>

#include "handlers/rules/process_rules.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

const ProcessType* DurableUpgrade::NewerVersion(Process& process) {
  // Acquire: pairs with the catalog's store.
  const ProcessType* const newer =
      process.type.load(std::memory_order_relaxed)
          ->durable_upgrade_to.load(std::memory_order_acquire);
  const Upgrading* const upgrading = process.upgrading;
  if (newer == nullptr) {
    // The upgrade has been called off.
    if (upgrading != nullptr) Upgrading::ForgetAttempts(process);
    return nullptr;
  }
  return upgrading != nullptr && upgrading->declined == newer ? nullptr : newer;
}

const ProcessType* DurableUpgrade::DueVersion(Process& process) {
  const ProcessType* const newer = NewerVersion(process);
  const Upgrading* const upgrading = process.upgrading;
  return upgrading != nullptr && upgrading->put_off == newer ? nullptr : newer;
}

DurableUpgrade::Outcome DurableUpgrade::Decline(Process& process,
                                                const ProcessType& target,
                                                Verdict verdict,
                                                const absl::Status& why) {
  Outcome outcome{verdict, std::string(why.message())};
  upgrader_.Decline(process, target, outcome.why);
  return outcome;
}

DurableUpgrade::Outcome DurableUpgrade::Upgrade(Process& process,
                                                const Turn& turn,
                                                const ProcessType& target,
                                                YieldTags outstanding,
                                                Note note) {
  const ProcessType& from = *process.type.load(std::memory_order_relaxed);
  if (from.descriptor == target.descriptor) {
    Upgrading::ForgetAttempts(process);
    Upgrader::SetType(process, target,
                      process.method.load(std::memory_order_relaxed));
    return {};
  }
  uint32_t method = 0;
  switch (upgrader_.Ask(process, target, method)) {
    case rules::Upgrade::kGoesOn:
      break;
    case rules::Upgrade::kIsPutOff:
      return {Verdict::kPutOff};
    case rules::Upgrade::kIsDeclined:
      return {Verdict::kDeclined};
  }
  std::string image;
  const absl::Status taken = images_.Take(process, turn, image);
  if (!taken.ok()) {
    if (absl::IsUnavailable(taken)) {
      Upgrader::PutOff(process, target);
      return {Verdict::kPutOff};
    }
    return Decline(process, target, Verdict::kSnapshotRefused, taken);
  }
  void* const state_before = process.state;
  const bool step_due = process.step_due;
  const absl::Status restored = images_.Restore(process, turn, target, method,
                                                image, std::move(outstanding));
  process.step_due = step_due;
  if (!restored.ok()) {
    return Decline(process, target, Verdict::kRestoreRefused, restored);
  }
  const absl::Status noted = note(std::move(image));
  if (!noted.ok()) {
    caller_.Close(process, target, std::exchange(process.state, state_before));
    return Decline(process, target, Verdict::kNotNoted, noted);
  }
  caller_.Close(process, from, state_before);
  upgrader_.Finish(process, target, static_cast<uint16_t>(method));
  return {};
}

absl::Status DurableUpgrade::RestoreAs(Process& process, const Turn& turn,
                                       const DurableState& state,
                                       const ProcessType& type,
                                       uint32_t method) {
  ACTORD_ASSERT(state.image.has_value(),
                "durable_upgrade.cc: an image type is restored from an image");
  return images_.Restore(process, turn, type, method, *state.image,
                         state.YieldsOfImage());
}

absl::Status DurableUpgrade::Restore(Process& process, const Turn& turn,
                                     const DurableState& state) {
  const ProcessType& from = *process.type.load(std::memory_order_relaxed);
  const uint16_t from_method = process.method.load(std::memory_order_relaxed);
  const ProcessType* const newer = NewerVersion(process);
  uint32_t method = 0;
  if (!from.is_replayed()) {
    if (newer != nullptr && newer->descriptor != from.descriptor &&
        upgrader_.Ask(process, *newer, method) == rules::Upgrade::kGoesOn) {
      absl::Status status = RestoreAs(process, turn, state, *newer, method);
      if (status.ok()) {
        upgrader_.Finish(process, *newer, static_cast<uint16_t>(method));
        return status;
      }
      // An older version may have written the image. So the newer version is
      // asked again, with a Snapshot of the present version. Only a second
      // refusal counts as declining.
    }
    return RestoreAs(process, turn, state, from, from_method);
  }
  return replay_.Run(process, turn, state);
}

}  // namespace actord::runtime
