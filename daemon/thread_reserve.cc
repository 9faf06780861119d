#include "daemon/thread_reserve.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/base/attributes.h"
#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ACTORD_HAS_RESERVE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ACTORD_HAS_RESERVE 0
#endif
#endif
#ifndef ACTORD_HAS_RESERVE
#define ACTORD_HAS_RESERVE 1
#endif

namespace actord::daemon {

#if ACTORD_HAS_RESERVE
namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*),
                       void*);

// gRPC's threads run callbacks of the daemon, which need far less.
constexpr size_t kStackBytes = size_t{1} << 20;

// The function that a kept thread will run.
struct Kept {
  pthread_t thread{};
  void* (*function)(void*) = nullptr;
  void* argument = nullptr;
  Kept* next = nullptr;
};

ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);
// The kept threads that have nothing to run, and their number.
Kept* kept ABSL_GUARDED_BY(mutex) = nullptr;
size_t kept_count ABSL_GUARDED_BY(mutex) = 0;
bool is_on ABSL_GUARDED_BY(mutex) = false;

Create SystemCreate() {
  static const auto create =
      reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create;
}

void* RunKept(void* argument) {
  auto* const own = static_cast<Kept*>(argument);
  {
    const absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(
        +[](Kept* one) { return one->function != nullptr; }, own));
  }
  void* (*const function)(void*) = own->function;
  void* const function_argument = own->argument;
  delete own;
  return function(function_argument);
}

// Returns the error of pthread_create.
int KeepOneMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  auto* const one = new Kept;
  const int error = SystemCreate()(&one->thread, &attributes, RunKept, one);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    delete one;
    return error;
  }
  one->next = kept;
  kept = one;
  ++kept_count;
  return 0;
}

bool IsOfGrpc(const void* code) {
  Dl_info library{};
  if (dladdr(code, &library) == 0 || library.dli_fname == nullptr) return false;
  const std::string_view path(library.dli_fname);
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libgpr.") || file.starts_with("libgrpc");
}

bool IsDetached(const pthread_attr_t* attributes) {
  int state = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &state);
  return state == PTHREAD_CREATE_DETACHED;
}

// Whether a kept thread runs the function.
bool TakeKept(pthread_t* thread, const pthread_attr_t* attributes,
              void* (*function)(void*), void* argument) {
  const absl::MutexLock lock(&mutex);
  if (kept == nullptr) return false;
  Kept* const one = kept;
  kept = one->next;
  --kept_count;
  *thread = one->thread;
  if (IsDetached(attributes)) pthread_detach(one->thread);
  one->argument = argument;
  one->function = function;
  return true;
}

void FillAgain() {
  const absl::MutexLock lock(&mutex);
  while (is_on && kept_count < ThreadReserve::kThreads) {
    if (KeepOneMore() != 0) return;
  }
}

}  // namespace

absl::Status ThreadReserve::Fill() {
  const absl::MutexLock lock(&mutex);
  is_on = true;
  while (kept_count < kThreads) {
    const int error = KeepOneMore();
    if (error != 0) {
      return absl::InternalError(
          absl::StrCat("cannot start a thread of the reserve for gRPC: ",
                       std::strerror(error)));
    }
  }
  return absl::OkStatus();
}

extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*function)(void*),
                              void* argument) noexcept {
  const int error = SystemCreate()(thread, attributes, function, argument);
  if (error == 0) {
    FillAgain();
    return 0;
  }
  if (error != EAGAIN || !IsOfGrpc(__builtin_return_address(0))) return error;
  return TakeKept(thread, attributes, function, argument) ? 0 : error;
}

#else

absl::Status ThreadReserve::Fill() { return absl::OkStatus(); }

#endif

}  // namespace actord::daemon
