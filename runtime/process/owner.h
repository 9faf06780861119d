// The owner of a process: the client that has submitted it, or whose process
// has spawned it. The runtime knows owners as numbers; the daemon knows the
// names that belong to them.
//
// A process can reach only processes of its own owner: it gets the same answer
// about any other process as about a process that has ended
// (ProcessTable::WhyNotFound).
//
// Thread-safety: plain values; ActingOwner concerns the thread that calls.
#pragma once

#include <cstdint>

namespace actord::runtime {

enum class Owner : uint16_t {
  // The owner of processes that no client owns: the processes of the daemon's
  // boot tree and of its administrator, and all processes if clients have no
  // names.
  kNobody = 0,
  // Never the owner of a process. Used for a caller who may reach all
  // processes.
  kAny = UINT16_MAX,
};

// Whether `who` may see the things of `whose`.
[[nodiscard]] constexpr bool Sees(Owner who, Owner whose) {
  return who == whose || who == Owner::kAny;
}

// As long as the object lives, command handlers on this thread act for a
// process of this owner. Scopes end in the reverse order of their beginning.
class ActingOwner {
 public:
  explicit ActingOwner(Owner owner) : outer_(here_) { here_ = owner; }
  ~ActingOwner() { here_ = outer_; }
  ActingOwner(const ActingOwner&) = delete;
  ActingOwner& operator=(const ActingOwner&) = delete;

  // kNobody: no handler runs on this thread.
  [[nodiscard]] static Owner Here() { return here_; }

 private:
  static inline constinit thread_local Owner here_ = Owner::kNobody;

  const Owner outer_;
};

}  // namespace actord::runtime
