// Upgrades a process of a harness to another version of its type.
#include <set>
#include <string>
#include <utility>

#include "handlers/rules/process_rules.h"
#include "handlers/testing/step.h"
#include "handlers/testing/world.h"

namespace actord::testing {
namespace {

// The answer of Snapshot or Restore, and the reason if it did not succeed.
struct Answered {
  rules::PluginCallEnd kind;
  int32_t status;
  Status why;
};

// Calls into the plugin.
template <typename Function>
Answered Ask(StepCall& call, const char* name, Function function) {
  int32_t status = ACTORD_INTERNAL;
  bool has_thrown = true;
  try {
    status = function();
    has_thrown = false;
  } catch (...) {
    // Without memory for it, this text is empty.
    call.thrown = detail::DescribeException(name);
  }
  const rules::PluginCallEnd kind =
      rules::PluginCallEndOf(has_thrown, !call.misuse.ok(), status);
  switch (kind) {
    case rules::PluginCallEnd::kThrew:
      return {kind, status, {Code::kInternal, call.thrown}};
    case rules::PluginCallEnd::kBrokeRule:
      return {kind, status, call.misuse};
    case rules::PluginCallEnd::kRefused:
      return {kind, status, {ToCode(status), std::move(call.failure)}};
    case rules::PluginCallEnd::kOk:
      break;
  }
  return {kind, status, {}};
}

// UNAVAILABLE means that the upgrade is postponed. A declined upgrade has
// another code.
Status Declined(const char* who, const Status& why) {
  if (why.code() != Code::kUnavailable) return why;
  return {Code::kFailedPrecondition,
          std::string(who) + " refused with UNAVAILABLE: " + why.message()};
}

// Why the two versions cannot take part in an upgrade of a process with the
// method `method` of `from`; empty: they can.
std::string WhyNoUpgrade(const actord_process_type& from, const char* method,
                         const actord_process_type& to) {
  if (rules::FindMethod(to, method) == rules::kNoSuchMethod) {
    return std::string("the new version has no method ") + method;
  }
  if (!rules::HasUpgrades(from) || from.snapshot == nullptr) {
    return std::string(from.name) + " has no Snapshot";
  }
  if (!rules::HasUpgrades(to) || to.restore == nullptr) {
    return "the new version of " + std::string(from.name) + " has no Restore";
  }
  return {};
}

}  // namespace

Status Harness::Upgrade(const Pid& pid, const actord_process_type& type,
                        std::string_view from_version) {
  return world_->Upgrade(world_->LiveOrBreak(pid), type, from_version);
}

void Harness::World::ForgetOtherYields(Record& record,
                                       const std::set<Tag>& adopted) {
  std::erase_if(record.yields, [&](const auto& yield) {
    if (adopted.contains(yield.first)) return false;
    outstanding.erase(yield.second);
    return true;
  });
  std::erase_if(record.urgent, [&](const OwnedEvent& event) {
    return event.type == ACTORD_EVENT_COMPLETION &&
           !adopted.contains(event.tag);
  });
}

Status Harness::World::Upgrade(Record& record, const actord_process_type& to,
                               std::string_view from_version) {
  if (record.phase != Record::Phase::kLive) {
    Break(FormatPid(record.pid) + " has not started");
  }
  const actord_process_type& from = *record.type;
  const char* const name = from.methods[record.method].name;
  if (const std::string why = WhyNoUpgrade(from, name, to); !why.empty()) {
    Break(why);
  }
  const uint32_t method = rules::FindMethod(to, name);
  switch (rules::MayUpgrade(record.cancel_requested, record.IsAskedToEnd(),
                            /*has_method=*/true)) {
    case rules::Upgrade::kGoesOn:
      break;
    case rules::Upgrade::kIsPutOff:
      return {Code::kUnavailable, "the process was asked to end just now"};
    case rules::Upgrade::kIsDeclined:
      return {Code::kCancelled, "the process was asked to end"};
  }
  StepCall asked(*this, record, "snapshot");
  const Answered snapshot = Ask(asked, "Snapshot", [&] {
    return from.snapshot(record.state.get(), &asked);
  });
  switch (rules::AfterSnapshot(snapshot.kind, snapshot.status)) {
    case rules::Upgrade::kGoesOn:
      break;
    case rules::Upgrade::kIsPutOff:
      return snapshot.why;
    case rules::Upgrade::kIsDeclined:
      return Declined("Snapshot", snapshot.why);
  }

  std::set<Tag> adopted;
  StepCall begun(*this, record, "restore");
  begun.adopted = &adopted;
  Beginning beginning{{}, method, asked.result, std::string(from_version)};
  begun.Keep(beginning.answers);
  const actord_restore restore = {
      sizeof(actord_restore),      method,
      asked.result.view().ToAbi(), detail::ToAbi(from_version),
      ACTORD_RESTORE_UPGRADE,
      /*from_flat_version=*/0};
  StateMemory state = NewState(to);
  const Answered restored = Ask(begun, "Restore", [&] {
    return to.restore(state.get(), &restore, &begun);
  });
  if (rules::AfterRestore(restored.kind) != rules::Upgrade::kGoesOn) {
    // Restore may have succeeded and broken a rule.
    if (rules::MadeObject(!begun.thrown.empty(), restored.status)) {
      CloseObject(to, state.get());
    }
    return Declined("Restore", restored.why);
  }
  CloseState(record);
  CloseShadow(record);
  record.state = std::move(state);
  record.type = &to;
  record.method = method;
  record.step_due = true;
  ForgetOtherYields(record, adopted);
  Note(std::string(to.name) + " " + FormatPid(record.pid) +
       " goes on in another version");
  if (std::optional<Status> why = Begun(record, std::move(beginning))) {
    End(record, EndKind::kThrew, *why, {});
    return *std::move(why);
  }
  return {};
}

}  // namespace actord::testing
