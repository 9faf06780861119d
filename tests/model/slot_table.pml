/* A cache that hands out slots without a lock, while another thread finds the
 * limit reached and makes the table exact (runtime/slot_table.h, (1)).
 *
 * The owner of the cache allocates and frees. What it publishes (`held`) stays
 * in the store buffer of its processor for as long as that likes, in order; a
 * locked operation of its own empties the buffer, and so does the fence that
 * the other thread executes for all threads. The taker wants two slots more.
 *
 * Checked: never are more slots in use than the limit; and whoever is refused
 * finds, when all is at rest, that as many are in use, or that the owner has
 * freed one since.
 *
 * Mutants, which must fail:
 *   NO_FENCE      the taker does not fence the other threads
 *   COUNT_FIRST   it counts what the cache holds before it makes the table exact
 *   CHECK_FIRST   the owner looks whether the table is shared, and then publishes
 *   NO_CHECK      it does not look
 *   KEEP_CACHE    the taker counts as in use what the cache holds
 */
#define LIMIT 3
#define SHARED_SLOTS 1
#ifndef ACTS
#define ACTS 4
#endif

bool locked;
byte cache_slots = SHARED_SLOTS;
byte out = LIMIT;       /* in use, or in the cache; under the lock */
byte own = 2;           /* the cache, of its owner only */
byte held = 2;          /* what of it is seen by others */
chan buffer = [4] of { byte };
byte in_use = 1;        /* in truth */
byte freed;             /* by the owner */
bool taker_done;
bool owner_done;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* All that is in the buffer is seen. */
inline drain() {
  atomic {
    do
    :: nempty(buffer) -> buffer ? held
    :: empty(buffer) -> break
    od
  }
}

inline publish() { buffer ! own }

inline use() {
  in_use++;
  assert(in_use <= LIMIT)
}

/* GiveLocked: all that it holds; nothing is kept while the table is exact. */
inline give() {
  out = out - own;
  own = 0;
  publish();
  drain()
}

active proctype Owner() {
  byte acts;
  byte seen;
  do
  :: acts == ACTS -> break
  :: acts < ACTS ->
     acts++;
     if
     :: true -> break                /* it is idle from here on */
     :: own > 0 ->                   /* Allocate */
#ifdef CHECK_FIRST
        seen = cache_slots;
        own--;
        publish();
#else
        own--;
        publish();
        seen = cache_slots;
#endif
#ifdef NO_CHECK
        seen = SHARED_SLOTS;
#endif
        if
        :: own < 2 * seen -> use()
        :: else ->                   /* AllocateSlowly */
           lock();
           drain();
           own++;
           give();
           if
           :: cache_slots == 0 && out - held < LIMIT -> out++; use()
           :: else -> skip
           fi;
           unlock()
        fi
     :: in_use > 0 ->                /* Free, whoever has used it */
        in_use--;
        own++;
        publish();
        freed++;
        seen = cache_slots;
        if
        :: own > 2 * seen -> lock(); drain(); give(); unlock()
        :: else -> skip
        fi
     fi
  od;
  owner_done = true
}

/* The processor of the owner. */
active proctype StoreBuffer() {
  do
  :: atomic { nempty(buffer) -> buffer ? held }
  :: owner_done && empty(buffer) -> break
  od
}

byte refused;
byte freed_before;      /* the last refusal */

active proctype Taker() {
  byte wants = 2;
  byte counted;
  byte freed_now;
  do
  :: wants == 0 -> break
  :: else ->
     wants--;
     lock();
     freed_now = freed;
#ifdef COUNT_FIRST
     counted = held;
#endif
     /* The table is used up, so that it becomes exact, or it is already. */
     cache_slots = 0;
#ifndef NO_FENCE
     drain();
#endif
#ifndef COUNT_FIRST
     counted = held;
#endif
#ifdef KEEP_CACHE
     counted = 0;
#endif
     if
     :: out - counted < LIMIT -> out++; use()
     :: else -> refused++; freed_before = freed_now
     fi;
     unlock()
  od;
  taker_done = true
}

/* At rest. */
active proctype Rest() {
  taker_done && owner_done && empty(buffer);
  assert(refused == 0 || in_use == LIMIT || freed > freed_before)
}
