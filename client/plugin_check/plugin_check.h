// Checks what a plugin file would do to the durable processes of a store: runs
// the history of each process whose type the file has against the file, in
// child processes, and changes nothing in the store.
//
// A crash, a timeout or an exit of plugin code is the result of the process
// whose history ran. The check goes on with the next one, in a new child.
//
// Thread-safety: one thread, on which no other thread of this program depends.
// Memory: that of one process of the store, and of the journal.
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
#include "client/plugin_check/messages.h"
#include "runtime/process/pid.h"

namespace actord::client {

// The first ones are those of TrialResult::Kind.
enum class CheckOutcome : uint8_t {
  kUpgrades,
  kStays,
  kDiverges,
  kFails,
  kCrashes,
  kTimesOut,
};
inline constexpr size_t kCheckOutcomes = 6;
// "UPGRADES".
const char* NameOf(CheckOutcome outcome);
// Whether an operator expects the outcome.
constexpr bool IsFine(CheckOutcome outcome) {
  return outcome <= CheckOutcome::kStays;
}

struct CheckedProcess {
  runtime::Pid pid = {};
  std::string process_type = {};
  // "books 1": the version that has written its state; "": Init has not
  // returned, or the store keeps no plugins.
  std::string from = {};
  CheckOutcome outcome = CheckOutcome::kUpgrades;
  // Where it would go on; not of kCrashes and kTimesOut.
  std::optional<runtime::TrialResult::Then> then = {};
  std::optional<uint64_t> step = {};  // of kDiverges
  std::string why = {};
};

// A version that processes of the store are of.
struct PresentVersion {
  std::string name = {};
  std::string version = {};
  std::string sha256 = {};
  uint64_t processes = 0;
};

struct CheckedType {
  std::string name = {};
  std::string durability = {};  // as DescribedType; "": the file lacks the type
  uint64_t processes = 0;
  std::array<uint64_t, kCheckOutcomes> outcomes = {};
};

struct PluginCheck {
  PluginDescription plugin = {};
  std::vector<PresentVersion> present = {};
  // First the types of the file, in its order. Then the types that the store
  // has processes of and the file lacks.
  std::vector<CheckedType> types = {};
  uint64_t processes = 0;  // to be checked
  std::vector<std::string> warnings = {};
  // Findings; if there are any, the store is damaged, and nothing was checked.
  std::vector<std::string> damage = {};

  [[nodiscard]] uint64_t Count(CheckOutcome outcome) const;
  [[nodiscard]] bool is_fine() const;
};

struct PluginCheckOptions {
  std::string file = {};
  std::string store = {};
  // Of one process.
  absl::Duration process_timeout = absl::Seconds(10);
  absl::Time deadline = absl::InfiniteFuture();
  Cancellation* cancellation = nullptr;
  // Called once, before the first process: all but the outcomes and warnings.
  std::function<void(const PluginCheck&)> began = {};
  // Called for each process, in the order of the PIDs in the store.
  std::function<void(CheckedProcess&&)> checked = {};
};

// Errors: INVALID_ARGUMENT: the file is no plugin that a daemon of this version
// would load. NOT_FOUND: there is no such file, or no store.
// FAILED_PRECONDITION: a program has the store. PERMISSION_DENIED: others can
// write to a file. DATA_LOSS: the store contradicts itself. CANCELLED,
// DEADLINE_EXCEEDED. The texts name the file.
absl::StatusOr<PluginCheck> CheckPlugin(const PluginCheckOptions& options);

}  // namespace actord::client
