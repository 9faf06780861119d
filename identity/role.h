// Roles, and the permissions of each role.
//
// Thread-safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace actord::identity {

enum class Role { kViewer, kClient, kWorker, kOperator, kAdmin };
inline constexpr size_t kRoles = 5;

enum class Permission {
  // See processes, names, yields, dead letters and counters, without payloads.
  kSeeMetadata,
  // See payloads: results, answers of calls, payloads of yields and dead
  // letters.
  kSeePayloads,
  // Start processes.
  kSubmit,
  // Send to processes, and call them.
  kSend,
  // Take external commands and complete them; their payloads come with them.
  kWork,
  // Cancel and terminate processes of its own owner.
  kControlOwn,
  // Cancel and terminate processes; resend and drop dead letters.
  kOperate,
  // Load plugins, reload the configuration, shut the daemon down.
  kAdminister,
};
inline constexpr size_t kPermissions = 8;

// The permission in words, as in "the role may ...".
constexpr std::string_view PermissionName(Permission permission) {
  switch (permission) {
    case Permission::kSeeMetadata:
      return "see metadata";
    case Permission::kSeePayloads:
      return "see payloads";
    case Permission::kSubmit:
      return "submit";
    case Permission::kSend:
      return "send";
    case Permission::kWork:
      return "work";
    case Permission::kControlOwn:
      return "control own";
    case Permission::kOperate:
      return "operate";
    case Permission::kAdminister:
      break;
  }
  return "administer";
}

struct RoleRow {
  Role role;
  std::string_view name;
  // Indexed by Permission.
  std::array<bool, kPermissions> permits;
};

namespace detail {

consteval std::array<bool, kPermissions> Permitting(
    std::initializer_list<Permission> permissions) {
  std::array<bool, kPermissions> permits = {};
  for (const Permission permission : permissions) {
    permits[static_cast<size_t>(permission)] = true;
  }
  return permits;
}

consteval std::array<RoleRow, kRoles> RoleRows() {
  using enum Permission;
  return {{
      {Role::kViewer, "viewer", Permitting({kSeeMetadata})},
      {Role::kClient, "client",
       Permitting({kSeeMetadata, kSeePayloads, kSubmit, kSend, kControlOwn})},
      {Role::kWorker, "worker", Permitting({kWork})},
      {Role::kOperator, "operator",
       Permitting({kSeeMetadata, kSeePayloads, kWork, kOperate})},
      {Role::kAdmin, "admin",
       Permitting({kSeeMetadata, kSeePayloads, kSubmit, kSend, kWork, kOperate,
                   kAdminister})},
  }};
}

}  // namespace detail

// The permissions of each role, in the order of Role. No other place defines
// them.
inline constexpr std::array<RoleRow, kRoles> kRoleTable = detail::RoleRows();

constexpr bool Permits(Role role, Permission permission) {
  return kRoleTable[static_cast<size_t>(role)]
      .permits[static_cast<size_t>(permission)];
}

constexpr std::string_view RoleName(Role role) {
  return kRoleTable[static_cast<size_t>(role)].name;
}

inline constexpr std::string_view kRoleRule =
    "viewer, client, worker, operator or admin";
constexpr std::optional<Role> ParseRole(std::string_view name) {
  for (const RoleRow& row : kRoleTable) {
    if (row.name == name) return row.role;
  }
  return std::nullopt;
}

}  // namespace actord::identity
