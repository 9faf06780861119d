// Tests that every method of the contract has one rule, and that the docs have
// the same table.
#include "daemon/access/method_rules.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "actord/v1/actor_service.pb.h"
#include "identity/role.h"

namespace actord::daemon {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::MethodDescriptor;
using identity::Permission;

const google::protobuf::ServiceDescriptor& Contract() {
  return *v1::SubmitRequest::descriptor()->file()->pool()->FindServiceByName(
      "actord.v1.ActorService");
}

// Whether a message of this type may have a payload.
bool HoldsPayload(const Descriptor& message,
                  std::set<const Descriptor*> seen = {}) {
  if (message.full_name() == "actord.v1.Payload") return true;
  if (!seen.insert(&message).second) return false;
  for (int i = 0; i < message.field_count(); ++i) {
    const Descriptor* const type = message.field(i)->message_type();
    if (type != nullptr && HoldsPayload(*type, seen)) return true;
  }
  return false;
}

TEST(MethodRules, EachMethodHasOneRuleAndEachRuleAMethod) {
  std::map<std::string, int> rules;
  for (const MethodRule& rule : MethodRules()) {
    ++rules[std::string(rule.method)];
  }
  for (int i = 0; i < Contract().method_count(); ++i) {
    const MethodDescriptor& method = *Contract().method(i);
    EXPECT_EQ(rules[method.name()], 1)
        << method.name() << " needs one rule, in daemon/access/method_rules.cc";
    ASSERT_NE(FindRule(method), nullptr);
    EXPECT_EQ(FindRule(method)->method, method.name());
    rules.erase(method.name());
  }
  for (const auto& [name, count] : rules) {
    ADD_FAILURE() << name << " is no method";
  }
}

// The entries in these answers are steps that were noted in memory, without
// payloads (noted_step.h).
bool HasNotedSteps(const MethodDescriptor& method) {
  return method.name() == "GetProcess" || method.name() == "ListFailures";
}

// A method whose answer has payloads either needs the permission to see them,
// or hides them, or is for roles that all see them.
TEST(MethodRules, NobodySeesPayloadsWithoutThePermission) {
  for (int i = 0; i < Contract().method_count(); ++i) {
    const MethodDescriptor& method = *Contract().method(i);
    const MethodRule& rule = *FindRule(method);
    SCOPED_TRACE(method.name());
    const bool holds =
        HoldsPayload(*method.output_type()) && !HasNotedSteps(method);
    EXPECT_TRUE(holds || !rule.hides_payloads);
    // A worker is given the payloads of its tasks, and no others.
    if (!holds || rule.hides_payloads || rule.needs == Permission::kWork) {
      continue;
    }
    for (const identity::RoleRow& role : identity::kRoleTable) {
      if (!Permits(role.role, rule.needs)) continue;
      EXPECT_TRUE(Permits(role.role, Permission::kSeePayloads)) << role.name;
    }
  }
}

// A Call may start its process, and then needs the right to submit, too.
TEST(MethodRules, WhoMaySendMaySubmit) {
  for (const identity::RoleRow& role : identity::kRoleTable) {
    EXPECT_TRUE(!Permits(role.role, Permission::kSend) ||
                Permits(role.role, Permission::kSubmit))
        << role.name;
  }
}

// The whole request of an audited call is logged.
TEST(MethodRules, RequestsOfAuditedMethodsHoldNoPayload) {
  int audited = 0;
  for (int i = 0; i < Contract().method_count(); ++i) {
    const MethodDescriptor& method = *Contract().method(i);
    if (!FindRule(method)->is_audited()) continue;
    ++audited;
    EXPECT_FALSE(HoldsPayload(*method.input_type())) << method.name();
    EXPECT_FALSE(method.client_streaming()) << method.name();
    // Its stream writes the line when it ends.
    EXPECT_EQ(method.server_streaming(), method.name() == "Backup")
        << method.name();
  }
  EXPECT_EQ(audited, 12);
}

TEST(MethodRules, ChangesOfTheWholeDaemonNeedSightOfAllOwners) {
  for (const MethodRule& rule : MethodRules()) {
    // CutClient finds only the connections of the caller's owner.
    const bool is_of_the_daemon =
        rule.needs == Permission::kAdminister && rule.method != "CutClient";
    EXPECT_EQ(rule.of_all_owners,
              is_of_the_daemon || rule.method == "ListLogLines")
        << rule.method;
    EXPECT_TRUE(SeesEnough(identity::Sees::kAll, rule));
    EXPECT_EQ(SeesEnough(identity::Sees::kOwn, rule), !rule.of_all_owners);
  }
}

TEST(MethodRules, TheDocsHaveTheSameTable) {
  std::string rows;
  for (const MethodRule& rule : MethodRules()) {
    absl::StrAppend(&rows, "| `", std::string(rule.method), "` | ",
                    std::string(PermissionName(rule.needs)), " |");
    for (const identity::RoleRow& role : identity::kRoleTable) {
      const bool permits = Permits(role.role, rule.needs);
      const bool hides =
          rule.hides_payloads && !Permits(role.role, Permission::kSeePayloads);
      absl::StrAppend(&rows, !permits
                                 ? MayCall(role.role, rule) ? " own |" : " |"
                             : hides ? " without payloads |"
                                     : " yes |");
    }
    absl::StrAppend(&rows, rule.of_all_owners ? " needed |\n" : " |\n");
  }
  std::ifstream file(ACTORD_TEST_ACCESS_DOCS);
  ASSERT_TRUE(file) << ACTORD_TEST_ACCESS_DOCS;
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(
      text.str().find("|---|---|---|---|---|---|---|---|\n" + rows + "\n"),
      std::string::npos)
      << "the table should be:\n"
      << rows;
}

}  // namespace
}  // namespace actord::daemon
