#include "runtime/effects/durable_applier.h"

#include <utility>

#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/scheduler/owned_envelope.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

void DurableApplier::Apply(StepRecord& record, Process& process,
                           const Pid& self, DurableState& state,
                           uint64_t record_at) {
  const Step step{process, self, state,
                  process.owner.load(std::memory_order_relaxed), record_at};
  uint64_t position = record_at;
  for (Effect& effect : record.effects) {
    if (auto* const send = std::get_if<SendEffect>(&effect)) {
      Apply(*send, step, position);
    } else if (auto* const reply = std::get_if<ReplyEffect>(&effect)) {
      Apply(*reply, step, position);
    } else if (auto* const spawn = std::get_if<SpawnEffect>(&effect)) {
      Apply(*spawn, step);
    } else if (auto* const yield = std::get_if<YieldEffect>(&effect)) {
      yields_.Apply(*yield, process, self, record_at);
    } else if (auto* const call = std::get_if<CallEffect>(&effect)) {
      yields_.Apply(*call, process, self, record_at, position);
    } else if (auto* const tie = std::get_if<TieEffect>(&effect)) {
      shared_.ties.Apply(TieEffect(*tie), process, self, lane_);
    } else if (auto* const cancel = std::get_if<CancelEffect>(&effect)) {
      yields_.Apply(*cancel, process, self, record_at);
    } else if (auto* const publish = std::get_if<PublishEffect>(&effect)) {
      Apply(*publish, step);
    } else if (auto* const log = std::get_if<LogEffect>(&effect)) {
      Apply(*log, step);
    }
    ++position;
  }
  record.effects.clear();
}

void DurableApplier::Apply(SendEffect& send, const Step& step,
                           uint64_t position) {
  Envelope* const message = send.content.TakeLast();
  const TraceContext* const trace = StepTrace::Of(TracedProcessOf(step.self));
  if (!IsHomePid(send.to)) {
    sends_.SendWhenDurable(step.by, send.to, Traced(message, trace, lane_),
                           step.record_at);
    return;
  }
  Envelope* const logged = NewLoggedMessage(
      message->from, message->topic(), message->payload(), position, lane_);
  lane_.Free(message);
  sends_.Send(step.by, send.to, Traced(logged, trace, lane_), position,
              step.record_at);
}

void DurableApplier::Apply(ReplyEffect& reply, const Step& step,
                           uint64_t position) {
  Envelope* const content = reply.content.TakeLast();
  const auto call = step.state.calls.find(reply.call);
  if (call == step.state.calls.end()) {
    lane_.Count(&Counters::late_replies);
    lane_.Free(content);
    return;
  }
  const DurableState::Caller caller = call->second;
  step.state.calls.erase(call);
  if (!caller.yield.pid.empty()) {
    shared_.calls.AnswerLogged(caller.yield, content->completion.status,
                               content->payload(), position, lane_);
    lane_.Free(content);
    return;
  }
  if (caller.is_kept) {
    shared_.durable.releases().After(
        step.record_at,
        [call = reply.call, content = Own(content, shared_.lane),
         &calls = shared_.calls] {
          calls.AnswerKept(call, content->completion.status,
                           content->payload());
        });
    return;
  }
  OwedCalls* const owed = step.process.owed_calls;
  if (owed != nullptr) owed->calls.erase(caller.handle);
  shared_.durable.releases().After(
      step.record_at,
      [handle = caller.handle, content = Own(content, shared_.lane),
       &calls = shared_.calls, &lane = shared_.lane] {
        if (!calls.Answer(handle, content->completion.status,
                          content->payload(), lane)) {
          lane.Count(&Counters::late_replies);
        }
      });
}

void DurableApplier::Apply(SpawnEffect& spawn, const Step& step) {
  const bool is_durable = IsHomePid(spawn.child);
  Process& child = is_durable ? world_.TakeReserved(spawn.child)
                              : shared_.processes.Reserved(spawn.child);
  if (is_durable) {
    shared_.durable.Begin(child);
    shared_.processes.Enter(child, spawn.child);
  }
  // The ties begin before the child does, so no end is missed.
  if (spawn.link) shared_.ties.Link(step.self, spawn.child, lane_);
  if (spawn.monitor != 0) {
    shared_.ties.Monitor(step.self, spawn.monitor, spawn.child, lane_);
  }
  Begin(child, spawn, step);
}

void DurableApplier::Apply(PublishEffect& publish, const Step& step) {
  if (!shared_.topics.IsHeard()) {
    shared_.topics.Apply(std::move(publish), step.process, step.self, lane_);
    return;
  }
  // A recovery does not repeat it: a step whose record it finds is not applied.
  shared_.durable.releases().After(
      step.record_at,
      [by = step.by, content = Own(publish.content.TakeLast(), shared_.lane),
       &topics = shared_.topics, &lane = shared_.lane]() mutable {
        topics.Publish(by, std::move(content), lane);
      });
}

void DurableApplier::Apply(LogEffect& log, const Step& step) {
  Envelope* const content = log.content.TakeLast();
  if (shared_.process_log.Has(log.level)) {
    // The line is made now, because later the process may have lost its name.
    shared_.durable.releases().After(
        step.record_at,
        [level = log.level,
         line = shared_.process_log.LineOf(step.process, step.self,
                                           View(content->payload().bytes)),
         &process_log = shared_.process_log] {
          process_log.Write(level, line);
        });
  }
  lane_.Free(content);
}

void DurableApplier::Begin(Process& child, SpawnEffect& spawn,
                           const Step& step) {
  child.init_due = true;
  TraceInput(spawn.content, StepTrace::Of(TracedProcessOf(step.self)), lane_);
  child.input = spawn.content.TakeLast();
  child.refusal = TextOf(spawn.refusal);
  child.keep_result = spawn.keep_result;
  constexpr uint64_t kBegins = Activity::kReady - Activity::kEnded;
  if (child.is_durable()) {
    lane_.Count(&Counters::processes_started);
    if (Activity::Add(child.activity, kBegins)) {
      shared_.scheduler.Enqueue(&child, lane_.here());
    }
    return;
  }
  // A volatile process must not start earlier, because its actions cannot be
  // undone.
  shared_.durable.releases().After(
      step.record_at,
      [&child, &scheduler = shared_.scheduler, &lane = shared_.lane] {
        lane.Count(&Counters::processes_started);
        if (Activity::Add(child.activity, kBegins)) {
          scheduler.Enqueue(&child, nullptr);
        }
      });
}

}  // namespace actord::runtime
