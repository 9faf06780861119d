// Admits new processes that are submitted from outside or by handlers.
// LiveWorld (live_world.h) admits the children of a step, Delivery
// (delivery/delivery.h) admits messages, and message_rules.h checks their size.
//
// Thread-safety: any thread.
// performance-notes: Volatile work beside durable work.
#pragma once

#include <atomic>

#include "absl/status/statusor.h"
#include "runtime/actors/label_table.h"
#include "runtime/actors/names.h"
#include "runtime/counters/stats.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/process/catalog.h"
#include "runtime/process/submission.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/settings/limits.h"
#include "runtime/system/atomic.h"
#include "runtime/system/mutex.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

class ProcessAdmission {
 public:
  ProcessAdmission(const Catalog& catalog, const LiveLimits& limits,
                   const Clock& clock, ProcessTable& processes,
                   DurableProcesses* durable, Scheduler& scheduler,
                   Names& names, LabelTable& labels, Lane& shared_lane,
                   const std::atomic<RunState>& state)
      : catalog_(catalog),
        limits_(limits),
        clock_(clock),
        processes_(processes),
        durable_(durable),
        scheduler_(scheduler),
        names_(names),
        labels_(labels),
        lane_(shared_lane),
        state_(state) {}

  // Calls `done` once: when Init has returned, or with the error that refuses
  // the process.
  void Submit(const SubmitRequest& request, const Pid& parent, bool keep_result,
              Admitted done);

  // Waits until each Submit that found the daemon serving has returned.
  // Precondition: the daemon is not serving any more.
  void AwaitQuiet() const;

  // Whether no process is admitted any more, because the daemon ends.
  [[nodiscard]] bool HasEnded() const {
    const RunState state = state_.load(std::memory_order_seq_cst);
    return state == RunState::kDraining || state == RunState::kStopped;
  }
  // Whether a type in force has this name, and its processes can be durable.
  [[nodiscard]] bool CanBeDurable(std::string_view process_type) const {
    const ProcessType* const type = catalog_.FindProcessType(process_type);
    return type != nullptr && type->can_be_durable();
  }

 private:
  void SubmitNow(const SubmitRequest& request, const Pid& parent,
                 bool keep_result, Admitted done);
  absl::Status CheckState() const;
  absl::Status CheckSizes(const SubmitRequest& request) const;
  // Puts the labels of the process, registers its name, and returns 0. On an
  // error the process's slot is free again, and `done` is the caller's again.
  [[gnu::noinline]] absl::StatusOr<uint64_t> NameAndLabel(
      const SubmitRequest& request, Process& process, uint64_t held,
      Owner charged, Admitted& done);
  // Refuses a process for its name, when the holder is durable, or at once
  // because it cannot be durable.
  [[gnu::noinline]] void RefuseName(Admitted&& done, absl::Status status) const;
  // Whether the process is to be durable, if the request demands or permits it.
  // DURABILITY_OFF, NOT_DURABLE_TYPE: the request is impossible.
  [[gnu::noinline]] absl::StatusOr<bool> IsDurable(const SubmitRequest& request,
                                                   const Pid& parent) const;
  // Makes the reserved process durable, and registers its name. Returns the
  // position of its SUBMITTED. On an error the process's slot is free again,
  // and `done` is the caller's again. (These three are not inlined, so that the
  // submission of a volatile process saves no registers.)
  [[gnu::noinline]] absl::StatusOr<uint64_t> BeginDurable(
      const SubmitRequest& request, const Pid& parent, bool keep_result,
      Process& process, uint64_t held, Owner charged, Admitted& done);
  // Puts the labels of a process that no other thread has found. `charged`: see
  // LabelTable.
  [[gnu::noinline]] void Label(const SubmitRequest& request, Process& process,
                               const Pid& pid, Owner charged);
  // Frees the slot of a process that no other thread has found. `done` is the
  // caller's again. `held`: the messages in its activity word.
  void GiveUp(Process& process, uint64_t held, Admitted& done);
  // Counts the refusal and returns its error.
  absl::Status Refused(const ProcessType& type, Owner owner,
                       ProcessTable::NoRoom why);
  // Reserves a process and gives it its input and `done`. On an error `done`
  // stays the caller's.
  absl::StatusOr<Process*> Reserve(const SubmitRequest& request,
                                   const Pid& parent, Admitted& done);

  const Catalog& catalog_;
  const LiveLimits& limits_;
  const Clock& clock_;
  ProcessTable& processes_;
  DurableProcesses* const durable_;  // null: there is no store
  Scheduler& scheduler_;
  Names& names_;
  LabelTable& labels_;
  Lane& lane_;
  const std::atomic<RunState>& state_;
  // Number of Submits under way. seq_cst, and pairs with `state_`: a Submit
  // first counts itself and then reads the state; a shutdown first changes the
  // state and then reads the count.
  Atomic<int> submitting_{0};
};

}  // namespace actord::runtime
