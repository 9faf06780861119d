// The way in for new processes, from outside and from handlers.
//
// Thread-safety: any thread.
#pragma once

#include <atomic>

#include "absl/status/statusor.h"
#include "runtime/actors/names.h"
#include "runtime/inbox/delivery.h"
#include "runtime/process/catalog.h"
#include "runtime/process/process_table.h"
#include "runtime/process/stats.h"
#include "runtime/process/submission.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/settings/limits.h"
#include "runtime/system/atomic.h"

namespace actord::runtime {

class Admission {
 public:
  Admission(const Catalog& catalog, const LiveLimits& limits,
            const Clock& clock, ProcessTable& processes, Scheduler& scheduler,
            Names& names, Lane& shared_lane, const std::atomic<RunState>& state)
      : catalog_(catalog),
        limits_(limits),
        clock_(clock),
        processes_(processes),
        scheduler_(scheduler),
        names_(names),
        lane_(shared_lane),
        state_(state) {}

  // Calls `done` once: when Init has returned, or with the refusal.
  void Submit(const SubmitRequest& request, const Pid& parent, bool keep_result,
              Admitted done);

  // Returns when no Submit is under way that has found the daemon serving.
  // Precondition: it is not serving any more.
  void AwaitQuiet() const;

 private:
  void SubmitNow(const SubmitRequest& request, const Pid& parent,
                 bool keep_result, Admitted done);
  absl::Status CheckState() const;
  absl::Status CheckSizes(const SubmitRequest& request) const;
  // Gives it its name, or its place back and `done` to the caller.
  absl::Status Name(const std::string& name, Process& process, uint64_t held,
                    Admitted& done);
  // Counts the refusal and says it in words.
  absl::Status Refused(const ProcessType& type, ProcessTable::NoRoom why);
  // A process with its input and `done`; an error leaves `done` to the caller.
  absl::StatusOr<Process*> Reserve(const SubmitRequest& request,
                                   const Pid& parent, Admitted& done);

  const Catalog& catalog_;
  const LiveLimits& limits_;
  const Clock& clock_;
  ProcessTable& processes_;
  Scheduler& scheduler_;
  Names& names_;
  Lane& lane_;
  const std::atomic<RunState>& state_;
  // Submits under way. seq_cst; with `state_`: a Submit first counts itself and
  // then looks at the state, a shutdown the other way round.
  Atomic<int> submitting_{0};
};

// PAYLOAD_TOO_LARGE if the payload's bytes are above the limit, INVALID_FIELD
// if its content type is longer than a name may be; `field` is the request's.
// The same rule holds wherever a payload comes in.
absl::Status CheckPayloadSize(std::string_view field, const Payload& payload,
                              PayloadLimit limit);
// INVALID_FIELD if it is longer than a name may be.
absl::Status CheckTopic(std::string_view topic);

}  // namespace actord::runtime
