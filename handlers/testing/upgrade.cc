// Upgrades a process of a harness to another version of its type.
#include <cstddef>
#include <set>
#include <utility>

#include "handlers/testing/step.h"
#include "handlers/testing/world.h"

namespace actord::testing {
namespace {

bool HasUpgrades(const actord_process_type& type) {
  return type.struct_size >= offsetof(actord_process_type, restore) +
                                 sizeof(actord_process_type::restore);
}

// Calls into the plugin. Returns kOk, or why the plugin refuses.
template <typename Function>
Status StatusOf(StepCall& call, const char* name, Function function) {
  int32_t status = ACTORD_OK;
  try {
    status = function();
  } catch (...) {
    return {Code::kInternal, detail::DescribeException(name)};
  }
  if (!call.misuse.ok()) return call.misuse;
  if (status == ACTORD_OK) return {};
  return {ToCode(status), std::move(call.failure)};
}

}  // namespace

Status Harness::Upgrade(const Pid& pid, const actord_process_type& type,
                        std::string_view from_version) {
  return world_->Upgrade(world_->LiveOrBreak(pid), type, from_version);
}

Status Harness::World::Upgrade(Record& record, const actord_process_type& to,
                               std::string_view from_version) {
  if (record.phase != Record::Phase::kLive) {
    Break(FormatPid(record.pid) + " has not started");
  }
  const actord_process_type& from = *record.type;
  const char* const name = from.methods[record.method].name;
  const auto method = FindMethod(to, name);
  if (!method) Break("the new version has no method " + std::string(name));
  if (!HasUpgrades(from) || from.snapshot == nullptr) {
    Break(std::string(from.name) + " has no Snapshot");
  }
  if (!HasUpgrades(to) || to.restore == nullptr) {
    Break("the new version of " + std::string(from.name) + " has no Restore");
  }
  if (record.cancel_requested) {
    return {Code::kCancelled, "the process was asked to end"};
  }
  if (record.IsAskedToEnd()) {
    return {Code::kUnavailable, "the process was asked to end just now"};
  }
  StepCall asked(*this, record, "snapshot");
  Status status = StatusOf(asked, "Snapshot", [&] {
    return from.snapshot(record.state.get(), &asked);
  });
  if (!status.ok()) return status;

  std::set<Tag> adopted;
  StepCall begun(*this, record, "restore");
  begun.adopted = &adopted;
  const actord_restore restore = {sizeof(actord_restore), *method,
                                  asked.result.view().ToAbi(),
                                  detail::ToAbi(from_version)};
  std::unique_ptr<std::byte, Freed> state = NewState(to);
  int32_t returned = ACTORD_INTERNAL;
  status = StatusOf(begun, "Restore", [&] {
    return returned = to.restore(state.get(), &restore, &begun);
  });
  if (!status.ok()) {
    // Restore has succeeded but broken a rule, so its new state is closed.
    if (returned == ACTORD_OK) CloseObject(to, state.get());
    if (status.code() != Code::kUnavailable) return status;
    // A refusal by Restore is final: only a Snapshot can postpone an upgrade.
    return {Code::kFailedPrecondition, "Restore refused with UNAVAILABLE: " +
                                           std::string(status.message())};
  }
  CloseState(record);
  record.state = std::move(state);
  record.type = &to;
  record.method = *method;
  record.step_due = true;
  std::erase_if(record.yields, [&](const auto& yield) {
    if (adopted.contains(yield.first)) return false;
    outstanding.erase(yield.second);
    return true;
  });
  std::erase_if(record.urgent, [&](const OwnedEvent& event) {
    return event.type == ACTORD_EVENT_COMPLETION &&
           !adopted.contains(event.tag);
  });
  Note(std::string(to.name) + " " + FormatPid(record.pid) +
       " goes on in another version");
  return {};
}

}  // namespace actord::testing
