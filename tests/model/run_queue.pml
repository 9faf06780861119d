/* The run queue (runtime/scheduler/run_queue.h): one owner, two thieves.
 *
 * The word bottom|top|tag changes only in atomic steps (each is one RMW). Slots
 * are read and written in separate steps, so that every interleaving of a copy
 * with a reuse of the slot occurs.
 *
 * Checked: no item is taken twice. In the end each pushed item was taken or is
 * still in a queue.
 *
 * Mutants, which must fail:
 *   NO_TAG        removals do not change the tag (ABA)
 *   PLAIN_STEAL   the owner pops without an RMW while two or more items are
 *                 left, as in Chase-Lev, and thieves take several at once
 *   PUBLISH_FIRST a thief publishes the copies in its own queue before its CAS
 *   SHOW_EARLY    when two items are pushed together, the add comes before the
 *                 second one is written */
#define SLOTS 4
#define WRAP 8 /* indices count modulo twice the slots */
#ifndef ITEMS
#define ITEMS 5
#endif
#ifndef STEALS
#define STEALS 1
#endif
#ifndef THIEVES
#define THIEVES 1
#endif

typedef Queue {
  byte bottom;
  byte top;
  byte tag;
  byte slot[SLOTS];
};
Queue queue[THIEVES + 1]; /* 0: the owner's */
byte pushed;
byte taken[ITEMS + 1];
byte finished;

#define SIZE(b, t) ((b + WRAP - t) % WRAP)
#ifdef NO_TAG
#define NEXT_TAG(q) queue[q].tag
#else
#define NEXT_TAG(q) (queue[q].tag + 1)
#endif

inline take(item) {
  d_step {
    assert(item != 0);
    assert(taken[item] == 0);
    taken[item] = 1;
  }
}

/* By the owner of q. */
inline push(q, item) {
  queue[q].slot[queue[q].bottom % SLOTS] = item;
  queue[q].bottom = (queue[q].bottom + 1) % WRAP
}

/* By the owner of q: two with one add. */
inline push_two(q, first, second) {
  queue[q].slot[queue[q].bottom % SLOTS] = first;
#ifdef SHOW_EARLY
  queue[q].bottom = (queue[q].bottom + 2) % WRAP;
  queue[q].slot[(queue[q].bottom + WRAP - 1) % SLOTS] = second
#else
  queue[q].slot[(queue[q].bottom + 1) % SLOTS] = second;
  queue[q].bottom = (queue[q].bottom + 2) % WRAP
#endif
}

#define SAME(q) \
  (queue[q].bottom == b && queue[q].top == t && queue[q].tag == g)

inline load(q) {
  d_step {
    b = queue[q].bottom;
    t = queue[q].top;
    g = queue[q].tag;
  }
}

/* By the owner of q: one pop of the newest; may fail and try again. */
inline pop_newest(q) {
  load(q);
  do
  :: SIZE(b, t) == 0 -> break
#ifdef PLAIN_STEAL
  :: SIZE(b, t) >= 2 ->
     /* A store instead of an RMW does not notice concurrent changes by thieves.
      */
     queue[q].bottom = (b + WRAP - 1) % WRAP;
     item = queue[q].slot[queue[q].bottom % SLOTS];
     take(item);
     break
  :: SIZE(b, t) == 1 ->
#else
  :: SIZE(b, t) >= 1 ->
#endif
     item = queue[q].slot[(b + WRAP - 1) % WRAP % SLOTS];
     atomic {
       if
       :: SAME(q) ->
          queue[q].bottom = (b + WRAP - 1) % WRAP;
          queue[q].tag = NEXT_TAG(q);
          take(item);
          break
       :: else -> load(q)
       fi
     }
  od
}

inline pop_oldest(q) {
  load(q);
  do
  :: SIZE(b, t) == 0 -> break
  :: SIZE(b, t) >= 1 ->
     item = queue[q].slot[t % SLOTS];
     atomic {
       if
       :: SAME(q) ->
          queue[q].top = (t + 1) % WRAP;
          queue[q].tag = NEXT_TAG(q);
          take(item);
          break
       :: else -> load(q)
       fi
     }
  od
}

/* Moves the oldest half of `from`, rounded up, to the global queue. */
inline overflow(from) {
  load(from);
  do
  :: SIZE(b, t) == 0 -> break
  :: SIZE(b, t) >= 1 ->
     n = SIZE(b, t) - SIZE(b, t) / 2;
     i = 0;
     do
     :: i < n -> copy[i] = queue[from].slot[(t + i) % WRAP % SLOTS]; i++
     :: else -> break
     od;
     atomic {
       if
       :: SAME(from) ->
          queue[from].top = (t + n) % WRAP;
          queue[from].tag = NEXT_TAG(from);
          i = 0;
          do
          :: i < n -> take(copy[i]); i++
          :: else -> break
          od;
          break
       :: else -> load(from)
       fi
     }
  od
}

/* Moves the oldest half of `from` into the empty queue `own`, except the oldest
 * item, which goes to the thief. */
inline steal(from, own) {
  load(from);
  do
  :: SIZE(b, t) == 0 -> break
  :: SIZE(b, t) >= 1 ->
     n = SIZE(b, t) - SIZE(b, t) / 2;
     hand = queue[from].slot[t % SLOTS];
     i = 1;
     do
     :: i < n ->
        queue[own].slot[(queue[own].bottom + i - 1) % WRAP % SLOTS] =
            queue[from].slot[(t + i) % WRAP % SLOTS];
        i++
     :: else -> break
     od;
#ifdef PUBLISH_FIRST
     queue[own].bottom = (queue[own].bottom + n - 1) % WRAP;
#endif
     atomic {
       if
       :: SAME(from) ->
          queue[from].top = (t + n) % WRAP;
          queue[from].tag = NEXT_TAG(from)
       :: else ->
          n = 0; /* the CAS failed: the copies are not used */
          load(from)
       fi
     }
     if
     :: n > 0 ->
#ifndef PUBLISH_FIRST
        queue[own].bottom = (queue[own].bottom + n - 1) % WRAP;
#endif
        take(hand);
        break
     :: else -> skip
     fi
  od
}

active proctype Owner() {
  byte b, t, g, item, n, i;
  byte copy[SLOTS];
  do
  :: pushed < ITEMS && SIZE(queue[0].bottom, queue[0].top) < SLOTS ->
     pushed++;
     push(0, pushed)
  :: pushed + 1 < ITEMS && SIZE(queue[0].bottom, queue[0].top) + 1 < SLOTS ->
     pushed = pushed + 2;
     push_two(0, pushed - 1, pushed)
  :: SIZE(queue[0].bottom, queue[0].top) == SLOTS -> overflow(0)
  :: pop_newest(0)
  :: pop_oldest(0)
  :: pushed == ITEMS -> break
  od;
  finished++
}

proctype Thief(byte own) {
  byte b, t, g, item, n, i, hand, attempts, victim;
  do
  :: attempts < STEALS ->
     attempts++;
#if THIEVES > 1
     if
     :: victim = 0
     :: victim = 3 - own
     fi;
#endif
     steal(victim, own);
     /* A thief steals only when its own queue is empty. */
     do
     :: SIZE(queue[own].bottom, queue[own].top) > 0 ->
        if
        :: pop_newest(own)
        :: pop_oldest(own)
        fi
     :: else -> break
     od
  :: else -> break
  od;
  finished++
}

init {
  atomic {
    run Thief(1);
#if THIEVES > 1
    run Thief(2)
#endif
  }
  byte i, q, inside;
  finished == THIEVES + 1;
  d_step {
    q = 0;
    do
    :: q <= THIEVES ->
       inside = inside + SIZE(queue[q].bottom, queue[q].top);
       q++
    :: else -> break
    od;
    i = 1;
    do
    :: i <= ITEMS -> inside = inside + taken[i]; i++
    :: else -> break
    od;
    assert(inside == ITEMS)
  }
}
