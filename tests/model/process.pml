/* The activity word, the mailbox and the turn fields
 * (runtime/process/activity.h, runtime/process/mailbox.h,
 * runtime/workers/process_runner.cc, runtime/turn/inbox.cc): two senders, a
 * completer, one process that may block on its completion or end, another
 * process that then uses its slot, and two workers that run them.
 *
 * The mailbox is modelled in full, with its gap: a sender adds to the word,
 * exchanges the tail, and links in a third step. It sends its messages one by
 * one, as several linked messages, or as a chain: one node that stands for all
 * of them. The word consists of its counts, messages and urgent, and the flags
 * ready, blocked and ended. Its units are left out: their only effect is that a
 * CAS fails.
 *
 * The thread that makes the process runnable owns its turn fields until it has
 * enqueued the process. So a sender that finds the process idle, with nothing
 * waiting, tries one CAS of the whole word. If the CAS succeeds, the sender
 * puts its messages into `in_hand`. In the same way, a completer that finds the
 * process not runnable uses `urgent_taken`. All other events go through the two
 * queues and an add.
 *
 * So every event that a turn finds is counted, and events that it does not find
 * stay counted: the process stays runnable and looks again. A sender that finds
 * nothing counted has no older message of its own in the mailbox, whatever
 * other senders have there.
 *
 * Checked: the process is never in two queues, and never run by two workers. No
 * two threads access the turn fields at once, and a thread that may put
 * something in hand finds nothing there. Each message is taken once, in its
 * sender's order, and each completion at most once. When all threads are quiet,
 * no event is left that should have been handled. After the end no event of the
 * process is handled, and nothing is in hand.
 *
 * Mutants, which must fail:
 *   PUSH_FIRST      a sender pushes before it adds to the word
 *   GAP_TAKEN       a turn gives back the counts of messages behind a gap
 *   SUBTRACT_EARLY  a turn gives the counts back when it begins
 *   LOAD_LATE       a turn subtracts the value of the word at its end
 *   SKIP_READY      a sender does not add when it sees messages counted already
 *   NO_CAS          a sender or completer that sees the process idle adds, and
 *                   assumes that it owns it
 *   CLAIM_BLOCKED   a sender takes a blocked process for an idle one
 *   CLAIM_ENDED     a sender takes a free slot for an idle process
 *   HAND_LATE       the owner enqueues, and then puts its messages in hand
 *   HAND_ALWAYS     a sender whose CAS fails puts them in hand as well
 *   MAILBOX_FIRST   a turn takes the mailbox before the messages in hand
 *   END_IN_HAND     the end drops the mailbox, but not the messages in hand
 *   URGENT_LATE     as HAND_LATE, with a completion
 *   URGENT_ALWAYS   as HAND_ALWAYS, with a completion */
#ifndef MESSAGES
#define MESSAGES 2 /* of sender 0; sender 1 has one */
#endif
#ifndef COMPLETERS
#define COMPLETERS 1
#endif
/* One process stands for any number, at half the states: a worker keeps no
 * state between turns, and enqueue() asserts that no worker runs the process.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#define SENDERS 2
#define OF(sender) (sender == 0 -> MESSAGES : 1)
#define NONE 0

/* Message m of sender s is node s * MESSAGES + m + 1. */
#define NODES (SENDERS * MESSAGES)
byte next[NODES + 1];
bool is_chain[NODES + 1]; /* the node stands for the next message, too */
byte head;
byte tail;
byte urgent_stack;    /* number of completions on it */

/* The word. */
byte messages;
byte urgent;
bool ready;
bool blocked;
bool ended;

/* Turn fields. */
byte in_hand;         /* the first of the linked messages */
byte urgent_taken;    /* number of completions */

bool held;            /* a thread accesses the turn fields */
bool reused;          /* the slot's second process */
byte queued;          /* how often the process is in the run queue */
byte running;         /* number of workers that run it */
byte expected[SENDERS];
byte completed;
byte finished;        /* number of senders and completers */

#define RUNNABLE \
  (!ended && (ready || urgent > 0 || (!blocked && messages > 0)))
#define NOTHING_WAITS (!ready && urgent == 0 && messages == 0)
#ifdef CLAIM_BLOCKED
#define IDLE (NOTHING_WAITS && !ended)
#else
#ifdef CLAIM_ENDED
#define IDLE (NOTHING_WAITS && !blocked)
#else
#define IDLE (NOTHING_WAITS && !blocked && !ended)
#endif
#endif

/* True if the CAS succeeds. */
#ifdef NO_CAS
#define STILL_IDLE true
#else
#define STILL_IDLE IDLE
#endif

/* True if a sender does not add. */
#ifdef SKIP_READY
#define COUNTED (messages > 0)
#else
#define COUNTED false
#endif

inline hold() {
  assert(!held);
  held = true
}

inline enqueue() {
  d_step { assert(queued == 0 && running == 0); queued++ }
}

/* fetch_add. The thread that makes the process runnable enqueues it. */
inline add(counter, amount) {
  atomic {
    was = RUNNABLE;
    counter = counter + amount;
    if
    :: !was && RUNNABLE -> enqueue()
    :: else -> skip
    fi;
    was = false
  }
}

inline push() {
  atomic { previous = tail; tail = last };
  if
  :: previous == NONE -> head = first
  :: else -> next[previous] = first
  fi;
  previous = NONE
}

inline put_in_hand() {
  atomic {
    hold();
    assert(in_hand == NONE);
    in_hand = first
  }
}

proctype Sender(byte me) {
  byte m, first, last, amount, previous;
  bool was, owns;
  do
  :: m < OF(me) ->
     atomic {
       first = me * MESSAGES + m + 1;
       last = first;
       amount = 1;
       next[last] = NONE;
       if /* It sends all that is left, or one message. */
       :: m + 1 < OF(me) ->
          amount++;
          if
          :: next[last] = last + 1; last++; next[last] = NONE
          :: is_chain[first] = true
          fi
       :: skip
       fi;
       /* Some senders never claim, and a CAS may fail with any counts. */
       if
       :: skip
       :: goto other_way
       fi
     };
     owns = IDLE;
     if
     :: owns ->
        atomic {
          if
          :: STILL_IDLE -> messages = messages + amount
          :: else -> owns = false
          fi
        }
     :: else -> skip
     fi;
     if
     :: owns ->
#ifdef HAND_LATE
        enqueue();
        put_in_hand();
        held = false
#else
        put_in_hand();
        atomic { held = false; enqueue() }
#endif
     :: else ->
other_way:
#ifdef HAND_ALWAYS
        put_in_hand();
        held = false;
#endif
#ifdef PUSH_FIRST
        push();
#endif
        if
        :: COUNTED -> skip
        :: else -> add(messages, amount)
        fi;
#if !defined(HAND_ALWAYS) && !defined(PUSH_FIRST)
        push()
#else
        skip
#endif
     fi;
     d_step {
       owns = false;
       m = m + amount;
       amount = 0;
       first = NONE;
       last = NONE
     }
  :: else -> break
  od;
  finished++
}

inline put_urgent() {
  atomic { hold(); assert(urgent_taken == 0); urgent_taken++ }
}

/* Completes a yield on which the process may block. The CAS compares the bits
 * that the word may still have when the process is not runnable. */
proctype Completer() {
  byte messages_then;
  bool blocked_then, was, owns;
  if
  :: atomic {
       owns = !ended && !RUNNABLE;
       messages_then = messages;
       blocked_then = blocked
     }
  :: skip
  fi;
  if
  :: owns ->
     atomic {
       if
       :: !ended && !ready && urgent == 0 && messages == messages_then &&
            blocked == blocked_then -> urgent++
       :: else -> owns = false
       fi
     }
  :: else -> skip
  fi;
  d_step { messages_then = 0; blocked_then = false };
  if
  :: owns ->
#ifdef URGENT_LATE
     enqueue();
     put_urgent();
     held = false
#else
     put_urgent();
     atomic { held = false; enqueue() }
#endif
  :: else ->
#ifdef URGENT_ALWAYS
     put_urgent();
     held = false;
#else
     urgent_stack++;
#endif
     add(urgent, 1)
  fi;
  d_step { owns = false; finished++ }
}

/* One of MessageQueue::PopWhile, which writes the head once for all of them: no
 * other thread reads it meanwhile. node == NONE: empty, or a gap. */
inline pop() {
  node = head;
  if
  :: node == NONE -> skip
  :: else ->
     following = next[node];
     if
     :: following != NONE -> head = following
     :: else ->
        head = NONE;
        atomic {
          if
          :: tail == node -> tail = NONE; following = 1
          :: else -> following = NONE
          fi
        }
        if
        :: following == NONE -> head = node; node = NONE
        :: else -> skip
        fi
     fi;
     following = NONE
  fi
}

/* Passes messages to the step, or drops them if the process ends. */
inline deliver() {
  d_step {
    assert(!ended);
    do
    :: assert(expected[(node - 1) / MESSAGES] == (node - 1) % MESSAGES);
       expected[(node - 1) / MESSAGES]++;
       seen++;
       next[node] = NONE;
       if
       :: is_chain[node] -> is_chain[node] = false; node++
       :: else -> break
       fi
    od;
    node = NONE
  }
}

inline give_back() {
#ifndef SUBTRACT_EARLY
#ifdef LOAD_LATE
  messages = 0;
  urgent = 0;
#else
  assert(messages >= seen && urgent >= seen_urgent);
  messages = messages - seen;
  urgent = urgent - seen_urgent;
#endif
#endif
  skip
}

inline forget_turn() {
  any = false;
  seen = 0;
  seen_urgent = 0;
  was_blocked = false;
  blocks = false;
  ends = false
}

#ifdef MAILBOX_FIRST
#define HAND_IS_NEXT (in_hand != NONE && tail == NONE)
#else
#ifdef END_IN_HAND
#define HAND_IS_NEXT (in_hand != NONE && !ends)
#else
#define HAND_IS_NEXT (in_hand != NONE)
#endif
#endif

proctype Worker() {
  byte node, following, seen, seen_urgent;
  bool any, was_blocked, blocks, ends;
idle:
end_idle:
  atomic {
    queued > 0 -> queued--;
    running++;
    assert(running == 1 && !ended);
    hold();
    any = messages > 0;
    seen_urgent = urgent;
    was_blocked = blocked;
#ifdef SUBTRACT_EARLY
    messages = 0;
    urgent = 0;
#endif
  };
  if
  :: seen_urgent > 0 ->
     d_step { urgent_taken = urgent_taken + urgent_stack; urgent_stack = 0 }
  :: else -> skip
  fi;
  if
  :: d_step {
       completed = completed + urgent_taken;
       urgent_taken = 0;
       assert(completed <= COMPLETERS)
     }
  :: urgent_taken > 0 -> skip /* the batch is full */
  fi;
  if
  :: was_blocked || !any -> goto step
  :: else -> skip
  fi;
take:
  do
  :: !ends -> break /* it is full */
  :: true ->
     if
     :: HAND_IS_NEXT ->
        d_step { node = in_hand; in_hand = next[node] }
     :: else -> pop()
     fi;
     if
     :: node == NONE ->
#ifdef GAP_TAKEN
        if
        :: !ends -> seen = messages
        :: else -> skip
        fi;
#endif
        break
     :: node != NONE -> deliver()
     fi
  od;
step:
  atomic {
    if
    /* DropMailbox: until the mailbox is empty. */
    :: ends && tail == NONE -> goto end
    :: ends && tail != NONE -> goto take
    :: !ends -> ends = true; goto take
    /* It may block while completions are outstanding. */
    :: !ends && !reused && completed < COMPLETERS -> blocks = true
    :: !ends
    fi;
    running--;
    held = false;
    ready = urgent_taken > 0;
    blocked = blocks;
    give_back();
    if
    :: RUNNABLE -> enqueue()
    :: else -> skip
    fi;
    forget_turn()
  };
  goto idle;
end:
  atomic {
    running--;
    held = false;
    urgent_taken = 0;
    ready = false;
    blocked = false;
    ended = true;
    give_back();
    forget_turn()
  };
  /* A spawner takes the slot, once, and admits another process. */
  if
  :: !reused ->
     atomic { hold(); reused = true; assert(in_hand == NONE) };
     atomic { held = false; ended = false; ready = true; enqueue() }
  :: else -> skip
  fi;
  goto idle
}

init {
  atomic {
    byte i;
    run Sender(0);
    run Sender(1);
    for (i : 1 .. COMPLETERS) { run Completer() };
    for (i : 1 .. WORKERS) { run Worker() }
  }
}

/* Quiet: every sender is done, no worker runs the process, and nothing is
 * queued. Then nothing is in hand, and unless the slot is free, every message
 * and completion has been taken. Reaching the end is the error. */
#define QUIET \
  (finished == SENDERS + COMPLETERS && queued == 0 && running == 0)
#define ALL_TAKEN \
  (expected[0] == OF(0) && expected[1] == OF(1) && urgent_stack == 0 && \
   (reused || completed == COMPLETERS))
#define FINE (in_hand == NONE && urgent_taken == 0 && (ended || ALL_TAKEN))
never {
  do
  :: QUIET && !FINE -> break
  :: else -> skip
  od
}
