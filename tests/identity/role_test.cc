#include "identity/role.h"

#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace actord::identity {
namespace {

// Says it a second time, as a person would read it: m(etadata) p(ayloads)
// s(ubmit) t (send) w(ork) c(ontrol own) o(perate) a(dminister).
TEST(Role, PermitsThisAndNothingElse) {
  const struct {
    Role role;
    const char* name;
    const char* permits;
  } rows[] = {
      {Role::kViewer, "viewer", "m-------"},
      {Role::kClient, "client", "mpst-c--"},
      {Role::kWorker, "worker", "----w---"},
      {Role::kOperator, "operator", "mp--w-o-"},
      {Role::kAdmin, "admin", "mpstw-oa"},
  };
  ASSERT_EQ(std::size(rows), kRoles);
  for (const auto& row : rows) {
    std::string permits;
    for (size_t i = 0; i < kPermissions; ++i) {
      permits +=
          Permits(row.role, static_cast<Permission>(i)) ? "mpstwcoa"[i] : '-';
    }
    EXPECT_EQ(permits, row.permits) << row.name;
    EXPECT_EQ(RoleName(row.role), row.name);
    EXPECT_EQ(ParseRole(row.name), row.role);
    EXPECT_NE(kRoleRule.find(row.name), std::string_view::npos);
  }
}

TEST(Role, PermissionsHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kPermissions; ++i) {
    names.insert(PermissionName(static_cast<Permission>(i)));
  }
  EXPECT_EQ(names.size(), kPermissions);
  EXPECT_FALSE(names.contains(""));
}

TEST(Role, TableIsInTheOrderOfTheRoles) {
  for (size_t i = 0; i < kRoles; ++i) {
    EXPECT_EQ(kRoleTable[i].role, static_cast<Role>(i));
  }
}

TEST(Role, OtherNamesAreNone) {
  for (const char* name : {"", "Admin", "admin ", "root", "viewers"}) {
    EXPECT_EQ(ParseRole(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace actord::identity
