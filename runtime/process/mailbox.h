// The two queues of a process. Both: many producers, one consumer (the thread
// that runs the process), intrusive, unbounded (limits are the sender's
// business, see activity.h).
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
//  (2) The list from `head_` may have a gap where a producer is between its
//      two writes. The consumer takes a gap for the end, and looks again
//      (activity.h, (3)).
class MessageQueue {
 public:
  void Push(Envelope* envelope) { PushLinked(envelope, envelope); }

  // Pushes the envelopes from `first` to `last`, which are linked by `next`, as
  // one: for the consumer as if they had been pushed one after the other.
  void PushLinked(Envelope* first, Envelope* last) {
    last->next.store(nullptr, std::memory_order_relaxed);
    // Release: the envelopes' content; acquire: that `previous` is linked only
    // after its own initialisation.
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

  // Consumer only. Takes one after the other, in order, until it is empty, a
  // gap is first, or `take`, which is called with each, returns false. It may
  // free the envelope, and push, but not pop.
  template <typename Take>
  void PopWhile(Take take) {
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
    // Once for all of them: producers change the line with each push. By (1)
    // none of them writes head_ while the queue is not empty.
    head_.store(envelope, std::memory_order_relaxed);
  }
  // Consumer only. Null: empty, or a gap is first.
  Envelope* Pop() {
    Envelope* popped = nullptr;
    PopWhile([&popped](Envelope* envelope) {
      popped = envelope;
      return false;
    });
    return popped;
  }

  // Nothing is there, and no gap. Consumer only. Acquire, as a pop.
  [[nodiscard]] bool IsEmpty() const {
    return tail_.load(std::memory_order_acquire) == nullptr;
  }

 private:
  // `first` has no link: it is the last one, or a gap is behind it. False: a
  // gap, and it stays.
  bool PopLast(Envelope* first) {
    // head_ must be null before the tail is, because the producer that finds a
    // null tail writes head_.
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

  // Written by producers when the queue was empty, by the consumer otherwise.
  Atomic<Envelope*> head_{nullptr};
  Atomic<Envelope*> tail_{nullptr};
};

// Completions, cancels and terminations: rare, and taken all at once.
// A Treiber stack, whose only pop is "take all", so that ABA cannot occur.
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

  // Consumer only. Appends what is there to `out`, oldest first.
  void TakeAll(EnvelopeList& out) {
    // Relaxed: whoever was counted has pushed before, and the turn has read the
    // count with acquire (activity.h, (3)). What is not counted brings its own
    // turn, or lies on top of what does (Run::Kind::kLinkedEnd).
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
