/* Sleeping and waking (runtime/idle_workers.h, worker.cc): two workers and a
 * producer from outside.
 *
 * Work is a number of items in the global queue. A worker runs, searches or
 * sleeps; a producer adds an item and then wakes a sleeper if nobody searches.
 *
 * Checked: it never comes to this that work is left, nobody adds any, one worker
 * is stuck in a turn or asleep, and the other sleeps. And no worker is notified
 * twice for one sleep.
 *
 * Mutants, which must fail:
 *   NO_RECHECK   a worker does not look again after it became a sleeper
 *   RECHECK_FIRST  it looks before it becomes a sleeper
 *   WAKE_FIRST   the producer looks for sleepers before it adds the item
 *   NO_CHAIN     a searcher that finds work does not wake the next when there is
 *                more
 *   LOOK_FIRST   it looks whether there is more before it stops being a searcher
 *   PHANTOM_SEARCHER  whoever wakes counts a searcher first and takes it back if
 *                nobody sleeps: meanwhile others rely on it
 *   NO_SECOND_SEARCH  a worker that finds work in its second look goes for it
 *                without being a searcher, and so breaks the chain
 */
#define WORKERS 2
#ifndef ITEMS
#define ITEMS 3
#endif

byte work;                /* items in the global queue */
byte searchers;
byte sleepers;
bool asleep[WORKERS];     /* is in the list of sleepers */
bool notified[WORKERS];   /* the futex word */
bool waiting[WORKERS];    /* waits for it */
bool stuck[WORKERS];      /* is in a turn that does not end */
bool producing = true;

/* IdleWorkers::ClaimForWork and the notification. Each line that touches shared
 * memory is one step, as it is one atomic operation there. */
inline wake_for_work() {
  if
  :: sleepers == 0 || searchers > 0 -> skip
  :: else ->
     target = WORKERS;
#ifdef PHANTOM_SEARCHER
     /* Counts the searcher before it knows whether somebody sleeps. */
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
  /* FindWork: own queue and global queue first, ... */
  atomic {
    if
    :: work > 0 -> work--; got = true
    :: else -> got = false
    fi
  }
  if
  :: !got && !searching ->
     /* ... then search, unless half of the busy do. */
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
     /* The turn. One of the workers may never come back from it. */
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

/* The producer is done, work is left, and whoever is not stuck in a turn sleeps
 * without a notification: it was overlooked. Reaching the end is the error. */
#define AWAY(w) (stuck[w] || (waiting[w] && !notified[w]))
never {
  do
  :: !producing && work > 0 && AWAY(0) && AWAY(1) && !(stuck[0] && stuck[1]) ->
     break
  :: else -> skip
  od
}
