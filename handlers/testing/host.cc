#include "handlers/testing/host.h"

#include <actord/pid_text.h>
#include <actord/text.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "handlers/rules/log_text.h"

namespace actord::testing {
namespace {

using World = Harness::World;

World& Of(const actord_host* host) {
  const auto& self = *static_cast<const Harness::World::Host*>(host);
  if (std::this_thread::get_id() != self.thread) {
    std::fputs(
        "actord::testing: a handler used its Host on another thread than the "
        "test's; Stub or Hold its command\n",
        stderr);
    std::abort();
  }
  return self.world;
}

void Log(const actord_host* host, int32_t level, actord_bytes message) {
  Of(host).log.push_back({static_cast<LogLevel>(rules::LogLevelOf(level)),
                          std::string(detail::View(message))});
}

void LogFor(const actord_host* host, int32_t level, const actord_pid* pid,
            actord_bytes message) {
  std::string shortened;
  Of(host).log.push_back(
      {static_cast<LogLevel>(rules::LogLevelOf(level)),
       std::string(rules::LogText(detail::View(message), shortened)), *pid});
}

uint64_t Now(const actord_host* host) { return Of(host).now_ns; }
int32_t CompleteCommand(const actord_host* host, actord_completion completion,
                        int32_t status, const actord_payload* payload) {
  World& world = Of(host);
  OwnedPayload copy = CopyOf(payload);
  const bool fits = copy.bytes.size() <= world.options.max_payload_bytes;
  if (!world.Complete(completion, ToCode(status), std::move(copy))) {
    return ACTORD_FAILED_PRECONDITION;
  }
  return fits ? ACTORD_OK : ACTORD_INVALID_ARGUMENT;
}

int32_t CompleteAfter(const actord_host* host, actord_completion completion,
                      uint64_t delay_ns) {
  World& world = Of(host);
  if (world.outstanding.count(completion) == 0) {
    return ACTORD_FAILED_PRECONDITION;
  }
  world.AddTimer(completion,
                 delay_ns > UINT64_MAX - world.now_ns ? UINT64_MAX
                                                      : world.now_ns + delay_ns,
                 /*is_result=*/true);
  return ACTORD_OK;
}

int32_t Send(const actord_host* host, const actord_pid* from,
             const actord_pid* to, const actord_message* message) {
  World& world = Of(host);
  if (!world.Fits(message->payload, message->topic)) {
    return ACTORD_INVALID_ARGUMENT;
  }
  const Record* record = world.Find(*to);
  if (record == nullptr) return ACTORD_NOT_FOUND;
  if (record->phase == Record::Phase::kEnded) {
    return ACTORD_FAILED_PRECONDITION;
  }
  world.DeliverMessage(*to, {ACTORD_EVENT_MESSAGE, Code::kOk, 0,
                             from == nullptr ? Pid() : Pid(*from),
                             std::string(detail::View(message->topic)),
                             OwnedPayload(Payload(message->payload))});
  return ACTORD_OK;
}

void Spawn(const actord_host* host, const actord_pid* parent,
           const actord_spawn* spawn, actord_completion completion) {
  Of(host).SpawnFor(parent == nullptr ? Pid() : Pid(*parent), *spawn,
                    completion);
}

size_t CopyPid(const actord_host* /*host*/, const actord_pid* pid, char* text) {
  return detail::WritePid(*pid, text);
}

int32_t ReadPid(const actord_host* /*host*/, actord_bytes text,
                actord_pid* pid) {
  const auto parsed = World::ParsePid(detail::View(text));
  if (!parsed) return ACTORD_INVALID_ARGUMENT;
  *pid = *parsed;
  return ACTORD_OK;
}

int32_t CancelProcess(const actord_host* host, const actord_pid* pid,
                      actord_bytes reason) {
  return static_cast<int32_t>(
      Of(host).Control(*pid, ACTORD_EVENT_CANCEL, detail::View(reason)));
}

int32_t TerminateProcess(const actord_host* host, const actord_pid* pid,
                         actord_bytes reason) {
  return static_cast<int32_t>(
      Of(host).Control(*pid, kTerminate, detail::View(reason)));
}

// Unlike in a daemon, the number of names and groups is not limited here.
int32_t RegisterName(const actord_host* host, const actord_pid* pid,
                     actord_bytes name, actord_pid* holder) {
  World& world = Of(host);
  const Record* const record = world.Find(*pid);
  if (!IsName(detail::View(name))) return ACTORD_INVALID_ARGUMENT;
  if (record == nullptr || !record->IsLive()) {
    return ACTORD_FAILED_PRECONDITION;
  }
  const auto [at, added] = world.names.emplace(detail::View(name), Pid(*pid));
  if (at->second == Pid(*pid)) return ACTORD_OK;
  if (holder != nullptr) *holder = at->second;
  return ACTORD_ALREADY_EXISTS;
}

int32_t ReleaseName(const actord_host* host, const actord_pid* pid,
                    actord_bytes name) {
  World& world = Of(host);
  const auto found = world.names.find(detail::View(name));
  if (found == world.names.end() || found->second != Pid(*pid)) {
    return ACTORD_NOT_FOUND;
  }
  world.names.erase(found);
  return ACTORD_OK;
}

int32_t LookUpName(const actord_host* host, actord_bytes name,
                   actord_pid* holder) {
  const Pid found = Of(host).HolderOf(detail::View(name));
  if (found.empty()) return ACTORD_NOT_FOUND;
  *holder = found;
  return ACTORD_OK;
}

int32_t JoinGroup(const actord_host* host, const actord_pid* pid,
                  actord_bytes group) {
  World& world = Of(host);
  const Record* const record = world.Find(*pid);
  if (!IsName(detail::View(group))) return ACTORD_INVALID_ARGUMENT;
  if (record == nullptr || !record->IsLive()) {
    return ACTORD_FAILED_PRECONDITION;
  }
  world.groups[std::string(detail::View(group))].insert(*pid);
  return ACTORD_OK;
}

int32_t LeaveGroup(const actord_host* host, const actord_pid* pid,
                   actord_bytes group) {
  World& world = Of(host);
  const auto found = world.groups.find(detail::View(group));
  if (found == world.groups.end() || found->second.erase(*pid) == 0) {
    return ACTORD_NOT_FOUND;
  }
  if (found->second.empty()) world.groups.erase(found);
  return ACTORD_OK;
}

size_t GroupMembers(const actord_host* host, actord_bytes group,
                    actord_pid* members, size_t capacity) {
  const World& world = Of(host);
  const auto found = world.groups.find(detail::View(group));
  if (found == world.groups.end()) return 0;
  size_t count = 0;
  for (const Pid& pid : found->second) {
    if (count < capacity) members[count] = pid;
    ++count;
  }
  return count;
}

}  // namespace

Harness::World::Host::Host(World& served)
    : actord_host{.struct_size = sizeof(actord_host),
                  .reserved = 0,
                  .log = Log,
                  .monotonic_ns = Now,
                  .unix_time_ns = Now,
                  .complete = CompleteCommand,
                  .complete_after = CompleteAfter,
                  .send = Send,
                  .spawn = Spawn,
                  .format_pid = CopyPid,
                  .parse_pid = ReadPid,
                  .register_name = RegisterName,
                  .release_name = ReleaseName,
                  .look_up_name = LookUpName,
                  .join_group = JoinGroup,
                  .leave_group = LeaveGroup,
                  .group_members = GroupMembers,
                  .cancel = CancelProcess,
                  .terminate = TerminateProcess,
                  .log_for = LogFor},
      world(served) {}

}  // namespace actord::testing
