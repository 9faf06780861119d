// performance-notes: Rare code moved out, Prefetch of due timers.
#include "runtime/yields/yield_broker.h"

#include <actord/text.h>

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {
namespace {

uint64_t AddSaturated(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum < a ? std::numeric_limits<uint64_t>::max() : sum;
}

}  // namespace

YieldBroker::YieldBroker(Scheduler& scheduler, const ProcessTable& processes,
                         Delivery& delivery, TaskTable& tasks, DurableLog* log,
                         const LiveLimits& limits, size_t capacity,
                         size_t lanes)
    : scheduler_(scheduler),
      processes_(processes),
      delivery_(delivery),
      tasks_(tasks),
      log_(log),
      limits_(limits),
      records_(capacity, lanes, capacity) {}

uint32_t YieldBroker::Prepare(Process& process, uint32_t generation,
                              uint64_t tag, YieldRecord::Kind kind,
                              Lane& lane) {
  static_assert(SlotTable<YieldRecord>::kNoSlot == kNoYieldSlot);
  const uint32_t slot = lane.yields().Allocate(records_);
  if (slot == kNoYieldSlot) return slot;
  YieldRecord& record = records_.At(slot);
  // Release: a reader that sees one of these values, with acquire, also sees
  // that the word of the former yield has ended (OwnerOf, ForEachCall).
  record.process.store(&process, std::memory_order_release);
  record.process_generation.store(generation, std::memory_order_release);
  record.tag.store(tag, std::memory_order_release);
  record.worker.store(static_cast<uint16_t>(lane.hold().last_queue().index),
                      std::memory_order_relaxed);
  record.kind.store(kind, std::memory_order_release);
  record.previous = kNoYieldSlot;
  record.next = process.yields;
  if (record.next != kNoYieldSlot) records_.At(record.next).previous = slot;
  process.yields = slot;
  process.yields_count.store(
      process.yields_count.load(std::memory_order_relaxed) + 1,
      std::memory_order_relaxed);
  return slot;
}

actord_completion YieldBroker::MakePending(uint32_t slot) {
  YieldRecord& record = records_.At(slot);
  const uint64_t old = record.word.load(std::memory_order_relaxed);
  const uint32_t next_generation = static_cast<uint32_t>(old >> 32) + 1;
  record.word.store(YieldRecord::Word(next_generation, YieldRecord::kPending),
                    std::memory_order_release);
  return (uint64_t{next_generation} << 32) | slot;
}

YieldRecord* YieldBroker::Find(actord_completion handle) const {
  if (GenerationOf(handle) == 0 || SlotOf(handle) >= records_.SlotsInUse()) {
    return nullptr;
  }
  return &records_.At(SlotOf(handle));
}

CompleteAnswer YieldBroker::Answer(actord_completion handle, int32_t status,
                                   const actord_payload& payload, Lane& lane,
                                   bool is_answer) {
  YieldRecord* record = Find(handle);
  // Acquire: as in Deliver.
  if (record == nullptr ||
      record->word.load(std::memory_order_acquire) !=
          YieldRecord::Word(GenerationOf(handle), YieldRecord::kPending)) {
    return CompleteAnswer::kExpired;
  }
  if (!HasRoom(*record->process.load(std::memory_order_relaxed), payload)) {
    lane.Count(&Counters::refused_mailbox);
    return CompleteAnswer::kMailboxFull;
  }
  return Deliver(*record, handle, status, payload, lane,
                 is_answer ? Logged::kAsAnswer : Logged::kIfDurable)
             ? CompleteAnswer::kAccepted
             : CompleteAnswer::kExpired;
}

int32_t YieldBroker::Complete(actord_completion handle, int32_t status,
                              const actord_payload& payload, Lane& lane) {
  YieldRecord* record = Find(handle);
  if (record == nullptr) return ACTORD_FAILED_PRECONDITION;
  const auto fail = [&](int32_t why, std::string_view text) -> int32_t {
    return Deliver(*record, handle, why, TextPayload(text), lane,
                   Logged::kIfDurable)
               ? why
               : ACTORD_FAILED_PRECONDITION;
  };
  if (!Fits(payload, MaxBytes(status))) {
    return fail(ACTORD_INVALID_ARGUMENT,
                WhyItDoesNotFit("completion", payload, status));
  }
  switch (Answer(handle, status, payload, lane, /*is_answer=*/false)) {
    case CompleteAnswer::kAccepted:
      return ACTORD_OK;
    case CompleteAnswer::kMailboxFull:
      return fail(ACTORD_RESOURCE_EXHAUSTED, kNoRoomText);
    default:
      return ACTORD_FAILED_PRECONDITION;
  }
}

std::string YieldBroker::WhyItDoesNotFit(const char* what,
                                         const actord_payload& payload,
                                         int32_t status) const {
  ACTORD_ASSERT(!Fits(payload, MaxBytes(status)),
                "yield_broker.h: the payload does not fit");
  if (payload.bytes.size <= MaxBytes(status)) {
    return absl::StrCat("the content type of the ", what, " has ",
                        payload.content_type.size, " bytes; the limit is ",
                        kMaxLabelBytes);
  }
  limits_.CountRefusedPayload();
  return absl::StrCat("the ", what, " has ", payload.bytes.size,
                      " bytes; the limit is ", MaxBytes(status));
}

bool YieldBroker::HasRoom(const Process& process,
                          const actord_payload& payload) const {
  if (payload.bytes.size <= kAlwaysRoomBytes) return true;
  const size_t units = Envelope::BytesFor({}, payload) / kBufferUnitBytes;
  return units + process.completion_units.load(std::memory_order_relaxed) <=
         limits_.max_mailbox_bytes() / kBufferUnitBytes;
}

bool YieldBroker::Deliver(YieldRecord& record, actord_completion handle,
                          int32_t status, const actord_payload& payload,
                          Lane& lane, Logged logged, ReadyList* later) {
  const std::optional<Won> won = Win(record, handle);
  if (!won) return false;
  const Pid pid = processes_.PidOf(*won->process, won->generation);
  Envelope* envelope = nullptr;
  if (won->process->is_durable() && logged != Logged::kNever) [[unlikely]] {
    envelope = NewDurable({pid, won->tag}, status, payload, logged, lane);
    if (envelope == nullptr) return true;
  } else {
    envelope = lane.NewEnvelope(ACTORD_EVENT_COMPLETION, {}, payload);
    envelope->completion.status = status;
    envelope->completion.tag = won->tag;
  }
  envelope->completion.yield_slot = SlotOf(handle);
  Post(*won->process, pid, envelope, lane, later);
  return true;
}

void YieldBroker::AddTimer(const YieldRecord& record, TimerKind kind,
                           actord_completion handle, uint64_t deadline_ns) {
  // If the yield has ended meanwhile, the timer may land in another worker's
  // wheel. That is harmless: the timer is unwanted.
  scheduler_.queue(record.worker.load(std::memory_order_relaxed))
      .timers.Add(EncodeTimer(kind, handle), deadline_ns);
  scheduler_.TimerAdded(deadline_ns);
}

void YieldBroker::SetTimeout(actord_completion handle, uint64_t timeout_ns) {
  const YieldRecord* const record = FindPending(handle);
  if (record == nullptr) return;
  // The timeout fires a tick later than a result of the same time, so that the
  // result comes first.
  constexpr uint64_t kTickNs = uint64_t{1} << TimerWheel::kTickShift;
  const uint64_t deadline_ns =
      AddSaturated(scheduler_.clock().MonotonicNs(), timeout_ns);
  AddTimer(*record, TimerKind::kYieldTimeout, handle,
           AddSaturated(deadline_ns, kTickNs));
}

bool YieldBroker::CompleteAfter(actord_completion handle, uint64_t delay_ns) {
  const YieldRecord* const record = FindPending(handle);
  if (record == nullptr) return false;
  AddTimer(*record, TimerKind::kYieldResult, handle,
           AddSaturated(scheduler_.clock().MonotonicNs(), delay_ns));
  return true;
}

const YieldRecord* YieldBroker::FindPending(actord_completion handle) const {
  const YieldRecord* const record = Find(handle);
  if (record == nullptr) return nullptr;
  // Acquire: see YieldRecord::word.
  const uint64_t pending =
      YieldRecord::Word(GenerationOf(handle), YieldRecord::kPending);
  return record->word.load(std::memory_order_acquire) == pending ? record
                                                                 : nullptr;
}

std::optional<YieldToken> YieldBroker::OwnerOf(actord_completion handle) const {
  const YieldRecord* record = Find(handle);
  if (record == nullptr) return std::nullopt;
  // Acquire: the values read belong to this handle if the record still has the
  // handle's generation afterwards.
  const Process* process = record->process.load(std::memory_order_acquire);
  if (process == nullptr) return std::nullopt;
  const YieldToken owner{
      processes_.PidOf(
          *process, record->process_generation.load(std::memory_order_acquire)),
      record->tag.load(std::memory_order_acquire)};
  return IsPending(handle) ? std::optional(owner) : std::nullopt;
}

void YieldBroker::Apply(CancelEffect&& cancel, Process& process,
                        const Pid& self, Lane& lane) {
  if (GiveUp(cancel.tag, process, lane)) tasks_.Expire({self, cancel.tag});
}

uint32_t YieldBroker::SlotWithTag(const Process& process, uint64_t tag) const {
  uint32_t slot = process.yields;
  while (slot != kNoYieldSlot && TagOf(slot) != tag) slot = NextOf(slot);
  return slot;
}

bool YieldBroker::GiveUp(uint64_t tag, Process& process, Lane& lane) {
  const uint32_t slot = SlotWithTag(process, tag);
  if (slot == kNoYieldSlot) return false;  // the yield has ended
  YieldRecord& record = records_.At(slot);
  const bool external = IsExternal(record);
  return Deliver(record, HandleOf(record, slot), ACTORD_CANCELLED,
                 TextPayload("the process gave the yield up"), lane,
                 Logged::kNever) &&
         external;
}

uint32_t YieldBroker::EndByTag(const Process& process, uint64_t tag) {
  const uint32_t slot = SlotWithTag(process, tag);
  if (slot == kNoYieldSlot) return slot;
  YieldRecord& record = records_.At(slot);
  uint64_t pending = HandleOf(record, slot) & ~uint64_t{UINT32_MAX};
  const uint64_t ended = pending | YieldRecord::kEnded;
  pending |= YieldRecord::kPending;
  return record.word.compare_exchange_strong(pending, ended,
                                             std::memory_order_acq_rel)
             ? slot
             : kNoYieldSlot;
}

void YieldBroker::PrefetchProcess(actord_completion handle) const {
  const YieldRecord& record = records_.At(SlotOf(handle));
  record.process.load(std::memory_order_relaxed)->PrefetchForEvent();
}

void YieldBroker::TimeoutDue(actord_completion handle, Lane& lane,
                             ReadyList& ready) {
  EndByTimer(handle, ACTORD_DEADLINE_EXCEEDED,
             TextPayload("the yield's timeout has passed"), lane, ready);
}

void YieldBroker::EndByTimer(actord_completion handle, int32_t status,
                             const actord_payload& payload, Lane& lane,
                             ReadyList& ready) {
  ACTORD_ASSERT_HOT(Find(handle) != nullptr,
                    "yield_broker.h: the yield of the timer was opened");
  YieldRecord& record = records_.At(SlotOf(handle));
  const bool external = IsExternal(record);
  const YieldToken token{
      processes_.PidOf(
          *record.process.load(std::memory_order_relaxed),
          record.process_generation.load(std::memory_order_relaxed)),
      record.tag.load(std::memory_order_relaxed)};
  if (Deliver(record, handle, status, payload, lane, Logged::kNever, &ready) &&
      external) {
    tasks_.Expire(token);
  }
}

void YieldBroker::Close(Process& process, uint32_t slot, Lane& lane) {
  Free(process, slot, lane);
}

bool YieldBroker::Expire(const Process& process, uint32_t generation,
                         YieldRecord& record,
                         std::vector<YieldToken>* withdrawn) {
  const uint64_t word = record.word.load(std::memory_order_acquire);
  uint64_t pending = (word & ~uint64_t{UINT32_MAX}) | YieldRecord::kPending;
  const uint64_t ended = (word & ~uint64_t{UINT32_MAX}) | YieldRecord::kEnded;
  if (!record.word.compare_exchange_strong(pending, ended,
                                           std::memory_order_acq_rel)) {
    return false;
  }
  if (!IsExternal(record)) return true;
  const YieldToken token{processes_.PidOf(process, generation),
                         record.tag.load(std::memory_order_relaxed)};
  if (withdrawn != nullptr) {
    withdrawn->push_back(token);
  } else {
    tasks_.Expire(token);
  }
  return true;
}

void YieldBroker::CloseOthers(Process& process, uint32_t generation,
                              const absl::flat_hash_set<uint64_t>& kept,
                              Lane& lane,
                              absl::FunctionRef<void(uint64_t tag)> on_its_way,
                              std::vector<YieldToken>* withdrawn) {
  uint32_t next = process.yields;
  while (next != kNoYieldSlot) {
    const uint32_t slot = std::exchange(next, NextOf(next));
    const uint64_t tag = TagOf(slot);
    if (kept.contains(tag)) continue;
    if (Expire(process, generation, records_.At(slot), withdrawn)) {
      Free(process, slot, lane);
    } else {
      on_its_way(tag);
    }
  }
}

void YieldBroker::CloseAll(Process& process, uint32_t generation, Lane& lane) {
  ACTORD_ASSERT_HOT(process.yields != kNoYieldSlot,
                    "yield_broker.h: the process has a yield");
  do {
    Expire(process, generation, records_.At(process.yields));
    Free(process, process.yields, lane);
  } while (process.yields != kNoYieldSlot);
}

void YieldBroker::ForEachTag(const Process& process,
                             absl::FunctionRef<void(uint64_t tag)> use) const {
  for (uint32_t slot = process.yields; slot != kNoYieldSlot;
       slot = NextOf(slot)) {
    use(TagOf(slot));
  }
}

void YieldBroker::Free(Process& process, uint32_t slot, Lane& lane) {
  YieldRecord& record = records_.At(slot);
  ACTORD_ASSERT_HOT(
      static_cast<uint32_t>(record.word.load()) == YieldRecord::kEnded,
      "yield_record.h: the yield has ended");
  if (record.previous != kNoYieldSlot) {
    records_.At(record.previous).next = record.next;
  } else {
    process.yields = record.next;
  }
  if (record.next != kNoYieldSlot) {
    records_.At(record.next).previous = record.previous;
  }
  process.yields_count.store(
      process.yields_count.load(std::memory_order_relaxed) - 1,
      std::memory_order_relaxed);

  // A record that has used up its generations is retired.
  if (GenerationOf(record.word.load(std::memory_order_relaxed)) == UINT32_MAX) {
    lane.yields().Retire(records_);
    return;
  }
  lane.yields().Free(records_, slot);
}

}  // namespace actord::runtime
