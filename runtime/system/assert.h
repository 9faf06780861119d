// Invariants that are checked while the runtime runs. A broken one means that
// the runtime itself is wrong: it prints one line to standard error and aborts,
// before the damage spreads.
//
//   ACTORD_ASSERT(stack_.size() == sleepers, "idle_workers.h (6)");
//
// The second argument says which invariant it is: the header and the number
// under which the invariant stands there, or its text.
//
//   ACTORD_ASSERT      in every build: off the hot path.
//   ACTORD_ASSERT_HOT  in builds with the tests alone (CMake's option
//                      ACTORD_ASSERT_HOT): on the way of a message or a turn.
//                      Elsewhere the condition is compiled and not evaluated.
//
// A condition changes nothing, takes no lock and waits for nothing: the
// program is the same without it.
//
// Thread-safety: any thread.
#pragma once

#ifdef ACTORD_FAIL_POINTS
#include <type_traits>

#include "runtime/system/fail_point.h"
#endif

namespace actord::runtime {

// Prints "actord: broken invariant: TEXT: CONDITION (FILE:LINE)" and aborts.
[[noreturn, gnu::cold]] void BrokenInvariant(const char* condition,
                                             const char* invariant,
                                             const char* file,
                                             int line) noexcept;

#ifdef ACTORD_FAIL_POINTS
// While it lives, what the thread reads costs the simulated machine nothing,
// and no other thread gets to run.
class Unplayed {
 public:
  constexpr Unplayed() {
    if (std::is_constant_evaluated()) return;
    kept_ = interleaver;
    interleaver = nullptr;
  }
  Unplayed(const Unplayed&) = delete;
  Unplayed& operator=(const Unplayed&) = delete;
  constexpr ~Unplayed() {
    if (!std::is_constant_evaluated()) interleaver = kept_;
  }

 private:
  Interleaver* kept_ = nullptr;
};
#define ACTORD_UNPLAYED const ::actord::runtime::Unplayed actord_unplayed
#else
#define ACTORD_UNPLAYED static_cast<void>(0)
#endif

}  // namespace actord::runtime

#define ACTORD_ASSERT(condition, invariant)                                    \
  do {                                                                         \
    ACTORD_UNPLAYED;                                                           \
    if (!(condition)) [[unlikely]] {                                           \
      ::actord::runtime::BrokenInvariant(#condition, invariant, __FILE_NAME__, \
                                         __LINE__);                            \
    }                                                                          \
  } while (false)

#ifdef ACTORD_ASSERT_HOT_ON
#define ACTORD_ASSERT_HOT(condition, invariant) \
  ACTORD_ASSERT(condition, invariant)
#else
#define ACTORD_ASSERT_HOT(condition, invariant)     \
  do {                                              \
    static_cast<void>(sizeof((condition) ? 1 : 0)); \
  } while (false)
#endif
