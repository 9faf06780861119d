// Carries out the yields and the calls of durable processes, whose records are
// in the journal:
//
//   command             carried out               its completion
//   of the daemon       within the turn           DONE if it changed something;
//                                                 otherwise it has no record
//   timer.sleep         within the turn           no record
//   process.spawn of a
//   durable child       within the turn           STARTED or ENDED of the child
//   volatile child      when the step is durable  INPUT; DONE with its ties, if
//                                                 it has any
//   of a plugin         on the pool, when the     INPUT
//                       step is durable
//   of a plugin, inline
//   and pure            within the turn           no record
//   external            a task, when the step is  INPUT
//                       durable
//   call to a durable   at once                   the STEP that replies
//   process
//   call to a volatile  when the step is durable  INPUT
//   process
//
// A timeout, a cancel and an error that the runtime finds at once have no
// record: a restart brings them about again, and the step that consumes one
// holds it whole.
//
// After a restart the yields that are still outstanding are carried out again
// (Resume). A command of a plugin is carried out again if its handler promises
// that it may be. Otherwise it completes with ABORTED, because nobody knows how
// far the handler came. A command without a handler and without an external
// pattern waits as an external command.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/durable/durable_processes.h"
#include "runtime/effects/acting_command.h"
#include "runtime/effects/calls.h"
#include "runtime/effects/dispatcher.h"
#include "runtime/effects/logged_sends.h"
#include "runtime/scheduler/lane.h"
#include "runtime/step/effect.h"
#include "runtime/tasks/task_table.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class DurableYields {
 public:
  // All are borrowed. `shared_lane`: the lane of threads that run no workers.
  // `lane`: the lane of this thread.
  DurableYields(DurableProcesses& durable, Delivery& delivery,
                Dispatcher& dispatcher, YieldBroker& broker, Calls& calls,
                TaskTable& tasks, LoggedSends& sends, Lane& shared_lane,
                Lane& lane)
      : durable_(durable),
        delivery_(delivery),
        dispatcher_(dispatcher),
        broker_(broker),
        calls_(calls),
        tasks_(tasks),
        sends_(sends),
        shared_lane_(shared_lane),
        lane_(lane) {}
  DurableYields(const DurableYields&) = delete;
  DurableYields& operator=(const DurableYields&) = delete;

  // The deadlines of the yields and calls among the effects, for the record of
  // their step.
  [[nodiscard]] std::vector<records::Deadline> DeadlinesOf(
      const std::vector<Effect>& effects) const;

  // `record`: the position of the step's record; `position`: of the effect in
  // it. All in the turn of the process.
  void Apply(YieldEffect& yield, Process& process, const Pid& self,
             uint64_t record);
  void Apply(CallEffect& call, Process& process, const Pid& self,
             uint64_t record, uint64_t position);
  void Apply(const CancelEffect& cancel, Process& process, const Pid& self,
             uint64_t record);

  // Carries out the yields that were outstanding when the daemon ended.
  // `record`: a position that is durable.
  void Resume(const std::vector<records::YieldImage>& yields, Process& process,
              const Pid& self, uint64_t record);

 private:
  // How a yield begins, or begins again.
  struct Begin {
    uint64_t record = 0;
    uint64_t timeout_ns = 0;  // from now; 0: none
    // After a restart: the yield in the store. Null: the yield is new.
    const records::YieldImage* restored = nullptr;
  };

  // Returns whether the task table gets the yield.
  bool Carry(const Begin& begin, YieldEffect& yield, Process& process,
             const Pid& self);
  // After a restart the yield has the time that it had left.
  static void KeepTime(const Begin& begin, YieldEffect& yield);
  void RunBuiltin(const Begin& begin, const CommandHandler& handler,
                  YieldEffect& yield, Process& process, const Pid& self);
  // Turns the completion of a built-in command that has changed something into
  // a logged completion, and sends its messages.
  Envelope* Seal(ActingCommand& acting, Envelope* completion, Owner by);
  // Appends the record of the sends of a command, and sends the messages.
  // False: they are too large for a record, or the journal has failed; nothing
  // was sent.
  bool Send(ActingCommand& acting, const Envelope& completion, Owner by);
  void RunInPool(const Begin& begin, const CommandHandler& handler,
                 YieldEffect& yield, Process& process, const Pid& self);
  bool HandOut(const Begin& begin, YieldEffect& yield, Process& process,
               const Pid& self);
  void ResumeCommand(const records::YieldImage& image, Process& process,
                     const Pid& self, uint64_t record);
  void ResumeCall(const records::YieldImage& image, Process& process,
                  const Pid& self);
  // Each opens a record, as the broker does. 0: the daemon has too many yields,
  // and the yield is refused.
  actord_completion OpenExternal(Process& process, uint64_t tag,
                                 uint64_t timeout_ns);
  actord_completion OpenCommand(Process& process, uint64_t tag,
                                const CommandHandler* handler,
                                const YieldBroker::Times& times);
  actord_completion OpenCall(Process& process, uint64_t tag, const Pid& callee,
                             const YieldBroker::Times& times);
  // Refuses the yield if `handle` is 0, and returns `handle`.
  actord_completion OrRefuse(actord_completion handle, Process& process,
                             uint64_t tag);
  // How long ago the yield began, if that was before a restart.
  [[nodiscard]] uint64_t AgeOf(uint64_t begun_ns) const {
    const uint64_t now_ns = durable_.NowNs();
    return now_ns - std::min(now_ns, begun_ns);
  }
  void Refuse(Process& process, uint64_t tag, int32_t status,
              std::string_view why) {
    dispatcher_.Refuse(process, tag, status, why, lane_);
  }
  // Frees the content and the policy of the effect, if it still has them.
  void Free(YieldEffect& yield);
  [[nodiscard]] uint64_t TimeLeft(uint64_t deadline_ns) const;

  DurableProcesses& durable_;
  Delivery& delivery_;
  Dispatcher& dispatcher_;
  YieldBroker& broker_;
  Calls& calls_;
  TaskTable& tasks_;
  LoggedSends& sends_;
  Lane& shared_lane_;
  Lane& lane_;
};

}  // namespace actord::runtime
