/* Sleeping and waking (runtime/scheduler/idle_workers.h,
 * runtime/workers/worker.cc): two workers and a producer from outside.
 *
 * Work is a number of items in the global queue. A worker runs, searches or
 * sleeps. A producer adds an item and then wakes a sleeper if no worker
 * searches.
 *
 * Checked: there is no state in which work is left, no producer adds any, one
 * worker is stuck in a turn or asleep, and the other one sleeps. No worker is
 * notified twice for one sleep.
 *
 * Mutants, which must fail:
 *   NO_RECHECK        a worker does not check for work again after it became a
 *                     sleeper
 *   RECHECK_FIRST     a worker checks before it becomes a sleeper
 *   WAKE_FIRST        the producer looks for sleepers before it adds the item
 *   NO_CHAIN          a searcher that finds work does not wake the next one if
 *                     there is more
 *   LOOK_FIRST        a searcher checks whether there is more before it stops
 *                     being a searcher
 *   PHANTOM_SEARCHER  the waker counts a searcher first and takes it back if no
 *                     worker sleeps; meanwhile others rely on it
 *   NO_SECOND_SEARCH  a worker that finds work in its second check takes it
 *                     without being a searcher, which breaks the chain */
#define WORKERS 2
#ifndef ITEMS
#define ITEMS 3
#endif

byte work;                /* items in the global queue */
byte searchers;
byte sleepers;
bool asleep[WORKERS];     /* is in the list of sleepers */
bool notified[WORKERS];   /* the futex word */
bool waiting[WORKERS];    /* waits for the futex word */
bool stuck[WORKERS];      /* is in a turn that does not end */
bool producing = true;

/* IdleWorkers::ClaimForWork and the notification. Each line that accesses
 * shared memory is one step, because it is one atomic operation there. */
inline wake_for_work() {
  if
  :: sleepers == 0 || searchers > 0 -> skip
  :: else ->
     target = WORKERS;
#ifdef PHANTOM_SEARCHER
     /* Counts the searcher before it knows whether a worker sleeps. */
     atomic {
       if
       :: searchers == 0 -> searchers = 1; target = 0
       :: else -> skip
       fi
     }
     if
     :: target == 0 ->
        target = WORKERS;
        atomic {
          if
          :: asleep[0] -> target = 0
          :: !asleep[0] && asleep[1] -> target = 1
          :: else -> skip
          fi;
          if
          :: target < WORKERS -> asleep[target] = false; sleepers--
          :: else -> skip
          fi
        }
        if
        :: target == WORKERS -> searchers--
        :: else -> skip
        fi
     :: else -> skip
     fi;
#else
     atomic { /* under the list's lock */
       if
       :: asleep[0] -> target = 0
       :: !asleep[0] && asleep[1] -> target = 1
       :: else -> skip
       fi;
       if
       :: target < WORKERS && searchers == 0 ->
          searchers = 1;
          asleep[target] = false;
          sleepers--
       :: else -> target = WORKERS
       fi
     }
#endif
     if
     :: target < WORKERS ->
        atomic { assert(!notified[target]); notified[target] = true }
     :: else -> skip
     fi
  fi
}

active proctype Producer() {
  byte i, target;
  do
  :: i < ITEMS ->
#ifdef WAKE_FIRST
     wake_for_work();
     work++;
#else
     work++;
     wake_for_work();
#endif
     i++
  :: else -> break
  od;
  producing = false
}

active [WORKERS] proctype Worker() {
  byte me, target;
  bool searching, got, was_searching, last;
  me = _pid - 1; /* the producer is 0 */
again:
  /* FindWork: the own queue and the global queue first, ... */
  atomic {
    if
    :: work > 0 -> work--; got = true
    :: else -> got = false
    fi
  }
  if
  :: !got && !searching ->
     /* ... then a search, unless half of the busy workers search. */
     if
     :: 2 * searchers < WORKERS - sleepers -> searchers++; searching = true
     :: else -> skip
     fi;
     if
     :: searching ->
        atomic {
          if
          :: work > 0 -> work--; got = true
          :: else -> skip
          fi
        }
     :: else -> skip
     fi
  :: else -> skip
  fi;
  if
  :: got ->
     if
     :: searching ->
        searching = false;
#ifdef LOOK_FIRST
        last = (work > 0);
        atomic { searchers--; last = (last && searchers == 0) };
#else
        atomic { searchers--; last = (searchers == 0) };
        if
        :: last && work == 0 -> last = false
        :: else -> skip
        fi;
#endif
#ifndef NO_CHAIN
        if
        :: last -> wake_for_work()
        :: else -> skip
        fi
#endif
     :: else -> skip
     fi;
     /* The turn. One of the workers may never return from it. */
     if
     :: !stuck[1 - me] -> stuck[me] = true; false
     :: goto again
     fi
  :: else -> skip
  fi;

  /* TrySleep. */
  was_searching = searching;
#ifdef RECHECK_FIRST
  if
  :: work > 0 -> goto again
  :: else -> skip
  fi;
#endif
  atomic { asleep[me] = true; sleepers++ };
  if
  :: searching -> searching = false; searchers--
  :: else -> skip
  fi;
#ifdef NO_RECHECK
  skip;
#else
#ifndef RECHECK_FIRST
  if
  :: (was_searching || searchers == 0) ->
     if
     :: work > 0 ->
        /* EndSleep */
        atomic {
          if
          :: asleep[me] -> asleep[me] = false; sleepers--; got = true
          :: else -> got = false
          fi
        }
        if
        :: got ->
#ifndef NO_SECOND_SEARCH
           searchers++;
           searching = true;
#endif
           goto again
        :: else -> skip /* claimed: the notification comes */
        fi
     :: else -> skip
     fi
  :: else -> skip
  fi;
#endif
#endif
  /* Parker::Wait; notified workers are counted as searchers by their waker. */
  waiting[me] = true;
  atomic {
    notified[me];
    notified[me] = false;
    waiting[me] = false;
    searching = true
  };
  goto again
}

/* The producer is done, work is left, and every worker that is not stuck in a
 * turn sleeps without a notification: the work was overlooked. Reaching the end
 * is the error. */
#define AWAY(w) (stuck[w] || (waiting[w] && !notified[w]))
never {
  do
  :: !producing && work > 0 && AWAY(0) && AWAY(1) && !(stuck[0] && stuck[1]) ->
     break
  :: else -> skip
  od
}
