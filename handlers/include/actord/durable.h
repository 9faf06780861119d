// actord/durable.h: how processes of a type can survive the daemon. Included by
// process.h.
//
//   class Meter : public actord::Process {
//    public:
//     static constexpr const char* kName = "meter";
//     static constexpr actord::Method kMethods[] = {{"run", nullptr}};
//     static constexpr actord::Durability kDurability =
//         actord::Durability::kImage;
//     static constexpr uint32_t kStateVersion = 1;
//
//     struct State {
//       uint64_t total = 0;
//       actord::Pid reader;
//     };
//     State state;
//
//     void Step(actord::Events events, actord::StepOutput& out);
//   };
//
// A durable process has, after a restart of the daemon, the same PID, state,
// mailbox, yields and ties as after its last completed step. A type only
// declares the kind of durability of its processes. A daemon without a store
// runs all of them as volatile, and nothing changes for them. abi_durable.h
// lists what the daemon calls, and when.
//
// A flat state needs no Snapshot and no Restore. The type declares it with
// kStateVersion:
//
// - `State` is a public member type and an aggregate of at most 64 bytes: of
//   integers, float, double, bool, enums, Pid, Time, Duration, and arrays and
//   aggregates of them. Anything else does not compile: a pointer, a reference
//   or a std::string_view would dangle after a restart.
// - `state` is the only data member of the type. Everything else would be lost.
// - kStateVersion is 1 or more. Raise it with each change of State. If there
//   may be processes with an older version, the type has a Restore, which gets
//   the bytes of that version (RestoreFrom::state_version). Without it such
//   processes are kept but do not run.
// - An upgrade of a live process still needs Snapshot and Restore (upgrade.h).
//
// The state begins as zeros. Its padding stays 0 if the process assigns members
// and not whole States.
//
// Thread-safety: constants.
#pragma once

#include <actord/abi.h>

#include <cstdint>

namespace actord {

enum class Durability : uint32_t {
  // Processes of the type are always volatile.
  kNone = ACTORD_DURABILITY_NONE,
  // The daemon keeps an image of the state after each step. Steps need not be
  // deterministic. The type has a flat state, or Snapshot and Restore, and is
  // not a coroutine. Snapshot is called after Init and after each step; an
  // error, NotNow() or an exception of Snapshot fails that step.
  kImage = ACTORD_DURABILITY_IMAGE,
  // The daemon keeps the inputs of each step and runs the steps again after a
  // restart. For coroutines and large states. A step must depend on nothing but
  // the state, the events and the context: not on clocks, random sources,
  // addresses, files, statics, threads, or the order of an unordered container.
  // The harness of testing.h checks this. With Snapshot and Restore the daemon
  // may keep a snapshot instead of older steps; after NotNow() it asks again
  // later.
  kReplay = ACTORD_DURABILITY_REPLAY,
};

// Why Restore is called.
enum class RestoreReason : uint32_t {
  // A new version of the type continues a live volatile process.
  kUpgrade = ACTORD_RESTORE_UPGRADE,
  // The daemon has restarted, or a new version of the type continues a durable
  // process. All yields and ties of the process stay, whether
  // or not Restore adopts a yield, and no step follows without an event, unless
  // the last step returned Continue.
  kRecovery = ACTORD_RESTORE_RECOVERY,
};

// Process types that declare a flat state.
template <typename T>
concept HasFlatState = requires {
  T::kStateVersion;
};

}  // namespace actord
