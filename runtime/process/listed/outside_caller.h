// A program outside of the daemon that waits for the answer to its call.
//
// Thread-safety: a plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "runtime/process/owner.h"

namespace actord::runtime {

struct OutsideCaller {
  Owner owner = Owner::kNobody;
  std::string name;         // that the program has proved; "": none
  std::string address;      // "": it has none, or the address is not known
  uint64_t connection = 0;  // 0: not known

  friend bool operator==(const OutsideCaller&, const OutsideCaller&) = default;
};

// Says who waits for an answer; nullopt: not known. The runtime asks only while
// the call has no answer, and holds a lock meanwhile: the function must not
// call the runtime.
using WhoCalls = absl::AnyInvocable<std::optional<OutsideCaller>() const>;

}  // namespace actord::runtime
