// Tries what a start with other plugins would do to processes of a store, one
// process at a time. As the first turn of the process would, it makes the state
// of the process again and upgrades it. No process takes a new step, no effect
// of its steps is carried out, and no record is written.
//
// Calls code of plugins, which may block, crash or exit.
//
// Thread-safety: one thread; no other thread uses the catalog meanwhile.
// Ownership: borrows the catalog.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/durable/durable_store.h"
#include "runtime/process/catalog.h"
#include "runtime/records/field_codec.h"
#include "runtime/records/records.h"
#include "runtime/settings/options.h"

namespace actord::runtime {

// The result for one process.
struct TrialResult {
  enum class Kind : uint8_t {
    kUpgrades,  // it goes on in the version in force
    kStays,     // it goes on in its old version, without an error
    kDiverges,  // a step differs from its record: quarantine
    kFails,     // Snapshot or Restore refuses, or the type is missing
  };
  enum class Then : uint8_t { kNewVersion, kOldVersion, kQuarantine };

  Kind kind = Kind::kUpgrades;
  Then then = Then::kNewVersion;
  // For kDiverges: the number of the step; 0: Init.
  uint64_t step = 0;
  // Why the process does not upgrade. Empty: it does, or no reason is needed.
  std::string why = {};
};
constexpr TrialResult::Kind LastOf(TrialResult::Kind) {
  return TrialResult::Kind::kFails;
}
constexpr TrialResult::Then LastOf(TrialResult::Then) {
  return TrialResult::Then::kQuarantine;
}

template <typename T, typename Visitor>
requires Is<T, TrialResult>
void VisitFields(T& result, Visitor& visit) {
  visit(1, result.kind);
  visit(2, result.then);
  visit(3, result.step);
  visit(4, result.why);
}

class UpgradeTrial {
 public:
  struct Options {
    // The highest incarnation of all starts of the store, below 2^32 - 1.
    uint32_t incarnation = 0;
    // The store's clock stands still at this time.
    uint64_t store_ns = 0;
    // Unit: bytes. The limit of the daemon. A Snapshot with a larger payload
    // fails.
    size_t max_payload_bytes = size_t{1} << 20;
    // Unit: bytes. A larger image does not fit into a record, so its process
    // stays in its version.
    size_t max_record_bytes = size_t{16} << 20;
    // Same as RuntimeOptions::load_former.
    std::function<void(records::PluginNumber)> load_former;
  };
  // `catalog` has the types that would be in force.
  UpgradeTrial(const Catalog& catalog, Options options);
  ~UpgradeTrial();
  UpgradeTrial(const UpgradeTrial&) = delete;
  UpgradeTrial& operator=(const UpgradeTrial&) = delete;

  // DATA_LOSS: the store contradicts itself.
  absl::StatusOr<TrialResult> Run(StoredProcess&& stored);

 private:
  class Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace actord::runtime
