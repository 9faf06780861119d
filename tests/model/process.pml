/* The activity word and the mailbox (runtime/activity.h, mailbox.h,
 * process_runner.cc): two senders, one process that may also block on a
 * completion, two workers that run it.
 *
 * The mailbox is modelled in full, with its gap: a sender exchanges the tail and
 * links in a second step. The word is its counts: messages, urgent, and the
 * flags blocked and ended.
 *
 * Checked: the process is never in two queues, and never run by two workers;
 * each message is taken once, in its sender's order; when all is quiet, nothing
 * is left that should have run; after the end nothing of it is run.
 *
 * Mutants, which must fail:
 *   ADD_FIRST       a sender adds to the word before it pushes
 *   NO_OWED         what lies behind a gap is forgotten instead of owed
 *   SUBTRACT_EARLY  a turn gives the counts back when it begins
 *   LOAD_LATE       a turn subtracts what the word says at its end
 *   SKIP_READY      a sender does not add when it sees messages counted already
 */
#define MESSAGES 2 /* of sender 0; sender 1 has one */
#define SENDERS 2
#define OF(sender) (sender == 0 -> MESSAGES : 1)
#define NONE 0

/* Message m of sender s is node s * MESSAGES + m + 1. */
#define NODES (SENDERS * MESSAGES)
byte next[NODES + 1];
byte head;
byte tail;

/* The word. */
byte messages;
byte urgent;
bool blocked;
bool ended;

byte queued;          /* how often the process is in the run queue */
byte running;         /* how many workers run it */
byte owed;
byte expected[SENDERS];
byte finished;        /* senders and the completer */
bool got_completion;

#define RUNNABLE (!ended && (urgent > 0 || (!blocked && messages > 0)))

inline enqueue() {
  assert(queued == 0);
  queued++
}

/* fetch_add of one message; the one that makes it runnable enqueues. */
inline add_message() {
  atomic {
    was = RUNNABLE;
    messages++;
    if
    :: !was && RUNNABLE -> enqueue()
    :: else -> skip
    fi
  }
}

proctype Sender(byte me) {
  byte m, node, previous;
  bool was;
  do
  :: m < OF(me) ->
     node = me * MESSAGES + m + 1;
     next[node] = NONE;
#ifdef ADD_FIRST
     add_message();
#endif
     atomic { previous = tail; tail = node };
     if
     :: previous == NONE -> head = node
     :: else -> next[previous] = node
     fi;
#ifndef ADD_FIRST
#ifdef SKIP_READY
     if
     :: messages > 0 -> skip
     :: else -> add_message()
     fi;
#else
     add_message();
#endif
#endif
     m++
  :: else -> break
  od;
  finished++
}

/* Completes the yield on which the process may block. */
active proctype Completer() {
  bool was;
  atomic {
    was = RUNNABLE;
    urgent++;
    if
    :: !was && RUNNABLE -> enqueue()
    :: else -> skip
    fi;
    finished++
  }
}

/* MessageQueue::Pop. node == NONE: empty, or a gap. */
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
     fi
  fi
}

inline deliver() {
  d_step {
    assert(!ended);
    assert(expected[(node - 1) / MESSAGES] == (node - 1) % MESSAGES);
    expected[(node - 1) / MESSAGES]++;
    node = NONE
  }
}

active [2] proctype Worker() {
  byte node, following, left, seen, seen_urgent;
  bool was, was_blocked, blocks;
idle:
end_idle:
  atomic { queued > 0 -> queued--; running++; assert(running == 1) };
  atomic {
    left = messages;
    seen_urgent = urgent;
    was_blocked = blocked;
#ifdef SUBTRACT_EARLY
    messages = 0;
    urgent = 0;
#endif
  };
  seen = 0;
  if
  :: seen_urgent > 0 -> got_completion = true
  :: else -> skip
  fi;
  if
  :: !was_blocked ->
     do
     :: owed + left > 0 ->
        pop();
        if
        :: node == NONE ->
#ifndef NO_OWED
           owed = owed + left;
#endif
           seen = seen + left;
           left = 0;
           break
        :: else ->
           if
           :: owed > 0 -> owed--
           :: else -> left--; seen++
           fi;
           deliver()
        fi
     :: else -> break
     od
  :: else -> skip
  fi;
  /* The step: it may block while the completion is outstanding. */
  if
  :: !got_completion -> blocks = true
  :: blocks = false
  fi;
  atomic {
    running--;
#ifndef SUBTRACT_EARLY
#ifdef LOAD_LATE
    messages = 0;
    urgent = 0;
#else
    messages = messages - seen;
    urgent = urgent - seen_urgent;
#endif
#endif
    blocked = blocks;
    /* What was owed while it was blocked may be there by now: `ready`, here as
       an urgent one without an envelope. */
    if
    :: was_blocked && !blocks && owed > 0 -> urgent++
    :: else -> skip
    fi;
    if
    :: RUNNABLE -> enqueue()
    :: else -> skip
    fi
  };
  goto idle
}

init {
  atomic { run Sender(0); run Sender(1) }
}

/* Quiet: all have sent, nobody runs, nothing is queued. Then every message and
 * the completion have been delivered. Reaching the end is the error. */
#define QUIET (finished == SENDERS + 1 && queued == 0 && running == 0)
#define ALL (expected[0] == OF(0) && expected[1] == OF(1) && got_completion)
never {
  do
  :: QUIET && !ALL -> break
  :: else -> skip
  od
}
