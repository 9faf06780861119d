// Images of the state of a process of an image type: taken after Init and after
// each step, and made into a state again after a restart. actord/abi_durable.h
// says which functions of the plugin are called.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/process/catalog.h"
#include "runtime/process/process.h"
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

  // The encoded image of the state. The record of the last call stays as it is.
  // An error: what Snapshot said or did.
  absl::StatusOr<std::string> Take(Process& process, const Turn& turn);
  // Makes the state of the process from an encoded image. An error: why it
  // cannot be; then the process has no state. Restore may adopt the `yields`,
  // and all of them stay outstanding in any case. Precondition: the process has
  // no state.
  absl::Status Restore(Process& process, const Turn& turn,
                       const std::string& encoded,
                       const std::vector<records::YieldImage>& yields);

 private:
  absl::StatusOr<StateImage> Snapshot(Process& process, const Turn& turn,
                                      const ProcessType& type);
  absl::Status CallRestore(Process& process, const Turn& turn,
                           const ProcessType& type, const StateImage& image,
                           const std::vector<records::YieldImage>& yields);

  StepCaller& caller_;
  Lane& lane_;
};

}  // namespace actord::runtime
