// Hands each yielded command to its handler: inline on the worker, on the
// blocking pool, or to the remote workers.
//
// Thread-safety: Apply from the turn of the process.
// performance-notes: Volatile work beside durable work.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/durable/step_marks.h"
#include "runtime/effects/blocking_pool.h"
#include "runtime/process/catalog.h"
#include "runtime/scheduler/lane.h"
#include "runtime/settings/limits.h"
#include "runtime/step/yield_effect.h"
#include "runtime/tasks/task_table.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

// For a command that is handled again after a restart: if it ends the daemon,
// that counts as if a step of the process had (step_marks.h).
struct CrashMark {
  StepMarks* marks = nullptr;  // null: nothing is counted
  uint64_t step = 0;
  uint64_t code = 0;
};

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

  // The parts of Apply, for the yields of durable processes
  // (durable_yields.h).

  [[nodiscard]] bool IsExternal(std::string_view command) const {
    return tasks_.IsExternal(command);
  }
  // Null: no handler has the command. (Inlined: each yield passes through it.)
  [[gnu::always_inline]] const CommandHandler* HandlerOf(
      std::string_view command, Lane& lane) const {
    const CommandHandler* handler = lane.last_command;
    if (handler == nullptr ||
        !handler->in_force.load(std::memory_order_relaxed) ||
        !IsSameName(handler->name, command)) [[unlikely]] {
      handler = catalog_.FindCommand(command);
      lane.last_command = handler;
    }
    return handler;
  }
  static std::string NoHandlerFor(std::string_view command);
  // Handles the yield on this thread; takes its envelope. The completion is in
  // process.urgent_taken, or the yield has a record at the broker.
  void RunInline(const CommandHandler& handler, Process& process,
                 const Pid& self, YieldEffect& yield, Lane& lane);
  // Has the pool handle the yield, which it completes; takes the envelope. `by`
  // is the owner of the process.
  void PostToPool(const CommandHandler& handler, const Pid& self, Owner by,
                  actord_completion handle, Envelope* yield, Lane& lane,
                  const CrashMark& mark = {});
  // A yield of an external command, with its policy; an error: the yield's own
  // policy is wrong.
  struct Task {
    ExternalYield yield;
    std::unique_ptr<const WorkPolicy> policy;  // null: that of the command
    TaskHistory history;
  };
  absl::StatusOr<Task> TaskOf(const Process& process, const Pid& self,
                              const YieldEffect& yield,
                              uint64_t timeout_ns) const;
  // Puts the task into the table, or completes the yield with an error. False:
  // an error.
  bool AddTask(actord_completion handle, Task task, Lane& lane);

 private:
  struct HandlerCall;
  static const actord_call_api kApi;

  // RunInline, inlined into Apply, because each yield passes through it.
  [[gnu::always_inline]] void RunHere(const CommandHandler& handler,
                                      Process& process, const Pid& self,
                                      YieldEffect& yield, Lane& lane);
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
