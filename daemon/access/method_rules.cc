#include "daemon/access/method_rules.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

using enum identity::Permission;

constexpr uint32_t kRequestsOfList = 10;

// Every role that may submit or send may see payloads, too (a test checks it).
// So outcomes in SubmitStream and Run, and answers of Call, need no rule of
// their own. Every role that may send may submit, too (tested as well), so a
// Call that starts a process needs none either.
constexpr MethodRule kRules[] = {
    {.method = "Submit", .needs = kSubmit},
    {.method = "SubmitStream", .needs = kSubmit},
    {.method = "Run", .needs = kSubmit},
    {.method = "Send", .needs = kSend},
    {.method = "SendStream", .needs = kSend},
    {.method = "Call", .needs = kSend},
    // The answer is only a payload.
    {.method = "Await", .needs = kSeePayloads},
    // As Await: what arrives is payloads.
    {.method = "Subscribe", .needs = kSeePayloads},
    {.method = "GetProcess", .needs = kSeeMetadata},
    {.method = "ListProcesses",
     .needs = kSeeMetadata,
     .requests = kRequestsOfList},
    {.method = "WatchProcesses",
     .needs = kSeeMetadata,
     .requests = kRequestsOfList},
    {.method = "ReadHistory",
     .needs = kSeeMetadata,
     .hides_payloads = true,
     .requests = kRequestsOfList},
    {.method = "ListQuarantine",
     .needs = kSeeMetadata,
     .requests = kRequestsOfList},
    {.method = "ListFailures",
     .needs = kSeeMetadata,
     .requests = kRequestsOfList},
    {.method = "ListNames", .needs = kSeeMetadata, .requests = kRequestsOfList},
    {.method = "GetStatus", .needs = kSeeMetadata},
    {.method = "ListPlugins",
     .needs = kSeeMetadata,
     .requests = kRequestsOfList},
    {.method = "ListWorkers",
     .needs = kSeeMetadata,
     .requests = kRequestsOfList},
    {.method = "ListYields",
     .needs = kSeeMetadata,
     .hides_payloads = true,
     .requests = kRequestsOfList},
    {.method = "ListCalls", .needs = kSeeMetadata, .requests = kRequestsOfList},
    {.method = "ListDeadLetters",
     .needs = kSeeMetadata,
     .hides_payloads = true,
     .requests = kRequestsOfList},
    {.method = "GetDeadLetter", .needs = kSeeMetadata, .hides_payloads = true},
    {.method = "Work", .needs = kWork},
    {.method = "CompleteYield", .needs = kWork},
    // Hands on the right to complete the yield, so the log says who did.
    {.method = "CreateYieldLink", .needs = kWork, .grants = true},
    {.method = "Cancel", .needs = kOperate, .needs_for_own = kControlOwn},
    {.method = "Terminate", .needs = kOperate, .needs_for_own = kControlOwn},
    {.method = "RecordProcess",
     .needs = kOperate,
     .needs_for_own = kControlOwn},
    {.method = "RetryQuarantine",
     .needs = kOperate,
     .needs_for_own = kControlOwn,
     .requests = kRequestsOfList},
    {.method = "ResendDeadLetter", .needs = kOperate},
    {.method = "DropDeadLetters", .needs = kOperate},
    // A viewer may see processes, but not the addresses and names of other
    // clients.
    {.method = "ListClients",
     .needs = kOperate,
     .only_reads = true,
     .requests = kRequestsOfList},
    // The lines name clients, processes and files of all owners.
    {.method = "ListLogLines",
     .needs = kOperate,
     .only_reads = true,
     .of_all_owners = true,
     .requests = kRequestsOfList},
    {.method = "SetLogLevel", .needs = kAdminister, .of_all_owners = true},
    {.method = "CutClient", .needs = kAdminister},
    {.method = "LoadPlugin", .needs = kAdminister, .of_all_owners = true},
    // The backup holds the payloads of all owners.
    {.method = "Backup", .needs = kAdminister, .of_all_owners = true},
    {.method = "Shutdown", .needs = kAdminister, .of_all_owners = true},
};

// "client or admin".
std::string RolesThatMayCall(const MethodRule& rule) {
  std::vector<std::string> names;
  for (const identity::RoleRow& row : identity::kRoleTable) {
    if (MayCall(row.role, rule)) names.emplace_back(row.name);
  }
  return absl::StrJoin(names, " or ");
}

absl::Status RoleNotAllowed(const MethodRule& rule, identity::Role role) {
  return runtime::Error(
      absl::StatusCode::kPermissionDenied, runtime::reason::kRoleNotAllowed,
      absl::StrCat(std::string(rule.method), " needs the role ",
                   RolesThatMayCall(rule), ", and the token has the role ",
                   std::string(RoleName(role))));
}

}  // namespace

std::span<const MethodRule> MethodRules() { return kRules; }

const MethodRule* FindRule(const google::protobuf::MethodDescriptor& method) {
  const auto* const rule =
      std::find_if(std::begin(kRules), std::end(kRules),
                   [name = std::string_view(method.name())](
                       const MethodRule& one) { return one.method == name; });
  return rule == std::end(kRules) ? nullptr : rule;
}

absl::Status CheckRights(const MethodRule& rule,
                         const identity::Identity& identity) {
  if (!MayCall(identity.role, rule)) return RoleNotAllowed(rule, identity.role);
  if (SeesEnough(identity.sees, rule)) return absl::OkStatus();
  return runtime::Error(
      absl::StatusCode::kPermissionDenied, runtime::reason::kAllOwnersNeeded,
      absl::StrCat(std::string(rule.method),
                   " is about all owners and needs a token with see = \"all\"; "
                   "the token sees only the owner ",
                   identity.name));
}

}  // namespace actord::daemon
