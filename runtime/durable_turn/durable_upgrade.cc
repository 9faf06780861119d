// Upgrades of a durable process to a newer version of its type.
//
// A durable process is upgraded as if the daemon had started again with the
// newer version: from the image of its state, with all its yields outstanding.
// So a process goes on in the same way after a live upgrade and after a
// restart. The record of the upgrade is reserved before the next step. It holds
// the image that the newer version was made from, unless that came from the
// store: so the code that the store names can always read the image there.
//
// After a start, a process whose state another plugin file has written begins
// as one of that file's version, which the store keeps (kept_plugins.h). An
// image type is then restored by the newer version at once. A replay type first
// takes its recorded steps again, with the code that has taken them.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "handlers/rules/process_rules.h"
#include "runtime/durable_turn/durable_turn.h"
#include "runtime/process/upgrading.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

const ProcessType* DurableTurn::NewerVersion(Process& process) {
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

void DurableTurn::UpgradeIfPutOff(Process& process, Turn& turn,
                                  DurableState& state) {
  if (process.upgrading == nullptr || process.upgrading->put_off == nullptr) {
    return;
  }
  if (const ProcessType* const newer = NewerVersion(process)) {
    Upgrade(process, turn, state, *newer);
  }
}

void DurableTurn::Upgrade(Process& process, Turn& turn, DurableState& state,
                          const ProcessType& target) {
  const ProcessType& from = *process.type.load(std::memory_order_relaxed);
  if (from.descriptor == target.descriptor) {
    Upgrading::ForgetAttempts(process);
    Upgrader::SetType(process, target,
                      process.method.load(std::memory_order_relaxed));
    return;
  }
  uint32_t method = 0;
  if (upgrader_.Ask(process, target, method) != rules::Upgrade::kGoesOn) return;
  absl::StatusOr<std::string> image = images_.Take(process, turn);
  if (!image.ok()) {
    if (absl::IsUnavailable(image.status())) {
      return Upgrader::PutOff(process, target);
    }
    return upgrader_.Decline(process, target,
                             std::string(image.status().message()));
  }
  void* const state_before = process.state;
  const bool step_due = process.step_due;
  const absl::Status restored =
      images_.Restore(process, turn, target, method, *image,
                      upgrader_.AdoptableYields(process).outstanding);
  process.step_due = step_due;
  if (!restored.ok()) {
    return upgrader_.Decline(process, target, std::string(restored.message()));
  }
  const absl::Status noted =
      NoteVersion(process, turn, state, target, *std::move(image));
  if (!noted.ok()) {
    caller_.Close(process, target, std::exchange(process.state, state_before));
    return upgrader_.Decline(process, target, std::string(noted.message()));
  }
  state.history_steps = state.history_bytes = 0;
  caller_.Close(process, from, state_before);
  upgrader_.Finish(process, target, static_cast<uint16_t>(method));
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

absl::Status DurableTurn::RestoreAs(Process& process, const Turn& turn,
                                    const DurableState& state,
                                    const ProcessType& type, uint32_t method) {
  ACTORD_ASSERT(state.image.has_value(),
                "durable_upgrade.cc: an image type is restored from an image");
  return images_.Restore(process, turn, type, method, *state.image,
                         state.YieldsOfImage());
}

absl::Status DurableTurn::RestoreVersion(Process& process, const Turn& turn,
                                         DurableState& state) {
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
      // An older version may have written the image. So the newer one is asked
      // again with a Snapshot of this one, and then declines.
    }
    return RestoreAs(process, turn, state, from, from_method);
  }
  return replay_.Run(process, turn, state);
}

}  // namespace actord::runtime
