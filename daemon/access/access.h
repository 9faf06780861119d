// The rights of one call: its caller, and the checks of its items.
//
// A default Access may do everything and checks nothing: tokens are not
// configured. Every other Access is made by AccessControl.
//
// Each check returns OK, or PERMISSION_DENIED or UNAUTHENTICATED with a reason
// of errors.h. While auth.mode is not enforce, each check returns OK.
//
// Thread-safety: a value; any number of threads may read one at a time.
// Ownership: borrows the AccessControl, and shares the token.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/access/client_quotas.h"
#include "daemon/access/method_rules.h"
#include "daemon/access/owners.h"
#include "identity/identity.h"
#include "runtime/process/owner.h"

namespace actord::daemon {

class AccessControl;

class Access {
 public:
  Access() = default;

  // False: nothing is ever checked.
  [[nodiscard]] bool is_checked() const { return control_ != nullptr; }
  // The identity of the caller; null: the caller has proved none. The name of
  // the identity is the owner of everything that the call starts.
  [[nodiscard]] const identity::Identity* identity() const {
    return token_ == nullptr ? nullptr : &token_->identity;
  }

  // The owner of the processes that the call starts, and of the names that it
  // means. kNobody: the local administrator; and every caller while auth.mode
  // is not enforce.
  [[nodiscard]] runtime::Owner owner() const { return owner_; }
  // The owner whose processes the call may see: kAny, or owner().
  [[nodiscard]] runtime::Owner sees() const { return sees_; }
  // The owner whose processes the call may end: kAny, or owner().
  [[nodiscard]] runtime::Owner controls() const;
  // PERMISSION_DENIED (ROLE_NOT_ALLOWED) for a process that the call sees and
  // may not end; counted and logged like the other refusals.
  [[nodiscard]] absl::Status NotControlled() const;
  // The owner of this name, or kNobody for ""; nullopt: there is none, or the
  // call does not see its processes.
  [[nodiscard]] std::optional<runtime::Owner> FindOwner(
      std::string_view name) const;
  // Names the owners in the answer, if the call sees more than its own.
  [[nodiscard]] OwnerLabels owner_labels() const;
  // The name of the owner that sees() returns. Empty for kAny and kNobody. The
  // same client has the same name in the next run of the daemon.
  [[nodiscard]] std::string_view sees_name() const {
    return sees_ == runtime::Owner::kAny || token_ == nullptr
               ? std::string_view()
               : std::string_view(token_->identity.name);
  }

  // The quotas of the client; null: it has none. Lives as long as the
  // AccessControl.
  [[nodiscard]] ClientQuota* quota() const { return quota_; }
  // Counts the call as an open stream of its client, as long as the slot lives.
  // RESOURCE_EXHAUSTED (CLIENT_QUOTA), which is counted and logged.
  [[nodiscard]] absl::StatusOr<StreamSlot> TakeStream() const {
    if (quota_ == nullptr) return StreamSlot();
    return TakeCountedStream();
  }

  // Maximum number of open connections of the client; 0: no limit.
  [[nodiscard]] size_t max_connections() const {
    return quota_ == nullptr ? 0 : quota_->max_connections();
  }
  // Counts, logs and returns RESOURCE_EXHAUSTED (CLIENT_QUOTA) for a connection
  // above that number. Precondition: there is a limit.
  [[nodiscard]] absl::Status RefuseConnection() const;

  [[nodiscard]] absl::Status MaySubmit(std::string_view process_type) const;
  [[nodiscard]] absl::Status MaySend(std::string_view process_type) const;
  // `command` may be a pattern; then the call must be allowed every command
  // that matches it.
  [[nodiscard]] absl::Status MayWork(std::string_view command) const;
  // False: MaySend, or MayWork, returns OK for every name, so that the name
  // need not be looked up.
  [[nodiscard]] bool ChecksReceivers() const {
    return token_ != nullptr && !token_->identity.MaySendToAll();
  }
  [[nodiscard]] bool ChecksCommands() const {
    return token_ != nullptr && !token_->identity.MayWorkOnAll();
  }
  // Whether a name that cannot be looked up refuses the item.
  [[nodiscard]] bool is_enforced() const;
  // True: the payloads of the answer must be left out.
  [[nodiscard]] bool HidesPayloads() const;
  // True: the names and addresses of other clients must be left out.
  [[nodiscard]] bool HidesClients() const;

  // Whether the call is still permitted: its token has neither expired nor been
  // revoked, and its role still permits the method. Used for an answer that
  // comes long after the call has begun.
  [[nodiscard]] absl::Status CheckAgain() const;

  // The method of the call.
  [[nodiscard]] std::string_view method() const {
    return rule_ == nullptr ? std::string_view() : rule_->method;
  }
  // True: the log gets a line about the call (audit.h).
  [[nodiscard]] bool IsAudited() const;
  // The caller, for the log: "billing (token k3v9x0ab, operator)".
  [[nodiscard]] std::string Who() const;

 private:
  friend class AccessControl;
  Access(AccessControl* control, const MethodRule* rule,
         std::shared_ptr<const identity::StoredToken> token)
      : control_(control), rule_(rule), token_(std::move(token)) {}

  [[nodiscard]] absl::StatusOr<StreamSlot> TakeCountedStream() const;
  [[nodiscard]] absl::Status CheckName(bool is_allowed, std::string_view what,
                                       std::string_view name,
                                       std::string_view list) const;

  AccessControl* control_ = nullptr;
  const MethodRule* rule_ = nullptr;
  std::shared_ptr<const identity::StoredToken> token_;
  runtime::Owner owner_ = runtime::Owner::kNobody;
  runtime::Owner sees_ = runtime::Owner::kAny;
  ClientQuota* quota_ = nullptr;
};

}  // namespace actord::daemon
