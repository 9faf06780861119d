// Checks the effect of a plugin file on the durable processes of a store. For
// each process whose type is in the file, runs the history of the process with
// the code of the file, in a child process. Changes nothing in the store.
//
// A crash, a timeout or an exit of plugin code is the result of the process
// whose history ran. The check goes on with the next process, in a new child.
//
// Thread-safety: one thread, on which no other thread of this program depends.
// Memory: enough for one process of the store, and for the journal.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/calls/cancellation.h"
#include "client/plugin_check/daemon_limits.h"
#include "client/plugin_check/messages.h"
#include "runtime/process/pid.h"

namespace actord::client {

// The first four are the values of TrialResult::Kind.
enum class CheckOutcome : uint8_t {
  kUpgrades,
  kStays,
  kDiverges,
  kFails,
  kCrashes,
  kTimesOut,
  // No process of the type is tried any more, because too many have crashed or
  // timed out.
  kNotTried,
};
inline constexpr size_t kCheckOutcomes = 7;
// Each process that crashes or times out costs a child. After this many of one
// type, the other processes of the type are not tried.
inline constexpr uint64_t kMaxCrashesOfType = 8;
// "UPGRADES".
const char* NameOf(CheckOutcome outcome);
// Whether an operator expects the outcome.
constexpr bool IsFine(CheckOutcome outcome) {
  return outcome <= CheckOutcome::kStays;
}

struct CheckedProcess {
  runtime::Pid pid = {};
  std::string process_type = {};
  // The version that has written the state, as in "books 1". Empty: Init has
  // not returned, or the store keeps no plugins.
  std::string from = {};
  CheckOutcome outcome = CheckOutcome::kUpgrades;
  // Where the process would go on; nullopt for kCrashes, kTimesOut and
  // kNotTried.
  std::optional<runtime::TrialResult::Then> then = {};
  std::optional<uint64_t> step = {};  // for kDiverges
  std::string why = {};
};

// A version that has written the state of processes in the store.
struct PresentVersion {
  std::string name = {};
  std::string version = {};
  std::string sha256 = {};
  uint64_t processes = 0;
};

struct CheckedType {
  std::string name = {};
  // Same as DescribedType::durability. Empty: the file lacks the type.
  std::string durability = {};
  uint64_t processes = 0;
  std::array<uint64_t, kCheckOutcomes> outcomes = {};
};

struct PluginCheck {
  PluginDescription plugin = {};
  std::vector<PresentVersion> present = {};
  // First the types of the file, in its order. Then the types of processes in
  // the store that the file lacks.
  std::vector<CheckedType> types = {};
  uint64_t processes = 0;  // to be checked
  std::vector<std::string> warnings = {};
  // The damage in the store. If this is not empty, nothing was checked.
  std::vector<std::string> damage = {};

  [[nodiscard]] uint64_t Count(CheckOutcome outcome) const;
  [[nodiscard]] bool is_fine() const;
};

struct PluginCheckOptions {
  std::string file = {};
  std::string store = {};
  // The limits of the daemon that would load the file.
  DaemonLimits limits = {};
  // The longest time for the check of one process.
  absl::Duration process_timeout = absl::Seconds(10);
  absl::Time deadline = absl::InfiniteFuture();
  Cancellation* cancellation = nullptr;
  // Called once, before the first process. The check has no outcomes and
  // warnings yet.
  std::function<void(const PluginCheck&)> began = {};
  // Called for each process, in the order of the PIDs in the store.
  std::function<void(CheckedProcess&&)> checked = {};
};

// Errors: INVALID_ARGUMENT: the file is no plugin that a daemon of this version
// would load. NOT_FOUND: there is no such file, or no store.
// FAILED_PRECONDITION: another program uses the store. PERMISSION_DENIED:
// others can write to a file. DATA_LOSS: the store contradicts itself.
// CANCELLED, DEADLINE_EXCEEDED. The texts name the file.
absl::StatusOr<PluginCheck> CheckPlugin(const PluginCheckOptions& options);

}  // namespace actord::client
