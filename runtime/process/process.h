// A process: what the runtime keeps of a running state machine.
//
// States, and who may touch what in them (see activity.h for the word):
//
//   free       in the process table's free list; `generation` is even
//     │ spawn: the spawner fills everything, then makes `generation` odd
//   reserved   the spawner's step has not ended: it has a PID and takes
//     │        messages, but does not run (word: ended)
//     │ admit: the word loses `ended`, gains `ready`
//   live       ready → running → ready | idle | blocked → ready …
//     │ end: the turn that ends it makes `generation` even
//   free
//
// "Turn" fields belong to the thread that runs the process; between turns they
// travel with it through the run queues, and through the word when it sleeps:
// to whoever makes it runnable, until that one has enqueued it (activity.h,
// (5)).
// Those that others read for ListProcesses are atomics with relaxed order: one
// writer, and a stale view is fine.
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
#include "runtime/process/pid.h"
#include "runtime/process/priority.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/processor.h"

namespace actord::runtime {

struct OwedCalls;  // calls.h
struct Upgrading;  // upgrading.h

// Called once, when Init has returned, or with the reason why it never will.
using Admitted = absl::AnyInvocable<void(absl::StatusOr<Pid>) &&>;

// Who wants to know of the end of a process, or has something of it: bits of
// Process::wanted.
struct Wanted {
  static constexpr uint8_t kAwaited = 1;  // though its result is not kept
  static constexpr uint8_t kWatched = 2;  // it watches, or is (ties.h)
  static constexpr uint8_t kNamed = 4;    // it has names (names.h)
  static constexpr uint8_t kGrouped = 8;  // it is in groups (groups.h)
  static constexpr uint8_t kCalled = 16;  // it owes answers (calls.h)
};

// In four cache lines: what others need of it, and a turn first; what a turn
// needs; what is needed at its begin and end, or seldom; its state, if that is
// small.
struct alignas(64) Process {
  // ---- Any thread.

  // Who has to run it, and how full it is. Orders: activity.h.
  std::atomic<uint64_t> activity{Activity::kEnded};
  // Odd: a process with this generation lives here. Written by spawner and
  // ending turn (release), read by whoever looks a PID up (acquire).
  std::atomic<uint32_t> generation{0};
  // Own index. Written once, before the slot is first handed out.
  std::atomic<uint32_t> slot{0};
  MessageQueue messages;
  UrgentQueue urgent;

  // ---- Turn, and whoever made it runnable and has not enqueued it yet.

  // Messages, or a chain of them, that the word counts, handed over without a
  // queue, linked by `next`, the first first. Older than what their senders
  // have in `messages`.
  Envelope* in_hand = nullptr;
  // Completions and cancels that were handed over, taken or made here and not
  // yet seen by a step.
  EnvelopeList urgent_taken;

  // ---- Any thread.

  // 0 to 31. Written at its reservation, relaxed: whoever enqueues the process
  // has found it live, so it sees this.
  std::atomic<uint8_t> priority{kDefaultPriority};
  // Wanted::*. Any thread adds bits, first, and then looks whether the process
  // still has its `generation`; the end is the other way round: so one of the
  // two sees the other. seq_cst. A bit may come too late and hit the slot's
  // next process, which then looks for nothing.
  std::atomic<uint8_t> wanted{0};

  // ---- Turn, and relaxed readers.

  std::atomic<bool> running{false};
  std::atomic<bool> cancel_requested{false};

  // ---- Turn.

  bool keep_result = false;
  bool cancel_seen = false;
  // The next turn calls Step even without events: after Init, Restore and
  // CONTINUE.
  bool step_due = false;
  // The next turn calls Init, with `input`.
  bool init_due = false;
  // Completions that came within a turn, so without a record, and that no step
  // has seen yet.
  uint32_t replies = 0;
  void* state = nullptr;
  // What Init is given; null: nothing. Owned.
  Envelope* input = nullptr;
  // Next tag; tags begin at 1.
  uint64_t next_tag = 1;
  // The first record of an outstanding yield (yield_record.h), or kNoYieldSlot.
  uint32_t yields = kNoYieldSlot;
  // How many there are. Whoever describes the process reads it, too.
  std::atomic<uint32_t> yields_count{0};
  // What is left of an upgrade; null for nearly all. Owned.
  Upgrading* upgrading = nullptr;

  // ---- Turn, and relaxed readers.

  // An upgrade replaces it, with release; acquire by whoever is not in a turn.
  std::atomic<const ProcessType*> type{nullptr};
  std::atomic<uint64_t> steps{0};
  std::atomic<uint64_t> started_unix_ns{0};
  AtomicPid parent;
  // Memory of the large completions that no step has seen yet, in units
  // (YieldBroker::ChargeOf). Added by whoever completes, before the push;
  // subtracted by the turn that pops. Relaxed: only compared with a limit. It
  // outlives the process, as late envelopes do.
  std::atomic<uint32_t> completion_units{0};
  // Index into the methods of `type`. An upgrade that changes either stores
  // kNoMethod, the type, and the method, in this order, with release: whoever
  // reads the same type before and after the method, and not kNoMethod, has a
  // pair that belongs together, since no type of a process ever comes back.
  static constexpr uint16_t kNoMethod = UINT16_MAX;
  std::atomic<uint16_t> method{0};

  // ---- Turn.

  // Who wants to know that Init has returned; may be null. In `inline_state`,
  // so it is taken before Init is called (TakeAdmitted).
  Admitted* admitted = nullptr;
  // The calls that it has been given and not answered; null: none. Owned.
  OwedCalls* owed_calls = nullptr;
  // Why there is nothing to call Init on; null if there is.
  const char* refusal = nullptr;

  // What `state` points to, if that is enough for the type; so a step finds its
  // state without waiting for the pointer first. Before there is a state,
  // `admitted`.
  static constexpr size_t kInlineStateBytes = 64;
  alignas(64) std::array<std::byte, kInlineStateBytes> inline_state;

  // Puts the messages from `first` to `last`, linked by `next`, or one chain of
  // them, into the mailbox, for which `delta` is to be added to the word.
  // `word`: as the caller has just read it. True: the caller has to enqueue the
  // process. Any thread.
  bool Post(Envelope* first, Envelope* last, uint64_t word, uint64_t delta) {
    // Nothing older of the same sender is left in the queue: it is counted
    // until a turn has taken it.
    if (Activity::AwaitsMessage(word)) {
      // Before the claim, behind which a processor fetches nothing until it has
      // that line.
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
    // Counted first (activity.h, (3)): the last write of a push is mostly to a
    // line that another processor had last, and a read-modify-write behind it
    // would wait for that.
    const bool has_to_enqueue = Activity::Add(activity, delta);
    messages.PushLinked(first, last);
    return has_to_enqueue;
  }
  // Likewise a completion, cancel or termination.
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
  void TakeMessages(Take take) {
    while (Envelope* envelope = in_hand) {
      ACTORD_ASSERT_HOT(Activity::Messages(activity.load()) != 0,
                        "activity.h (3): what is found is counted");
      in_hand = envelope->Next();
      if (!take(envelope)) return;
    }
    messages.PopWhile([&](Envelope* envelope) {
      ACTORD_ASSERT_HOT(Activity::Messages(activity.load()) != 0,
                        "activity.h (3): what is found is counted");
      return take(envelope);
    });
  }

  // Spawner, or turn. Precondition: there is no state, and nobody is there yet.
  void KeepAdmitted(Admitted&& done) {
    static_assert(sizeof(Admitted) <= kInlineStateBytes);
    ACTORD_ASSERT(state == nullptr && admitted == nullptr,
                  "process.h: its memory is not used");
    ASAN_UNPOISON_MEMORY_REGION(&inline_state, kInlineStateBytes);
    admitted = new (&inline_state) Admitted(std::move(done));
  }
  // Precondition: somebody is there.
  Admitted TakeAdmitted() {
    ACTORD_ASSERT(admitted != nullptr, "process.h: somebody is there");
    Admitted* const kept = std::exchange(admitted, nullptr);
    Admitted taken = std::move(*kept);
    kept->~Admitted();
    ASAN_POISON_MEMORY_REGION(&inline_state, kInlineStateBytes);
    return taken;
  }

  // Memory for a state of so many bytes, all of them 0, and its end. While an
  // upgrade lasts there are two states. Turn.
  void* NewState(BufferCache& buffers, size_t bytes) {
    if (bytes <= kInlineStateBytes && state != &inline_state) [[likely]] {
      ASAN_UNPOISON_MEMORY_REGION(&inline_state, kInlineStateBytes);
      inline_state.fill(std::byte{0});
      // Only what was asked for is the plugin's.
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

  // It will begin or run here soon: what that needs may be far away, or cold.
  void Prefetch() const {
    PrefetchForEvent();
    PrefetchForWrite(&parent);
  }
  // Likewise, for an event and a turn that is neither the first nor the last.
  void PrefetchForEvent() const {
    PrefetchForWrite(this);
    PrefetchTurn();
  }
  // Likewise, for a turn that is neither the first nor the last, beside the
  // line of the word.
  void PrefetchTurn() const {
    PrefetchForWrite(&state);
    PrefetchForWrite(&inline_state);
  }

  // Precondition of use: the caller then looks at `generation`, seq_cst.
  void Want(uint8_t bit) { wanted.fetch_or(bit, std::memory_order_seq_cst); }
  [[nodiscard]] bool IsStill(uint32_t of_generation) const {
    return generation.load(std::memory_order_seq_cst) == of_generation;
  }

  [[nodiscard]] int Priority() const {
    return priority.load(std::memory_order_relaxed);
  }
};
static_assert(sizeof(Process) == 256);

}  // namespace actord::runtime
