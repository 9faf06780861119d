// Images of the state of a process of an image type: taken after Init and after
// each step, and made into a state again after a restart. actord/abi_durable.h
// says which functions of the plugin are called.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/process/catalog.h"
#include "runtime/process/process.h"
#include "runtime/process/upgrading.h"
#include "runtime/records/runtime_image.h"
#include "runtime/records/state_image.h"
#include "runtime/scheduler/lane.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/turn.h"

namespace actord::runtime {

class StateImages {
 public:
  StateImages(StepCaller& caller, Lane& lane) : caller_(caller), lane_(lane) {}
  StateImages(const StateImages&) = delete;
  StateImages& operator=(const StateImages&) = delete;

  // Replaces `encoded` with the image of the state. The record of the last call
  // stays as it is. An error says how Snapshot has failed; then `encoded` is
  // empty.
  absl::Status Take(Process& process, const Turn& turn, std::string& encoded);
  // Makes the state of a process of `type`, with this method, from an encoded
  // image. If this succeeds, the caller closes the state that the process had
  // before. An error says why it does not; then the process keeps the state
  // that it had, or none.
  //
  // Restore may adopt each yield that was outstanding when the image was taken:
  // the yields in `outstanding`, and the yields whose completions wait in the
  // mailbox. All of them stay in force, adopted or not. `outstanding` may also
  // hold yields of later steps.
  //
  // Precondition: TakeUrgent has taken the urgent events. (Not asserted: others
  // may come at any moment.)
  absl::Status Restore(Process& process, const Turn& turn,
                       const ProcessType& type, uint32_t method,
                       const std::string& encoded, YieldTags outstanding);

 private:
  absl::StatusOr<StateImage> Snapshot(Process& process, const Turn& turn,
                                      const ProcessType& type);
  absl::Status CallRestore(Process& process, const Turn& turn,
                           const ProcessType& type, uint32_t method,
                           const StateImage& image, YieldTags outstanding);

  StepCaller& caller_;
  Lane& lane_;
  // The last image of a flat state. Its memory is used again for the next one.
  StateImage flat_;
};

}  // namespace actord::runtime
