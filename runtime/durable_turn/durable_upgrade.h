// Upgrades of a durable process to a newer version of its type.
//
// A durable process is upgraded as if the daemon had started again with the
// newer version: from the image of its state, with all its yields outstanding.
// So a process goes on in the same way after a live upgrade and after a
// restart. The record of the upgrade is reserved before the next step. The
// record holds the image from which the newer version has made the state,
// unless the image came from the store. So the version that the store names can
// always read the image in the store.
//
// After a start, a process has the version of the plugin file that has written
// its state. The store keeps that file (kept_plugins.h). The newer version then
// restores an image type at once. A replay type first takes its recorded steps
// again, with the code that took them.
//
// This class decides; the caller writes to the journal. So a trial of an
// upgrade (upgrade_trial.h) decides as the turn of a process does.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/durable_turn/history_replay.h"
#include "runtime/durable_turn/state_images.h"
#include "runtime/process/upgrading.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/turn.h"
#include "runtime/turn/upgrader.h"

namespace actord::runtime {

class DurableUpgrade {
 public:
  // All are borrowed.
  DurableUpgrade(StepCaller& caller, Upgrader& upgrader, StateImages& images,
                 HistoryReplay& replay)
      : caller_(caller),
        upgrader_(upgrader),
        images_(images),
        replay_(replay) {}
  DurableUpgrade(const DurableUpgrade&) = delete;
  DurableUpgrade& operator=(const DurableUpgrade&) = delete;

  // The version to which the process is to upgrade; null: there is none, or the
  // process has declined it.
  static const ProcessType* NewerVersion(Process& process);
  // Same as NewerVersion, for use before a step. Also null if the process has
  // put the upgrade off: then it is asked after its steps.
  static const ProcessType* DueVersion(Process& process);

  // Makes the state again, with the newer version if that accepts the image,
  // otherwise with the version that has written the image or the history.
  // An error: no version can; then the process has no state.
  absl::Status Restore(Process& process, const Turn& turn,
                       const DurableState& state);

  enum class Verdict : uint8_t {
    kUpgraded,
    kPutOff,    // the process is asked again after its next step
    kDeclined,  // before Snapshot: it was cancelled, or lacks its method
    kSnapshotRefused,
    kRestoreRefused,
    kNotNoted,  // the journal has no room for the image
  };
  struct Outcome {
    Verdict verdict = Verdict::kUpgraded;
    // Why the call of the plugin, or the journal, has refused; otherwise empty.
    std::string why = {};
  };
  // Keeps the image from which the newer version was restored. If it returns an
  // error, the process stays in its version.
  using Note = absl::FunctionRef<absl::Status(std::string&& image)>;
  // Upgrades a process in memory to `target`. Restore may adopt the yields in
  // `outstanding`. The process has its state in any case.
  Outcome Upgrade(Process& process, const Turn& turn, const ProcessType& target,
                  YieldTags outstanding, Note note);

 private:
  absl::Status RestoreAs(Process& process, const Turn& turn,
                         const DurableState& state, const ProcessType& type,
                         uint32_t method);
  Outcome Decline(Process& process, const ProcessType& target, Verdict verdict,
                  const absl::Status& why);

  StepCaller& caller_;
  Upgrader& upgrader_;
  StateImages& images_;
  HistoryReplay& replay_;
};

}  // namespace actord::runtime
