// Brings the processes of the store back before the runtime serves.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core.h"
#include "runtime/delivery/logged_message.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

absl::Status Damaged(const Pid& pid, std::string_view what) {
  return absl::DataLossError(absl::StrCat("the store is damaged: process ",
                                          FormatPid(pid), " ", ToAbsl(what)));
}

// Puts what waits for the process into its mailbox. No other thread knows of
// the process.
absl::Status FillMailbox(Process& process, const StoredProcess& stored,
                         Lane& lane) {
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed);
  Envelope* last = nullptr;
  uint64_t count = 0;
  uint64_t units = 0;
  for (const auto& [position, mail] : stored.mailbox) {
    const actord_payload payload = ToAbi(mail.body->payload);
    switch (mail.kind) {
      case MailKind::kMessage: {
        Envelope* const message = NewLoggedMessage(
            ToAbi(mail.from), mail.body->topic, payload, position, lane);
        message->generation = generation;
        message->SetNext(nullptr);
        if (last == nullptr) {
          process.in_hand = message;
        } else {
          last->SetNext(message);
        }
        last = message;
        ++count;
        units += message->units();
        continue;
      }
      case MailKind::kCancel:
      case MailKind::kTerminate: {
        const uint16_t type = mail.kind == MailKind::kCancel
                                  ? uint16_t{ACTORD_EVENT_CANCEL}
                                  : kEventTerminate;
        Envelope* const order = lane.NewEnvelope(type, {}, payload);
        order->completion.tag = position;
        order->generation = generation;
        process.urgent_taken.PushBack(order);
        continue;
      }
      case MailKind::kCall:
      case MailKind::kCompletion:
        break;
    }
    return Damaged(stored.pid, "has an event that this version cannot write");
  }
  Activity::Add(process.activity, Activity::ForMessages(count, units));
  return absl::OkStatus();
}

// What the store says of the process, besides its mailbox.
absl::Status FillProcess(Process& process, StoredProcess& stored,
                         DurableState& state, Lane& lane) {
  const ProcessEntry& entry = stored.entry;
  const records::RuntimeImage& image = entry.runtime;
  process.keep_result = image.keep_result;
  process.cancel_requested.store(image.cancel_requested,
                                 std::memory_order_relaxed);
  if (entry.started) {
    if (!stored.image) return Damaged(stored.pid, "has no image");
    process.next_tag = image.turn.next_tag;
    process.steps.store(image.turn.step, std::memory_order_relaxed);
    process.cancel_seen = image.turn.cancel_seen;
    process.step_due = image.turn.step_due;
    state.restore_due = true;
    state.image = *std::move(stored.image);
  } else {
    process.init_due = true;
    if (!entry.input.bytes.empty() || !entry.input.content_type.empty()) {
      process.input =
          lane.NewEnvelope(ACTORD_EVENT_MESSAGE, {}, ToAbi(entry.input));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Process*> Runtime::Core::RecoverOne(StoredProcess&& stored) {
  const ProcessEntry& entry = stored.entry;
  const records::RuntimeImage& image = entry.runtime;
  const ProcessType* const type = catalog.FindProcessType(entry.process_type);
  const uint32_t method = type == nullptr ? ProcessType::kNoSuchMethod
                                          : type->FindMethod(entry.method);
  if (method == ProcessType::kNoSuchMethod) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the store has process ", FormatPid(stored.pid), " of type ",
        entry.process_type, " with method ", entry.method,
        ", and no plugin has them: load the plugin that had"));
  }
  if (!DurableProcesses::IsSupported(*type)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store has process ", FormatPid(stored.pid),
                     " of type ", entry.process_type,
                     ", and the type that is loaded keeps no image: load "
                     "the plugin that had one"));
  }
  if (!durable->homes().Keep(stored.pid)) {
    return Damaged(stored.pid, "has a PID of no earlier start");
  }
  auto no_room = ProcessTable::NoRoom::kInTable;
  Process* const reserved = lane.WithMemory(
      [&](BufferCache& /*buffers*/, ProcessTable::Cache& cache) {
        return processes.Reserve(cache, type, static_cast<uint16_t>(method),
                                 image.priority, image.owner, image.parent,
                                 image.started_unix_ns, no_room);
      });
  if (reserved == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the store has more processes than limits.max_processes, ",
        limits.max_processes(), ", or another limit of processes"));
  }
  Process& process = *reserved;
  processes.Enter(process, stored.pid);
  DurableState& kept = durable->Begin(process);
  if (image.owner != Owner::kNobody) scheduler.BeginOwners();
  absl::Status status = FillProcess(process, stored, kept, lane);
  if (status.ok()) status = FillMailbox(process, stored, lane);
  if (!status.ok()) return status;
  for (const std::string& name : image.names) {
    Pid holder;
    if (!names.Register(name, stored.pid, holder).ok()) {
      return Damaged(stored.pid, "has a name that another process has");
    }
  }
  lane.Count(&Counters::processes_started);
  // A limit of the lifetime begins in the first turn.
  const bool has_work = process.init_due || process.step_due ||
                        process.in_hand != nullptr ||
                        !process.urgent_taken.empty() ||
                        limits.max_lifetime_ns() != LiveLimits::kForeverNs;
  Activity::Add(process.activity,
                (has_work ? Activity::kReady : 0) - Activity::kEnded);
  return has_work ? reserved : nullptr;
}

absl::Status Runtime::Core::Recover() {
  if (durable == nullptr) return absl::OkStatus();
  std::vector<Process*> with_work;
  absl::Status status = durable->store().ForEachProcess(
      [&](StoredProcess&& stored) -> absl::Status {
        const absl::StatusOr<Process*> recovered =
            RecoverOne(std::move(stored));
        if (recovered.ok() && *recovered != nullptr) {
          with_work.push_back(*recovered);
        }
        return recovered.status();
      });
  if (!status.ok()) return status;
  status = durable->store().ForEachOutcome(
      [&](const Pid& pid, OutcomeEntry&& entry) {
        results.Put(pid,
                    {.kind = static_cast<EndKind>(entry.end.reason),
                     .result = std::move(entry.end.result),
                     .code = static_cast<absl::StatusCode>(entry.end.code),
                     .message = std::move(entry.end.message),
                     .steps = entry.steps,
                     .started_unix_ns = entry.started_unix_ns,
                     .ended_unix_ns = entry.end.unix_ns,
                     .owner = entry.owner},
                    /*keep=*/true, [](const Outcome&) {});
      });
  // Nothing runs before all names are held and all PIDs can be found.
  for (Process* process : with_work) scheduler.Enqueue(process, nullptr);
  return status;
}

void Runtime::Core::CloseDurable() {
  closed_durable_ = true;
  // The threads have stopped, so no turn has a process.
  for (uint32_t slot = 0; slot < processes.SlotsInUse(); ++slot) {
    Process& process = processes.At(slot);
    if ((process.generation.load(std::memory_order_relaxed) & 1) == 0 ||
        !process.is_durable()) {
      continue;
    }
    const ProcessType& type = *process.type.load(std::memory_order_relaxed);
    if (void* const object = std::exchange(process.state, nullptr)) {
      try {
        type.descriptor->close(object);
      } catch (...) {
        options.log(LogLevel::kError,
                    absl::StrCat("process type ", type.name, ": Close threw"));
      }
      lane.WithMemory([&](BufferCache& memory, ProcessTable::Cache&) {
        process.FreeState(memory, object, type.descriptor->state_size);
      });
    }
    if (process.input != nullptr) {
      lane.Free(std::exchange(process.input, nullptr));
    }
    if (process.admitted != nullptr) {
      const std::optional<DurableState::End>& end =
          durable->StateOf(process).end;
      process.TakeAdmitted()(
          end ? Error(end->cause.code, reason::kInitRefused, end->cause.message)
              : DurableProcesses::BeginsLater());
    }
    delete std::exchange(process.owed_calls, nullptr);
    durable->Forget(process);
  }
}

}  // namespace actord::runtime
