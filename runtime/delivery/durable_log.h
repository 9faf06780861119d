// What the layers below runtime/durable write into the journal. The positions
// that they get go into the envelopes, so that the step that consumes an event
// can name it.
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
  bool monitor = false;  // its tag is that of the yield
};

class DurableLog {
 public:
  // The largest payload of a completion that a record can hold.
  [[nodiscard]] virtual size_t MaxCompletionBytes() const = 0;
  // The completion of a yield of a durable process, which no other completion
  // can precede any more. Precondition: the payload is not larger than that.
  // Returns its position; 0: the journal has failed or is closed, and the
  // completion is lost with this start of the daemon. `answer`: AnswerOf the
  // answer to an external task, which the store remembers; nothing for others.
  virtual uint64_t LogCompletion(const YieldToken& yield, int32_t status,
                                 const actord_payload& payload,
                                 const Fingerprint& answer) = 0;
  // The fingerprint of an answer, with the key of the store.
  [[nodiscard]] virtual Fingerprint AnswerOf(
      int32_t status, const actord_payload& payload) const = 0;
  // LogCompletion for a process.spawn that ties the process to a volatile
  // child: the record has the ties, too. `pid_text`: the payload of the
  // completion.
  virtual uint64_t LogSpawn(const YieldToken& yield, const TiedChild& tied,
                            std::string_view pid_text) = 0;
  // An attempt of a task, before a worker hears of it. `lease_ns`: how long the
  // worker may be silent. Returns the position; 0: as above, and no worker may
  // hear of the attempt.
  virtual uint64_t LogAttempt(const YieldToken& yield, uint32_t attempt,
                              std::string_view worker, Owner worker_owner,
                              uint64_t lease_ns) = 0;

 protected:
  ~DurableLog() = default;
};

}  // namespace actord::runtime
