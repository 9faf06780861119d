// performance-notes: Rare code moved out.
#include "runtime/turn/host.h"

#include <actord/text.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/message_rules.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/errors.h"
#include "runtime/process/owner.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

int32_t CodeOf(const absl::Status& status) {
  return static_cast<int32_t>(status.code());
}

// Changes a name or a group of the process. If the process is durable, the
// change is one of its own commands, and is written into the journal.
int32_t Change(const actord_pid& abi_pid, records::Command command,
               std::string_view name,
               absl::FunctionRef<absl::Status(Commit)> change) {
  const Pid pid = FromAbi(abi_pid);
  if (!IsHomePid(pid)) return CodeOf(change(kNoCommit));
  ActingCommand* const acting = ActingCommand::Here();
  if (acting == nullptr || acting->yield().pid != pid) {
    return ACTORD_UNIMPLEMENTED;
  }
  return CodeOf(change([&] {
    return acting->Commit({.command = command, .name = std::string(name)});
  }));
}

}  // namespace

Host::Host(const LiveLimits& limits, const Clock& clock,
           DurableProcesses* durable, Delivery& delivery, YieldBroker& broker,
           ProcessAdmission& admission, Names& names, Groups& groups,
           Ties& ties, const ProcessLog& process_log, Lane& lane)
    : actord_host{
          .struct_size = sizeof(actord_host),
          .reserved = 0,
          .log =
              [](const actord_host* host, int32_t level, actord_bytes message) {
                Of(host).process_log_.Write(level, View(message));
              },
          .monotonic_ns =
              [](const actord_host* host) {
                return Of(host).clock_.MonotonicNs();
              },
          .unix_time_ns =
              [](const actord_host* host) { return Of(host).clock_.UnixNs(); },
          .complete = [](const actord_host* host, actord_completion completion,
                         int32_t status,
                         const actord_payload* payload) -> int32_t {
            return Of(host).broker_.Complete(
                completion, status,
                payload == nullptr ? actord_payload{} : *payload,
                Of(host).lane_);
          },
          .complete_after = [](const actord_host* host,
                               actord_completion completion,
                               uint64_t delay_ns) -> int32_t {
            if (const ActingCommand* const acting = ActingCommand::Here())
                [[unlikely]] {
              delay_ns -= std::min(delay_ns, acting->age_ns());
            }
            return Of(host).broker_.CompleteAfter(completion, delay_ns)
                       ? ACTORD_OK
                       : ACTORD_FAILED_PRECONDITION;
          },
          .send = Send,
          .spawn = Spawn,
          .format_pid = [](const actord_host*, const actord_pid* pid,
                           char* text) { return CopyPidText(*pid, text); },
          .parse_pid = [](const actord_host*, actord_bytes text,
                          actord_pid* pid) -> int32_t {
            return ReadPidText(text, pid);
          },
          .register_name = RegisterName,
          .release_name = [](const actord_host* host, const actord_pid* pid,
                             actord_bytes name) -> int32_t {
            return Change(*pid, records::Command::kReleaseName, View(name),
                          [&](Commit commit) {
                            return Of(host).names_.Release(
                                View(name), FromAbi(*pid), commit);
                          });
          },
          .look_up_name = LookUpName,
          .join_group = [](const actord_host* host, const actord_pid* pid,
                           actord_bytes group) -> int32_t {
            return Change(*pid, records::Command::kJoinGroup, View(group),
                          [&](Commit commit) {
                            return Of(host).groups_.Join(View(group),
                                                         FromAbi(*pid), commit);
                          });
          },
          .leave_group = [](const actord_host* host, const actord_pid* pid,
                            actord_bytes group) -> int32_t {
            return Change(*pid, records::Command::kLeaveGroup, View(group),
                          [&](Commit commit) {
                            return Of(host).groups_.Leave(
                                View(group), FromAbi(*pid), commit);
                          });
          },
          .group_members = GroupMembers,
          .cancel =
              [](const actord_host* host, const actord_pid* pid,
                 actord_bytes reason) {
                return Control(host, pid, ACTORD_EVENT_CANCEL, reason);
              },
          .terminate =
              [](const actord_host* host, const actord_pid* pid,
                 actord_bytes reason) {
                return Control(host, pid, kEventTerminate, reason);
              },
          .log_for =
              [](const actord_host* host, int32_t level, const actord_pid* pid,
                 actord_bytes message) {
                Of(host).process_log_.WriteFor(level, FromAbi(*pid),
                                               View(message));
              }},
      limits_(limits),
      clock_(clock),
      durable_(durable),
      delivery_(delivery),
      broker_(broker),
      admission_(admission),
      names_(names),
      groups_(groups),
      ties_(ties),
      process_log_(process_log),
      lane_(lane) {}

int32_t Host::Send(const actord_host* host, const actord_pid* from,
                   const actord_pid* to, const actord_message* message) {
  const Host& self = Of(host);
  const bool too_long =
      PayloadLimit(self.limits_).Refuses(message->payload.bytes.size);
  if (too_long || !Fits(message->payload, message->topic, SIZE_MAX)) {
    return ACTORD_INVALID_ARGUMENT;
  }
  ActingCommand* const acting = ActingCommand::Here();
  if (acting != nullptr && from != nullptr &&
      FromAbi(*from) == acting->yield().pid) [[unlikely]] {
    return self.SendWhenAnswered(*acting, FromAbi(*to), *message);
  }
  Envelope* envelope = self.lane_.NewEnvelope(
      ACTORD_EVENT_MESSAGE, View(message->topic), message->payload);
  Owner by = ActingOwner::Here();
  if (from != nullptr) {
    envelope->from = *from;
    by = self.delivery_.processes().OwnerOf(FromAbi(*from)).value_or(by);
    envelope = Traced(envelope, StepTrace::Of(TracedProcessOf(FromAbi(*from))),
                      self.lane_);
  }
  return static_cast<int32_t>(
      self.delivery_.SendOrExplain(by, FromAbi(*to), envelope, self.lane_)
          .code());
}

int32_t Host::SendWhenAnswered(ActingCommand& acting, const Pid& to,
                               const actord_message& message) const {
  const Owner by = ActingOwner::Here();
  const FoundProcess process = delivery_.processes().Find(to, by);
  if (!process) {
    return CodeOf(delivery_.processes().WhyNotFound(to, by));
  }
  const uint64_t units =
      LoggedBytesFor(View(message.topic), message.payload) / kBufferUnitBytes;
  if (!delivery_.HasRoom(process->activity.load(std::memory_order_relaxed), 1,
                         units)) {
    lane_.Count(&Counters::refused_mailbox);
    return ACTORD_RESOURCE_EXHAUSTED;
  }
  ActingCommand::Sends& sends = acting.sends();
  if (sends.to.empty()) {
    sends.topic = View(message.topic);
    sends.payload = FromAbi(message.payload);
  }
  sends.to.push_back(to);
  return ACTORD_OK;
}

int32_t Host::RegisterName(const actord_host* host, const actord_pid* pid,
                           actord_bytes name, actord_pid* holder) {
  return Change(
      *pid, records::Command::kRegisterName, View(name), [&](Commit commit) {
        Pid other;
        absl::Status status =
            Of(host).names_.Register(View(name), FromAbi(*pid), other, commit);
        if (absl::IsAlreadyExists(status) && holder != nullptr) {
          *holder = ToAbi(other);
        }
        return status;
      });
}

int32_t Host::LookUpName(const actord_host* host, actord_bytes name,
                         actord_pid* holder) {
  const absl::StatusOr<Pid> found =
      Of(host).names_.Find(ActingOwner::Here(), View(name));
  if (found.ok()) *holder = ToAbi(*found);
  return CodeOf(found.status());
}

size_t Host::GroupMembers(const actord_host* host, actord_bytes group,
                          actord_pid* members, size_t capacity) {
  const std::vector<Pid> pids =
      Of(host).groups_.Members(ActingOwner::Here(), View(group));
  for (size_t i = 0; i < std::min(capacity, pids.size()); ++i) {
    members[i] = ToAbi(pids[i]);
  }
  return pids.size();
}

void Host::Spawn(const actord_host* host, const actord_pid* parent,
                 const actord_spawn* spawn, actord_completion completion) {
  const Host& self = Of(host);
  SubmitRequest request;
  // Checked before the input is copied, because its size may be wrong.
  request.input_error =
      CheckPayloadSize("input", spawn->input, PayloadLimit(self.limits_));
  request.process_type = std::string(View(spawn->process_type));
  request.method = std::string(View(spawn->method));
  if (request.input_error.ok()) request.input = FromAbi(spawn->input);
  request.priority = PriorityOf(*spawn);
  request.name = std::string(rules::NameOf(*spawn));
  request.owner = ActingOwner::Here();
  const ParentTies parent_ties{
      .parent = parent == nullptr ? Pid{} : FromAbi(*parent),
      .link = (spawn->flags & ACTORD_SPAWN_LINK) != 0,
      .monitor = (spawn->flags & ACTORD_SPAWN_MONITOR) != 0};
  const bool keep_result = (spawn->flags & ACTORD_SPAWN_KEEP_RESULT) != 0;
  const ActingCommand* const acting = ActingCommand::Here();
  if (acting != nullptr && acting->yield().pid == parent_ties.parent)
      [[unlikely]] {
    request.durable = self.MakesDurable(*spawn);
    self.SpawnLogged(*acting, std::move(request), parent_ties, keep_result,
                     completion);
  } else {
    self.SpawnNow(request, parent_ties, keep_result, completion);
  }
}

void Host::SpawnNow(const SubmitRequest& request, const ParentTies& parent_ties,
                    bool keep_result, actord_completion completion) const {
  admission_.Submit(
      request, parent_ties.parent, keep_result,
      [this, completion, parent_ties](const absl::StatusOr<Pid>& pid) {
        if (RunsAgain(parent_ties.parent, pid)) return;
        if (parent_ties.link || parent_ties.monitor) {
          AnswerTied(completion, parent_ties, pid);
        } else {
          AnswerSpawn(completion, pid);
        }
      });
}

bool Host::RunsAgain(const Pid& parent,
                     const absl::StatusOr<Pid>& child) const {
  return IsHomePid(parent) && absl::IsUnavailable(child.status()) &&
         admission_.HasEnded();
}

void Host::SpawnLogged(const ActingCommand& acting, SubmitRequest&& request,
                       const ParentTies& parent_ties, bool keep_result,
                       actord_completion completion) const {
  if (!request.durable) {
    // Not earlier: the actions of a volatile process cannot be undone.
    durable_->releases().After(
        acting.record(), [this, request = std::move(request), parent_ties,
                          keep_result, completion] {
          SpawnNow(request, parent_ties, keep_result, completion);
        });
    return;
  }
  // A child that has begun completes the yield by the record of its Init.
  const auto has_begun = std::make_shared<std::atomic<bool>>(false);
  request.spawn =
      DurableSpawn{.yield = acting.yield().tag,
                   .link = parent_ties.link,
                   .monitor = parent_ties.monitor,
                   .begins = [this, yield = acting.yield(), parent_ties,
                              has_begun](const Pid& child) {
                     *has_begun = true;
                     if (parent_ties.link) ties_.Link(yield.pid, child, lane_);
                     if (parent_ties.monitor) {
                       ties_.Monitor(yield.pid, yield.tag, child, lane_);
                     }
                   }};
  admission_.Submit(request, parent_ties.parent, keep_result,
                    [this, completion, parent = parent_ties.parent,
                     has_begun](const absl::StatusOr<Pid>& pid) {
                      if (!*has_begun && !RunsAgain(parent, pid)) {
                        AnswerSpawn(completion, pid);
                      }
                    });
}

int32_t Host::AnswerSpawn(actord_completion completion,
                          const absl::StatusOr<Pid>& child) const {
  const std::string text =
      child.ok() ? FormatPid(*child) : std::string(child.status().message());
  const std::string type = TextTypeOf(child.status());
  return broker_.Complete(completion, CodeOf(child.status()),
                          {ToAbi(text), ToAbi(type)}, lane_);
}

void Host::AnswerTied(actord_completion completion,
                      const ParentTies& parent_ties,
                      const absl::StatusOr<Pid>& child) const {
  if (!child.ok()) {
    AnswerSpawn(completion, child);
    return;
  }
  absl::Status tied =
      absl::CancelledError("the command that started the process has ended");
  if (const auto owner = broker_.OwnerOf(completion);
      owner && owner->pid == parent_ties.parent) {
    const uint64_t monitor = parent_ties.monitor ? owner->tag : 0;
    tied = ties_.BeginForParent(*child, parent_ties.parent, parent_ties.link,
                                monitor);
    if (tied.ok()) {
      // The ties of a durable process are in the journal.
      const bool is_told =
          IsHomePid(owner->pid)
              ? broker_.CompleteSpawn(
                    completion, {*child, parent_ties.link, parent_ties.monitor},
                    lane_)
              : AnswerSpawn(completion, child) == ACTORD_OK;
      if (is_told) return;
      ties_.EndForParent(*child, parent_ties.parent, parent_ties.link, monitor);
      tied = absl::CancelledError("the command ended meanwhile");
    }
  }
  AnswerSpawn(completion, tied);
  // Only a flood of cancels can refuse it, and a cancel ends the child, too.
  delivery_
      .Control(
          Owner::kAny, *child, kEventTerminate,
          "its parent will never hear of it: " + std::string(tied.message()),
          lane_)
      .IgnoreError();
}

int32_t Host::Control(const actord_host* host, const actord_pid* pid,
                      uint16_t type, actord_bytes reason) {
  const Host& self = Of(host);
  const std::string_view why = CutUtf8(View(reason), kMaxReasonBytes);
  if (ActingCommand* const acting = ActingCommand::Here()) [[unlikely]] {
    return self.ControlLogged(*acting, FromAbi(*pid), type, why);
  }
  return CodeOf(self.delivery_.Control(ActingOwner::Here(), FromAbi(*pid), type,
                                       why, self.lane_));
}

int32_t Host::ControlLogged(ActingCommand& acting, const Pid& to, uint16_t type,
                            std::string_view reason) const {
  const Owner by = ActingOwner::Here();
  if (!delivery_.processes().Find(to, by)) {
    return CodeOf(delivery_.processes().WhyNotFound(to, by));
  }
  if (!IsHomePid(to)) {
    durable_->releases().After(
        acting.record(), [this, by, to, type, why = std::string(reason)] {
          delivery_.Control(by, to, type, why, lane_).IgnoreError();
        });
    return ACTORD_OK;
  }
  const bool done = acting.Commit(
      {.command = type == ACTORD_EVENT_CANCEL ? records::Command::kCancel
                                              : records::Command::kTerminate,
       .target = to,
       .message =
           records::Body{.payload = {std::string(reason), "text/plain"}}});
  if (!done) return ACTORD_UNAVAILABLE;
  const uint64_t position = acting.done_at() + 1;
  if (absl::IsResourceExhausted(
          delivery_.Control(by, to, type, reason, lane_, position))) {
    // The order is in the journal, and is not in the mailbox.
    durable_
        ->Append(records::Dropped{.to = to,
                                  .positions = {{{.lsn = position}}},
                                  .reason = records::DropReason::kMailboxFull})
        .IgnoreError();
  }
  return ACTORD_OK;
}

}  // namespace actord::runtime
