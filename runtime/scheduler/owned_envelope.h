// An envelope that waits in a callback, for example for the disk. A callback
// that is never called frees its envelope.
//
// Thread-safety: as the lane. Ownership: owns the envelope; borrows the lane,
// which outlives it.
#pragma once

#include <memory>

#include "runtime/process/envelope.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

struct FreeInLane {
  Lane* lane;
  void operator()(Envelope* envelope) const { lane->Free(envelope); }
};
using OwnedEnvelope = std::unique_ptr<Envelope, FreeInLane>;

inline OwnedEnvelope Own(Envelope* envelope, Lane& lane) {
  return {envelope, FreeInLane{&lane}};
}

}  // namespace actord::runtime
