// The records that layers below runtime/durable write into the journal. The
// envelopes carry the positions, so that the step that consumes an event can
// name it.
//
// Thread-safety: any thread.
#pragma once

#include <actord/abi.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/process/fingerprint.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

// A volatile child that process.spawn of a durable process has started.
struct TiedChild {
  Pid child;
  bool link = false;
  bool monitor = false;  // its tag is the tag of the yield
};

class DurableLog {
 public:
  // The largest payload of a completion that a record can hold.
  [[nodiscard]] virtual size_t MaxCompletionBytes() const = 0;
  // Logs the completion of a yield of a durable process. No other completion of
  // this yield can come before it. Precondition: the payload has at most
  // MaxCompletionBytes. Returns the position of the record; 0: the journal has
  // failed or is closed, and the completion is lost when the daemon ends.
  // `answer`: for the answer to an external task its AnswerOf, which the store
  // remembers; otherwise empty.
  virtual uint64_t LogCompletion(const YieldToken& yield, int32_t status,
                                 const actord_payload& payload,
                                 const Fingerprint& answer) = 0;
  // The fingerprint of an answer, with the key of the store.
  [[nodiscard]] virtual Fingerprint AnswerOf(
      int32_t status, const actord_payload& payload) const = 0;
  // Same as LogCompletion, for a process.spawn that ties the process to a
  // volatile child: the record also has the ties. `pid_text`: the payload of
  // the completion.
  virtual uint64_t LogSpawn(const YieldToken& yield, const TiedChild& tied,
                            std::string_view pid_text) = 0;
  // Logs an attempt of a task, before it is handed to a worker. `lease_ns`: how
  // long the worker may be silent. Returns the position of the record; 0: as
  // above, and the attempt must not be handed out.
  virtual uint64_t LogAttempt(const YieldToken& yield, uint32_t attempt,
                              std::string_view worker, Owner worker_owner,
                              uint64_t lease_ns) = 0;

 protected:
  ~DurableLog() = default;
};

}  // namespace actord::runtime
