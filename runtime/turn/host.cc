#include "runtime/turn/host.h"

#include <actord/text.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/process/owner.h"

namespace actord::runtime {
namespace {

LogLevel LevelOf(int32_t level) {
  return static_cast<LogLevel>(
      std::clamp<int32_t>(level, ACTORD_LOG_DEBUG, ACTORD_LOG_ERROR));
}

int32_t CodeOf(const absl::Status& status) {
  return static_cast<int32_t>(status.code());
}

}  // namespace

Host::Host(const RuntimeOptions& options, const LiveLimits& limits,
           const Clock& clock, Delivery& delivery, YieldBroker& broker,
           ProcessAdmission& admission, Names& names, Groups& groups,
           Ties& ties, Lane& lane)
    : actord_host{
          .struct_size = sizeof(actord_host),
          .reserved = 0,
          .log =
              [](const actord_host* host, int32_t level, actord_bytes message) {
                Of(host).options_.log(LevelOf(level), View(message));
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
            const Host& self = Of(host);
            return self.broker_.Complete(
                completion, status,
                payload == nullptr ? actord_payload{} : *payload, self.lane_);
          },
          .complete_after = [](const actord_host* host,
                               actord_completion completion,
                               uint64_t delay_ns) -> int32_t {
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
            return CodeOf(Of(host).names_.Release(View(name), FromAbi(*pid)));
          },
          .look_up_name = LookUpName,
          .join_group = [](const actord_host* host, const actord_pid* pid,
                           actord_bytes group) -> int32_t {
            return CodeOf(Of(host).groups_.Join(View(group), FromAbi(*pid)));
          },
          .leave_group = [](const actord_host* host, const actord_pid* pid,
                            actord_bytes group) -> int32_t {
            return CodeOf(Of(host).groups_.Leave(View(group), FromAbi(*pid)));
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
              }},
      options_(options),
      limits_(limits),
      clock_(clock),
      delivery_(delivery),
      broker_(broker),
      admission_(admission),
      names_(names),
      groups_(groups),
      ties_(ties),
      lane_(lane) {}

int32_t Host::Send(const actord_host* host, const actord_pid* from,
                   const actord_pid* to, const actord_message* message) {
  const Host& self = Of(host);
  const bool too_long =
      PayloadLimit(self.limits_).Refuses(message->payload.bytes.size);
  if (too_long || !Fits(message->payload, message->topic, SIZE_MAX)) {
    return ACTORD_INVALID_ARGUMENT;
  }
  Envelope* envelope = self.lane_.NewEnvelope(
      ACTORD_EVENT_MESSAGE, View(message->topic), message->payload);
  Owner by = ActingOwner::Here();
  if (from != nullptr) {
    envelope->from = *from;
    by = self.delivery_.processes().OwnerOf(FromAbi(*from)).value_or(by);
  }
  return static_cast<int32_t>(
      self.delivery_.SendOrExplain(by, FromAbi(*to), envelope, self.lane_)
          .code());
}

int32_t Host::RegisterName(const actord_host* host, const actord_pid* pid,
                           actord_bytes name, actord_pid* holder) {
  Pid other;
  const absl::Status status =
      Of(host).names_.Register(View(name), FromAbi(*pid), other);
  if (absl::IsAlreadyExists(status) && holder != nullptr) {
    *holder = ToAbi(other);
  }
  return CodeOf(status);
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
  // Before the input is copied, whatever its size says.
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
  if (parent_ties.link || parent_ties.monitor) {
    self.admission_.Submit(
        request, parent_ties.parent, keep_result,
        [&self, completion, parent_ties](const absl::StatusOr<Pid>& pid) {
          self.AnswerTied(completion, parent_ties, pid);
        });
  } else {
    self.admission_.Submit(request, parent_ties.parent, keep_result,
                           [&self, completion](const absl::StatusOr<Pid>& pid) {
                             self.AnswerSpawn(completion, pid);
                           });
  }
}

int32_t Host::AnswerSpawn(actord_completion completion,
                          const absl::StatusOr<Pid>& child) const {
  const std::string text =
      child.ok() ? FormatPid(*child) : std::string(child.status().message());
  return broker_.Complete(completion, CodeOf(child.status()), TextPayload(text),
                          lane_);
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
      if (AnswerSpawn(completion, child) == ACTORD_OK) return;
      ties_.EndForParent(*child, parent_ties.parent, parent_ties.link, monitor);
      tied = absl::CancelledError("the command ended meanwhile");
    }
  }
  AnswerSpawn(completion, tied);
  // Only a flood of cancels can refuse the order, and a cancel ends the child,
  // too.
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
  return CodeOf(self.delivery_.Control(ActingOwner::Here(), FromAbi(*pid), type,
                                       CutUtf8(View(reason), kMaxReasonBytes),
                                       self.lane_));
}

}  // namespace actord::runtime
