/* A cache that hands out slots without a lock, while another thread finds the
 * limit reached and makes the table exact (runtime/slot_table.h, (1)).
 *
 * The owner of the cache allocates and frees slots. It publishes how many slots
 * the cache holds (`held`). These writes stay in the store buffer of its
 * processor for any time, in their order. A locked operation of the owner
 * empties the buffer. The fence that the other thread, the taker, executes for
 * all threads empties it, too. The taker wants two more slots.
 *
 * Checked: there are never more slots in use than the limit. If the taker was
 * refused, then at rest the limit of slots is in use, or the owner has freed a
 * slot since the refusal.
 *
 * Mutants, which must fail:
 *   NO_FENCE      the taker does not fence the other threads
 *   COUNT_FIRST   the taker counts the slots of the cache before it makes the
 *                 table exact
 *   CHECK_FIRST   the owner checks whether the table is exact, and then publishes
 *   NO_CHECK      the owner does not check that
 *   KEEP_CACHE    the taker counts the slots of the cache as slots in use
 */
#define LIMIT 3
#define SHARED_SLOTS 1
#ifndef ACTS
#define ACTS 4
#endif

bool locked;
byte cache_slots = SHARED_SLOTS;
byte out = LIMIT;       /* in use, or in the cache; under the lock */
byte own = 2;           /* slots in the cache; only the owner reads this */
byte held = 2;          /* `own`, as other threads see it */
chan buffer = [4] of { byte };
byte in_use = 1;        /* the true number */
byte freed;             /* by the owner */
bool taker_done;
bool owner_done;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* Empties the store buffer: other threads see all writes in it. */
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

/* GiveLocked: gives all slots of the cache back. The cache keeps none while the
 * table is exact. */
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
     :: true -> break                /* the owner is idle from here on */
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
     :: in_use > 0 ->                /* Free: a slot of any thread */
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

/* The processor of the owner, which empties the store buffer at any time. */
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
     /* No slot is left, so the table becomes exact, or it is exact already. */
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
