#include "handlers/builtin_handlers.h"

#include <actord/plugin.h>

#include <utility>

#include "handlers/commands/allowed_directories.h"
#include "handlers/commands/file_read.h"
#include "handlers/commands/groups.h"
#include "handlers/commands/log_write.h"
#include "handlers/commands/names.h"
#include "handlers/commands/process_end.h"
#include "handlers/commands/process_send.h"
#include "handlers/commands/process_spawn.h"
#include "handlers/commands/timer_sleep.h"
#include "handlers/schedule/schedule.h"
#include "handlers/supervisor/supervisor.h"

namespace actord::handlers {
namespace {

template <typename T, typename... Arguments>
void Add(HandlerSet& handlers, const actord_host* host,
         Arguments&&... arguments) {
  handlers.Add(
      &kCommandHandler<T>,
      HandlerThunks<T>::Make(host, std::forward<Arguments>(arguments)...));
}

}  // namespace

absl::StatusOr<HandlerSet> CreateBuiltinHandlers(const BuiltinOptions& options,
                                                 const actord_host* host) {
  absl::StatusOr<AllowedDirectories> directories =
      AllowedDirectories::Open(options.file_read_directories);
  if (!directories.ok()) {
    return absl::Status(
        directories.status().code(),
        "file.read: " + std::string(directories.status().message()));
  }
  HandlerSet handlers(host);
  Add<TimerSleep>(handlers, host);
  Add<ProcessSpawn>(handlers, host);
  Add<ProcessSend>(handlers, host, Host(host));
  Add<ProcessCancel>(handlers, host, Host(host));
  Add<ProcessTerminate>(handlers, host, Host(host));
  Add<NameRegister>(handlers, host, Host(host));
  Add<NameRelease>(handlers, host, Host(host));
  Add<NameLookup>(handlers, host, Host(host));
  Add<GroupJoin>(handlers, host, Host(host));
  Add<GroupLeave>(handlers, host, Host(host));
  Add<GroupMembers>(handlers, host, Host(host));
  Add<GroupSend>(handlers, host, Host(host));
  Add<LogWrite>(handlers, host, Host(host), options.name_of);
  Add<FileRead>(handlers, host, *std::move(directories),
                options.file_read_max_bytes);
  return handlers;
}

std::optional<uint64_t> TimerDelayNs(std::string_view command,
                                     std::string_view payload) {
  if (command != TimerSleep::kCommand) return std::nullopt;
  Status status;
  const std::optional<Duration> duration =
      TimerSleep::DurationOf({payload, {}}, status);
  if (!duration) return std::nullopt;
  return static_cast<uint64_t>(duration->count());
}

std::vector<const actord_process_type*> BuiltinProcessTypes() {
  return {&kProcessType<Schedule>, &kProcessType<Supervisor>};
}

}  // namespace actord::handlers
