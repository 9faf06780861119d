/* Callers that commit their own records (Journal::CommitHere in
 * runtime/journal/journal_threads.cc, Releases::AfterHere in
 * runtime/durable/releases.cc), beside the commit thread and the release thread.
 *
 * Each caller appends RECORDS records, one after the other, and waits for none of
 * them: a release is called when its record is durable. Whether a caller may commit
 * (LoneCallers) is drawn each time. Each sync may fail. Positions count from 0. A
 * record that somebody waits for never needs the timeout of Linger, so the model has
 * no timeout. What the ring does is in journal_ring.pml. That a caller whose own
 * record is not durable tells of the others is not checked: without it they are
 * released too, but later.
 *
 * Checked: at most one group is being written, and each group begins where the disk
 * ends; nothing is written after a failure; a release runs when its record is synced
 * and not before, one at a time, each once; without a failure all releases run (an
 * end that is no end is an error of Spin).
 *
 * Mutants, which must fail:
 *   NO_LOCK         a caller commits without the commit mutex
 *   NO_FAILED_LOOK  a caller writes although the disk has failed
 *   DURABLE_FIRST   a caller says that a group is durable before the sync
 *   NO_DURABLE      a caller that finds somebody else releasing tells nobody
 *   KEEP_LATE       a caller keeps its release after it has tried to commit
 *   TWO_RELEASE     a caller releases although somebody else does
 *   NO_WAKE         a caller that waits does not wake a commit thread that lingers
 *   LOOK_FIRST      the commit thread looks whether a group is due before it says
 *                   that it lingers
 *   OWN_RECORDS     the commit thread waits for the publication of records that a
 *                   caller has taken */
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef RECORDS
#define RECORDS 1
#endif
#define ALL (CALLERS * RECORDS)

/* The ring and the disk. */
bool published[ALL];
byte tail;
byte taken;
byte synced;
byte durable;        /* Journal::durable_ */
bool failed;
bool commit_mutex;
bool writing;

/* The commit thread. */
byte wanted;         /* the highest position that somebody waits for, and 1 */
bool lingers;
bool due_signal;

/* Releases. A statement stands for a section under its mutex_. */
bool held[ALL];
byte durable_there;  /* Releases::durable_ */
bool releasing;      /* the mutex of that name */
bool runs;           /* a release runs */
bool release_signal;
byte released;
byte finished;

#define IS_DUE (wanted > durable)

/* The first release that is due; ALL: there is none. */
inline find_due() {
  r = 0;
  do
  :: r < durable_there && !held[r] -> r++
  :: else -> break
  od;
  if
  :: r >= durable_there -> r = ALL
  :: else -> skip
  fi
}

/* Releases::ReleaseDurable: takes what is due, and runs it. */
inline release_durable() {
  assert(!runs);
  runs = true;
  do
  :: true ->
     d_step {
       find_due();
       if
       :: r != ALL -> assert(held[r] && synced > r); held[r] = false; released++
       :: else -> skip
       fi
     };
     if
     :: r == ALL -> break
     :: else -> skip
     fi
  od;
  runs = false;
  r = 0
}

/* Releases::Durable. */
inline tell_durable(to) {
  d_step {
    if
    :: to > durable_there -> durable_there = to
    :: else -> skip
    fi;
    release_signal = true
  }
}

/* Under the commit mutex: takes the published records from the ring, and begins
 * to write them. */
inline take() {
  first = taken;
  do
  :: taken < tail && published[taken] -> taken++
  :: else -> break
  od;
  if
  :: taken != first ->
     assert(!writing && !failed && first == synced);
     writing = true;
#ifdef DURABLE_FIRST
     durable = taken;
#endif
  :: else -> skip
  fi
}

/* The rest of Journal::WriteGroup: the sync returns well, or it fails. */
inline end_write() {
  if
  :: true -> synced = taken; durable = taken
  :: true -> failed = true
  fi;
  writing = false
}

proctype Caller() {
  byte i, at, d, first, r;
  do
  :: i < RECORDS ->
     d_step { at = tail; tail++ };
     published[at] = true;
#ifndef KEEP_LATE
     held[at] = true;
#endif
     /* Journal::CommitHere. */
     d = durable;
     if
     :: d > at -> skip
     :: else ->
        d = 0;
        if
#ifdef NO_LOCK
        :: atomic {
#else
        :: atomic { !commit_mutex -> commit_mutex = true;
#endif
             first = taken;
             if
#ifdef NO_FAILED_LOOK
             :: true -> take()
#else
             :: !failed -> take()
#endif
             :: true /* LoneCallers forbids it, or the disk has failed. */
             fi
           };
           if
           :: taken == first -> skip
           :: else ->
              atomic {
                end_write();
                if
                :: !failed -> d = durable
                :: else -> skip
                fi
              }
           fi;
           commit_mutex = false;
           if
           :: d != 0 && d <= at ->
              tell_durable(d);
              d = 0
           :: else -> skip
           fi
#ifndef NO_LOCK
        :: else -> skip
#endif
        fi
     fi;
     /* Releases::AfterHere. */
#ifdef KEEP_LATE
     held[at] = true;
#endif
     if
     :: d > at ->
        if
#ifdef TWO_RELEASE
        :: true ->
#else
        :: atomic { !releasing -> releasing = true };
#endif
           atomic {
             if
             :: d > durable_there -> durable_there = d
             :: else -> skip
             fi
           };
           release_durable();
           releasing = false
#ifndef TWO_RELEASE
        :: else ->
#ifndef NO_DURABLE
           tell_durable(d)
#else
           skip
#endif
#endif
        fi
     :: else ->
        /* Journal::Want. */
        atomic {
          if
          :: at + 1 > wanted -> wanted = at + 1
          :: else -> skip
          fi
        };
#ifndef NO_WAKE
        if
        :: lingers -> due_signal = true
        :: else -> skip
        fi
#endif
     fi;
     d_step { i++; at = 0; d = 0; first = 0 }
  :: else -> break
  od;
  finished++
}

active proctype CommitThread() {
  byte first;
  bool some;
  do
  :: failed -> break
  :: else ->
     /* Linger. */
     atomic { !commit_mutex -> some = taken < tail && published[taken] };
     if
     :: !some || IS_DUE -> skip
     :: else ->
        lingers = true;
#ifndef LOOK_FIRST
        do
        :: IS_DUE -> break
        :: else ->
end_lingers:
           due_signal;
           due_signal = false
        od;
#else
end_lingers:
        due_signal;
        due_signal = false;
#endif
        lingers = false
     fi;
     /* CommitOne. */
     atomic { !commit_mutex -> commit_mutex = true;
       first = taken;
       if
       :: failed -> skip
       :: else -> take()
       fi;
       some = taken != first
     };
     if
     :: some -> atomic { end_write() }
     :: else -> skip
     fi;
     commit_mutex = false;
     if
     :: some && !failed -> tell_durable(durable)
     :: else -> skip
     fi;
     first = 0;
     /* WaitForRecords. */
     if
     :: !some && !failed && tail != taken ->
#ifdef OWN_RECORDS
        taken < tail && published[taken]
#else
        tail == taken || published[taken] || failed
#endif
     :: !some && !failed && tail == taken ->
end_sleeps:
        tail != taken || failed
     :: else -> skip
     fi
  od
}

active proctype ReleaseThread() {
  byte r;
  bool due;
  do
  :: true ->
     /* The look and the wait are one section. */
     d_step {
       find_due();
       if
       :: r == ALL -> release_signal = false
       :: else -> skip
       fi;
       due = r != ALL;
       r = 0
     };
     if
     :: !due ->
end_waits:
        release_signal
     :: else -> skip
     fi;
     atomic { !releasing -> releasing = true };
     release_durable();
     releasing = false
  od
}

init {
  byte c;
  atomic {
    do
    :: c < CALLERS -> run Caller(); c++
    :: else -> break
    od
  };
  finished == CALLERS;
  released == ALL || failed;
  assert(failed || (durable == ALL && synced == ALL))
}
