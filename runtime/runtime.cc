#include "runtime/runtime.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/effects/call_handle.h"
#include "runtime/process/errors.h"
#include "runtime/system/cpu_count.h"
#include "runtime/system/random.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {
namespace {

RuntimeOptions Resolve(RuntimeOptions options) {
  if (options.workers == 0) {
    options.workers = std::min(UsableCpuCount(), 256);
  }
  if (options.clock == nullptr) options.clock = &Clock::System();
  if (options.seed == 0) options.seed = Random::SystemSeed();
  while (options.incarnation == 0) {
    options.incarnation = static_cast<uint32_t>(Random::SystemSeed());
  }
  if (!options.log) options.log = [](LogLevel, std::string_view) {};
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Create(
    const RuntimeOptions& options, const Catalog& catalog) {
  absl::Status status = ValidateOptions(options);
  if (!status.ok()) return status;
  std::unique_ptr<CpuLatency> cpu_latency;
  if (options.cpu_latency != absl::InfiniteDuration()) {
    auto request = CpuLatency::Request(options.cpu_latency);
    if (!request.ok()) return request.status();
    cpu_latency = *std::move(request);
  }
  std::unique_ptr<Runtime> runtime(
      new Runtime(std::make_unique<Core>(Resolve(options), catalog)));
  runtime->cpu_latency_ = std::move(cpu_latency);
  return runtime;
}

Runtime::Runtime(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Runtime::~Runtime() = default;

const actord_host* Runtime::host() const { return core_->host.abi(); }

absl::Status Runtime::Start() {
  absl::Status status = core_->Recover();
  return status.ok() ? core_->StartThreads() : status;
}

void Runtime::Submit(const SubmitRequest& request, SubmitCallback done) {
  core_->admission.Submit(request, Pid{}, /*keep_result=*/true,
                          std::move(done));
}

uint64_t Runtime::LastPosition() const {
  if (core_->durable == nullptr) return 0;
  const Journal& journal = core_->options.store->journal();
  const uint64_t tail = journal.Tail();
  return journal.DurableLsn() >= tail ? 0 : tail - 1;
}

bool Runtime::IsDurable(uint64_t position) const {
  return position == 0 ||
         core_->options.store->journal().DurableLsn() > position;
}

bool Runtime::IsJournalBehind() const {
  if (core_->durable == nullptr) return false;
  DurableStore& store = *core_->options.store;
  return store.journal().Behind() && !store.IsFull();
}

absl::Status Runtime::CheckFilling(const Pid& pid) const {
  if (core_->durable == nullptr || !IsHomePid(pid)) return absl::OkStatus();
  return core_->durable->CheckFilling();
}

void Runtime::WhenDurable(uint64_t position,
                          absl::AnyInvocable<void() &&> then) const {
  core_->WhenDurable(position, std::move(then));
}

void Runtime::WhenDurableHere(uint64_t position,
                              absl::AnyInvocable<void() &&> then) const {
  core_->WhenDurableHere(position, std::move(then));
}

Sent Runtime::Core::SendFromOutside(Owner by, const Pid& to,
                                    const Message& message, TakenLane* taken,
                                    const RequestId* id) {
  const absl::Status status = CheckMessage(message);
  if (!status.ok()) return {status};
  Lane& used = taken == nullptr ? lane : taken->lane();
  ReadyList* const ready = taken == nullptr ? nullptr : &taken->ready();
  if (IsHomePid(to) && durable != nullptr) {
    return durable_inputs->SendAll(by, to, {&message, 1}, used, ready,
                                   {.id = id});
  }
  Envelope* const envelope =
      Traced(used.NewEnvelope(ACTORD_EVENT_MESSAGE, message.topic,
                              ToAbi(message.payload)),
             ActingTrace::Here(), used);
  return {delivery.SendOrExplain(by, to, envelope, used, ready)};
}

absl::Status Runtime::Send(const Pid& to, const Message& message, Owner by,
                           uint64_t* position, const RequestId* id) {
  return core_->SendFromOutside(by, to, message, nullptr, id).Tell(position);
}

RequestIds& Runtime::request_ids() { return core_->request_ids; }

RequestIds& Runtime::message_ids() { return core_->message_ids; }

absl::StatusOr<Pid> Runtime::FindName(std::string_view name,
                                      Owner owner) const {
  return core_->names.Find(owner, name);
}

std::vector<std::string> Runtime::NamesNear(std::string_view name,
                                            Owner owner) const {
  return core_->names.Near(owner, name);
}

std::vector<Pid> Runtime::GroupMembers(std::string_view group,
                                       Owner owner) const {
  return core_->groups.Members(owner, group);
}

NamePage Runtime::ListNames(std::string_view prefix, uint64_t first_sequence,
                            size_t page_size, Owner by) const {
  return core_->names.List(by, prefix, first_sequence, page_size);
}

Runtime::CallId Runtime::Call(const Pid& to, const Message& message,
                              CallCallback done, Owner by, WhoCalls who) {
  absl::Status status = core_->CheckMessage(message);
  if (core_->durable != nullptr && IsHomePid(to)) {
    status.Update(core_->durable->CheckTurns());
  }
  if (!status.ok()) {
    std::move(done)(status);
    return 0;
  }
  return core_->calls.Begin(by, to, message, std::move(done), std::move(who));
}

Runtime::CallId Runtime::CallOnce(const Pid& to, const Message& message,
                                  const RequestId& id, CallOnceCallback done,
                                  Owner by) {
  absl::Status status = core_->CheckMessage(message);
  if (status.ok() && core_->kept_calls == nullptr) {
    status =
        Error(absl::StatusCode::kFailedPrecondition, reason::kDurabilityOff,
              "a call with a message id needs a daemon with a store "
              "(store.directory)");
  }
  if (!status.ok()) {
    std::move(done)(status);
    return 0;
  }
  return core_->kept_calls->Begin(by, to, message, id, std::move(done));
}

bool Runtime::KnowsCall(const RequestId& id) const {
  return core_->kept_calls != nullptr && core_->kept_calls->Knows(id);
}

bool Runtime::CancelCall(CallId id) {
  if (CallHandle(id).is_from_outside()) return core_->calls.Cancel(id);
  return core_->kept_calls != nullptr && core_->kept_calls->Cancel(id);
}

absl::StatusOr<Outcome> Runtime::Core::OutcomeNotKept(const Pid& pid,
                                                      Owner by) const {
  if (!processes.HasEnded(pid, by)) return processes.WhyNotFound(pid, by);
  if (const auto failure = failures.Find(pid, by)) return OutcomeOf(*failure);
  return Error(absl::StatusCode::kFailedPrecondition, reason::kResultNotKept,
               absl::StrCat("process ", FormatPid(pid),
                            " has ended; its result was not kept, or has been "
                            "dropped"));
}

Runtime::AwaitId Runtime::Core::Await(const Pid& pid, AwaitCallback done,
                                      Owner by) {
  return results.AwaitOr(
      by, pid, std::move(done),
      [&] { return processes.Want(pid, by, Wanted::kAwaited); },
      [&](AwaitCallback&& late) {
        absl::StatusOr<Outcome> not_kept = OutcomeNotKept(pid, by);
        const bool has_all =
            not_kept.ok() && !Failures::MayBeCut(not_kept->message);
        if (!processes.HasHome(pid) || has_all ||
            ReasonOf(not_kept.status()) == reason::kStopped) {
          return std::move(late)(std::move(not_kept));
        }
        // The store keeps it longer than the memory does, and with its whole
        // text. (The callback does not use the core, because the store outlives
        // it.)
        durable->store().ReadOutcomeLater(
            pid,
            [by, not_kept = std::move(not_kept), late = std::move(late)](
                absl::StatusOr<std::optional<OutcomeEntry>> entry) mutable {
              if (!entry.ok()) return std::move(late)(entry.status());
              if (!entry->has_value() || !Sees(by, (*entry)->owner)) {
                return std::move(late)(std::move(not_kept));
              }
              std::move(late)(FromStore(**std::move(entry), /*type=*/0));
            });
      });
}

Runtime::AwaitId Runtime::Await(const Pid& pid, AwaitCallback done, Owner by) {
  return core_->Await(pid, std::move(done), by);
}

absl::StatusOr<Outcome> Runtime::OutcomeInMemory(const Pid& pid, Owner by) {
  std::optional<absl::StatusOr<Outcome>> found;
  core_->results.Await(
      by, pid,
      [&found](absl::StatusOr<Outcome> outcome) {
        found.emplace(std::move(outcome));
      },
      [] { return false; },
      [this, &pid, by] { return core_->OutcomeNotKept(pid, by); });
  return *std::move(found);
}

bool Runtime::CancelAwait(const Pid& pid, AwaitId id) {
  return core_->results.Cancel(pid, id);
}

CompleteAnswer Runtime::CompleteYield(const YieldToken& token,
                                      const YieldResult& result) {
  return core_->tasks.Complete({token, 0}, result);
}

RemoteTasks& Runtime::remote_tasks() { return core_->tasks; }

absl::Status Runtime::Cancel(const Pid& pid, std::string_view reason,
                             absl::Duration deadline, Owner by,
                             uint64_t* position) {
  absl::Status status =
      core_->Control(by, pid, ACTORD_EVENT_CANCEL, reason, deadline)
          .Tell(position);
  if (status.ok() && deadline > absl::ZeroDuration()) {
    core_->lifetimes.BeginCancel(pid, deadline);
  }
  return status;
}

absl::Status Runtime::Terminate(const Pid& pid, std::string_view reason,
                                Owner by, uint64_t* position) {
  return core_->Control(by, pid, kEventTerminate, reason).Tell(position);
}

QuarantinePage Runtime::ListQuarantine(const QuarantineFilter& filter,
                                       uint64_t first_sequence,
                                       size_t page_size) const {
  if (core_->durable == nullptr) return {};
  QuarantinePage page =
      core_->durable->quarantine().List(filter, first_sequence, page_size);
  for (QuarantineEntry& entry : page.entries) {
    if (const FoundProcess process = core_->processes.Find(entry.pid)) {
      entry.mailbox_messages =
          Activity::Messages(process->activity.load(std::memory_order_relaxed));
    }
    if (auto name = core_->names.NameOf(entry.pid)) {
      entry.name = *std::move(name);
    }
  }
  return page;
}

void Runtime::RetryQuarantine(
    const Pid& pid, absl::AnyInvocable<void(const absl::Status&) &&> done,
    Owner by) {
  core_->RetryQuarantine(pid, std::move(done), by);
}

absl::Status Runtime::NotRestored(const Pid& pid) const {
  return core_->NotRestored(pid);
}

YieldPage Runtime::ListYields(const YieldFilter& filter,
                              uint64_t first_sequence, size_t page_size,
                              size_t page_bytes) const {
  return core_->tasks.List(filter, first_sequence, page_size, page_bytes);
}

const Failures& Runtime::failures() const { return core_->failures; }

DeadLetters& Runtime::dead_letters() { return core_->dead_letters; }

LifecycleLog& Runtime::lifecycle_log() { return core_->lifecycle_log; }
Recordings& Runtime::recordings() { return core_->recordings; }
Topics& Runtime::topics() { return core_->topics; }

bool Runtime::IsExternal(std::string_view command) const {
  return core_->tasks.IsExternal(command);
}

const RuntimeOptions& Runtime::options() const { return core_->options; }

const LiveLimits& Runtime::limits() const { return core_->limits; }

absl::Status Runtime::SetLimits(const Limits& limits) {
  return core_->SetLimits(limits);
}

absl::Status Runtime::SetQuotas(const OwnerQuotas& all,
                                const std::vector<OwnQuotas>& own) {
  return core_->SetQuotas(all, own);
}

void Runtime::SetMemoryLow(bool low) { core_->limits.SetMemoryLow(low); }

RuntimeStats Runtime::Stats() const { return core_->Stats(); }

std::map<std::string, TurnHistogram> Runtime::Core::TurnTimesByType() const {
  std::map<std::string, TurnHistogram> by_type;
  for (size_t i = 0; i < threads.size(); ++i) {
    const TurnTimes* const times = threads.at(i).lane.turn_times.get();
    if (times == nullptr) continue;
    times->ForEach([&](uint16_t type, const TurnHistogram& histogram) {
      TurnHistogram& sum = by_type[type == TurnTimes::kOther
                                       ? Failures::kOtherTypes
                                       : catalog.type_names().NameOf(type)];
      for (size_t bucket = 0; bucket < sum.turns.size(); ++bucket) {
        sum.turns[bucket] += histogram.turns[bucket];
      }
      sum.sum_ns += histogram.sum_ns;
    });
  }
  return by_type;
}

std::map<std::string, TurnHistogram> Runtime::TurnTimesByType() const {
  return core_->TurnTimesByType();
}

size_t Runtime::FreeBufferBytes() const { return core_->buffers.FreeBytes(); }

size_t Runtime::GivePagesBack() { return core_->buffers.GivePagesBack(); }

bool Runtime::HasReadyWork() const { return core_->scheduler.HasWork(); }

ShutdownReport Runtime::Shutdown(ShutdownMode mode, absl::Duration timeout,
                                 DurableAtEnd durable) {
  return core_->shutdown.Run(mode, timeout, durable);
}

void Runtime::HurryShutdown() { core_->shutdown.Hurry(); }

}  // namespace actord::runtime
