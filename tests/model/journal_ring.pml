/* The ring of the journal (runtime/journal/ring.h): producers reserve, copy and
 * publish; one committer takes and gives room back.
 *
 * A record is two units of the ring: its word and its payload. The ring has room
 * for two records, so it wraps. Each producer appends RECORDS records. Positions
 * count from 0. `./dev test` checks 2 producers with 2 records each. These sizes
 * hold as well: PRODUCERS=3 RECORDS=1, and RECORDS=3.
 *
 * Checked: the committer takes each record once, complete and in the order of the
 * reservations. A producer never overwrites a record that was not taken. In the
 * end all records are taken. Nobody sleeps for ever: Spin reports an invalid end
 * state.
 *
 * Mutants, which must fail:
 *   NO_ROOM_CHECK   a producer does not check whether there is room
 *   PUBLISH_FIRST   the word is stored before the payload
 *   NO_CLEAR        the committer does not set taken words to 0
 *   RELEASE_FIRST   room is given back before the bytes are taken
 *   PLAIN_TAIL      the tail is read and written in two steps
 *   NO_LAST_LOOK    the committer does not check the tail again before it sleeps
 *   NO_WAKE         a producer does not wake the committer
 *   LOOK_UNLOCKED   a producer checks for room, and then waits without a second
 *                   check under the mutex
 *   NO_NOTIFY       the committer does not check for waiting producers
 *   BEHIND_LATE     a producer says that the journal is behind after it has
 *                   published */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef RECORDS
#define RECORDS 2
#endif
#define ALL (PRODUCERS * RECORDS)
#define UNITS 4  /* of the ring */
#define RECORD 2 /* units of a record */

byte word[UNITS];    /* 0: nothing is published there */
byte payload[UNITS];
byte tail;
byte released;
byte taken;
bool sleeping;
byte waiting;        /* producers under the mutex */
bool room_signal[PRODUCERS];
bool wake_signal;    /* the committer's futex word */
bool mutex;
byte order[ALL];     /* the producer that has reserved the n-th place */
byte taken_records;
byte finished;
bool behind;         /* more than one record is not taken */

inline lock() { atomic { !mutex; mutex = true } }
inline unlock() { mutex = false }

inline notify_room() {
  d_step {
    n = 0;
    do
    :: n < PRODUCERS -> room_signal[n] = true; n++
    :: else -> break
    od
  }
}

proctype Producer(byte me) {
  byte t, i;
  do
  :: i < RECORDS ->
again:
     t = tail;
#ifndef NO_ROOM_CHECK
     if
     :: t + RECORD > released + UNITS ->
        lock();
        waiting++;
#ifdef LOOK_UNLOCKED
        room_signal[me] = false;
        unlock();
        room_signal[me];
        lock();
#else
        do
        :: tail + RECORD > released + UNITS ->
           /* The wait begins and unlocks the mutex in one step. */
           d_step { room_signal[me] = false; mutex = false };
           room_signal[me];
           lock()
        :: else -> break
        od;
#endif
        waiting--;
        unlock();
        goto again
     :: else -> skip
     fi;
#endif
#ifdef PLAIN_TAIL
     tail = t + RECORD;
     d_step { order[t / RECORD] = me + 1 };
#else
     atomic {
       if
       :: tail == t ->
          tail = t + RECORD;
          order[t / RECORD] = me + 1
       :: else -> goto again
       fi
     }
#endif
#ifndef BEHIND_LATE
     if
     :: t + RECORD - taken > RECORD -> behind = true
     :: else -> skip
     fi;
#endif
#ifdef PUBLISH_FIRST
     word[t % UNITS] = me + 1;
     payload[(t + 1) % UNITS] = me + 1;
#else
     assert(payload[(t + 1) % UNITS] == 0);
     payload[(t + 1) % UNITS] = me + 1;
     assert(word[t % UNITS] == 0);
     word[t % UNITS] = me + 1;
#endif
#ifdef BEHIND_LATE
     if
     :: t + RECORD - taken > RECORD -> behind = true
     :: else -> skip
     fi;
#endif
#ifndef NO_WAKE
     if
     :: sleeping -> sleeping = false; wake_signal = true
     :: else -> skip
     fi;
#endif
     i++
  :: else -> break
  od;
  finished++
}

active proctype Committer() {
  byte w, n;
  do
  :: taken_records == ALL -> break
  :: else ->
     w = word[taken % UNITS];
     if
     :: w != 0 ->
        assert(w == order[taken / RECORD]);
#ifdef RELEASE_FIRST
        released = taken + RECORD;
#endif
        assert(payload[(taken + 1) % UNITS] == w);
#ifndef NO_CLEAR
        payload[(taken + 1) % UNITS] = 0;
        word[taken % UNITS] = 0;
#else
        payload[(taken + 1) % UNITS] = 0;
#endif
        taken = taken + RECORD;
        taken_records++;
#ifndef RELEASE_FIRST
        released = taken;
#endif
#ifndef NO_NOTIFY
        if
        :: waiting > 0 -> lock(); notify_room(); unlock()
        :: else -> skip
        fi;
#endif
        if
        :: behind && tail - taken <= RECORD -> behind = false
        :: else -> skip
        fi
     :: w == 0 && tail == taken ->
        sleeping = true;
#ifndef NO_LAST_LOOK
        if
        :: tail == taken -> wake_signal; wake_signal = false
        :: else -> skip
        fi;
#else
        wake_signal; wake_signal = false;
#endif
        sleeping = false
     :: w == 0 && tail != taken -> word[taken % UNITS] != 0
     fi
  od;
  finished++
}

init {
  byte p;
  atomic {
    p = 0;
    do
    :: p < PRODUCERS -> run Producer(p); p++
    :: else -> break
    od
  };
  finished == PRODUCERS + 1;
  assert(tail == taken && taken == ALL * RECORD);
  assert(!behind)
}
