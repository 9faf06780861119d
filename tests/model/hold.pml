/* A worker and the threads that hold it (runtime/scheduler/hold.h): two
 * threads, one of them spare at first, and a taker.
 *
 * A thread uses the worker, calls a plugin, and uses the worker again, for as
 * long as it holds it. Its writes of `calls` go through a store buffer, as on a
 * processor: `real` is the value that it wrote, `calls` the value that others
 * see.
 *
 * Checked: the worker is never used by two threads, and is never lost.
 *
 * Mutants, which must fail:
 *   NO_BARRIER     the taker does not make the threads' writes visible
 *   NO_SECOND_LOOK the taker does not look again after it has announced that it
 *                  wants the worker
 *   ASK_LATE       the taker announces itself only after the second look
 *   LOOK_FIRST     a thread that leaves a call checks whether its worker is
 *                  wanted before it announces that it has left
 *   NO_WAIT        a thread does not wait for a taker that is deciding
 *   FORGET         a thread that comes back to a taken worker continues */
#ifndef CALLS
#define CALLS 3
#endif
#ifndef TAKES
#define TAKES 3
#endif

byte real[2], calls[2];
bool wanted[2], taken[2], locked[2];
bool has[2] = false;    /* Hold::queue_ */
bool spare[2] = false;  /* parked, without a worker */
byte holder = 0;
byte users;             /* threads that use the worker now */

inline lock(i) { atomic { !locked[i] -> locked[i] = true } }
inline unlock(i) { locked[i] = false }

/* The buffers drain at any time. */
active proctype Drain() {
end:
  do
  :: calls[0] != real[0] -> calls[0] = real[0]
  :: calls[1] != real[1] -> calls[1] = real[1]
  od
}

inline come_back(i) {
#ifdef NO_WAIT
  if
  :: taken[i] ->
     taken[i] = false;
     has[i] = false;
     wanted[i] = false
  :: else -> skip
  fi
#else
  lock(i);
  if
  :: taken[i] ->
     taken[i] = false;
#ifndef FORGET
     has[i] = false;
#endif
     wanted[i] = false
  :: else -> skip
  fi;
  unlock(i)
#endif
}

proctype Thread(byte i) {
  byte n;
  bool asked;
  do
  :: !has[i] ->
     atomic { spare[i] = true };
     /* parked until Give, or for ever */
end: has[i]
  :: has[i] && n == CALLS -> break
  :: has[i] && n < CALLS ->
     n++;
     users++;
     assert(users == 1);
     users--;
     real[i]++;  /* Enter */
     skip;       /* the call */
#ifdef LOOK_FIRST
     asked = wanted[i];
     real[i]++;
#else
     real[i]++;  /* Leave */
     asked = wanted[i];
#endif
     if
     :: asked -> come_back(i)
     :: else -> skip
     fi
  od
}

active proctype Taker() {
  byte n, h, number;
  bool take;
  has[0] = true;
  atomic { run Thread(0); run Thread(1) };
  do
  :: n == TAKES -> break
  :: n < TAKES ->
     n++;
     h = holder;
     number = calls[h];
     if
     :: number % 2 == 1 && spare[1 - h] ->
        lock(h);
        if
        :: has[h] && !taken[h] ->
#ifndef ASK_LATE
           wanted[h] = true;
#endif
#ifndef NO_BARRIER
           atomic { calls[0] = real[0]; calls[1] = real[1] };
#endif
#ifdef NO_SECOND_LOOK
           take = true;
#else
           take = (calls[h] == number);
#endif
#ifdef ASK_LATE
           wanted[h] = true;
#endif
           if
           :: take -> taken[h] = true
           :: else -> wanted[h] = false
           fi;
           unlock(h);
           if
           :: take ->
              /* Give */
              spare[1 - h] = false;
              atomic { has[1 - h] = true; holder = 1 - h }
           :: else -> skip
           fi
        :: else -> unlock(h)
        fi
     :: else -> skip
     fi
  od;
  /* A thread holds the worker, or has not yet returned to see that the worker
   * was taken. */
  assert((has[0] && !taken[0]) || (has[1] && !taken[1]))
}
