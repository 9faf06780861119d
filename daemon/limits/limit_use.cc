#include "daemon/limits/limit_use.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "runtime/topics/topics.h"

namespace actord::daemon {
namespace {

constexpr LimitRow kProcesses = {
    .name = "processes",
    .setting = "limits.max_processes or store.max_processes",
    .unit = "processes",
    .at_limit = "new processes are refused with PROCESS_LIMIT",
    .remedy = "actorctl plugin list counts the processes of each plugin"};
constexpr LimitRow kProcessTypes = {
    .name = "processes of a type",
    .setting = "limits.max_processes_per_type",
    .unit = "processes",
    .at_limit = "new processes of type $0 are refused with PROCESS_LIMIT",
    .remedy = "actorctl ps --type $0 lists them",
    .needs_restart = true};
constexpr LimitRow kMailboxes = {
    .name = "mailboxes",
    .setting = "limits.max_mailbox_messages or limits.max_mailbox_bytes",
    .unit = "events",
    .at_limit =
        "messages to a full mailbox are refused with MAILBOX_FULL, or "
        "become dead letters",
    .remedy = "actorctl stuck shows the processes that take no messages"};
constexpr LimitRow kYields = {
    .name = "yields of a process",
    .setting = "limits.max_yields",
    .unit = "yields",
    .at_limit = "further yields of a process complete with RESOURCE_EXHAUSTED",
    .remedy = "actorctl ps -o wide shows the outstanding yields"};
constexpr LimitRow kExternalYields = {
    .name = "external yields",
    .setting = "yields.external_max_bytes",
    .unit = "yields",
    .at_limit = "further external yields complete with RESOURCE_EXHAUSTED",
    .remedy = "start workers; actorctl yields shows the waiting commands"};
constexpr LimitRow kProcessesOfClient = {
    .name = "processes of a client",
    .setting = "quotas.processes",
    .unit = "processes",
    .at_limit = "new processes of a client are refused with CLIENT_QUOTA",
    .remedy = "actorctl clients shows the clients"};
constexpr LimitRow kMailboxesOfClient = {
    .name = "waiting messages of a client",
    .setting = "quotas.mailbox_bytes",
    .unit = "messages",
    .at_limit =
        "messages to processes of a client are refused with CLIENT_QUOTA",
    .remedy = "actorctl stuck shows the processes that take no messages"};
constexpr LimitRow kYieldsOfClient = {
    .name = "external yields of a client",
    .setting = "quotas.yield_bytes",
    .unit = "yields",
    .at_limit =
        "further external yields of a client's processes complete with "
        "RESOURCE_EXHAUSTED",
    .remedy = "start workers; actorctl yields shows the waiting commands"};
constexpr LimitRow kCallsOfClient = {
    .name = "calls of a client",
    .setting =
        "quotas.requests_per_second, bytes_per_second, streams or connections",
    .unit = "calls",
    .at_limit = "calls of a client are refused with CLIENT_QUOTA",
    .remedy = "actorctl clients shows the rates of the clients",
    .is_logged_elsewhere = true};
constexpr LimitRow kWatches = {
    .name = "watches",
    .setting = "watch.max_watches",
    .unit = "watches",
    .at_limit = "further watches are refused with WATCH_LIMIT",
    .remedy = "close watches"};
constexpr LimitRow kSubscriptions = {
    .name = "subscriptions",
    .setting = "a fixed limit",
    .unit = "subscriptions",
    .at_limit = "further subscriptions are refused with SUBSCRIPTION_LIMIT",
    .remedy = "close subscriptions",
    .is_fixed = true};
constexpr LimitRow kMemory = {
    .name = "memory",
    .setting = "memory.max of the control group, or RLIMIT_AS",
    .unit = "bytes",
    .at_limit = "new processes, messages and calls are refused with MEMORY_LOW",
    .remedy = "end processes",
    .is_logged_elsewhere = true};
constexpr LimitRow kConnections = {
    .name = "connections",
    .setting = "connections.max",
    .unit = "connections",
    .at_limit = "new connections are refused",
    .remedy = "actorctl clients shows the clients that have them",
    .is_logged_elsewhere = true,
    .needs_restart = true};
constexpr LimitRow kOfAddress = {
    .name = "connections of an address",
    .setting = "connections.max_per_address",
    .unit = "connections",
    .at_limit = "new connections of an address are refused",
    .remedy = "actorctl clients shows the clients that have them",
    .is_logged_elsewhere = true,
    .needs_restart = true};
constexpr LimitRow kDescriptors = {
    .name = "open files",
    .setting = "LimitNOFILE (ulimit -n) and connections.reserved_descriptors",
    .unit = "connections",
    .at_limit = "new connections are refused",
    .remedy = "actorctl clients shows the clients that have connections",
    .is_logged_elsewhere = true,
    .needs_restart = true};
constexpr LimitRow kUnread = {
    .name = "unread answers",
    .setting = "connections.max_unread_bytes",
    .unit = "answers",
    .at_limit = "answers to clients that do not read are refused",
    .remedy = "actorctl clients shows the clients",
    .needs_restart = true};
constexpr LimitRow kDisk = {
    .name = "disk",
    .setting = "store.disk_reserve",
    .unit = "bytes",
    .at_limit = "new durable work is refused with STORE_FULL",
    .remedy = "make room on the disk of the store",
    .is_logged_elsewhere = true,
    .has_own_note = true,
    .needs_restart = true};

LimitUse Counted(const LimitRow& row, uint64_t used, uint64_t max,
                 uint64_t refused) {
  return {.row = &row,
          .used = used,
          .max = max,
          .refused = refused,
          .is_full = used >= max};
}

LimitUse OfEach(const LimitRow& row, uint64_t refused,
                std::optional<uint64_t> max = std::nullopt) {
  return {.row = &row,
          .used = std::nullopt,
          .max = max,
          .refused = refused,
          .is_full = false};
}

// A limit of each client. `quota`: 0 if no client has it.
LimitUse OfEachClient(const LimitRow& row, uint64_t refused, uint64_t quota) {
  LimitUse use = OfEach(row, refused);
  use.is_unset = quota == 0;
  return use;
}

}  // namespace

std::vector<LimitUse> ReadLimitUse(const LimitSources& sources) {
  const runtime::RuntimeStats& of_runtime = sources.of_runtime;
  const DaemonStats& of_daemon = sources.of_daemon;
  const runtime::Limits& limits = sources.limits;
  // Dormant processes are not in memory, and the limit does not count them.
  const uint64_t live =
      of_runtime.processes_live -
      std::min(of_runtime.processes_live, of_runtime.processes_dormant);
  std::vector<LimitUse> uses = {
      Counted(kProcesses, live, limits.max_processes,
              of_runtime.refused_processes),
      OfEach(kMailboxes, of_runtime.refused_mailbox,
             limits.max_mailbox_messages),
      OfEach(kYields, of_runtime.refused_yields, limits.max_yields),
      OfEach(kExternalYields, of_runtime.refused_external),
      OfEachClient(kProcessesOfClient, of_runtime.refused_processes_of_owner,
                   sources.quotas.processes),
      OfEachClient(kMailboxesOfClient, of_runtime.refused_mailbox_of_owner,
                   sources.quotas.mailbox_bytes),
      OfEachClient(kYieldsOfClient, of_runtime.refused_external_of_owner,
                   sources.quotas.yield_bytes),
      OfEachClient(kCallsOfClient, of_daemon.client_quota_limit,
                   sources.quotas.LimitsCalls() ? 1 : 0),
      Counted(kWatches, of_runtime.watches_open, limits.max_watches,
              of_runtime.refused_watches),
      Counted(kSubscriptions, of_runtime.subscriptions_open,
              runtime::Topics::kMaxOpen, of_runtime.refused_subscriptions),
      OfEach(kMemory, of_runtime.refused_for_memory),
      Counted(kConnections, of_daemon.connections_open, sources.max_connections,
              of_daemon.connection_limit),
      OfEach(kOfAddress, of_daemon.connection_address_limit,
             sources.max_connections_per_address),
      OfEach(kDescriptors, of_daemon.connection_descriptor_limit),
      OfEach(kUnread, of_daemon.unread_answers_limit)};
  std::vector<LimitUse> of_types;
  for (const runtime::LimitedType& type : of_runtime.of_limited_types) {
    of_types.push_back(
        Counted(kProcessTypes, type.live, type.max, type.refused));
    of_types.back().type = type.name;
  }
  if (of_types.empty()) {
    of_types.push_back(OfEach(kProcessTypes, 0));
    of_types.back().is_unset = true;
  }
  uses.insert(uses.begin() + 1, of_types.begin(), of_types.end());
  for (LimitUse& use : uses) {
    if (use.row != &kMemory) continue;
    use.is_full = sources.is_memory_low;
    use.is_unset = !sources.memory.has_value();
    if (use.is_unset) continue;
    use.used = sources.memory->bytes;
    use.max = sources.memory->limit;
  }
  if (sources.is_store_full.has_value()) {
    uses.push_back(OfEach(kDisk, of_runtime.refused_store_full));
    uses.back().is_full = *sources.is_store_full;
  }
  return uses;
}

std::string LimitUseName(const LimitUse& use) {
  return use.type.empty() ? use.row->name
                          : absl::StrCat("processes of type ", use.type);
}

std::string AtLimitText(const LimitUse& use) {
  return absl::Substitute(use.row->at_limit, use.type);
}

std::string RemedyText(const LimitUse& use) {
  const LimitRow& row = *use.row;
  std::string text = absl::Substitute(row.remedy, use.type);
  if (row.is_fixed) return text;
  return absl::StrCat("Raise ", row.setting,
                      row.needs_restart ? ", which needs a restart" : "", "; ",
                      text);
}

std::string LimitUseText(const LimitUse& use) {
  if (use.used.has_value() && use.max.has_value()) {
    return absl::StrCat(*use.used, " of ", *use.max, " ", use.row->unit);
  }
  // A limit of bytes counts no refusals of bytes.
  if (std::string_view(use.row->unit) == "bytes") {
    return use.is_full ? "no room is left" : "there is room";
  }
  return absl::StrCat(use.refused, " ", use.row->unit, " refused so far");
}

}  // namespace actord::daemon
