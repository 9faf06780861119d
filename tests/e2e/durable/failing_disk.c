// A disk that fails, is slow or hangs, for one program: to be preloaded. It can
// also kill the program at a call.
//
// The file that ACTORD_TEST_DISK names holds the struct Faults below. The test
// changes it while the program runs.
//
// Thread-safety: any thread.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// The calls by their numbers in `call`.
enum { kPwrite = 1, kFdatasync, kFsync, kRename, kUnlink };

enum { kTextBytes = 64, kMsNs = 1000000 };

// Written by the test, and read here; `left` and `hit` are written here, too.
struct Faults {
  // The call that the fault is for; 0: none.
  int64_t call;
  // The fault is at this call of the kind from now on: 1 is the next one.
  int64_t left;
  // What the call and each later one of its kind fails with. 0: SIGKILL before
  // the call. -1: SIGKILL after it.
  int64_t error;
  // Each fdatasync takes this much longer.
  int64_t delay_ms;
  // Number of calls that have failed.
  int64_t hit;
  // Only calls for paths with this part count.
  char path[kTextBytes];
};

static volatile struct Faults* faults;

typedef ssize_t (*Pwrite)(int, const void*, size_t, off_t);
typedef int (*Sync)(int);
typedef int (*Rename)(const char*, const char*);
typedef int (*Unlink)(const char*);

static Pwrite real_pwrite;
static Pwrite real_pwrite64;
static Sync real_fdatasync;
static Sync real_fsync;
static Rename real_rename;
static Unlink real_unlink;

static void Find(void) {
  *(void**)&real_pwrite = dlsym(RTLD_NEXT, "pwrite");
  *(void**)&real_pwrite64 = dlsym(RTLD_NEXT, "pwrite64");
  *(void**)&real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  *(void**)&real_fsync = dlsym(RTLD_NEXT, "fsync");
  *(void**)&real_rename = dlsym(RTLD_NEXT, "rename");
  *(void**)&real_unlink = dlsym(RTLD_NEXT, "unlink");
}

__attribute__((constructor)) static void Begin(void) {
  Find();
  const char* const path = getenv("ACTORD_TEST_DISK");
  const int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) abort();
  void* const map = mmap(NULL, sizeof(struct Faults), PROT_READ | PROT_WRITE,
                         MAP_SHARED, file, 0);
  close(file);
  if (map == MAP_FAILED) abort();
  faults = map;
}

// 1: the call of this kind for `path` has its fault now.
static int IsDue(int call, const char* path) {
  if (faults == NULL || faults->call != call) return 0;
  if (strstr(path, (const char*)faults->path) == NULL) return 0;
  return __atomic_sub_fetch(&faults->left, 1, __ATOMIC_SEQ_CST) <= 0;
}

// The fault before a call. 0: the call is to be made.
static int Before(int call, const char* path, int* kills_after) {
  *kills_after = 0;
  if (!IsDue(call, path)) return 0;
  __atomic_add_fetch(&faults->hit, 1, __ATOMIC_SEQ_CST);
  if (faults->error == 0) raise(SIGKILL);
  if (faults->error < 0) {
    *kills_after = 1;
    return 0;
  }
  errno = (int)faults->error;
  return -1;
}

static void After(int kills) {
  if (kills) raise(SIGKILL);
}

static const char* PathOf(int file, char* path, size_t bytes) {
  char link[kTextBytes];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, bytes - 1);
  path[length < 0 ? 0 : length] = '\0';
  return path;
}

static ssize_t Write(Pwrite real, int file, const void* bytes, size_t count,
                     off_t offset) {
  char path[PATH_MAX];
  int kills = 0;
  if (faults != NULL && faults->call == kPwrite &&
      Before(kPwrite, PathOf(file, path, sizeof(path)), &kills) != 0) {
    return -1;
  }
  // A half of the bytes, so that the record is torn.
  const ssize_t written =
      real(file, bytes, kills && count > 1 ? count / 2 : count, offset);
  After(kills);
  return written;
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  if (real_pwrite == NULL) Find();
  return Write(real_pwrite, file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off_t offset) {
  if (real_pwrite64 == NULL) Find();
  return Write(real_pwrite64, file, bytes, count, offset);
}

static int SyncFile(int call, Sync real, int file) {
  char path[PATH_MAX];
  int kills = 0;
  if (faults != NULL && Before(call, PathOf(file, path, sizeof(path)), &kills))
    return -1;
  for (int64_t waited = 0;
       faults != NULL && call == kFdatasync && waited < faults->delay_ms;
       ++waited) {
    const struct timespec moment = {0, kMsNs};
    nanosleep(&moment, NULL);
  }
  const int result = real(file);
  After(kills);
  return result;
}

int fdatasync(int file) {
  if (real_fdatasync == NULL) Find();
  return SyncFile(kFdatasync, real_fdatasync, file);
}

int fsync(int file) {
  if (real_fsync == NULL) Find();
  return SyncFile(kFsync, real_fsync, file);
}

int rename(const char* from, const char* to) {
  if (real_rename == NULL) Find();
  int kills = 0;
  if (Before(kRename, to, &kills) != 0) return -1;
  const int result = real_rename(from, to);
  After(kills);
  return result;
}

int unlink(const char* path) {
  if (real_unlink == NULL) Find();
  int kills = 0;
  if (Before(kUnlink, path, &kills) != 0) return -1;
  const int result = real_unlink(path);
  After(kills);
  return result;
}
