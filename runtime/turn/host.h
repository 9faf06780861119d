// Implements actord_host, through which handlers call the daemon, on the parts
// of the runtime.
//
// Thread-safety: any thread.
#pragma once

#include <actord/abi.h>

#include "runtime/actors/groups.h"
#include "runtime/actors/names.h"
#include "runtime/actors/ties.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/effects/acting_command.h"
#include "runtime/log/process_log.h"
#include "runtime/settings/options.h"
#include "runtime/turn/process_admission.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class Host : private actord_host {
 public:
  // `durable`: null if the runtime has no store. `lane`: the shared lane.
  Host(const LiveLimits& limits, const Clock& clock, DurableProcesses* durable,
       Delivery& delivery, YieldBroker& broker, ProcessAdmission& admission,
       Names& names, Groups& groups, Ties& ties, const ProcessLog& process_log,
       Lane& lane);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] const actord_host* abi() const { return this; }

 private:
  static const Host& Of(const actord_host* host) {
    return *static_cast<const Host*>(host);
  }
  static int32_t Send(const actord_host* host, const actord_pid* from,
                      const actord_pid* to, const actord_message* message);
  static int32_t RegisterName(const actord_host* host, const actord_pid* pid,
                              actord_bytes name, actord_pid* holder);
  static int32_t LookUpName(const actord_host* host, actord_bytes name,
                            actord_pid* holder);
  static size_t GroupMembers(const actord_host* host, actord_bytes group,
                             actord_pid* members, size_t capacity);
  static void Spawn(const actord_host* host, const actord_pid* parent,
                    const actord_spawn* spawn, actord_completion completion);
  // The ties of a child to its parent.
  struct ParentTies {
    Pid parent;
    bool link = false;
    bool monitor = false;
  };
  void SpawnNow(const SubmitRequest& request, const ParentTies& parent_ties,
                bool keep_result, actord_completion completion) const;

  // The requests of built-in commands of durable processes (acting_command.h).
  int32_t SendWhenAnswered(ActingCommand& acting, const Pid& to,
                           const actord_message& message) const;
  int32_t ControlLogged(ActingCommand& acting, const Pid& to, uint16_t type,
                        std::string_view reason) const;
  // Whether the daemon ends while the durable parent lives on: then its command
  // gets no completion now, and runs again after the next start.
  [[nodiscard]] bool RunsAgain(const Pid& parent,
                               const absl::StatusOr<Pid>& child) const;
  // Whether the spawn of a durable process makes a durable child.
  [[nodiscard]] bool MakesDurable(const actord_spawn& child) const {
    return (child.flags & ACTORD_SPAWN_VOLATILE) == 0 &&
           admission_.CanBeDurable(View(child.process_type));
  }
  // `request.durable`: MakesDurable.
  void SpawnLogged(const ActingCommand& acting, SubmitRequest&& request,
                   const ParentTies& parent_ties, bool keep_result,
                   actord_completion completion) const;

  int32_t AnswerSpawn(actord_completion completion,
                      const absl::StatusOr<Pid>& child) const;
  // If there is a child, called in the child's turn.
  void AnswerTied(actord_completion completion, const ParentTies& parent_ties,
                  const absl::StatusOr<Pid>& child) const;
  static int32_t Control(const actord_host* host, const actord_pid* pid,
                         uint16_t type, actord_bytes reason);

  const LiveLimits& limits_;
  const Clock& clock_;
  DurableProcesses* const durable_;
  Delivery& delivery_;
  YieldBroker& broker_;
  ProcessAdmission& admission_;
  Names& names_;
  Groups& groups_;
  Ties& ties_;
  const ProcessLog& process_log_;
  Lane& lane_;
};

}  // namespace actord::runtime
