/* A durable process that leaves the process table and comes back, while others
 * look for it without a lock and send to it (runtime/table/homes.h,
 * ProcessTable::Look, Sleep and EnterAgain, Delivery::WithDurable, wake.cc).
 *
 * Process P lives all the time. A volatile process uses any free slot. The
 * runner takes P's messages, and puts P to sleep when it has none. Senders wake
 * P. The state of P is the number of messages that it has taken; the store has
 * the state that P had when it fell asleep.
 *
 * Checked: each message comes to P and to nobody else. P comes back with its
 * last state. A thread that looks for P without a lock finds it, dormant or
 * not. No slot of P is mistaken for a slot of a volatile process.
 *
 * Mutants, which must fail:
 *   NO_LOCK           a sender lets go of the lock before it fills the mailbox
 *   NO_SECOND_LOOK    a waker does not check under the lock whether P is still
 *                     dormant
 *   NO_SLEEPS         a waker uses the state that it read before it had the lock
 *   NO_CAS            the runner does not compare the word before P sleeps
 *   WORD_FIRST        the word has `ended` before the place says dormant
 *   GENERATION_FIRST  the generation of the slot changes before the place
 *   NAME_LATE         P is live in its slot before the slot has P's name
 */
#ifndef MESSAGES
#define MESSAGES 2      /* of all senders together */
#endif
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef LISTS
#define LISTS 0         /* 1: a thread reads the slots and the home all the time */
#endif
#define SLEEPS 2        /* P falls asleep, or tries to */
#define SLOTS 2
#define DORMANT 9

bool locked;            /* the residency of P's home */
byte place = 0;         /* slot, or DORMANT; one atomic word with the next */
byte place_gen = 1;
byte gen[SLOTS];        /* odd: a process uses the slot */
bool ended[SLOTS];      /* of the word */
byte mail[SLOTS];       /* of the word */
bool durable[SLOTS];    /* Process::slot, with its name in the homes */
bool is_free[SLOTS];
bool of_p[SLOTS];       /* true: P uses the slot */
byte state;             /* of P, in memory */
byte taken;             /* by P: the true number */
byte stored;            /* the state in the store */
byte sleeps;
byte sent;
byte senders_done;
bool started;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* ProcessTable::Look: `at` is P's slot, or DORMANT. */
inline look() {
  do
  :: atomic { at = place; at_gen = place_gen };
     if
     :: at == DORMANT -> break
     :: else ->
        if
        :: gen[at] == at_gen -> break
        :: else ->
           atomic {
             /* The same place: the process has ended. P never does. */
             assert(place != at || place_gen != at_gen)
           }
        fi
     fi
  od
}

inline wake() {
  do
  :: lock();
     if
     :: place != DORMANT -> unlock(); break
     :: else -> skip
     fi;
     seen = sleeps;
     unlock();
     image = stored;                     /* ReadProcess */
     lock();
     if
#ifndef NO_SECOND_LOOK
     :: place != DORMANT -> unlock(); break
#endif
#ifndef NO_SLEEPS
     :: sleeps != seen -> unlock()
#endif
     :: else ->
        atomic {                         /* ReserveAgain */
          if
          :: is_free[0] -> at = 0
          :: is_free[1] -> at = 1
          fi;
          is_free[at] = false
        };
        atomic { gen[at]++; of_p[at] = true; mail[at] = 0 };
        state = image;
#ifdef NAME_LATE
        ended[at] = false;
        durable[at] = true;
#else
        durable[at] = true;
        ended[at] = false;
#endif
        atomic { assert(state == taken); place = at; place_gen = gen[at] };
        unlock();
        break
     fi
  od
}

/* Delivery::WithDurable */
active [SENDERS] proctype Sender() provided (started) {
  byte at; byte at_gen; byte seen; byte image;
  do
  :: atomic { sent < MESSAGES -> sent++ };
     do
     :: look();
        if
        :: at == DORMANT -> wake()
        :: else -> skip
        fi;
        lock();
        look();
        if
        :: at == DORMANT -> unlock()
        :: else ->
#ifdef NO_LOCK
           unlock();
#endif
           atomic { assert(of_p[at] && !ended[at]); mail[at]++ };
#ifndef NO_LOCK
           unlock();
#endif
           break
        fi
     od
  :: atomic { sent == MESSAGES -> break }
  od;
  senders_done++
}

/* Turns of P: one takes a message, or P falls asleep. */
active proctype Runner() provided (started) {
  byte here;
  byte word;
  do
  :: atomic { place != DORMANT && of_p[place] && mail[place] > 0 ->
              mail[place]--; state++; taken++ }
  :: place != DORMANT && sleeps < SLEEPS ->
     here = place;
     word = mail[here];
     if
     :: word == 0 ->
        stored = state;                  /* the store has its last image */
        lock();
#ifdef GENERATION_FIRST
        gen[here]++;
#endif
#ifdef WORD_FIRST
        if
        :: atomic { mail[here] == 0 -> ended[here] = true };
           atomic { place = DORMANT; sleeps++ };
           atomic { gen[here]++; of_p[here] = false }
        :: else -> skip
        fi;
#else
        atomic { place = DORMANT; sleeps++ };
        if
#ifdef NO_CAS
        :: atomic { true -> ended[here] = true };
#else
        :: atomic { mail[here] == 0 -> ended[here] = true };
#endif
#ifdef GENERATION_FIRST
           of_p[here] = false
#else
           atomic { gen[here]++; of_p[here] = false }
#endif
#ifndef NO_CAS
        :: else ->
#ifdef GENERATION_FIRST
           gen[here]--;
#endif
           atomic { place = here; place_gen = gen[here] }
#endif
        fi;
#endif
        unlock();
        if
        :: ended[here] -> atomic { durable[here] = false; is_free[here] = true }
        :: else -> skip
        fi
     :: else -> skip
     fi
  :: atomic { senders_done == SENDERS && taken == MESSAGES -> break }
  od
}

/* A volatile process that begins and ends. */
active proctype Volatile() provided (started) {
  byte slot;
  byte lives;
  do
  :: lives < 1 ->
     atomic {
       if
       :: is_free[0] -> slot = 0
       :: is_free[1] -> slot = 1
       fi;
       is_free[slot] = false
     };
     gen[slot]++;
     ended[slot] = false;
     ended[slot] = true;
     gen[slot]++;
     is_free[slot] = true;
     lives++
  :: true -> break
  od
}

/* ListProcesses and Describe, without a lock. */
active [LISTS] proctype Lister() provided (started) {
  byte at; byte at_gen; byte again; byte again_gen;
  byte slot; byte its_gen;
  bool found;
  /* The slots, for volatile processes. */
  do
  :: slot < SLOTS ->
     if
     :: !ended[slot] ->
        its_gen = gen[slot];
        if
        :: its_gen % 2 == 1 && !ended[slot] ->
           atomic {
             if
             :: !durable[slot] && gen[slot] == its_gen -> assert(!of_p[slot])
             :: else -> skip
             fi
           }
        :: else -> skip
        fi
     :: else -> skip
     fi;
     slot++
  :: else -> break
  od;
  /* The home, for P. */
  do
  :: look();
     if
     :: at == DORMANT -> found = true
     :: !(at == DORMANT) && !ended[at] && gen[at] == at_gen -> found = true
     :: else ->
        again = at;
        again_gen = at_gen;
        look();
        /* P has begun, so a look misses it only if its place has changed. */
        assert(at != again || at_gen != again_gen)
     fi;
     if
     :: found -> break
     :: else -> skip
     fi
  od
}

init {
  atomic {
    gen[0] = 1; of_p[0] = true; durable[0] = true;
    ended[1] = true; is_free[1] = true; started = true
  }
}
