// Waits until nothing is under way in the simulated daemon, asks everybody for
// the diary, and checks them.
//
// Thread-safety: as Outside. Ownership: borrows everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/runtime.h"
#include "tests/sim/store/cut.h"
#include "tests/sim/store/outside.h"
#include "tests/sim/store/store_life.h"
#include "tests/sim/store/store_operator.h"

namespace actord::sim {

class Rest {
 public:
  Rest(Outside& outside, StoreLife& life)
      : outside_(outside), runtime_(life.runtime()), operator_(outside, life) {}

  // Returns the number of entries of all diaries. Not set: the program has
  // ended meanwhile.
  std::optional<uint64_t> Check();

 private:
  // Waits until `is_over` or the end of the program; at most half a minute of
  // the simulated time.
  template <typename Condition>
  void WaitUntil(const runtime::Pid& pid, const char* what, Condition is_over);
  // Everybody's diary; not set: the program has ended.
  std::optional<Cut> Ask();
  void AskOne(const runtime::Pid& pid, Cut& cut);
  // The answer to the call `get`; not set: the program has ended.
  std::optional<absl::StatusOr<std::string>> Get(const runtime::Pid& pid);

  Outside& outside_;
  runtime::Runtime& runtime_;
  StoreOperator operator_;
};

}  // namespace actord::sim
