// A process: the runtime's data about one running state machine.
//
// The states of a process, and who may touch what in each (activity.h describes
// the word):
//
//   free       in the process table's free list; `generation` is even
//     │ spawn: the spawner fills everything, then makes `generation` odd
//   reserved   the spawner's step has not ended: the process has a PID and
//     │        takes messages, but does not run (word: ended)
//     │ admit: the word loses `ended`, gains `ready`
//   live       ready → running → ready | idle | blocked → ready …
//     │ end: the turn that ends it makes `generation` even
//   free
//
// "Turn" fields belong to the thread that runs the process. Between turns they
// travel with the process through the run queues. The fields of a sleeping
// process pass, through the word, to the thread that makes the process
// runnable, until that thread has enqueued it (activity.h, (5)). Turn fields
// that other threads read for ListProcesses are relaxed atomics: each has one
// writer, and a stale value is fine.
// performance-notes: Rare code moved out, State in the process.
#pragma once

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "runtime/memory/slot_table.h"
#include "runtime/process/activity.h"
#include "runtime/process/catalog.h"
#include "runtime/process/envelope.h"
#include "runtime/process/mailbox.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/process/priority.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/processor.h"

namespace actord::runtime {

struct OwedCalls;  // calls.h
struct Upgrading;  // upgrading.h

// Called once, when Init has returned, or with the reason why Init never will.
using Admitted = absl::AnyInvocable<void(absl::StatusOr<Pid>) &&>;

// The bits of Process::wanted. Each bit stands for an observer that must learn
// of the end of the process (end_record.h).
struct Wanted {
  static constexpr uint8_t kAwaited = 1;    // though the result is not kept
  static constexpr uint8_t kWatched = 2;    // it watches or is watched (ties.h)
  static constexpr uint8_t kNamed = 4;      // it has names (names.h)
  static constexpr uint8_t kGrouped = 8;    // it is in groups (groups.h)
  static constexpr uint8_t kCalled = 16;    // it owes answers (calls.h)
  static constexpr uint8_t kLabelled = 32;  // it has labels (label_table.h)
  // The bits that a process from the store may have had.
  static constexpr uint8_t kAll = 63;
  static constexpr uint8_t kRecorded = 64;  // its steps are (recordings.h)
};

// A process is four cache lines. The first line has the fields that other
// threads need and that a turn needs first. The second line has the other
// fields of a turn. The third line has fields for the begin and the end, and
// rare ones. The fourth line has the state, if the state is small.
struct alignas(64) Process {
  // ---- Any thread.

  // Whether the process has to run, and how full its mailbox is. Orders:
  // activity.h.
  std::atomic<uint64_t> activity{Activity::kEnded};
  // Odd: a process with this generation lives here. The spawner and the ending
  // turn write it (release); look-ups of a PID read it (acquire).
  std::atomic<uint32_t> generation{0};
  // The index of this slot. The top bit: the process is durable, and its PID is
  // in the homes (runtime/table/homes.h).
  std::atomic<uint32_t> slot{0};
  static constexpr uint32_t kDurableSlot = uint32_t{1} << 31;
  MessageQueue messages;
  UrgentQueue urgent;

  // ---- Turn, and the thread that made the process runnable, until it has
  // enqueued the process.

  // Messages, or a chain, that were handed over without a queue: counted in the
  // word, and linked by `next`, oldest first. They are older than all messages
  // that their senders have in `messages`.
  Envelope* in_hand = nullptr;
  // Completions and cancels that were handed over, taken from `urgent`, or made
  // by the turn, and that no step has seen yet.
  EnvelopeList urgent_taken;

  // ---- Any thread.

  // 0 to 31. Written by the reservation. Relaxed reads: a thread that enqueues
  // the process has found it live, so the thread sees this value.
  std::atomic<uint8_t> priority{kDefaultPriority};
  // The bits of Wanted; seq_cst. Any thread first adds a bit and then checks
  // whether the process still has its `generation`. The end first changes
  // `generation` and then reads the bits. So one of the two sees the other. A
  // late bit may hit the slot's next process, whose end then tells an observer
  // in vain.
  std::atomic<uint8_t> wanted{0};

  // ---- Turn, and relaxed readers.

  std::atomic<bool> running{false};
  std::atomic<bool> cancel_requested{false};

  // ---- Turn.

  // The next turn calls Step even without events: after Init, Restore and
  // CONTINUE.
  bool step_due = false;
  // The next turn calls Init, with `input`.
  bool init_due = false;

  // ---- Any thread.

  // Written by the reservation, before the generation that releases it. On the
  // line of the generation, because each event for the process compares both.
  std::atomic<Owner> owner{Owner::kNobody};

  // ---- Turn.

  // Number of completions that came within the turn of their yield, so without
  // a record, and that no step has seen yet.
  uint32_t replies = 0;
  void* state = nullptr;
  // The input of Init; null: there is none. Owned.
  Envelope* input = nullptr;
  // Next tag; tags begin at 1.
  uint64_t next_tag = 1;
  // The first record of an outstanding yield (yield_record.h), or kNoYieldSlot.
  uint32_t yields = kNoYieldSlot;
  // Number of outstanding yields. Threads that describe the process read it,
  // too.
  std::atomic<uint32_t> yields_count{0};
  // Data about upgrades, tried or done; null for nearly all processes. Owned.
  Upgrading* upgrading = nullptr;

  // ---- Turn, and relaxed readers.

  // An upgrade replaces the type, with release. Readers outside the turn use
  // acquire.
  std::atomic<const ProcessType*> type{nullptr};
  std::atomic<uint64_t> steps{0};
  std::atomic<uint64_t> started_unix_ns{0};
  AtomicPid parent;
  // Memory of the large completions that no step has seen yet, in units
  // (YieldBroker::ChargeOf). The thread that completes a yield adds, before its
  // push; the turn that pops subtracts. Relaxed: the count is only compared
  // with a limit. The count outlives the process, because late envelopes do.
  std::atomic<uint32_t> completion_units{0};
  // Index into the methods of `type`. An upgrade that changes either stores
  // kNoMethod, the type, and the method, in this order, with release. A thread
  // that reads the same type before and after the method, and does not read
  // kNoMethod, has a matching pair, because a process never returns to a former
  // type.
  static constexpr uint16_t kNoMethod = UINT16_MAX;
  std::atomic<uint16_t> method{0};

  // ---- Turn.

  bool keep_result = false;
  bool cancel_seen = false;
  // The callback for the return of Init; may be null. It lies in
  // `inline_state`, so TakeAdmitted takes it before Init is called.
  Admitted* admitted = nullptr;
  // The calls that the process has received and not answered; null: none.
  // Owned.
  OwedCalls* owed_calls = nullptr;
  // Why there is no state to call Init on; null if there is one.
  const char* refusal = nullptr;

  // The memory of the state, if the type's state fits; so a step finds its
  // state without waiting for the pointer first. Before there is a state, the
  // memory of `admitted`.
  static constexpr size_t kInlineStateBytes = 64;
  alignas(64) std::array<std::byte, kInlineStateBytes> inline_state;

  // Any thread. Puts the messages from `first` to `last`, linked by `next`, or
  // one chain, into the mailbox, and adds `delta` to the word. `word` is the
  // word as the caller has just read it. True: the caller has to enqueue the
  // process.
  bool Post(Envelope* first, Envelope* last, uint64_t word, uint64_t delta) {
    // No older message of the same sender is in the queue: it would be counted
    // until a turn has taken it.
    if (Activity::AwaitsMessage(word)) {
      // The prefetch comes before the claim, because behind the claim a
      // processor fetches nothing until it has the word's line.
      PrefetchTurn();
      if (Activity::Claim(activity, word, delta)) {
        ACTORD_ASSERT_HOT(in_hand == nullptr && !running.load(),
                          "activity.h (5)");
        FailPoint();
        last->SetNext(nullptr);
        WillWrite(&in_hand);
        in_hand = first;
        return true;
      }
    }
    // The count comes first (activity.h, (3)). The last write of a push mostly
    // goes to a line that another processor had last, and an RMW behind that
    // write would wait for the line.
    const bool has_to_enqueue = Activity::Add(activity, delta);
    messages.PushLinked(first, last);
    return has_to_enqueue;
  }
  // Post for a completion, a cancel or a termination.
  bool PostUrgent(Envelope* event) {
    WillRead(&activity);
    const uint64_t word = activity.load(std::memory_order_relaxed);
    if (Activity::AwaitsUrgent(word) &&
        Activity::Claim(activity, word, Activity::kUrgentOne)) {
      ACTORD_ASSERT_HOT(!running.load(), "activity.h (5)");
      FailPoint();
      WillWrite(&urgent_taken);
      urgent_taken.PushBack(event);
      return true;
    }
    urgent.Push(event);
    return Activity::Add(activity, Activity::kUrgentOne);
  }

  // Turn. Calls `take` with each envelope in hand and in the mailbox, in order,
  // until it returns false or nothing more can be reached.
  template <typename Take>
  [[gnu::always_inline]] void TakeMessages(Take take) {
    while (Envelope* envelope = in_hand) {
      ACTORD_ASSERT_HOT(
          Activity::Messages(activity.load()) != 0,
          "activity.h (3): a message that a turn finds is counted");
      in_hand = envelope->Next();
      if (!take(envelope)) return;
    }
    messages.PopWhile([&](Envelope* envelope) {
      ACTORD_ASSERT_HOT(
          Activity::Messages(activity.load()) != 0,
          "activity.h (3): a message that a turn finds is counted");
      return take(envelope);
    });
  }

  // Spawner, or turn. Precondition: there is no state, and no callback is kept.
  void KeepAdmitted(Admitted&& done) {
    static_assert(sizeof(Admitted) <= kInlineStateBytes);
    ACTORD_ASSERT(state == nullptr && admitted == nullptr,
                  "process.h: the slot has no state and no callback");
    ASAN_UNPOISON_MEMORY_REGION(&inline_state, kInlineStateBytes);
    admitted = new (&inline_state) Admitted(std::move(done));
  }
  // Precondition: a callback is kept.
  Admitted TakeAdmitted() {
    ACTORD_ASSERT(admitted != nullptr, "process.h: a callback is kept");
    Admitted* const kept = std::exchange(admitted, nullptr);
    Admitted taken = std::move(*kept);
    kept->~Admitted();
    ASAN_POISON_MEMORY_REGION(&inline_state, kInlineStateBytes);
    return taken;
  }

  // Turn. NewState returns zeroed memory for a state of `bytes` bytes;
  // FreeState frees it. During an upgrade there are two states.
  void* NewState(BufferCache& buffers, size_t bytes) {
    if (bytes <= kInlineStateBytes && state != &inline_state) [[likely]] {
      ASAN_UNPOISON_MEMORY_REGION(&inline_state, kInlineStateBytes);
      inline_state.fill(std::byte{0});
      // The plugin may use only the bytes that it asked for.
      ASAN_POISON_MEMORY_REGION(&inline_state, kInlineStateBytes);
      ASAN_UNPOISON_MEMORY_REGION(&inline_state, bytes);
      return &inline_state;
    }
    return std::memset(buffers.Allocate(std::max<size_t>(bytes, 1)), 0, bytes);
  }
  void FreeState(BufferCache& buffers, void* memory, size_t bytes) {
    if (memory != &inline_state) [[unlikely]] {
      buffers.Deallocate(memory, std::max<size_t>(bytes, 1));
    } else {
      ASAN_POISON_MEMORY_REGION(&inline_state, kInlineStateBytes);
    }
  }

  // Prefetches the lines that the process needs to begin or run here soon;
  // another processor may have had them last, or they may be cold.
  void Prefetch() const {
    PrefetchForEvent();
    PrefetchForWrite(&parent);
  }
  // Prefetches for an event and for a turn that is neither the first nor the
  // last.
  void PrefetchForEvent() const {
    PrefetchForWrite(this);
    PrefetchTurn();
  }
  // Prefetches for a turn that is neither the first nor the last, without the
  // line of the word.
  void PrefetchTurn() const {
    PrefetchForWrite(&state);
    PrefetchForWrite(&inline_state);
  }

  // The caller must read `generation` afterwards, with seq_cst.
  void Want(uint8_t bit) { wanted.fetch_or(bit, std::memory_order_seq_cst); }
  [[nodiscard]] bool IsStill(uint32_t of_generation) const {
    return generation.load(std::memory_order_seq_cst) == of_generation;
  }

  [[nodiscard]] bool is_durable() const {
    return slot.load(std::memory_order_relaxed) >= kDurableSlot;
  }
  // The index of this slot in the process table.
  [[nodiscard]] uint32_t index() const {
    return slot.load(std::memory_order_relaxed) & ~kDurableSlot;
  }
  [[nodiscard]] int Priority() const {
    return priority.load(std::memory_order_relaxed);
  }
};
static_assert(sizeof(Process) == 256);
static_assert(sizeof(std::atomic<Owner>) == sizeof(Owner));

}  // namespace actord::runtime
