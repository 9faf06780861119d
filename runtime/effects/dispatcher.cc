#include "runtime/effects/dispatcher.h"

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "handlers/rules/process_rules.h"
#include "runtime/crash/running_code.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/owner.h"
#include "runtime/step/foreign.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

// One run of a handler, on the worker or on the pool.
struct Dispatcher::HandlerCall : actord_call {
  HandlerCall(YieldBroker& yield_broker, Lane& own_lane, const Pid& pid,
              const Envelope& yield)
      : actord_call{&kApi, ToAbi(pid), yield.completion.tag,
                    ToAbi(yield.topic()), yield.payload()},
        broker(yield_broker),
        lane(own_lane) {}
  ~HandlerCall() { DropReply(); }
  HandlerCall(const HandlerCall&) = delete;
  HandlerCall& operator=(const HandlerCall&) = delete;

  static HandlerCall& Of(actord_call* call) {
    return *static_cast<HandlerCall*>(call);
  }

  // The last reply counts.
  void SetReply(int32_t status, const actord_payload& answer) {
    DropReply();
    has_reply = true;
    if (!Fits(answer, broker.MaxBytes(status))) {
      const std::string text = broker.WhyItDoesNotFit("reply", answer, status);
      reply_status = ACTORD_INVALID_ARGUMENT;
      KeepReply(TextPayload(text));
      return;
    }
    reply_status = status;
    KeepReply(answer);
  }
  // Returns the reply as a completion. If the reply and the yield are short,
  // the completion reuses the yield's envelope, which the handler no longer
  // reads. Precondition: has_reply.
  Envelope* TakeReply(Envelope& yield) {
    ACTORD_ASSERT_HOT(has_reply, "dispatcher.cc: the handler has replied");
    Envelope* completion = std::exchange(long_reply, nullptr);
    if (completion == nullptr && yield.IsOfOneLine()) {
      completion = &yield;
      completion->ReplaceText(View(reply.bytes), HeldType(reply.content_type));
    } else if (completion == nullptr) {
      completion = lane.NewEnvelope(ACTORD_EVENT_COMPLETION, {}, reply);
    }
    completion->completion.status = reply_status;
    return completion;
  }

  YieldBroker& broker;
  Lane& lane;
  // Set in inline calls only, where a record can still be opened.
  Process* process = nullptr;
  const CommandHandler* handler = nullptr;
  uint32_t generation = 0;
  actord_completion handle = 0;
  bool deferred = false;
  bool has_reply = false;
  int32_t reply_status = ACTORD_OK;
  actord_payload reply{};  // in `short_reply` or `long_reply`

 private:
  void DropReply() {
    if (long_reply != nullptr) lane.Free(std::exchange(long_reply, nullptr));
  }
  void KeepReply(const actord_payload& answer) {
    const std::string_view bytes = View(answer.bytes);
    const HeldType type(answer.content_type);
    if (bytes.size() > short_reply.size() || type.bytes() != 0) {
      long_reply = lane.NewEnvelope(ACTORD_EVENT_COMPLETION, {}, answer);
      reply = long_reply->payload();
      return;
    }
    actord::detail::CopyBytes(short_reply.data(), bytes.data(), bytes.size());
    reply = {{short_reply.data(), bytes.size()}, type.TypeWith(nullptr)};
  }

  Envelope* long_reply = nullptr;
  std::array<char, kOneLineTextBytes> short_reply;
};

const actord_call_api Dispatcher::kApi = {
    .struct_size = sizeof(actord_call_api),
    .reserved = 0,
    .reply =
        [](actord_call* call, int32_t status, const actord_payload* payload) {
          // By reference: to copy a value that was written in parts just before
          // stalls the processor.
          static constexpr actord_payload kNothing{};
          HandlerCall::Of(call).SetReply(
              status, payload == nullptr ? kNothing : *payload);
        },
    .defer = [](actord_call* abi_call) -> actord_completion {
      HandlerCall& call = HandlerCall::Of(abi_call);
      if (call.handle == 0) {
        call.handle =
            call.broker.OpenCommand(*call.process, call.generation, call.tag,
                                    call.handler, {}, call.lane);
      }
      call.deferred = true;
      return call.handle;
    },
};

Dispatcher::Dispatcher(const Catalog& catalog, const LiveLimits& limits,
                       const Clock& clock, YieldBroker& broker,
                       TaskTable& tasks, BlockingPool& pool, Lane& shared_lane)
    : catalog_(catalog),
      limits_(limits),
      clock_(clock),
      broker_(broker),
      tasks_(tasks),
      pool_(pool),
      shared_lane_(shared_lane) {}

uint64_t Dispatcher::TimeoutOf(uint64_t timeout_ns) const {
  timeout_ns = rules::TimeoutOf(timeout_ns, limits_.default_yield_timeout_ns());
  return timeout_ns >= LiveLimits::kForeverNs ? 0 : timeout_ns;
}

inline void Dispatcher::RunHere(const CommandHandler& handler, Process& process,
                                const Pid& self, YieldEffect& yield,
                                Lane& lane) {
  // The PID of a durable process has another generation, which comes from its
  // home.
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed);
  {
    HandlerCall call(broker_, lane, self, *yield.content);
    call.process = &process;
    call.handler = &handler;
    call.generation = generation;
    lane.hold().Enter(process, Hold::kInlineHandler);
    const ActingOwner acting(process.owner.load(std::memory_order_relaxed));
    Handle(handler, call);
    lane.hold().Leave();
    if (!call.has_reply) {
      const uint64_t timeout_ns = TimeoutOf(yield.timeout_ns);
      if (timeout_ns != 0) broker_.SetTimeout(call.handle, timeout_ns);
    } else if (call.handle != 0) {
      // The handler deferred and then replied, or threw.
      broker_.Complete(call.handle, call.reply_status, call.reply, lane);
    } else {
      Envelope* const completion = call.TakeReply(*yield.content);
      const bool is_in_its_place = completion == yield.content.get();
      Answer(process, generation, call.tag, completion, lane);
      if (is_in_its_place) {
        static_cast<void>(yield.content.Take());
        return;
      }
    }
  }
  lane.Free(yield.content.Take());
}

void Dispatcher::Apply(YieldEffect&& yield, Process& process, const Pid& self,
                       Lane& lane) {
  lane.Count(&Counters::yields);
  if (!MayYield(process)) {
    Refuse(process, yield, ACTORD_RESOURCE_EXHAUSTED, TooManyYields(lane),
           lane);
    return;
  }
  const std::string_view command = yield.content->topic();
  const CommandHandler* const handler = HandlerOf(command, lane);
  if (tasks_.IsExternal(command)) {
    HandOut(process, self, yield, lane);
  } else if (handler == nullptr) {
    Refuse(process, yield, ACTORD_NOT_FOUND, NoHandlerFor(command), lane);
  } else if (handler->descriptor->mode == ACTORD_HANDLER_POOLED) {
    RunPooled(*handler, process, self, yield, lane);
  } else {
    RunHere(*handler, process, self, yield, lane);
  }
}

std::string Dispatcher::NoHandlerFor(std::string_view command) {
  return absl::StrCat("no handler for the command \"", ToAbsl(command),
                      "\", and no external pattern matches it");
}

std::string Dispatcher::TooManyYields(Lane& lane) const {
  lane.Count(&Counters::refused_yields);
  return absl::StrCat("the process has ", limits_.max_yields(),
                      " outstanding yields, which is the limit");
}

void Dispatcher::Refuse(Process& process, uint64_t tag, int32_t status,
                        std::string_view text, Lane& lane) {
  Envelope* completion =
      lane.NewEnvelope(ACTORD_EVENT_COMPLETION, {}, TextPayload(text));
  completion->completion.status = status;
  Answer(process, process.generation.load(std::memory_order_relaxed), tag,
         completion, lane);
}

void Dispatcher::Refuse(Process& process, YieldEffect& yield, int32_t status,
                        std::string_view text, Lane& lane) {
  Refuse(process, yield.content->completion.tag, status, text, lane);
  lane.Free(yield.content.Take());
}

void Dispatcher::Answer(Process& process, uint32_t generation, uint64_t tag,
                        Envelope* completion, Lane& lane) {
  if (!broker_.HasRoom(process, completion->payload())) {
    lane.Free(completion);
    lane.Count(&Counters::refused_mailbox);
    completion = lane.NewEnvelope(ACTORD_EVENT_COMPLETION, {},
                                  TextPayload(YieldBroker::kNoRoomText));
    completion->completion.status = ACTORD_RESOURCE_EXHAUSTED;
  }
  completion->generation = generation;
  completion->completion.tag = tag;
  ++process.replies;
  if (const uint32_t charge = YieldBroker::ChargeOf(*completion)) {
    process.completion_units.fetch_add(charge, std::memory_order_relaxed);
  }
  lane.Count(&Counters::completions);
  process.urgent_taken.PushBack(completion);
}

void Dispatcher::Handle(const CommandHandler& handler, HandlerCall& call) {
  int32_t answer = ACTORD_HANDLED;
  const Thrown thrown = CallForeign(
      [&] { answer = handler.descriptor->handle(handler.self, &call); });
  std::string error;
  if (thrown) {
    error = absl::StrCat("the handler of ", handler.name, " ", *thrown);
  } else {
    switch (rules::HandledAs(answer, call.deferred)) {
      case rules::Handled::kAnswered:
        if (!call.has_reply) call.SetReply(ACTORD_OK, {});
        return;
      case rules::Handled::kDeferred:
        if (call.handle != 0) return;
        error = std::string(kTooManyInDaemon);
        break;
      case rules::Handled::kWrongly:
        error =
            absl::StrCat("the handler of ", handler.name, " returned ", answer,
                         call.deferred ? "" : " without a deferral");
        break;
    }
  }
  call.SetReply(ACTORD_INTERNAL, TextPayload(error));
}

void Dispatcher::HandlePooled(const CommandHandler& handler, const Pid& pid,
                              HandlerCall& call) {
  const PluginScope scope({.plugin = handler.plugin,
                           .version = handler.version,
                           .function = "pooled command handler",
                           .command = handler.name,
                           .pid = pid});
  Handle(handler, call);
}

void Dispatcher::RunInline(const CommandHandler& handler, Process& process,
                           const Pid& self, YieldEffect& yield, Lane& lane) {
  RunHere(handler, process, self, yield, lane);
}

void Dispatcher::RunPooled(const CommandHandler& handler, Process& process,
                           const Pid& self, YieldEffect& yield, Lane& lane) {
  const actord_completion handle = broker_.OpenCommand(
      process, self.generation, yield.content->completion.tag, &handler,
      {.timeout_ns = TimeoutOf(yield.timeout_ns)}, lane);
  if (handle == 0) {
    Refuse(process, yield, ACTORD_RESOURCE_EXHAUSTED, kTooManyInDaemon, lane);
    return;
  }
  PostToPool(handler, self, process.owner.load(std::memory_order_relaxed),
             handle, yield.content.Take(), lane);
}

void Dispatcher::PostToPool(const CommandHandler& handler, const Pid& self,
                            Owner by, actord_completion handle, Envelope* yield,
                            Lane& lane, const CrashMark& mark) {
  const Pid pid = self;  // the effect's PID is gone when the job runs
  // The job owns the envelope, also if the pool drops the job.
  const auto free = [this](Envelope* owned) { shared_lane_.Free(owned); };
  std::unique_ptr<Envelope, decltype(free)> envelope(yield, free);
  const bool posted = pool_.Post([this, &handler, pid, by, handle, mark,
                                  envelope = std::move(envelope)] {
    std::optional<StepMarks::Running> running;
    if (mark.marks != nullptr) {
      running.emplace(mark.marks->OfThisThread(), pid, mark.step, mark.code);
    }
    const ActingOwner acting(by);
    HandlerCall call(broker_, shared_lane_, pid, *envelope);
    call.handle = handle;
    HandlePooled(handler, pid, call);
    if (!call.has_reply) return;  // deferred
    broker_.Complete(handle, call.reply_status, call.reply, shared_lane_);
  });
  // When the daemon ends, the command of a durable process stays outstanding.
  if (!posted && IsHomePid(self) && pool_.has_stopped()) return;
  if (!posted) {
    broker_.Complete(
        handle, ACTORD_RESOURCE_EXHAUSTED,
        TextPayload("too many commands wait for the blocking pool, or the "
                    "system has no thread left for it"),
        lane);
  }
}

absl::StatusOr<Dispatcher::Task> Dispatcher::TaskOf(const Process& process,
                                                    const Pid& self,
                                                    const YieldEffect& yield,
                                                    uint64_t timeout_ns) const {
  const Envelope& envelope = *yield.content;
  Task task;
  if (yield.policy) {
    actord_work_policy given;
    std::memcpy(&given, yield.policy->content(), sizeof(given));
    auto own = PolicyOfYield(tasks_.PolicyOf(envelope.topic()), given,
                             envelope.topic());
    if (!own.ok()) return own.status();
    task.policy = std::make_unique<const WorkPolicy>(*std::move(own));
  }
  ExternalYield& waiting = task.yield;
  waiting.token = {self, envelope.completion.tag};
  waiting.owner = process.owner.load(std::memory_order_relaxed);
  waiting.process_type = process.type.load(std::memory_order_relaxed)->name;
  waiting.command = std::string(envelope.topic());
  waiting.payload = FromAbi(envelope.payload());
  if (const TraceContext* const trace = StepTrace::Of(TracedProcessOf(self))) {
    waiting.traceparent = TraceparentOf(*trace);
    waiting.tracestate = trace->state;
  }
  waiting.created_unix_ns = clock_.UnixNs();
  waiting.deadline_unix_ns =
      timeout_ns == 0 ? 0 : waiting.created_unix_ns + timeout_ns;
  return task;
}

bool Dispatcher::AddTask(actord_completion handle, Task task, Lane& lane) {
  switch (tasks_.Add(std::move(task.yield), handle, std::move(task.policy),
                     task.history)) {
    case TaskTable::Added::kNoRoom:
      lane.Count(&Counters::refused_external);
      broker_.Complete(handle, ACTORD_RESOURCE_EXHAUSTED,
                       TextPayload("the external yields that wait take all the "
                                   "bytes that they may"),
                       lane);
      return false;
    case TaskTable::Added::kOverQuota:
      lane.Count(&Counters::refused_external_of_owner);
      broker_.Complete(handle, ACTORD_RESOURCE_EXHAUSTED,
                       TextPayload("the external yields of the process's owner "
                                   "that wait take all the bytes of its quota "
                                   "(quotas.yield_bytes)"),
                       lane);
      return false;
    case TaskTable::Added::kAdded:
      break;
  }
  return true;
}

void Dispatcher::HandOut(Process& process, const Pid& self, YieldEffect& yield,
                         Lane& lane) {
  const uint64_t timeout_ns = TimeoutOf(yield.timeout_ns);
  absl::StatusOr<Task> task = TaskOf(process, self, yield, timeout_ns);
  if (yield.policy) lane.Free(yield.policy.Take());
  if (!task.ok()) {
    Refuse(process, yield, ACTORD_INVALID_ARGUMENT,
           std::string(task.status().message()), lane);
    return;
  }
  const actord_completion handle = broker_.OpenExternal(
      process, self.generation, yield.content->completion.tag, lane);
  if (handle == 0) {
    Refuse(process, yield, ACTORD_RESOURCE_EXHAUSTED, kTooManyInDaemon, lane);
    return;
  }
  // The timeout is set after Add, so that it finds the yield that it expires.
  if (AddTask(handle, *std::move(task), lane) && timeout_ns != 0) {
    broker_.SetTimeout(handle, timeout_ns);
  }
  lane.Free(yield.content.Take());
}

}  // namespace actord::runtime
