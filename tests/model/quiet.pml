/* Work that a worker keeps to itself (WorkerQueue::is_quiet,
 * runtime/scheduler/scheduler.cc, runtime/workers/worker.cc): two workers, due
 * timers, processes that continue, and a producer from outside. Worker 0 has the
 * timers and what continues; worker 1 has a step that makes three processes
 * ready.
 *
 * To wake a worker costs more than a short step. So a worker wakes nobody for
 * a process that continues while nothing else is ready. For processes that due
 * timers made ready it wakes another worker only after it has fired timers for
 * a while. A worker that keeps work in either way is quiet. park.pml checks how
 * sleepers are woken. This model checks that a quiet worker tells the others in
 * time (scheduler.h, "Quiet work"). It does not bound how long a turn lasts: the
 * watchdog finds work that waits behind a turn of 10 ms.
 *
 * Checked: (1) no work waits in a queue whose worker is not quiet, or in the
 * global queue, while one worker is stuck in a turn and the other sleeps.
 * (2) A process that continued alone is shown as soon as another one runs
 * before it. (3) Once the worker has fired timers for the allowed time, at most
 * three turns begin before it tells. (4) No worker goes to sleep with work.
 *
 * Mutants, which must fail:
 *   NO_TELL           a turn that begins does not check whether the worker is
 *                     quiet
 *   NO_CLOCK          processes that timers made ready are kept for any time
 *   RESET_EACH_BATCH  the time begins anew with each batch of due timers
 *   KEEP_TURNS        a process that continues alone is kept as if timers had
 *                     made it ready
 *   HIDES_ALL         the last searcher, if it is quiet, does not look for the
 *                     work of others either */
#ifndef ITEMS
#define ITEMS 1
#endif
#ifndef BATCHES
#define BATCHES 2
#endif
#ifndef CONTINUES
#define CONTINUES 1
#endif
#ifndef SPAWNS
#define SPAWNS 1
#endif
#define WORKERS 2
#define TURNS_PER_CLOCK 4

byte work;                /* items in the global queue */
byte batches = BATCHES;   /* of three due timers each */
byte continues = CONTINUES;
byte spawns = SPAWNS;
byte searchers;
byte sleepers;
bool asleep[WORKERS];     /* is in the list of sleepers */
bool notified[WORKERS];   /* the futex word */
bool waiting[WORKERS];    /* waits for the futex word */
bool stuck[WORKERS];      /* is in a turn that does not end */
bool producing = true;

byte ready[WORKERS];      /* in the worker's queues, without `next` */
bool quiet[WORKERS];
byte turns[WORKERS];      /* WorkerQueue::turns_since_due */
bool firing[WORKERS];     /* firing_since_ns != 0 */
bool too_long[WORKERS];   /* kAloneNs have passed since then; the worker has seen it */

/* Only the checks use these. */
bool truly_long[WORKERS]; /* kAloneNs have passed since then */
byte late[WORKERS];       /* turns begun since then without telling the others */
bool continued[WORKERS];  /* a process that continued alone is kept */

/* IdleWorkers::ClaimForWork and the notification, as in park.pml. */
inline wake_for_work() {
  if
  :: sleepers == 0 || searchers > 0 -> skip
  :: else ->
     atomic { /* under the list's lock */
       target = WORKERS;
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
     if
     :: target < WORKERS ->
        atomic { assert(!notified[target]); notified[target] = true; target = 0 }
     :: else -> target = 0
     fi
  fi
}

/* Only the worker itself accesses the fields of a quiet worker, so accesses to
 * them need no step of their own. */
inline end_quiet() {
  d_step { quiet[me] = false; turns[me] = 0; late[me] = 0; continued[me] = false }
}

/* Scheduler::WakeForAll, behind a push. */
inline wake_for_all() {
  end_quiet();
  wake_for_work()
}

/* DueTimers::Fire of a batch of three, and Scheduler::EnqueueDue. */
inline fire() {
  atomic {
    batches--;
#ifdef RESET_EACH_BATCH
    too_long[me] = false;
#endif
    firing[me] = true;
    /* The newest process runs next. The process that had `next` comes before
     * the others. */
    ready[me] = ready[me] + 2 + next;
    next = 1;
    tell = too_long[me];
    if
    :: tell -> quiet[me] = false; turns[me] = 0; late[me] = 0
    :: else -> quiet[me] = true; turns[me] = 1
    fi;
    continued[me] = false
  }
  if
  :: tell -> tell = false; wake_for_work()
  :: else -> skip
  fi
}

/* Scheduler::EnqueueBehind at the end of a turn. */
inline continue_behind() {
  atomic {
    continues--;
    tell = (next != 0 || work != 0 || ready[me] != 0);
    ready[me]++;
    if
    :: tell -> quiet[me] = false; turns[me] = 0; continued[me] = false
    :: else ->
#ifndef KEEP_TURNS
       turns[me] = 0;
#endif
       quiet[me] = true;
       continued[me] = true
    fi;
    late[me] = 0
  }
  if
  :: tell -> tell = false; wake_for_work()
  :: else -> skip
  fi
}

/* Scheduler::BeginTurn and MayWake, of a process that was taken. One step, since
 * other threads access nothing of it but `ready`, from which thieves take. */
inline begin_turn() {
  atomic {
    tell = false;
#ifndef NO_TELL
    if
    :: !quiet[me] -> skip
    :: quiet[me] && ready[me] > 0 && turns[me] != 0 ->
       /* 2 stands for all numbers of turns that look at the clock. */
       tell = (turns[me] == 2 && too_long[me]);
#ifdef NO_CLOCK
       tell = false;
#endif
       turns[me] = (turns[me] == TURNS_PER_CLOCK + 1 -> 2 : turns[me] + 1)
    :: else ->
       tell = (ready[me] > 0);
       quiet[me] = false
    fi;
    if
    :: tell || !quiet[me] ->
       quiet[me] = false; turns[me] = 0; continued[me] = false
    :: else -> skip
    fi;
#endif
    if
    :: quiet[me] && ready[me] > 0 && truly_long[me] -> late[me]++
    :: else -> late[me] = 0
    fi;
    assert(late[me] < TURNS_PER_CLOCK);                     /* (3) */
    assert(!(continued[me] && quiet[me] && ready[me] > 0)) /* (2) */
  }
  if
  :: tell -> tell = false; wake_for_work()
  :: else -> skip
  fi
}

/* The time passes for worker 0. */
active proctype Clock() {
end_clock:
  do
  :: d_step {
       firing[0] && !truly_long[0] -> truly_long[0] = true; too_long[0] = true
     }
  od
}

active proctype Producer() {
  byte i, target;
  do
  :: i < ITEMS -> work++; wake_for_work(); i++
  :: else -> break
  od;
  producing = false
}

active [WORKERS] proctype Worker() {
  byte me, target, next, stolen;
  bool searching, got, was_searching, last, tell;
  me = _pid - 2; /* behind the clock and the producer */
again:
  /* FindWork. A special turn may fire timers first, or take from the global
   * queue before the own ones. */
  if
  :: me == 0 && batches > 0 -> fire()
  :: skip
  fi;
  if
  :: atomic { work > 0 -> work--; got = true }
  :: skip
  fi;
take:
  atomic {
    if
    :: got -> skip
    :: !got && next > 0 -> next = 0; got = true
    :: !got && next == 0 && ready[me] > 0 -> ready[me]--; got = true
    :: !got && next == 0 && ready[me] == 0 && work > 0 -> work--; got = true
    :: else -> skip
    fi
  }
  if
  :: !got ->
     end_quiet();
     if
     :: me == 0 && batches > 0 -> fire(); goto take
     :: skip
     fi;
     /* Search, unless half of the busy workers search. */
     if
     :: searching -> skip
     :: !searching && 2 * searchers < WORKERS - sleepers ->
        searchers++; searching = true
     :: else -> skip
     fi;
     if
     :: searching ->
        atomic { /* half of the other's queue: one to run, the rest shown here */
          stolen = (ready[1 - me] + 1) / 2;
          if
          :: stolen > 0 ->
             ready[1 - me] = ready[1 - me] - stolen;
             ready[me] = ready[me] + stolen - 1;
             got = true
          :: else -> skip
          fi;
          stolen = 0
        }
        if
        :: me == 0 && !got && batches > 0 -> fire(); goto take
        :: skip
        fi
     :: else -> skip
     fi
  :: else -> skip
  fi;
  if
  :: got ->
     got = false;
     if
     :: searching ->
        searching = false;
        atomic { searchers--; last = (searchers == 0) };
        /* HasWorkToTell: each source is read in a step of its own. */
        if
        :: last ->
           last = false;
#ifdef HIDES_ALL
           if
           :: quiet[me] -> goto looked
           :: else -> skip
           fi;
#endif
           if
           :: work > 0 -> last = true
           :: else -> skip
           fi;
           if
           :: ready[1 - me] > 0 -> last = true
           :: else -> skip
           fi;
           if
           :: ready[me] > 0 && !quiet[me] -> last = true
           :: else -> skip
           fi
        :: else -> skip
        fi;
        if
        :: last -> wake_for_work()
        :: else -> skip
        fi
     :: else -> skip
     fi;
looked:
     last = false;
     begin_turn();
     /* The turn. One of the workers may never return from it. */
     if
     :: !stuck[1 - me] -> stuck[me] = true; false
     :: me == 0 && continues > 0 -> continue_behind()
     :: me == 1 && spawns > 0 -> spawns--; ready[me] = ready[me] + 3; wake_for_all()
     :: skip
     fi;
     goto again
  :: else -> skip
  fi;

  /* NothingFound. */
  d_step { firing[me] = false; too_long[me] = false; truly_long[me] = false };
  /* TrySleep, as in park.pml. */
  assert(next == 0 && ready[me] == 0); /* (4) */
  was_searching = searching;
  atomic { asleep[me] = true; sleepers++ };
  if
  :: searching -> searching = false; searchers--
  :: else -> skip
  fi;
  if
  :: (was_searching || searchers == 0) ->
     if
     :: work > 0 || ready[0] > 0 || ready[1] > 0 ->
        /* EndSleep */
        atomic {
          if
          :: asleep[me] -> asleep[me] = false; sleepers--; got = true
          :: else -> got = false
          fi
        }
        if
        :: got ->
           atomic { searchers++; searching = true; got = false; was_searching = false }
           goto again
        :: else -> skip /* claimed: the notification comes */
        fi
     :: else -> skip
     fi
  :: else -> skip
  fi;
  was_searching = false;
  waiting[me] = true;
  atomic {
    notified[me];
    notified[me] = false;
    waiting[me] = false;
    searching = true
  };
  goto again
}

/* (1): reaching the end is the error. */
#define AWAY(w) (stuck[w] || (waiting[w] && !notified[w]))
#define UNTOLD(w) (ready[w] > 0 && !quiet[w])
never {
  do
  :: !producing && (work > 0 || UNTOLD(0) || UNTOLD(1)) && AWAY(0) && AWAY(1) &&
     !(stuck[0] && stuck[1]) ->
     break
  :: else -> skip
  od
}
