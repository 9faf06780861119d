// Invariants that are checked while the runtime runs. A broken invariant is a
// defect of the runtime. The check prints one line to standard error and
// aborts, before the damage spreads.
//
//   ACTORD_ASSERT(stack_.size() == sleepers, "idle_workers.h (6)");
//
// The second argument names the invariant: the header with the invariant's
// number, or the invariant's text.
//
//   ACTORD_ASSERT      in every build; for code off the hot path.
//   ACTORD_ASSERT_HOT  in builds with tests (CMake option ACTORD_ASSERT_HOT);
//                      for the path of a message or a turn. Other builds
//                      compile the condition and do not evaluate it.
//
// A condition changes nothing, takes no lock and does not wait, so the program
// behaves the same without it.
//
// Thread-safety: any thread.
// performance-notes: Rare code moved out.
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
// During its lifetime, the thread's accesses cost the simulated machine
// nothing, and no other simulated thread runs.
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
