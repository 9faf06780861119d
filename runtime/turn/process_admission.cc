// performance-notes: Marks not measured alone.
#include "runtime/turn/process_admission.h"

#include <actord/excerpt.h>
#include <actord/text.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/delivery/message_rules.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/thread.h"
#include "runtime/table/home_pid.h"
#include "runtime/table/no_room.h"

namespace actord::runtime {
namespace {

// The amount that the messages add to the activity word of the process that is
// submitted with them.
uint64_t ActivityOf(const std::vector<Message>& messages, bool durable,
                    const TraceContext* trace) {
  uint64_t units = 0;
  for (const Message& message : messages) {
    units +=
        TracedBytesFor(message.topic, ToAbi(message.payload), durable, trace) /
        kBufferUnitBytes;
  }
  return Activity::ForMessages(messages.size(), units);
}

}  // namespace

absl::Status ProcessAdmission::CheckState() const {
  const absl::Duration retry_delay = absl::Seconds(1);
  switch (state_.load(std::memory_order_seq_cst)) {
    case RunState::kServing:
      return absl::OkStatus();
    case RunState::kStarting:
      return Retryable(absl::StatusCode::kUnavailable, reason::kStarting,
                       "the daemon is starting", retry_delay);
    case RunState::kDraining:
      return Retryable(absl::StatusCode::kUnavailable, reason::kDraining,
                       "the daemon is shutting down and takes no new processes",
                       retry_delay);
    case RunState::kStopped:
      break;
  }
  return Retryable(absl::StatusCode::kUnavailable, reason::kStopped,
                   "the daemon has stopped", retry_delay);
}

absl::Status ProcessAdmission::CheckSizes(const SubmitRequest& request) const {
  absl::Status status = request.input_error;
  status.Update(
      CheckPayloadSize("input", request.input, PayloadLimit(limits_)));
  if (request.messages.size() > limits_.max_mailbox_messages()) {
    status.Update(
        InvalidField("messages", reason::kInvalidField,
                     absl::StrCat("there are ", request.messages.size(),
                                  " messages; a mailbox holds at most ",
                                  limits_.max_mailbox_messages())));
  }
  size_t held_bytes = 0;
  for (const Message& message : request.messages) {
    status.Update(CheckMessage("messages", message, PayloadLimit(limits_)));
    held_bytes += TracedBytesFor(message.topic, ToAbi(message.payload), false,
                                 ActingTrace::Here());
  }
  if (held_bytes > limits_.max_mailbox_bytes()) {
    status.Update(
        InvalidField("messages", reason::kInvalidField,
                     absl::StrCat("the messages take ", held_bytes,
                                  " bytes of memory; a mailbox holds at most ",
                                  limits_.max_mailbox_bytes())));
  }
  return status;
}

absl::StatusOr<Process*> ProcessAdmission::Reserve(const SubmitRequest& request,
                                                   const Pid& parent,
                                                   Admitted& done) {
  absl::Status status = CheckState();
  // A durable parent may continue before the daemon serves.
  const bool starts = !status.ok() && state_.load() == RunState::kStarting;
  if (starts && IsHomePid(parent)) status = absl::OkStatus();
  // A supervisor restarts its children also if memory is low.
  if (status.ok() && parent.empty()) status = CheckMemory(limits_);
  if (!status.ok()) return status;
  const ProcessType* type = catalog_.FindProcessType(request.process_type);
  if (type == nullptr) {
    return Error(absl::StatusCode::kNotFound, reason::kUnknownProcessType,
                 absl::StrCat("no plugin has the process type \"",
                              Excerpt(request.process_type), "\""));
  }
  const uint32_t method = type->FindMethod(request.method);
  if (method == ProcessType::kNoSuchMethod) {
    return Error(absl::StatusCode::kNotFound, reason::kUnknownMethod,
                 absl::StrCat("process type ", type->name, " has no method \"",
                              Excerpt(request.method), "\""));
  }
  status = CheckSizes(request);
  if (!status.ok()) return status;
  if (!IsPriority(request.priority)) {
    return InvalidField(
        "priority", reason::kInvalidField,
        absl::StrCat("priority is ", request.priority,
                     "; it must be from 0 (lowest) to ", kPriorities - 1));
  }
  const uint64_t now = clock_.UnixNs();
  // A child has the owner of its parent, no matter who submits it.
  const Owner owner = parent.empty()
                          ? request.owner
                          : processes_.OwnerOf(parent).value_or(request.owner);
  if (owner != Owner::kNobody) scheduler_.BeginOwners();
  auto no_room = ProcessTable::NoRoom::kInTable;
  const auto reserve = [&](BufferCache& buffers,
                           ProcessTable::Cache& processes) -> Process* {
    Process* process = processes_.Reserve(
        processes, type, static_cast<uint16_t>(method),
        static_cast<uint8_t>(request.priority), owner, parent, now, no_room);
    if (process == nullptr) return nullptr;
    processes_.PrefetchNext(processes);
    process->input =
        NewInput(request.input, TraceOfSubmission(parent), buffers);
    return process;
  };
  Process* process = lane_.WithMemory(reserve);
  if (process == nullptr) return Refused(*type, owner, no_room);
  process->init_due = true;
  process->KeepAdmitted(std::move(done));
  return process;
}

absl::Status ProcessAdmission::Refused(const ProcessType& type, Owner owner,
                                       ProcessTable::NoRoom why) {
  lane_.Count(RefusalCounter(why));
  if (why == ProcessTable::NoRoom::kForOwner) {
    const size_t max = processes_.processes_of().MaxOf(owner);
    return QuotaExceeded(absl::StrCat("the client is at its quota of ", max,
                                      " live processes (quotas.processes)"),
                         "processes", max, absl::Seconds(1));
  }
  const bool for_type = why == ProcessTable::NoRoom::kForType;
  return Retryable(
      absl::StatusCode::kResourceExhausted, reason::kProcessLimit,
      for_type
          ? absl::StrCat("the limit of ", processes_.type_limits().MaxOf(type),
                         " processes of type ", type.name, " is reached")
          : absl::StrCat("the limit of ", limits_.max_processes(),
                         " processes is reached"),
      absl::Seconds(1));
}

void ProcessAdmission::Label(const SubmitRequest& request, Process& process,
                             const Pid& pid, Owner charged) {
  if (request.labels.empty()) return;
  labels_.Put(pid, request.labels, charged);
  process.Want(Wanted::kLabelled);
}

absl::StatusOr<uint64_t> ProcessAdmission::NameAndLabel(
    const SubmitRequest& request, Process& process, uint64_t held,
    Owner charged, Admitted& done) {
  const Pid pid = processes_.PidOf(
      process, process.generation.load(std::memory_order_relaxed));
  Label(request, process, pid, charged);
  if (request.name.empty()) return 0;
  Pid holder;
  absl::Status status = names_.Register(request.name, pid, holder);
  if (status.ok()) return 0;
  labels_.Drop(pid);
  GiveUp(process, held, done);
  return status;
}

void ProcessAdmission::RefuseName(Admitted&& done, absl::Status status) const {
  if (durable_ == nullptr || ReasonOf(status) != reason::kNameTaken) {
    std::move(done)(std::move(status));
    return;
  }
  // The holder of the name may not be durable yet.
  durable_->releases().After(
      durable_->LastPosition(),
      [done = std::move(done), status = std::move(status)]() mutable {
        std::move(done)(std::move(status));
      });
}

void ProcessAdmission::GiveUp(Process& process, uint64_t held, Admitted& done) {
  // Relaxed: no other thread has found the process.
  process.activity.fetch_sub(held, std::memory_order_relaxed);
  done = process.TakeAdmitted();
  process.init_due = false;
  lane_.WithMemory([&](BufferCache& buffers, ProcessTable::Cache& processes) {
    if (process.input != nullptr) {
      Envelope::Destroy(buffers, std::exchange(process.input, nullptr));
    }
    processes_.Unreserve(processes, process);
  });
}

void ProcessAdmission::Submit(const SubmitRequest& request, const Pid& parent,
                              bool keep_result, Admitted done) {
  submitting_.fetch_add(1, std::memory_order_seq_cst);
  SubmitNow(request, parent, keep_result, std::move(done));
  submitting_.fetch_sub(1, std::memory_order_seq_cst);
}

void ProcessAdmission::AwaitQuiet() const {
  ACTORD_ASSERT(state_.load() != RunState::kServing,
                "process_admission.h: the daemon is not serving any more");
  while (submitting_.load(std::memory_order_seq_cst) != 0) YieldThread();
}

void ProcessAdmission::SubmitNow(const SubmitRequest& request,
                                 const Pid& parent, bool keep_result,
                                 Admitted done) {
  bool durable = false;
  // Without a store, a request that leaves the choice to the daemon asks
  // nothing.
  if (request.durable || (request.durable_if_possible && durable_ != nullptr))
      [[unlikely]] {
    const absl::StatusOr<bool> answer = IsDurable(request, parent);
    if (!answer.ok()) {
      std::move(done)(answer.status());
      return;
    }
    durable = *answer;
  }
  absl::StatusOr<Process*> reserved = Reserve(request, parent, done);
  if (!reserved.ok()) {
    std::move(done)(reserved.status());
    return;
  }
  Process& process = **reserved;
  // Counted before another thread can find the process by its name and send it
  // more messages.
  const TraceContext* const trace = TraceOfSubmission(parent);
  const uint64_t held = ActivityOf(request.messages, durable, trace);
  if (held != 0) Activity::Add(process.activity, held);
  const Owner owner = process.owner.load(std::memory_order_relaxed);
  const uint64_t bytes = Activity::Units(held) * kBufferUnitBytes;
  OwnerLimits& mailbox_bytes = processes_.mailbox_bytes_of();
  // The labels stay for as long as the process lives.
  const uint64_t label_bytes = request.labels.ChargeBytes();
  const OwnerLimits::Taken taken =
      mailbox_bytes.Take(owner, bytes + label_bytes);
  if (taken == OwnerLimits::Taken::kRefused) {
    GiveUp(process, held, done);
    std::move(done)(Delivery::OverQuota(mailbox_bytes.MaxOf(owner), lane_));
    return;
  }
  const Owner charged =
      taken == OwnerLimits::Taken::kCounted ? owner : Owner::kNobody;
  process.keep_result = keep_result;
  uint64_t position = 0;
  if (durable || !request.name.empty() || label_bytes != 0) [[unlikely]] {
    const absl::StatusOr<uint64_t> begun =
        durable ? BeginDurable(request, parent, keep_result, process, held,
                               charged, done)
                : NameAndLabel(request, process, held, charged, done);
    if (!begun.ok()) {
      mailbox_bytes.Give(charged, bytes + label_bytes);
      RefuseName(std::move(done), begun.status());
      return;
    }
    position = *begun;
  }
  Delivery::Preload(process, request.messages, charged, position, trace, lane_);
  lane_.Count(&Counters::processes_started);
  if (Activity::Add(process.activity, Activity::kReady - Activity::kEnded)) {
    scheduler_.Enqueue(&process, nullptr);
  }
}

}  // namespace actord::runtime
