#include "runtime/effects/durable_yields.h"

#include <algorithm>
#include <utility>

#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/scheduler/owned_envelope.h"
#include "runtime/system/assert.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

uint32_t GenerationOf(const Process& process) {
  return process.generation.load(std::memory_order_relaxed);
}

Owner OwnerOf(const Process& process) {
  return process.owner.load(std::memory_order_relaxed);
}

}  // namespace

std::vector<records::Deadline> DurableYields::DeadlinesOf(
    const std::vector<Effect>& effects) const {
  std::vector<records::Deadline> deadlines;
  const auto add = [&](uint64_t tag, uint64_t given_ns) {
    const uint64_t timeout_ns = dispatcher_.TimeoutOf(given_ns);
    if (timeout_ns == 0) return;
    const uint64_t now_ns = durable_.NowNs();
    deadlines.push_back(
        {tag, now_ns + std::min(timeout_ns, UINT64_MAX - now_ns)});
  };
  for (const Effect& effect : effects) {
    if (const auto* const yield = std::get_if<YieldEffect>(&effect)) {
      add(yield->content->completion.tag, yield->timeout_ns);
    } else if (const auto* const call = std::get_if<CallEffect>(&effect)) {
      add(call->content->ReadHeader<CallHeader>().call, call->timeout_ns);
    }
  }
  return deadlines;
}

uint64_t DurableYields::TimeLeft(uint64_t deadline_ns) const {
  if (deadline_ns == 0) return 0;
  const uint64_t now_ns = durable_.NowNs();
  return deadline_ns > now_ns ? deadline_ns - now_ns : 1;
}

void DurableYields::Free(YieldEffect& yield) {
  if (yield.content) lane_.Free(yield.content.Take());
  if (yield.policy) lane_.Free(yield.policy.Take());
}

actord_completion DurableYields::OrRefuse(actord_completion handle,
                                          Process& process, uint64_t tag) {
  if (handle == 0) {
    Refuse(process, tag, ACTORD_RESOURCE_EXHAUSTED,
           Dispatcher::kTooManyInDaemon);
  }
  return handle;
}

actord_completion DurableYields::OpenExternal(Process& process, uint64_t tag,
                                              uint64_t timeout_ns) {
  const actord_completion handle =
      OrRefuse(broker_.OpenExternal(process, GenerationOf(process), tag, lane_),
               process, tag);
  if (handle != 0 && timeout_ns != 0) broker_.SetTimeout(handle, timeout_ns);
  return handle;
}

actord_completion DurableYields::OpenCommand(Process& process, uint64_t tag,
                                             const CommandHandler* handler,
                                             const YieldBroker::Times& times) {
  return OrRefuse(broker_.OpenCommand(process, GenerationOf(process), tag,
                                      handler, times, lane_),
                  process, tag);
}

actord_completion DurableYields::OpenCall(Process& process, uint64_t tag,
                                          const Pid& callee,
                                          const YieldBroker::Times& times) {
  return OrRefuse(broker_.OpenCall(process, GenerationOf(process), tag, callee,
                                   times, lane_),
                  process, tag);
}

void DurableYields::Apply(YieldEffect& yield, Process& process, const Pid& self,
                          uint64_t record) {
  lane_.Count(&Counters::yields);
  if (!dispatcher_.MayYield(process)) {
    Refuse(process, yield.content->completion.tag, ACTORD_RESOURCE_EXHAUSTED,
           dispatcher_.TooManyYields(lane_));
    Free(yield);
    return;
  }
  Carry(
      {.record = record, .timeout_ns = dispatcher_.TimeoutOf(yield.timeout_ns)},
      yield, process, self);
}

bool DurableYields::Carry(const Begin& begin, YieldEffect& yield,
                          Process& process, const Pid& self) {
  bool is_task = false;
  const std::string_view command = yield.content->topic();
  const CommandHandler* const handler = dispatcher_.HandlerOf(command, lane_);
  // A yield of the store that nobody carries out now was external when it
  // began, or the plugin of its handler is missing. It waits, so that a start
  // with a wrong setting ends no work.
  const bool waits = handler == nullptr && begin.restored != nullptr;
  if (dispatcher_.IsExternal(command) || waits) {
    is_task = HandOut(begin, yield, process, self);
  } else if (handler == nullptr) {
    Refuse(process, yield.content->completion.tag, ACTORD_NOT_FOUND,
           Dispatcher::NoHandlerFor(command));
  } else if (handler->is_builtin() &&
             handler->descriptor->mode == ACTORD_HANDLER_INLINE) {
    RunBuiltin(begin, *handler, yield, process, self);
  } else if (handler->is_pure() &&
             handler->descriptor->mode == ACTORD_HANDLER_INLINE) {
    // Its answer is in the record of the step that takes it.
    KeepTime(begin, yield);
    dispatcher_.RunInline(*handler, process, self, yield, lane_);
  } else {
    RunInPool(begin, *handler, yield, process, self);
  }
  Free(yield);
  return is_task;
}

void DurableYields::KeepTime(const Begin& begin, YieldEffect& yield) {
  if (begin.restored == nullptr) return;
  yield.timeout_ns =
      begin.timeout_ns == 0 ? LiveLimits::kForeverNs : begin.timeout_ns;
}

void DurableYields::RunBuiltin(const Begin& begin,
                               const CommandHandler& handler,
                               YieldEffect& yield, Process& process,
                               const Pid& self) {
  const uint64_t age_ns =
      begin.restored == nullptr ? 0 : AgeOf(begin.restored->begun_ns);
  KeepTime(begin, yield);
  ActingCommand acting(durable_, {self, yield.content->completion.tag},
                       begin.record, age_ns);
  // Set aside, so that the completion of this command can be told from other
  // completions.
  EnvelopeList others = std::exchange(process.urgent_taken, {});
  dispatcher_.RunInline(handler, process, self, yield, lane_);
  Envelope* const completion = process.urgent_taken.PopFront();
  process.urgent_taken = others;
  if (completion == nullptr) return;  // deferred
  process.urgent_taken.PushBack(Seal(acting, completion, OwnerOf(process)));
}

Envelope* DurableYields::Seal(ActingCommand& acting, Envelope* completion,
                              Owner by) {
  if (completion->completion.status == ACTORD_OK &&
      !acting.sends().to.empty() && !Send(acting, *completion, by)) {
    Envelope* const failed = lane_.NewEnvelope(
        ACTORD_EVENT_COMPLETION, {},
        TextPayload("the message is larger than a record of the store can be"));
    failed->completion = completion->completion;
    failed->completion.status = ACTORD_RESOURCE_EXHAUSTED;
    failed->generation = completion->generation;
    lane_.Free(completion);
    return failed;
  }
  if (acting.done_at() == 0) return completion;
  ACTORD_ASSERT(completion->completion.status == ACTORD_OK,
                "acting_command.h: a command that has changed something "
                "succeeds");
  Envelope* const logged = NewLoggedCompletion(
      ACTORD_EVENT_COMPLETION, completion->completion.tag, ACTORD_OK,
      completion->payload(), acting.done_at(), lane_);
  logged->generation = completion->generation;
  lane_.Free(completion);
  return logged;
}

bool DurableYields::Send(ActingCommand& acting, const Envelope& completion,
                         Owner by) {
  const ActingCommand::Sends& sends = acting.sends();
  const actord_payload payload = ToAbi(sends.payload);
  std::vector<Pid> durable;
  for (const Pid& to : sends.to) {
    if (IsHomePid(to)) durable.push_back(to);
  }
  if (!durable.empty() &&
      !acting.Commit({.command = records::Command::kSend,
                      .result = FromAbi(completion.payload()),
                      .target = durable.front(),
                      .message = records::Body{.from = acting.yield().pid,
                                               .topic = sends.topic,
                                               .payload = sends.payload},
                      .others = {durable.begin() + 1, durable.end()}})) {
    return false;
  }
  const uint64_t record = acting.done_at();
  const actord_pid from = ToAbi(acting.yield().pid);
  const TraceContext* const trace =
      StepTrace::Of(TracedProcessOf(acting.yield().pid));
  for (size_t i = 0; i < durable.size(); ++i) {
    const uint64_t position = record + 1 + i;
    Envelope* const message =
        NewLoggedMessage(from, sends.topic, payload, position, lane_);
    sends_.Send(by, durable[i], Traced(message, trace, lane_), position,
                record);
  }
  for (const Pid& to : sends.to) {
    if (IsHomePid(to)) continue;
    Envelope* const message =
        lane_.NewEnvelope(ACTORD_EVENT_MESSAGE, sends.topic, payload);
    message->from = from;
    sends_.SendWhenDurable(by, to, Traced(message, trace, lane_),
                           record == 0 ? acting.record() : record);
  }
  return true;
}

void DurableYields::RunInPool(const Begin& begin, const CommandHandler& handler,
                              YieldEffect& yield, Process& process,
                              const Pid& self) {
  const uint64_t tag = yield.content->completion.tag;
  if (begin.restored != nullptr && !handler.is_builtin() &&
      !handler.is_idempotent()) {
    Refuse(process, tag, ACTORD_ABORTED,
           "the daemon has ended while the handler of the command ran; nobody "
           "knows how far it came");
    return;
  }
  const actord_completion handle = OpenCommand(
      process, tag, &handler,
      {.timeout_ns = begin.timeout_ns,
       .age_ns =
           begin.restored == nullptr ? 0 : AgeOf(begin.restored->begun_ns)});
  if (handle == 0) return;
  CrashMark mark;
  if (begin.restored != nullptr && !handler.is_builtin()) {
    // It may be the command that has ended the daemon.
    mark = {.marks = durable_.store().marks(),
            .step = process.steps.load(std::memory_order_relaxed),
            .code = process.type.load(std::memory_order_relaxed)
                        ->newest_durable()
                        .code};
  }
  durable_.releases().After(
      begin.record,
      [self, by = OwnerOf(process), handle, mark,
       envelope = Own(yield.content.Take(), shared_lane_), &handler,
       &dispatcher = dispatcher_, &lane = shared_lane_]() mutable {
        dispatcher.PostToPool(handler, self, by, handle, envelope.release(),
                              lane, mark);
      });
}

bool DurableYields::HandOut(const Begin& begin, YieldEffect& yield,
                            Process& process, const Pid& self) {
  const uint64_t tag = yield.content->completion.tag;
  absl::StatusOr<Dispatcher::Task> task =
      dispatcher_.TaskOf(process, self, yield, begin.timeout_ns);
  if (!task.ok()) {
    Refuse(process, tag, ACTORD_INVALID_ARGUMENT,
           std::string(task.status().message()));
    return false;
  }
  if (begin.restored != nullptr) {
    task->history.attempts = begin.restored->attempts;
    task->history.lease_left_ns = TimeLeft(begin.restored->lease_ns);
    if (begin.restored->attempts != 0) {
      task->history.worker_owner = begin.restored->worker_owner;
    }
  }
  const actord_completion handle = OpenExternal(process, tag, begin.timeout_ns);
  if (handle == 0) return false;
  durable_.releases().After(
      begin.record,
      [handle, token = YieldToken{self, tag}, task = *std::move(task),
       &dispatcher = dispatcher_, &broker = broker_, &tasks = tasks_,
       &lane = shared_lane_]() mutable {
        if (!broker.IsPending(handle)) return tasks.StopExpecting(token);
        if (!dispatcher.AddTask(handle, std::move(task), lane)) return;
        // The yield may have ended before the task was in the table.
        if (!broker.IsPending(handle)) tasks.Expire(token);
      });
  return true;
}

void DurableYields::Apply(CallEffect& call, Process& process, const Pid& self,
                          uint64_t record, uint64_t position) {
  lane_.Count(&Counters::yields);
  const uint64_t tag = call.content->ReadHeader<CallHeader>().call;
  Envelope* const content = call.content.Take();
  const Pid to = call.to;
  const Owner by = OwnerOf(process);
  const uint64_t timeout_ns = dispatcher_.TimeoutOf(call.timeout_ns);
  if (!dispatcher_.MayYield(process)) {
    if (IsHomePid(to)) {
      sends_.LogDropped(to, position, records::DropReason::kYieldLimit);
    }
    Refuse(process, tag, ACTORD_RESOURCE_EXHAUSTED,
           dispatcher_.TooManyYields(lane_));
    lane_.Free(content);
    return;
  }
  if (to == Pid{}) {
    Refuse(process, tag, ACTORD_NOT_FOUND,
           "no process holds the name that was called");
    lane_.Free(content);
    return;
  }
  if (!IsHomePid(to)) {
    const actord_completion handle =
        OpenCall(process, tag, to, {.timeout_ns = timeout_ns});
    if (handle == 0) {
      lane_.Free(content);
      return;
    }
    Envelope* const message =
        Traced(content, StepTrace::Of(TracedProcessOf(self)), lane_);
    durable_.releases().After(
        record, [by, to, handle, content = Own(message, shared_lane_),
                 &calls = calls_, &lane = shared_lane_]() mutable {
          calls.Deliver(by, to, handle, content.release(), lane);
        });
    return;
  }
  if (absl::Status refused = calls_.WhyRefused(by, to); !refused.ok()) {
    sends_.LogDropped(to, position, records::DropReason::kQuarantined);
    Refuse(process, tag, static_cast<int32_t>(refused.code()),
           std::string(refused.message()));
    lane_.Free(content);
    return;
  }
  std::string_view topic = content->topic();
  topic.remove_prefix(sizeof(CallHeader));
  Run run(Run::Kind::kCall,
          Traced(NewLoggedCall(ToAbi(self), tag, topic, content->payload(),
                               position, lane_),
                 StepTrace::Of(TracedProcessOf(self)), lane_),
          by);
  lane_.Free(content);
  const Posted posted = delivery_.Post(to, run, lane_);
  if (posted == Posted::kDelivered || run.first == nullptr) {
    OpenCall(process, tag, to, {.timeout_ns = timeout_ns});
    // The callee has ended in the meantime, and may not have found the call.
    if (posted != Posted::kDelivered) {
      calls_.FailLogged({self, tag}, to, nullptr, lane_);
    }
    return;
  }
  if (posted == Posted::kMailboxFull || posted == Posted::kOverQuota) {
    sends_.LogDropped(to, position, records::DropReason::kMailboxFull);
  }
  const absl::Status why = delivery_.Explain(by, to, posted, lane_);
  Refuse(process, tag, static_cast<int32_t>(why.code()),
         std::string(why.message()));
  lane_.Free(run.first);
}

void DurableYields::Apply(const CancelEffect& cancel, Process& process,
                          const Pid& self, uint64_t record) {
  if (!broker_.GiveUp(cancel.tag, process, lane_)) return;
  durable_.releases().After(record, [token = YieldToken{self, cancel.tag},
                                     &tasks = tasks_] { tasks.Expire(token); });
}

}  // namespace actord::runtime
