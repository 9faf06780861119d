// A time of day that a test sets, for one program: to be preloaded.
//
// The file that ACTORD_TEST_CLOCK names holds 8 bytes: the nanoseconds by which
// the time of day is ahead, negative if it is behind. The test changes them
// while the program runs. The monotonic clocks stay as they are. Waits that end
// at a time of day end when that time has come on this clock, also if it was
// set meanwhile, as they do when the clock of the machine is set.
//
// Thread-safety: any thread.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { kSecondNs = 1000000000, kSliceNs = 10000000 };

static const volatile int64_t* ahead_ns;

typedef int (*ClockGettime)(clockid_t, struct timespec*);
typedef long (*Syscall)(long, ...);
typedef int (*TimedWait)(pthread_cond_t*, pthread_mutex_t*,
                         const struct timespec*);

static ClockGettime real_clock_gettime;
static Syscall real_syscall;
static TimedWait real_timed_wait;

__attribute__((constructor)) static void Begin(void) {
  *(void**)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  *(void**)&real_syscall = dlsym(RTLD_NEXT, "syscall");
  *(void**)&real_timed_wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  const char* const path = getenv("ACTORD_TEST_CLOCK");
  const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) abort();
  void* const map = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (map == MAP_FAILED) abort();
  ahead_ns = map;
}

static struct timespec Plus(struct timespec time, int64_t ns) {
  ns += time.tv_nsec;
  time.tv_sec += ns / kSecondNs;
  time.tv_nsec = ns % kSecondNs;
  if (time.tv_nsec < 0) {
    time.tv_nsec += kSecondNs;
    --time.tv_sec;
  }
  return time;
}

static int64_t Ahead(void) { return ahead_ns == NULL ? 0 : *ahead_ns; }

int clock_gettime(clockid_t clock, struct timespec* time) {
  if (real_clock_gettime == NULL) {
    *(void**)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  }
  const int result = real_clock_gettime(clock, time);
  if (result == 0 &&
      (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    *time = Plus(*time, Ahead());
  }
  return result;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

// The nanoseconds to `until` on the clock that jumps; at most a slice. 0: it
// has come.
static int64_t SliceUntil(const struct timespec* until) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t seconds = (int64_t)until->tv_sec - now.tv_sec;
  if (seconds > 1) return kSliceNs;
  const int64_t left = seconds * kSecondNs + until->tv_nsec - now.tv_nsec;
  if (left <= 0) return 0;
  return left < kSliceNs ? left : kSliceNs;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const struct timespec* until) {
  // Conditions of the monotonic clock have times far from the time of day.
  struct timespec monotonic;
  real_clock_gettime(CLOCK_MONOTONIC, &monotonic);
  if (until->tv_sec < monotonic.tv_sec + 10 * 365 * 24 * 3600) {
    return real_timed_wait(condition, mutex, until);
  }
  for (;;) {
    const int64_t slice = SliceUntil(until);
    if (slice == 0) return ETIMEDOUT;
    struct timespec now;
    real_clock_gettime(CLOCK_REALTIME, &now);
    now = Plus(now, slice);
    const int result = real_timed_wait(condition, mutex, &now);
    if (result != ETIMEDOUT) return result;
  }
}

// Abseil and the C++ library wait by futexes.
long syscall(long number, ...) {
  if (real_syscall == NULL)
    *(void**)&real_syscall = dlsym(RTLD_NEXT, "syscall");
  __builtin_va_list list;
  __builtin_va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = __builtin_va_arg(list, long);
  __builtin_va_end(list);
  const struct timespec* const until = (const struct timespec*)a[3];
  if (number != SYS_futex || until == NULL ||
      (a[1] & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET ||
      (a[1] & FUTEX_CLOCK_REALTIME) == 0) {
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  for (;;) {
    const int64_t slice = SliceUntil(until);
    if (slice == 0) {
      errno = ETIMEDOUT;
      return -1;
    }
    // Relative, by the monotonic clock.
    const struct timespec wait = {0, slice};
    const long result = real_syscall(
        number, a[0], FUTEX_WAIT | (a[1] & FUTEX_PRIVATE_FLAG), a[2], &wait);
    if (result == 0 || errno != ETIMEDOUT) return result;
  }
}
