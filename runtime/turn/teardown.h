// Takes apart a process that ends: closes its state and its yields, empties its
// mailbox and gives back its slot. In between, Ending (ending.h) makes the end
// known to others; its header numbers the steps of both classes.
//
// Thread-safety: belongs to one thread that runs turns.
// performance-notes: Marks not measured alone.
#pragma once

#include <string_view>

#include "runtime/process/outcome.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/shutdown_orders.h"
#include "runtime/table/process_table.h"
#include "runtime/turn/ending.h"
#include "runtime/turn/inbox.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/turn.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class Teardown {
 public:
  Teardown(Inbox& inbox, StepCaller& caller, YieldBroker& broker,
           ProcessTable& processes, Ending& ending,
           const ShutdownOrders& orders, Lane& lane)
      : inbox_(inbox),
        caller_(caller),
        broker_(broker),
        processes_(processes),
        ending_(ending),
        orders_(orders),
        lane_(lane) {}
  Teardown(const Teardown&) = delete;
  Teardown& operator=(const Teardown&) = delete;

  // Ends the process. Afterwards the caller must not touch it: another process
  // may use the slot, on another thread.
  void End(Process& process, Turn& turn, EndCause&& cause);
  // Ends the process if the shutdown has ordered that. True: it has ended.
  bool EndIfOrdered(Process& process, Turn& turn) {
    if (!orders_.terminate.load(std::memory_order_relaxed)) [[likely]] {
      return false;
    }
    End(process, turn,
        {EndKind::kTerminated, absl::StatusCode::kAborted,
         "the daemon is shutting down"});
    return true;
  }

 private:
  void CountEnd(Process& process, const Turn& turn, const EndCause& cause,
                bool forcing);
  [[gnu::noinline]] void CountFailure(Process& process, const Turn& turn,
                                      const EndCause& cause);
  // Makes the end known, and tells a submitter that waits for Init.
  void Publish(Process& process, const Pid& pid, EndCause&& cause);
  void GiveBack(Process& process, const Turn& turn);

  Inbox& inbox_;
  StepCaller& caller_;
  YieldBroker& broker_;
  ProcessTable& processes_;
  Ending& ending_;
  const ShutdownOrders& orders_;
  Lane& lane_;
};

}  // namespace actord::runtime
