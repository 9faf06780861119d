#include "daemon/access/access.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/access/access_control.h"
#include "identity/role.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"

namespace actord::daemon {

absl::Status Access::CheckName(bool is_allowed, std::string_view what,
                               std::string_view name,
                               std::string_view list) const {
  if (is_allowed) return absl::OkStatus();
  return control_->Refuse(
      {.token_id = token_->identity.token_id, .method = rule_->method},
      runtime::Error(absl::StatusCode::kPermissionDenied,
                     runtime::reason::kNameNotAllowed,
                     absl::StrCat("the token may not ", std::string(what), " ",
                                  std::string(name), ": its list ",
                                  std::string(list), " has no pattern for it")),
      *this);
}

absl::StatusOr<StreamSlot> Access::TakeCountedStream() const {
  absl::Status status = quota_->TakeStream();
  if (!status.ok()) return control_->OverQuota(*this, std::move(status));
  return StreamSlot(quota_);
}

absl::Status Access::RefuseConnection() const {
  ACTORD_ASSERT(quota_ != nullptr, "access.h: there is a limit");
  return control_->OverQuota(*this, quota_->ConnectionRefused());
}

// Without a token, the gate has already judged the call.
absl::Status Access::MaySubmit(std::string_view process_type) const {
  return CheckName(
      token_ == nullptr || token_->identity.MaySubmit(process_type),
      "start processes of type", process_type, "submit");
}

absl::Status Access::MaySend(std::string_view process_type) const {
  return CheckName(token_ == nullptr || token_->identity.MaySend(process_type),
                   "send to processes of type", process_type, "send");
}

absl::Status Access::MayWork(std::string_view command) const {
  return CheckName(token_ == nullptr || token_->identity.MayWork(command),
                   "work on", command, "work");
}

runtime::Owner Access::controls() const {
  // Without an owner, the caller is the local administrator, or owners are not
  // in force.
  return token_ == nullptr || owner_ == runtime::Owner::kNobody ||
                 Permits(token_->identity.role, identity::Permission::kOperate)
             ? sees_
             : owner_;
}

absl::Status Access::NotControlled() const {
  return control_->Refuse(
      {.token_id = token_->identity.token_id, .method = rule_->method},
      runtime::Error(absl::StatusCode::kPermissionDenied,
                     runtime::reason::kRoleNotAllowed,
                     absl::StrCat("the role ",
                                  std::string(RoleName(token_->identity.role)),
                                  " permits ", std::string(rule_->method),
                                  " for processes of the token's own owner, ",
                                  token_->identity.name, ", alone")),
      *this);
}

std::optional<runtime::Owner> Access::FindOwner(std::string_view name) const {
  if (name.empty()) {
    return Sees(sees_, runtime::Owner::kNobody)
               ? std::optional(runtime::Owner::kNobody)
               : std::nullopt;
  }
  if (control_ == nullptr) return std::nullopt;
  const std::optional<runtime::Owner> owner = control_->owners().Find(name);
  return owner && Sees(sees_, *owner) ? owner : std::nullopt;
}

OwnerLabels Access::owner_labels() const {
  return OwnerLabels(control_ == nullptr || sees_ != runtime::Owner::kAny
                         ? nullptr
                         : &control_->owners());
}

bool Access::is_enforced() const {
  return control_ != nullptr && control_->mode() == AuthMode::kEnforce;
}

bool Access::HidesPayloads() const {
  return is_enforced() && rule_->hides_payloads &&
         (token_ == nullptr ||
          !identity::Permits(token_->identity.role,
                             identity::Permission::kSeePayloads));
}

bool Access::HidesClients() const {
  // As for ListClients.
  return is_enforced() && (token_ == nullptr ||
                           !identity::Permits(token_->identity.role,
                                              identity::Permission::kOperate));
}

absl::Status Access::CheckAgain() const {
  if (control_ == nullptr) return absl::OkStatus();
  return control_->Renew(*this, AccessControl::Rights::kMayChange).status();
}

bool Access::IsAudited() const {
  return control_ != nullptr && rule_->is_audited() &&
         control_->mode() != AuthMode::kOff;
}

std::string Access::Who() const {
  return control_ == nullptr ? "a client that is not checked"
                             : control_->Who(token_.get());
}

}  // namespace actord::daemon
