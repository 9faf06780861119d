// The permission that each method of the service needs. No other place defines
// it. docs/access.md has the same table, and a test compares the two.
//
// Thread-safety: constants and pure functions.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "identity/identity.h"
#include "identity/role.h"

namespace actord::daemon {

struct MethodRule {
  // As in the contract: "Send".
  std::string_view method;
  identity::Permission needs = identity::Permission::kAdminister;
  // A role with this permission, but without `needs`, may make the call only
  // for processes of its own owner (Access::controls). kAdminister: there is no
  // such permission.
  identity::Permission needs_for_own = identity::Permission::kAdminister;
  // The answer has payloads beside metadata. A holder without kSeePayloads
  // gets the answer without them.
  bool hides_payloads = false;
  // Changes nothing in the daemon.
  bool only_reads = false;

  // The answer gives a right to its holder.
  bool grants = false;

  // The call shows the things of all owners, or changes the whole daemon. A
  // holder who sees one owner may not make it, whatever the role. A method
  // without this flag must leave out the things of other owners by itself.
  bool of_all_owners = false;

  // The number of requests for which a call counts in the quota of its client.
  // A list examines many processes, and so counts more.
  uint32_t requests = 1;

  // Whether each call gets a line in the log.
  [[nodiscard]] constexpr bool is_audited() const {
    return grants ||
           (!only_reads && (needs == identity::Permission::kOperate ||
                            needs == identity::Permission::kAdminister));
  }
};

// Whether the role may make the call, perhaps only for its own processes, or
// only if the token sees all owners.
constexpr bool MayCall(identity::Role role, const MethodRule& rule) {
  return Permits(role, rule.needs) || Permits(role, rule.needs_for_own);
}

// Whether the holder sees enough owners for the call.
constexpr bool SeesEnough(identity::Sees sees, const MethodRule& rule) {
  return !rule.of_all_owners || sees == identity::Sees::kAll;
}

// PERMISSION_DENIED: the holder of a valid token may not make the call.
absl::Status CheckRights(const MethodRule& rule,
                         const identity::Identity& identity);

// One rule for each method.
std::span<const MethodRule> MethodRules();

// The rule of the method; null: there is none, and nobody may call it.
const MethodRule* FindRule(const google::protobuf::MethodDescriptor& method);

}  // namespace actord::daemon
