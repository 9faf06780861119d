// Hands each yielded command to its handler: inline on the worker, on the
// blocking pool, or to the remote workers.
//
// Thread-safety: Apply from the turn of the process.
#pragma once

#include "runtime/effects/blocking_pool.h"
#include "runtime/process/catalog.h"
#include "runtime/scheduler/lane.h"
#include "runtime/settings/limits.h"
#include "runtime/step/yield_effect.h"
#include "runtime/tasks/task_table.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class Dispatcher {
 public:
  // `shared_lane`: for the threads of the blocking pool.
  Dispatcher(const Catalog& catalog, const LiveLimits& limits,
             const Clock& clock, YieldBroker& broker, TaskTable& tasks,
             BlockingPool& pool, Lane& shared_lane);

  // A yield that completes at once has its completion in process.urgent_taken.
  // Every other yield has a record at the broker.
  void Apply(YieldEffect&& yield, Process& process, const Pid& self,
             Lane& lane);

  // For calls, which are yields without a command (calls.h).
  static constexpr std::string_view kTooManyInDaemon =
      "there are too many outstanding yields in this daemon";
  [[nodiscard]] bool MayYield(const Process& process) const {
    return process.yields_count.load(std::memory_order_relaxed) <
           limits_.max_yields();
  }
  // Counts a yield above the limit, and returns the text of its error.
  [[nodiscard]] std::string TooManyYields(Lane& lane) const;
  // Completes the yield within this turn.
  void Refuse(Process& process, uint64_t tag, int32_t status,
              std::string_view text, Lane& lane);
  // The timeout of an effect; a `timeout_ns` of 0 means the default. Returns 0
  // if there is no timeout.
  [[nodiscard]] uint64_t TimeoutOf(uint64_t timeout_ns) const;

 private:
  struct HandlerCall;
  static const actord_call_api kApi;

  void RunInline(const CommandHandler& handler, Process& process,
                 const Pid& self, YieldEffect& yield, Lane& lane);
  void RunPooled(const CommandHandler& handler, Process& process,
                 const Pid& self, YieldEffect& yield, Lane& lane);
  void HandOut(Process& process, const Pid& self, YieldEffect& yield,
               Lane& lane);
  // Completes the yield within this turn; takes its envelope.
  void Refuse(Process& process, YieldEffect& yield, int32_t status,
              std::string_view text, Lane& lane);
  // Gives the process the completion of a yield within this turn; takes the
  // completion.
  void Answer(Process& process, uint32_t generation, uint64_t tag,
              Envelope* completion, Lane& lane);
  // Calls the handler; afterwards the call is completed, deferred, or holds a
  // reply.
  static void Handle(const CommandHandler& handler, HandlerCall& call);
  // Handle on a thread of the pool.
  static void HandlePooled(const CommandHandler& handler, const Pid& pid,
                           HandlerCall& call);

  const Catalog& catalog_;
  const LiveLimits& limits_;
  const Clock& clock_;
  YieldBroker& broker_;
  TaskTable& tasks_;
  BlockingPool& pool_;
  Lane& shared_lane_;
};

}  // namespace actord::runtime
