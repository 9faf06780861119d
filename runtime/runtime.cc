#include "runtime/runtime.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core.h"
#include "runtime/process/errors.h"
#include "runtime/system/cpu_count.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/random.h"
#include "runtime/system/thread.h"

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

ProcessState StateOf(const Process& process, uint64_t word) {
  if (process.running.load(std::memory_order_relaxed)) {
    return ProcessState::kRunning;
  }
  if (Activity::Runnable(word)) return ProcessState::kReady;
  return (word & Activity::kBlocked) != 0 ? ProcessState::kBlocked
                                          : ProcessState::kIdle;
}

// Reads the type and a method of that type: see Process::method.
std::pair<const ProcessType*, uint16_t> TypeOf(const Process& process) {
  while (true) {
    const ProcessType* type = process.type.load(std::memory_order_acquire);
    const uint16_t method = process.method.load(std::memory_order_acquire);
    if (method != Process::kNoMethod &&
        type == process.type.load(std::memory_order_acquire)) {
      return {type, method};
    }
    YieldThread();
  }
}

// Describes the process in this slot. Nullopt: the slot has no process, or the
// process changed during the read.
std::optional<ProcessInfo> ReadSlot(const ProcessTable& processes,
                                    uint32_t slot) {
  const Process& process = processes.At(slot);
  // Both loads are seq_cst, in this order: lifecycle_log.h, (2). The word is
  // read once more, because only its value after the load of the generation
  // counts.
  static_cast<void>(process.activity.load(std::memory_order_seq_cst));
  FailPoint();
  const uint32_t generation =
      process.generation.load(std::memory_order_seq_cst);
  FailPoint();
  const uint64_t word = process.activity.load(std::memory_order_acquire);
  // A reserved slot does not count as a process yet: the step that spawns may
  // fail.
  if ((generation & 1) == 0 || (word & Activity::kEnded) != 0) {
    return std::nullopt;
  }
  ProcessInfo info;
  info.pid = processes.PidOf(process, generation);
  info.parent = process.parent.Load();
  const auto [type, method] = TypeOf(process);
  info.state = StateOf(process, word);
  // Acquire, like the loads below, for the check at the end.
  info.priority = process.priority.load(std::memory_order_acquire);
  info.started_unix_ns =
      process.started_unix_ns.load(std::memory_order_acquire);
  info.steps = process.steps.load(std::memory_order_acquire);
  info.mailbox_messages = Activity::Messages(word);
  info.mailbox_bytes = Activity::Units(word) * kBufferUnitBytes;
  info.yields = process.yields_count.load(std::memory_order_acquire);
  info.cancel_requested =
      process.cancel_requested.load(std::memory_order_acquire);
  // Works like a sequence lock: the loads above are acquire, so they come
  // before this load. Their values belong together if no process ended or began
  // meanwhile. Only then the method is a method of that type.
  if (process.generation.load(std::memory_order_relaxed) != generation) {
    return std::nullopt;
  }
  if (type != nullptr) {
    info.process_type = type->name;
    info.method = type->descriptor->methods[method].name;
  }
  return info;
}

bool Matches(const ProcessFilter& filter, const ProcessInfo& info) {
  return (filter.process_type.empty() ||
          filter.process_type == info.process_type) &&
         (!filter.state || *filter.state == info.state) &&
         (filter.parent.empty() || filter.parent == info.parent);
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

absl::Status Runtime::Start() { return core_->StartThreads(); }

void Runtime::Submit(const SubmitRequest& request, SubmitCallback done) {
  core_->admission.Submit(request, Pid{}, /*keep_result=*/true,
                          std::move(done));
}

absl::Status Runtime::Send(const Pid& to, const Message& message) {
  return core_->SendFromOutside(to, message, nullptr);
}

absl::StatusOr<Pid> Runtime::FindName(std::string_view name) const {
  return core_->names.Find(name);
}

NamePage Runtime::ListNames(std::string_view prefix, uint64_t first_sequence,
                            size_t page_size) const {
  return core_->names.List(prefix, first_sequence, page_size);
}

Runtime::CallId Runtime::Call(const Pid& to, const Message& message,
                              CallCallback done) {
  absl::Status status =
      CheckPayloadSize("payload", message.payload, PayloadLimit(core_->limits));
  status.Update(CheckTopic(message.topic));
  if (!status.ok()) {
    std::move(done)(status);
    return 0;
  }
  return core_->calls.Begin(to, message, std::move(done));
}

bool Runtime::CancelCall(CallId id) { return core_->calls.Cancel(id); }

Runtime::AwaitId Runtime::Await(const Pid& pid, AwaitCallback done) {
  Core& core = *core_;
  return core.results.Await(
      pid, std::move(done),
      [&core, &pid] {
        Process* process = core.processes.Find(pid);
        if (process == nullptr) return false;
        process->Want(Wanted::kAwaited);
        return process->IsStill(pid.generation);
      },
      [&core, &pid]() -> absl::Status {
        if (!core.processes.HasEnded(pid)) {
          return core.processes.WhyNotFound(pid);
        }
        return Error(absl::StatusCode::kFailedPrecondition,
                     reason::kResultNotKept,
                     absl::StrCat("process ", FormatPid(pid),
                                  " has ended; its result was not kept, or "
                                  "has been dropped"));
      });
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
                             absl::Duration deadline) {
  absl::Status status =
      core_->delivery.Control(pid, ACTORD_EVENT_CANCEL, reason, core_->lane);
  if (status.ok() && deadline > absl::ZeroDuration()) {
    core_->lifetimes.BeginCancel(pid, deadline);
  }
  return status;
}

absl::Status Runtime::Terminate(const Pid& pid, std::string_view reason) {
  return core_->delivery.Control(pid, kEventTerminate, reason, core_->lane);
}

absl::StatusOr<ProcessInfo> Runtime::Describe(const Pid& pid) const {
  if (core_->processes.Find(pid) != nullptr) {
    std::optional<ProcessInfo> info = ReadSlot(core_->processes, pid.slot);
    if (info && info->pid == pid) return *std::move(info);
  }
  return core_->processes.WhyNotFound(pid);
}

ProcessPage Runtime::ListProcesses(const ProcessFilter& filter,
                                   uint32_t first_slot,
                                   size_t page_size) const {
  ProcessPage page;
  const uint32_t slots = core_->processes.SlotsInUse();
  for (uint32_t slot = first_slot; slot < slots; ++slot) {
    if (slot - first_slot == kMaxLookedAt) {
      page.next_slot = slot;
      break;
    }
    std::optional<ProcessInfo> info = ReadSlot(core_->processes, slot);
    if (!info || !Matches(filter, *info)) continue;
    if (page.processes.size() == page_size) {
      page.next_slot = slot;
      break;
    }
    page.processes.push_back(*std::move(info));
  }
  return page;
}

YieldPage Runtime::ListYields(const YieldFilter& filter,
                              uint64_t first_sequence, size_t page_size,
                              size_t page_bytes) const {
  return core_->tasks.List(filter, first_sequence, page_size, page_bytes);
}

DeadLetters& Runtime::dead_letters() { return core_->dead_letters; }

LifecycleLog& Runtime::lifecycle_log() { return core_->lifecycle_log; }

bool Runtime::IsExternal(std::string_view command) const {
  return core_->tasks.IsExternal(command);
}

const RuntimeOptions& Runtime::options() const { return core_->options; }

const LiveLimits& Runtime::limits() const { return core_->limits; }

absl::Status Runtime::SetLimits(const Limits& limits) {
  return core_->SetLimits(limits);
}

RuntimeStats Runtime::Stats() const { return core_->Stats(); }

ShutdownReport Runtime::Shutdown(ShutdownMode mode, absl::Duration timeout) {
  return core_->shutdown.Run(mode, timeout);
}

void Runtime::HurryShutdown() { core_->shutdown.Hurry(); }

}  // namespace actord::runtime
