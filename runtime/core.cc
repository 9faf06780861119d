#include "runtime/core.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "runtime/counters/counter_info.h"
#include "runtime/delivery/message_rules.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/chain.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"
#include "runtime/system/random.h"
#include "runtime/thread_turns.h"

namespace actord::runtime {
namespace {

// Maximum number of outstanding yields of the whole daemon.
constexpr size_t kMaxYieldRecords = size_t{1} << 26;

// Maximum number of threads that run workers.
size_t ThreadsOf(const RuntimeOptions& options) {
  return static_cast<size_t>(options.workers) +
         static_cast<size_t>(options.max_blocked_threads);
}

// Separates the secret of request ids from the secret of the steps.
constexpr uint64_t kIdSeed = 0x7265'7175'6573'7473;

// The key for the random bits of steps, or for request ids.
SipKey SecretOf(uint64_t seed) {
  // Not the stream that the workers use for their choices.
  Random random(~seed);
  const uint64_t k0 = random.Next();
  return {k0, random.Next()};
}

// Without a store, one key for ids and contents is enough, as long as the
// daemon runs.
RequestIds::Options OptionsOfIds(const RuntimeOptions& options) {
  const SipKey secret = SecretOf(options.seed ^ kIdSeed);
  RequestIds::Options ids{.bounds = options.request_ids,
                          .durable = {},
                          .ids = secret,
                          .contents = secret};
  if (options.store != nullptr) {
    ids.durable = options.store->request_id_bounds();
    ids.contents = options.store->fingerprint_key();
  }
  return ids;
}

}  // namespace

Runtime::Core::Core(const RuntimeOptions& resolved, const Catalog& known)
    : options(resolved),
      limits(resolved),
      catalog(known),
      clock(*options.clock),
      processes(options.node, options.incarnation, options.max_processes,
                ThreadsOf(options) + 1, options.type_limits,
                options.counts_owners),
      durable(options.store == nullptr
                  ? nullptr
                  : std::make_unique<DurableProcesses>(
                        *options.store, processes, clock, options.durable)),
      request_ids(OptionsOfIds(options), clock),
      message_ids(OptionsOfIds(options), clock),
      scheduler(options.workers, clock),
      parked(durable == nullptr ? nullptr
                                : std::make_unique<ParkedProcesses>(
                                      options.store->journal(), scheduler)),
      lane(buffers, Lane::Use::kShared),
      spare_lanes(buffers),
      delivery(processes, scheduler, limits),
      durable_inputs(durable == nullptr ? nullptr
                                        : std::make_unique<DurableInputs>(
                                              *durable, delivery, processes)),
      letter_journal(durable == nullptr
                         ? nullptr
                         : std::make_unique<LetterJournal>(*durable, delivery,
                                                           processes, lane)),
      tasks(
          options.external_commands, options.work_policies, limits, clock,
          [this](actord_completion completion, const YieldResult& result,
                 bool is_answer) {
            return broker.Answer(completion, static_cast<int32_t>(result.code),
                                 ToAbi(result.payload), lane, is_answer);
          },
          durable.get()),
      results(limits, clock, [this] { threads.watchdog().WorkerWoke(); }),
      broker(scheduler, processes, delivery, tasks, durable.get(), limits,
             kMaxYieldRecords, ThreadsOf(options)),
      dead_letters(limits, clock, delivery, lane, letter_journal.get()),
      labels(processes.mailbox_bytes_of()),
      recordings(processes, clock),
      lifecycle_log(limits, clock, &labels),
      names(processes),
      process_log(options, processes, names),
      groups(processes),
      ties(processes, delivery),
      failures(limits, clock, names, ties, options.failed),
      topics(clock, lane),
      lifetimes(processes, scheduler, delivery, clock),
      admission(catalog, limits, clock, processes, durable.get(), scheduler,
                names, labels, lane, state),
      host(limits, clock, durable.get(), delivery, broker, admission, names,
           groups, ties, process_log, lane),
      pool(options.blocking_threads, options.blocking_queue),
      dispatcher(catalog, limits, clock, broker, tasks, pool, lane),
      kept_calls(durable == nullptr
                     ? nullptr
                     : std::make_unique<KeptCalls>(
                           KeptCalls::Parts{.durable = *durable,
                                            .inputs = *durable_inputs,
                                            .delivery = delivery,
                                            .processes = processes,
                                            .lane = lane,
                                            .clock = clock},
                           OptionsOfIds(options))),
      calls(dispatcher, broker, delivery, failures,
            durable == nullptr ? nullptr : &durable->quarantine(),
            kept_calls.get(), clock, lane),
      undelivered(dead_letters, calls),
      ending({.results = results,
              .lifecycle_log = lifecycle_log,
              .failures = failures,
              .names = names,
              .labels = labels,
              .recordings = recordings,
              .type_names = catalog.type_names()},
             Ending::Observers(names, groups, calls, ties, labels, recordings),
             clock),
      orders{.on_end = [this] { shutdown.OnEnd(); }},
      shutdown(*this, options.stuck_after),
      step_secret(SecretOf(options.seed)),
      threads({.options = options,
               .clock = clock,
               .buffers = buffers,
               .processes = processes,
               .process_log = process_log,
               .scheduler = scheduler,
               .broker = broker,
               .lifetimes = lifetimes,
               .results = results,
               .shared_lane = lane,
               .make_runner =
                   [this](Lane& thread_lane, BlockingCalls& blocking_calls) {
                     return MakeRunner(thread_lane, blocking_calls);
                   }}),
      task_timer_thread(tasks),
      passivator(durable == nullptr ? nullptr
                                    : std::make_unique<Passivator>(*this)),
      timed_wakes(durable == nullptr ? nullptr
                                     : std::make_unique<TimedWakes>(*this)) {
  ACTORD_ASSERT(ValidateLimits(options).ok(), "core.h: the limits are checked");
  ACTORD_ASSERT(options.workers > 0 && options.incarnation != 0 && options.log,
                "core.h: the options are resolved");
  if (durable != nullptr) {
    durable->releases().OnCaughtUp([this] { parked->EnqueueAll(); });
    processes.SetWake([this](const Pid& id, Owner by) { return Wake(id, by); });
  }
  for (size_t i = 0; i < scheduler.size(); ++i) {
    scheduler.queue(i).timers.SetIsWanted([this](uint64_t timer) {
      return DueTimers::IsWanted(broker, lifetimes, timer);
    });
  }
}

std::shared_ptr<ProcessRunner> Runtime::Core::MakeRunner(
    Lane& thread_lane, BlockingCalls& blocking_calls) {
  auto all = std::make_shared<ThreadTurns>(*this, thread_lane, blocking_calls);
  ProcessRunner* const runner = &all->runner;
  return {std::move(all), runner};
}

Runtime::Core::~Core() {
  if (passivator != nullptr) passivator->Stop();
  if (timed_wakes != nullptr) timed_wakes->Stop();
  shutdown.Run(ShutdownMode::kNow, absl::ZeroDuration());
  task_timer_thread.Stop();
  pool.Stop(UINT64_MAX);
  threads.Stop();
  if (durable != nullptr) {
    options.store->Close();
    durable->releases().OnCaughtUp(nullptr);
    if (!closed_durable_) CloseDurable();
  }
  FreeMailboxes();
}

void Runtime::Core::FreeMailboxes() {
  // Frees the events that arrived just when their processes ended, and the
  // events of processes that never got a turn.
  for (uint32_t slot = 0; slot < processes.SlotsInUse(); ++slot) {
    Process& process = processes.At(slot);
    process.urgent.TakeAll(process.urgent_taken);
    while (Envelope* envelope = process.urgent_taken.PopFront()) {
      lane.Free(envelope);
    }
    process.TakeMessages([this](Envelope* envelope) {
      if (envelope->type == kEventChain) {
        for (Envelope* message : MessagesOf(*envelope)) lane.Free(message);
      }
      lane.Free(envelope);
      return true;
    });
  }
}

absl::Status Runtime::Core::StartThreads() {
  return shutdown.UnlessBegun([this] {
    absl::Status status = threads.Start();
    // Yields of the store may wait as tasks without a pattern, too.
    if (status.ok() &&
        (!options.external_commands.empty() || durable != nullptr)) {
      status = task_timer_thread.Start();
    }
    if (status.ok() && passivator != nullptr) status = passivator->Start();
    if (status.ok() && timed_wakes != nullptr) status = timed_wakes->Start();
    if (status.ok()) state.store(RunState::kServing, std::memory_order_seq_cst);
    return status;
  });
}

absl::Status Runtime::Core::SetLimits(const Limits& given) {
  absl::Status status = ValidateLimits(given);
  if (!status.ok()) return status;
  limits.Set(given);
  dead_letters.Trim();
  failures.Trim();
  lifecycle_log.Trim();
  processes.SetLimit(given.max_processes);
  results.Trim();
  // Results may become too old earlier with the new limits.
  threads.watchdog().WorkerWoke();
  return absl::OkStatus();
}

absl::Status Runtime::Core::SetQuotas(const OwnerQuotas& all,
                                      const std::vector<OwnQuotas>& own) {
  if (!options.counts_owners) {
    return absl::FailedPreconditionError(
        "counts_owners is not set, so owners can have no quotas");
  }
  const auto set = [&](OwnerLimits& of, uint64_t OwnerQuotas::*quota) {
    std::vector<OwnerLimits::Exception> exceptions;
    for (const OwnQuotas& one : own) {
      exceptions.push_back({one.owner, one.quotas.*quota});
    }
    of.Set(all.*quota, exceptions);
  };
  set(processes.processes_of(), &OwnerQuotas::processes);
  set(processes.mailbox_bytes_of(), &OwnerQuotas::mailbox_bytes);
  set(tasks.bytes_of(), &OwnerQuotas::yield_bytes);
  return absl::OkStatus();
}

absl::Status Runtime::Core::CheckMessage(const Message& message) const {
  absl::Status status =
      runtime::CheckMessage("payload", message, PayloadLimit(limits));
  status.Update(CheckMemory(limits));
  return status;
}

Sent Runtime::Core::SendAllFromOutside(Owner by, const Pid& to,
                                       const std::vector<Message>& messages,
                                       const RequestId* id) {
  if (!IsHomePid(to) || durable == nullptr) {
    return {delivery.SendAll(by, to, messages, lane)};
  }
  if (!messages.empty() || id != nullptr) {
    return durable_inputs->SendAll(by, to, messages, lane, nullptr,
                                   {.id = id, .is_submit = true});
  }
  // The process itself may not be durable yet.
  return {delivery.SendAll(by, to, messages, lane), durable->LastPosition()};
}

void Runtime::Core::WhenDurable(uint64_t position,
                                absl::AnyInvocable<void() &&> then) {
  if (position == 0) {
    std::move(then)();
  } else {
    durable->releases().After(position, std::move(then));
  }
}

void Runtime::Core::WhenDurableHere(uint64_t position,
                                    absl::AnyInvocable<void() &&> then) {
  if (position == 0) {
    std::move(then)();
  } else {
    durable->releases().AfterHere(position, std::move(then));
  }
}

Sent Runtime::Core::Control(Owner by, const Pid& to, uint16_t type,
                            std::string_view reason, absl::Duration deadline) {
  if (IsHomePid(to) && durable != nullptr) {
    const auto deadline_ns =
        static_cast<uint64_t>(absl::ToInt64Nanoseconds(deadline));
    return durable_inputs->Control(by, to, type, reason, deadline_ns, lane);
  }
  return {delivery.Control(by, to, type, reason, lane)};
}

void Runtime::Core::RetryQuarantine(const Pid& pid, Quarantine::Retried done,
                                    Owner by) {
  const FoundProcess process = processes.Find(pid, by);
  if (!process) {
    std::move(done)(processes.WhyNotFound(pid, by));
    return;
  }
  bool wakes = false;
  if (durable == nullptr || !durable->quarantine().Ask(pid, done, wakes)) {
    std::move(done)(Error(
        absl::StatusCode::kFailedPrecondition, reason::kNotQuarantined,
        absl::StrCat("process ", FormatPid(pid), " is not in quarantine")));
    return;
  }
  if (!wakes) return;
  Run run(Run::Kind::kUrgent, lane.NewEnvelope(kEventUpgrade, {}, {}),
          Owner::kAny);
  // If the process ends, its turn calls back the waiting callers.
  if (delivery.Post(pid, run, lane) != Posted::kDelivered) lane.Free(run.first);
}

uint64_t Runtime::Core::LiveVolatile() const {
  const uint64_t live = LiveProcesses();
  return durable == nullptr ? live : live - std::min(live, durable->live());
}

uint64_t Runtime::Core::Sum(Counter Counters::*counter) const {
  uint64_t sum = (lane.counters().*counter).Get() + spare_lanes.Sum(counter);
  for (size_t i = 0; i < threads.size(); ++i) {
    sum += (threads.at(i).lane.counters().*counter).Get();
  }
  return sum;
}

uint64_t Runtime::Core::LiveProcesses() const {
  // `processes_ended` is read first, so that a process that begins and ends in
  // between counts as live and not as minus one.
  const uint64_t ended = Sum(&Counters::processes_ended);
  return Sum(&Counters::processes_started) - ended;
}

RuntimeStats Runtime::Core::Stats() const {
  RuntimeStats stats;
  stats.state = state.load(std::memory_order_seq_cst);
  stats.node = options.node;
  stats.incarnation = options.incarnation;
  stats.workers = options.workers;
  scheduler.AddTo(stats);
  stats.processes_live = LiveProcesses();
  stats.of_limited_types = processes.type_limits().Uses();
  // The order of the reads: the total of dead letters, then the kept letters,
  // then the forgotten, resent and dropped letters. So a letter that changes
  // its place meanwhile is never missing from the sum.
  const uint64_t dead_letters_so_far = Sum(&Counters::dead_letters);
  dead_letters.AddTo(stats);
  if (durable != nullptr) {
    stats.processes_quarantined = durable->quarantine().size();
    stats.refused_store_full = durable->refused_full();
  }
  lifecycle_log.AddTo(stats);
  topics.AddTo(stats);
  // From the last to the first: in the table a cause stands before its effect,
  // so no completion is counted here without its yield.
  for (auto it = std::rbegin(kLaneCounters); it != std::rend(kLaneCounters);
       ++it) {
    stats.*it->value = Sum(it->lane);
  }
  stats.dead_letters = dead_letters_so_far;
  stats.external_yields_waiting = tasks.waiting();
  const TaskTable::WorkStats work = tasks.work_stats();
  stats.remote_workers = work.workers;
  stats.tasks_leased = work.leased;
  stats.external_yields_unserved = work.unserved;
  stats.blocking_queue = pool.queued();
  stats.blocking_running = pool.running();
  stats.processes_dormant = durable == nullptr ? 0 : durable->homes().dormant();
  stats.results_kept = results.kept();
  stats.results_bytes = results.bytes();
  stats.refused_payloads = limits.refused_payloads();
  stats.refused_for_memory = limits.refused_for_memory();
  return stats;
}

}  // namespace actord::runtime
