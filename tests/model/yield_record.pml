/* The record of an outstanding yield (runtime/yield_broker.cc): a completer, a
 * timer, and the turns of the process, which close the record when a completion
 * arrives or when the process ends, and open it again for another yield.
 *
 * Checked: each opening ends in at most one completion, for the yield that it
 * was opened for; exactly one if the process lives on; a completion that
 * reaches the process closes the record that it belongs to; the timer is in the
 * wheel only while the record is open.
 *
 * Mutants, which must fail:
 *   NO_GENERATION  handles are slots alone
 *   NO_CAS         whoever completes looks first and writes afterwards
 *   NO_LAST_LOOK   closing does not look for a timer that is being armed
 *   ASK_FIRST      whoever arms asks whether it is wanted, and then says that
 *                  it may be in the wheel
 *   LATE_UNMARK    firing says that it is out when it holds no lock any more
 */
#define OPENINGS 2
#define ENDED 0
#define PENDING 1

byte generation;
byte phase = ENDED;
byte tag;             /* of the yield that the record was opened for */
bool may_be_in;
bool in_wheel;
byte wheel_generation;
bool lock_wheel;

byte completions[OPENINGS + 1]; /* that were put into the mailbox, by tag */
byte mailbox;                   /* how many wait there */
byte mail_tag;
byte mail2_tag;
byte handle;                    /* of the latest opening; 0: none */
byte closed;                    /* openings that are over */

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

/* A handler that completes whatever was opened, perhaps late. */
proctype Completer(byte h) {
  byte seen_tag;
  bool won;
  deliver(h)
}

/* TimerWheel::Add for YieldBroker::Arm, on a thread of its own. */
proctype Armer(byte h) {
  atomic { !lock_wheel -> lock_wheel = true };
#ifndef ASK_FIRST
  may_be_in = true;
#endif
  if
  :: phase == PENDING && generation == h ->
#ifdef ASK_FIRST
     may_be_in = true;
#endif
     in_wheel = true;
     wheel_generation = h
  :: else -> skip
  fi;
  lock_wheel = false
}

/* A worker that fires the wheel. */
active proctype Timer() {
  byte seen_tag, h;
  bool won;
end_timer:
  do
  :: in_wheel ->
     atomic { !lock_wheel -> lock_wheel = true };
     if
     :: in_wheel ->
        in_wheel = false;
        h = wheel_generation;
#ifndef LATE_UNMARK
        may_be_in = false
#endif
     :: else -> h = 0
     fi;
     lock_wheel = false;
#ifdef LATE_UNMARK
     if
     :: h > 0 -> may_be_in = false
     :: else -> skip
     fi;
#endif
     if
     :: h > 0 -> deliver(h)
     :: else -> skip
     fi
  od
}

/* YieldBroker::Free. */
inline close() {
  assert(phase == ENDED);
#ifndef NO_LAST_LOOK
  if
  :: may_be_in ->
     atomic { !lock_wheel -> lock_wheel = true };
     in_wheel = false;
     may_be_in = false;
     lock_wheel = false
  :: else -> skip
  fi;
#endif
  closed++
}

/* The turns of the processes that have this record one after the other. */
active proctype Turns() {
  byte opening;
  bool got;
  do
  :: opening < OPENINGS ->
     opening++;
     /* Open: the record is free, and so is the timer in it. */
     assert(!in_wheel);
     tag = opening;
     atomic { generation = opening; phase = PENDING };
     atomic {
       run Completer(opening);
       run Armer(opening);
       /* One that has a timeout and a result after a time. */
       if
       :: opening == 1 -> run Armer(opening)
       :: else -> skip
       fi
     };
     if
     :: /* The process ends: CloseAll. What is in the mailbox, or comes later, is
           dropped by its generation. */
        atomic {
          if
          :: phase == PENDING -> phase = ENDED
          :: else -> skip
          fi
        };
        close()
     :: /* It lives: the completion reaches it. */
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
