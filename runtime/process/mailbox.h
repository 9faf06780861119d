// The two queues of a process. Both have many producers and one consumer (the
// thread that runs the process). Both are intrusive and unbounded: the sender
// checks the limits (activity.h).
// performance-notes: Inlined by force.
#pragma once

#include <atomic>

#include "runtime/process/envelope.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

// First in, first out for each producer. A push is one exchange.
//
// After Vyukov's intrusive MPSC queue, without its stub node: an empty queue
// has a null tail.
//  (1) A producer owns the link behind the tail that its exchange returned:
//      the `next` of that envelope, or `head_` if it was null.
//  (2) The list from `head_` may have a gap where a producer is between its two
//      writes. The consumer takes a gap for the end of the queue, and looks
//      again in its next turn (activity.h, (3)).
class MessageQueue {
 public:
  void Push(Envelope* envelope) { PushLinked(envelope, envelope); }

  // Pushes the envelopes from `first` to `last`, which are linked by `next`, in
  // one push. The consumer sees them as if they had been pushed one by one.
  void PushLinked(Envelope* first, Envelope* last) {
    last->next.store(nullptr, std::memory_order_relaxed);
    // Release: publishes the envelopes' content. Acquire: `previous` is linked
    // only after its own initialisation.
    Envelope* previous = tail_.exchange(last, std::memory_order_acq_rel);
    FailPoint();
    if (previous == nullptr) {
      ACTORD_ASSERT_HOT(head_.load() == nullptr, "mailbox.h (1)");
      head_.store(first, std::memory_order_release);
    } else {
      ACTORD_ASSERT_HOT(previous->Next() == nullptr, "mailbox.h (1)");
      WillWrite(&previous->next);
      previous->next.store(first, std::memory_order_release);
    }
  }

  // Consumer only. Calls `take` with one envelope after the other, in order,
  // until the queue is empty, a gap is first, or `take` returns false. `take`
  // may free the envelope, and push, but not pop.
  template <typename Take>
  [[gnu::always_inline]] void PopWhile(Take take) {
    Envelope* envelope = head_.load(std::memory_order_acquire);
    if (envelope == nullptr) return;
    ACTORD_ASSERT_HOT(tail_.load() != nullptr, "mailbox.h (2)");
    for (bool more = true; more;) {
      WillRead(&envelope->next);
      Envelope* next = envelope->next.load(std::memory_order_acquire);
      if (next == nullptr) {
        if (PopLast(envelope)) take(envelope);
        return;
      }
      more = take(envelope);
      envelope = next;
    }
    // One store for all envelopes, because producers change the line with each
    // push. By (1) no producer writes head_ while the queue is not empty.
    head_.store(envelope, std::memory_order_relaxed);
  }
  // Consumer only. Null: the queue is empty, or a gap is first.
  Envelope* Pop() {
    Envelope* popped = nullptr;
    PopWhile([&popped](Envelope* envelope) {
      popped = envelope;
      return false;
    });
    return popped;
  }

  // Consumer only. True: there is no envelope and no gap. Acquire, as in a pop.
  [[nodiscard]] bool IsEmpty() const {
    return tail_.load(std::memory_order_acquire) == nullptr;
  }

 private:
  // Pops `first`, which has no link: it is the last envelope, or a gap is
  // behind it. False: a gap is behind `first`, which stays.
  bool PopLast(Envelope* first) {
    // head_ must become null before the tail does, because the producer that
    // finds a null tail writes head_.
    Unpriced(head_).store(nullptr, std::memory_order_relaxed);
    FailPoint();
    Envelope* expected = first;
    if (tail_.compare_exchange_strong(expected, nullptr,
                                      std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      return true;
    }
    Unpriced(head_).store(first, std::memory_order_relaxed);
    return false;
  }

  // Producers write it if the queue was empty; otherwise the consumer does.
  Atomic<Envelope*> head_{nullptr};
  Atomic<Envelope*> tail_{nullptr};
};

// The queue of completions, cancels and terminations, which are rare and are
// taken all at once. It is a Treiber stack, whose only pop is "take all", so
// that ABA cannot occur.
class UrgentQueue {
 public:
  // True: the queue was empty.
  bool Push(Envelope* envelope) {
    Envelope* head = Unpriced(head_).load(std::memory_order_relaxed);
    do {
      envelope->SetNext(head);
      // Release: the envelope's content and link; pairs with TakeAll.
    } while (!head_.compare_exchange_weak(
        head, envelope, std::memory_order_release, std::memory_order_relaxed));
    return head == nullptr;
  }

  // Consumer only. Appends all events to `out`, oldest first.
  void TakeAll(EnvelopeList& out) {
    // Relaxed: a counted event was pushed before, and the turn has read the
    // count with acquire (activity.h, (3)). An event that is not yet counted is
    // either followed by its own increment, which enqueues the process, or was
    // pushed onto a counted event (Run::Kind::kLinkedEnd).
    if (head_.load(std::memory_order_relaxed) == nullptr) return;
    Envelope* newest = head_.exchange(nullptr, std::memory_order_acquire);
    Envelope* oldest = nullptr;
    while (newest != nullptr) {
      Envelope* next = newest->Next();
      newest->SetNext(oldest);
      oldest = newest;
      newest = next;
    }
    while (oldest != nullptr) {
      Envelope* next = oldest->Next();
      out.PushBack(oldest);
      oldest = next;
    }
  }

 private:
  Atomic<Envelope*> head_{nullptr};
};

}  // namespace actord::runtime
