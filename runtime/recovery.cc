// Brings the processes of the store back before the runtime serves.
#include "runtime/recovery.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "handlers/rules/process_rules.h"
#include "runtime/core.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/durable_turn/absent_types.h"
#include "runtime/effects/unclaimed_commands.h"
#include "runtime/process/errors.h"
#include "runtime/process/upgrading.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"
#include "runtime/turn/continuing.h"

namespace actord::runtime {
namespace {

absl::Status Damaged(const Pid& pid, std::string_view what) {
  return absl::DataLossError(absl::StrCat("the store is damaged: process ",
                                          FormatPid(pid), " ", ToAbsl(what)));
}

// Init, or Init again, gets the input.
void KeepInput(Process& process, const ProcessEntry& entry, Lane& lane) {
  if (entry.input.bytes.empty() && entry.input.content_type.empty()) return;
  process.input =
      lane.NewEnvelope(ACTORD_EVENT_MESSAGE, {}, ToAbi(entry.input));
}

}  // namespace

void FillMailbox(Process& process, const StoredProcess& stored,
                 OwnerLimits& bytes_of, Lane& lane) {
  ACTORD_ASSERT((process.activity.load() & Activity::kEnded) != 0,
                "recovery.h: the process is not live yet");
  const uint32_t generation =
      process.generation.load(std::memory_order_relaxed);
  // The messages that a former life has handed on come first.
  Envelope* last = process.in_hand;
  while (last != nullptr && last->Next() != nullptr) last = last->Next();
  uint64_t count = 0;
  uint64_t units = 0;
  const auto push = [&](Envelope* event) {
    event->generation = generation;
    event->SetNext(nullptr);
    if (last == nullptr) {
      process.in_hand = event;
    } else {
      last->SetNext(event);
    }
    last = event;
    ++count;
    units += event->units();
    // They were accepted before, so they are kept even above the quota.
    const Owner owner = stored.entry.runtime.owner;
    if (bytes_of.TakeAnyway(owner, event->units() * kBufferUnitBytes)) {
      event->charged = owner;
    }
  };
  for (const auto& [position, mail] : stored.mailbox) {
    const actord_payload payload = ToAbi(mail.body->payload);
    switch (mail.kind) {
      case MailKind::kMessage: {
        push(NewLoggedMessage(ToAbi(mail.from), mail.body->topic, payload,
                              position, lane));
        continue;
      }
      case MailKind::kCall: {
        push(NewLoggedCall(ToAbi(mail.from), mail.tag, mail.body->topic,
                           payload, position, lane));
        continue;
      }
      case MailKind::kCompletion: {
        Envelope* const completion =
            NewLoggedCompletion(ACTORD_EVENT_COMPLETION, mail.tag, mail.status,
                                payload, position, lane);
        completion->generation = generation;
        ++process.replies;
        if (const uint32_t charge = YieldBroker::ChargeOf(*completion)) {
          process.completion_units.fetch_add(charge, std::memory_order_relaxed);
        }
        process.urgent_taken.PushBack(completion);
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
    }
  }
  Activity::Add(process.activity, Activity::ForMessages(count, units));
}

namespace {

// Restores the present life of a process that has begun again.
absl::Status TakeLife(Process& process, const StoredProcess& stored,
                      DurableState& state, Lane& lane) {
  const ProcessEntry& entry = stored.entry;
  if (entry.life_after_step == 0) return absl::OkStatus();
  state.life_after_step = entry.life_after_step;
  state.life_from_tag = entry.life_from_tag;
  absl::Status status =
      PushUnseen(entry.unseen, entry.unseen_left, process, lane);
  if (!status.ok()) {
    return Damaged(stored.pid,
                   absl::StrCat("has damaged events: ", status.message()));
  }
  const std::vector<Position>& positions = entry.unseen_positions.list;
  const size_t count = std::min<size_t>(positions.size(), entry.unseen_left);
  const std::vector<const Envelope*> unseen = FirstUnseen(process, count);
  for (size_t i = 0; i < unseen.size(); ++i) {
    state.unseen[unseen[i]] = positions[positions.size() - count + i].lsn;
  }
  return status;
}

}  // namespace

absl::Status FillProcess(Process& process, StoredProcess& stored,
                         DurableState& state, Lane& lane) {
  ACTORD_ASSERT((process.activity.load() & Activity::kEnded) != 0,
                "recovery.h: the process is not live yet");
  const ProcessEntry& entry = stored.entry;
  const records::RuntimeImage& image = entry.runtime;
  process.keep_result = image.keep_result;
  if (entry.started || entry.life_after_step != 0) {
    process.next_tag = image.turn.next_tag;
    process.steps.store(image.turn.step, std::memory_order_relaxed);
    process.cancel_seen = image.turn.cancel_seen;
  }
  process.cancel_requested.store(image.cancel_requested,
                                 std::memory_order_relaxed);
  if (entry.started) {
    if (!stored.image && entry.durability != records::Durability::kReplay) {
      return Damaged(stored.pid, "has no image");
    }
    process.step_due = image.turn.step_due;
    state.TakeStored(stored);
    state.yields = image.yields;
    if (image.turn.blocked) {
      Activity::Add(process.activity, Activity::kBlocked);
    }
  } else {
    process.init_due = true;
    if (entry.yield != 0) state.spawn = {image.parent, entry.yield};
    KeepInput(process, entry, lane);
  }
  state.lifetime_ns = image.lifetime_ns;
  for (const records::OwedCall& owed : image.owed_calls) {
    // A call from outside has a message id. Volatile callers have ended.
    state.calls[owed.call].is_kept = owed.caller.empty();
    state.calls[owed.call].yield = {owed.caller, owed.tag};
  }
  return TakeLife(process, stored, state, lane);
}

absl::Status Runtime::Core::HoldNames(const StoredProcess& stored) {
  const records::RuntimeImage& image = stored.entry.runtime;
  if (!image.labels.empty() && !HoldLabels(stored)) {
    return Damaged(stored.pid, "has wrong labels");
  }
  for (const std::string& name : image.names) {
    Pid holder;
    if (!names.RegisterNew(name, image.owner, stored.pid, holder).ok()) {
      return Damaged(stored.pid, "has a name that another process has");
    }
  }
  for (const std::string& group : image.groups) {
    if (!groups.JoinOf(image.owner, group, stored.pid).ok()) {
      return Damaged(stored.pid, "is in a group that has no room");
    }
  }
  return absl::OkStatus();
}

void Runtime::Core::ResumeCancel(const Pid& pid,
                                 const records::RuntimeImage& image) {
  if (image.cancel_deadline_ns == 0) return;
  const uint64_t now_ns = durable->NowNs();
  const uint64_t left_ns =
      image.cancel_deadline_ns - std::min(image.cancel_deadline_ns, now_ns);
  lifetimes.BeginCancel(
      pid, absl::Nanoseconds(std::max<uint64_t>(left_ns, 1)),
      absl::Nanoseconds(std::max<uint64_t>(image.cancel_after_ns, 1)));
}

absl::Status Runtime::Core::NoRoomForStored() const {
  return absl::FailedPreconditionError(
      absl::StrCat("the store has more processes than limits.max_processes, ",
                   limits.max_processes(), ", or another limit of processes"));
}

absl::StatusOr<Process*> Runtime::Core::RecoverOne(StoredProcess&& stored,
                                                   Absent& absent) {
  const ProcessEntry& entry = stored.entry;
  const records::RuntimeImage& image = entry.runtime;
  const StoredType found = TypeOf(stored);
  const ProcessType* const type = &found.type;
  const uint32_t method = type->FindMethod(entry.method);
  if (!durable->homes().Keep(stored.pid)) {
    return Damaged(stored.pid, "has a PID of no earlier start");
  }
  if (image.owner != Owner::kNobody) scheduler.BeginOwners();
  if (!stored.has_state) {
    absl::Status entered = EnterDormant(stored, *type);
    if (!entered.ok()) return entered;
    return nullptr;
  }
  auto no_room = ProcessTable::NoRoom::kInTable;
  Process* const reserved = lane.WithMemory(
      [&](BufferCache& /*buffers*/, ProcessTable::Cache& cache) {
        return processes.Reserve(cache, type, static_cast<uint16_t>(method),
                                 image.priority, image.owner, image.parent,
                                 image.started_unix_ns, no_room);
      });
  if (reserved == nullptr) return NoRoomForStored();
  Process& process = *reserved;
  processes.Enter(process, stored.pid);
  DurableState& kept = durable->Begin(process);
  absl::Status status = FillProcess(process, stored, kept, lane);
  if (!status.ok()) return status;
  FillMailbox(process, stored, processes.mailbox_bytes_of(), lane);
  if (!found.fits.ok()) {
    ++absent[std::string(found.fits.message())];
    EnterQuarantine(process, stored, found.fits);
  } else {
    CheckPoison(process, stored.pid, *type);
  }
  ExpectTasks(stored.pid, image);
  if (entry.yield != 0) durable->NoteSpawn({image.parent, entry.yield});
  status = HoldNames(stored);
  if (!status.ok()) return status;
  ResumeCancel(stored.pid, image);
  lane.Count(&Counters::processes_started);
  // The limit of the lifetime is set in the first turn.
  const bool has_work = !process.urgent_taken.empty() ||
                        (!kept.quarantined &&
                         (process.init_due || process.step_due ||
                          process.in_hand != nullptr || !image.yields.empty() ||
                          limits.max_lifetime_ns() != LiveLimits::kForeverNs));
  Activity::Add(process.activity,
                (has_work ? Activity::kReady : 0) - Activity::kEnded);
  return has_work ? reserved : nullptr;
}

void Runtime::Core::RecoverTies(const WatchesOf& of) {
  for (const records::Watch& watch : of.watches) {
    const auto exit =
        std::find_if(of.exits.begin(), of.exits.end(), [&](const auto& one) {
          return one.of == watch.other && one.tag == watch.tag;
        });
    if (exit != of.exits.end()) continue;
    if (!IsHomePid(watch.other)) {
      ties.FireStored(of.pid, watch.tag, watch.other, ACTORD_EXIT_RESTARTED,
                      absl::StatusCode::kAborted, {},
                      "it was volatile, and ended with the daemon", lane);
    } else if (watch.tag != 0) {
      ties.Monitor(of.pid, watch.tag, watch.other, lane, Owner::kAny);
    } else {
      ties.Link(of.pid, watch.other, lane, Owner::kAny);
    }
  }
  for (const StoredProcess::Exit& exit : of.exits) {
    const records::End& end = exit.entry.end;
    if (exit.entry.unknown_process) {
      ties.FireStored(of.pid, exit.tag, exit.of, ACTORD_EXIT_NO_PROCESS,
                      absl::StatusCode::kNotFound, {},
                      absl::StrCat("there is no process ", FormatPid(exit.of),
                                   ", or it had ended before"),
                      lane);
    } else {
      ties.FireStored(of.pid, exit.tag, exit.of,
                      rules::ExitReasonOf(static_cast<EndKind>(end.reason)),
                      static_cast<absl::StatusCode>(end.code), end.result,
                      end.message, lane);
    }
  }
}

absl::Status Runtime::Core::Recover() {
  if (durable == nullptr) return absl::OkStatus();
  if (options.counts_mailboxes) processes.mailbox_bytes_of().Count();
  std::vector<Process*> with_work;
  std::vector<WatchesOf> watches;
  Absent absent;
  UnclaimedCommands unclaimed(catalog, tasks);
  absl::Status status = durable->store().ForEachProcess(
      [&](const StoredProcess& stored) {
        UsePlugin(stored.entry);
        return !MayBeDormant(stored);
      },
      [&](StoredProcess&& stored) -> absl::Status {
        if (!stored.entry.runtime.watches.empty()) {
          // A copy, because a process that has not received an end is not
          // dormant.
          watches.push_back(
              {stored.pid, stored.entry.runtime.watches, stored.exits});
        }
        unclaimed.Count(stored.entry.runtime.yields);
        const absl::StatusOr<Process*> recovered =
            RecoverOne(std::move(stored), absent);
        if (recovered.ok() && *recovered != nullptr) {
          with_work.push_back(*recovered);
        }
        return recovered.status();
      });
  if (status.ok()) status = RecoverIds();
  if (status.ok()) status = RecoverLetters();
  if (!status.ok()) return status;
  status = RecoverOutcomes();
  for (const auto& [why, count] : absent) {
    options.log(
        LogLevel::kError,
        absl::StrCat(count,
                     " processes of the store are in "
                     "quarantine: ",
                     why, ". Their states and their mailboxes are kept"));
  }
  unclaimed.Warn(options.log);
  for (const WatchesOf& of : watches) RecoverTies(of);
  // Nothing runs before all names are held and all PIDs can be found.
  for (Process* process : with_work) scheduler.Enqueue(process, nullptr);
  return status;
}

void Runtime::Core::CloseDurable() {
  closed_durable_ = true;
  // The threads have stopped, so no turn has a process, and none comes back.
  durable->homes().RefuseWakes();
  processes.ForEachLive(0, UINT32_MAX, [&](Process& process, uint32_t) {
    if (!process.is_durable()) return true;
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
    Upgrading::Forget(process);
    if (auto& quarantined = durable->StateOf(process).quarantined) {
      // FreeMailboxes frees them. A process that has had no turn in quarantine
      // has events in its mailbox, too.
      while (Envelope* const event = quarantined->held.PopFront()) {
        process.urgent_taken.PushBack(event);
      }
    }
    durable->Forget(process);
    return true;
  });
}

}  // namespace actord::runtime
