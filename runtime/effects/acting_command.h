// A built-in command of a durable process, while its handler runs in the turn
// of the process. The changes that the handler asks for are written into the
// journal before anybody can see them, together with the completion of the
// command (DONE). So the command is carried out once, also over a crash: after
// a restart it is already complete, or it has changed nothing and runs again.
//
// A command that changes nothing has no record. It runs again after a restart,
// unless a step has consumed its completion.
//
// Thread-safety: the thread of the turn.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/durable/durable_processes.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

class ActingCommand {
 public:
  // `record`: the position of the record of the step that yielded the command.
  // `age_ns`: the time since the command was yielded.
  ActingCommand(DurableProcesses& durable, const YieldToken& yield,
                uint64_t record, uint64_t age_ns)
      : durable_(durable),
        yield_(yield),
        record_(record),
        age_ns_(age_ns),
        outer_(here_) {
    here_ = this;
  }
  ~ActingCommand() { here_ = outer_; }
  ActingCommand(const ActingCommand&) = delete;
  ActingCommand& operator=(const ActingCommand&) = delete;

  // The command whose handler runs on this thread; null: none runs, or it
  // belongs to a volatile process.
  [[nodiscard]] static ActingCommand* Here() { return here_; }
#ifdef ACTORD_FAIL_POINTS
  // Sets the command of this thread and returns the former one. Simulated
  // threads (fail_point.h) run on one thread, and each has a command of its
  // own.
  static ActingCommand* Exchange(ActingCommand* command) {
    return std::exchange(here_, command);
  }
#endif

  [[nodiscard]] const YieldToken& yield() const { return yield_; }
  [[nodiscard]] uint64_t record() const { return record_; }
  [[nodiscard]] uint64_t age_ns() const { return age_ns_; }

  // Writes a change and the completion of the command, which is empty. False:
  // the journal takes no more, and nothing may change. Precondition: nothing
  // has changed yet.
  bool Commit(records::Done change);
  // The position of the record of the change; 0: nothing has changed.
  [[nodiscard]] uint64_t done_at() const { return done_at_; }

  // Messages that are sent when the handler has answered. All have one topic
  // and one payload.
  struct Sends {
    std::vector<Pid> to;
    std::string topic;
    Payload payload;
  };
  Sends& sends() { return sends_; }

 private:
  static inline constinit thread_local ActingCommand* here_ = nullptr;

  DurableProcesses& durable_;
  const YieldToken yield_;
  const uint64_t record_;
  const uint64_t age_ns_;
  ActingCommand* const outer_;
  uint64_t done_at_ = 0;
  Sends sends_;
};

}  // namespace actord::runtime
