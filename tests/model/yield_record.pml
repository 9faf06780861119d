/* The record of an outstanding yield (runtime/yields/yield_broker.cc): a
 * completer, timers, the thread that makes the wheel forget unwanted timers,
 * and the turns of the process. The turns close the record when a completion
 * arrives or when the process ends, and open it again for another yield.
 *
 * Checked: each opening ends in at most one completion, for the yield that it
 * was opened for. It ends in exactly one if the process lives on, even if only
 * a timer completes it. A completion that reaches the process closes the record
 * that it belongs to.
 *
 * Mutants, which must fail:
 *   NO_GENERATION  handles consist of slots only
 *   NO_CAS         a completer checks first and writes afterwards
 *   LOOK_UNLOCKED  the check whether a timer is wanted does not hold the
 *                  wheel's lock
 *   ARM_FIRST      the timer is added before the record says that it is open */
#define OPENINGS 2
#define TIMERS 3 /* two for the first opening, one for the second */
#define ENDED 0
#define PENDING 1

byte generation;
byte phase = ENDED;
byte tag;             /* of the yield that the record was opened for */
byte wheel[TIMERS];   /* the timers' handles; 0: no timer */

byte completions[OPENINGS + 1]; /* put into the mailbox, by tag */
byte mailbox;                   /* number of waiting completions */
byte mail_tag;
byte mail2_tag;

#ifdef NO_GENERATION
#define MATCHES(h) (phase == PENDING)
#else
#define MATCHES(h) (phase == PENDING && generation == h)
#endif

inline post(t) {
  atomic {
    completions[t]++;
    assert(completions[t] <= 1);
    if
    :: mailbox == 0 -> mail_tag = t
    :: else -> mail2_tag = t
    fi;
    mailbox++
  }
}

/* YieldBroker::Deliver. */
inline deliver(h) {
  if
  :: MATCHES(h) ->
     seen_tag = tag;
#ifdef NO_CAS
     phase = ENDED;
     won = true;
#else
     atomic {
       if
       :: MATCHES(h) -> phase = ENDED; won = true
       :: else -> won = false
       fi
     };
#endif
     if
     :: won ->
        assert(seen_tag == h); /* tags count as generations do */
        post(seen_tag)
     :: else -> skip
     fi
  :: else -> skip
  fi
}

/* A handler that completes any opened yield, perhaps late. */
proctype Completer(byte h) {
  byte seen_tag;
  bool won;
  deliver(h)
}

/* TimerWheel::Add. The section under the wheel's lock is one step here. */
inline add(h) {
  atomic {
    if
    :: wheel[0] == 0 -> wheel[0] = h
    :: wheel[0] != 0 && wheel[1] == 0 -> wheel[1] = h
    :: else -> assert(wheel[2] == 0); wheel[2] = h
    fi
  }
}

/* YieldBroker::SetTimeout or CompleteAfter, on a thread of its own. */
proctype Armer(byte h) {
#ifdef ARM_FIRST
  add(h)
#else
  if
  :: phase == PENDING && generation == h -> add(h)
  :: else -> skip
  fi
#endif
}

/* A worker that fires the wheel. */
active proctype Timer() {
  byte seen_tag, h, place;
  bool won;
end_timer:
  do
  :: atomic {
       if
       :: wheel[0] != 0 -> place = 0
       :: wheel[1] != 0 -> place = 1
       :: wheel[2] != 0 -> place = 2
       fi;
       h = wheel[place];
       wheel[place] = 0;
       place = 0
     };
     deliver(h);
     atomic { h = 0; seen_tag = 0; won = false }
  od
}

/* TimerWheel::Forget, with DueTimers::IsWanted. */
active proctype Forgetter() {
  byte place;
  bool wanted;
end_forgetter:
  do
  :: atomic {
       if
       :: wheel[0] != 0 -> place = 0
       :: wheel[1] != 0 -> place = 1
       :: wheel[2] != 0 -> place = 2
       fi;
       wanted = (phase == PENDING && generation == wheel[place]);
#ifdef LOOK_UNLOCKED
     };
     atomic {
#endif
       if
       :: !wanted -> wheel[place] = 0
       :: else -> skip
       fi;
       place = 0;
       wanted = false
     }
  od
}

/* YieldBroker::Free. */
inline close() {
  assert(phase == ENDED)
}

/* The turns of the processes that use this record one after the other. */
active proctype Turns() {
  byte opening;
  bool got;
  do
  :: opening < OPENINGS ->
     opening++;
     tag = opening;
#ifdef ARM_FIRST
     run Armer(opening);
#endif
     atomic { generation = opening; phase = PENDING };
     atomic {
#ifndef ARM_FIRST
       run Armer(opening);
#endif
       /* A yield with a timeout and a delayed result. */
       if
       :: opening == 1 -> run Armer(opening)
       :: else -> skip
       fi;
       /* A handler may complete it, too. */
       if
       :: run Completer(opening)
       :: skip
       fi
     };
     if
     :: /* The process ends: CloseAll. The generation of the handle drops a
           completion that is in the mailbox, or comes later. */
        atomic {
          if
          :: phase == PENDING -> phase = ENDED
          :: else -> skip
          fi
        };
        close()
     :: /* The process lives: the completion reaches it. */
        got = false;
        do
        :: !got ->
           atomic {
             mailbox > 0 ->
             mailbox--;
             got = (mail_tag == opening);
             mail_tag = mail2_tag
           }
        :: else -> break
        od;
        assert(completions[opening] == 1);
        close()
     fi
  :: else -> break
  od
}
