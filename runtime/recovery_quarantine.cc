// Puts processes of the store into quarantine: at the start, and when a dormant
// process comes back.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/core.h"
#include "runtime/durable_turn/absent_types.h"
#include "runtime/process/errors.h"
#include "runtime/recovery.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

bool NeedsFormer(const Catalog& catalog, const ProcessEntry& entry) {
  if (entry.plugin == records::kNoPlugin || !entry.started) return false;
  const ProcessType* const type = catalog.FindProcessType(entry.process_type);
  return type != nullptr && type->plugin_number != entry.plugin;
}

FoundType FindTypeOf(const Catalog& catalog, const ProcessEntry& entry) {
  const ProcessType* const type =
      entry.started ? catalog.FindStored(entry.process_type, entry.plugin)
                    : catalog.FindProcessType(entry.process_type);
  return {type, WhyTypeDoesNotFit(type, {.process_type = entry.process_type,
                                         .method = entry.method,
                                         .started = entry.started,
                                         .durability = entry.durability})};
}

void Runtime::Core::UsePlugin(const ProcessEntry& entry) {
  if (entry.plugin == records::kNoPlugin || !entry.started) return;
  plugins_of_store.insert(entry.plugin);
  if (!options.load_former || !NeedsFormer(catalog, entry) ||
      !asked_plugins_.insert(entry.plugin).second) {
    return;
  }
  options.load_former(entry.plugin);
}

Runtime::Core::StoredType Runtime::Core::TypeOf(const StoredProcess& stored) {
  const ProcessEntry& entry = stored.entry;
  FoundType found = FindTypeOf(catalog, entry);
  if (found.fits.ok()) return {*found.type, std::move(found.fits)};
  if (found.type == nullptr) {
    found.fits = NoSuchType(entry.process_type,
                            options.store->TextOfPlugin(entry.plugin));
  }
  return {absent_types.For(entry.process_type, entry.method,
                           entry.runtime.traps_exits),
          std::move(found.fits)};
}

void Runtime::Core::EnterQuarantine(Process& process,
                                    const StoredProcess& stored,
                                    const absl::Status& why) {
  EnterQuarantine(process, {.pid = stored.pid,
                            .process_type = stored.entry.process_type,
                            .owner = stored.entry.runtime.owner,
                            .cause = QuarantineCause::kNoType,
                            .why = std::string(why.message()),
                            .since_unix_ns = clock.UnixNs(),
                            .plugin = {},
                            .version = {},
                            .signal = {},
                            .crashes = 0,
                            .sequence = 0});
}

void Runtime::Core::EnterQuarantine(Process& process, QuarantineEntry entry) {
  ACTORD_ASSERT((process.activity.load() & Activity::kEnded) != 0,
                "core.h: the process is not live yet");
  HeldInQuarantine& held = durable->StateOf(process).quarantined.emplace();
  held.was_blocked = (process.activity.load(std::memory_order_relaxed) &
                      Activity::kBlocked) != 0;
  held.step_due = std::exchange(process.step_due, false);
  // Messages do not wake it.
  if (!held.was_blocked) {
    Activity::Add(process.activity, Activity::kBlocked);
  }
  durable->quarantine().Enter(std::move(entry));
}

void Runtime::Core::CheckPoison(Process& process, const Pid& pid,
                                const ProcessType& of) {
  // A corrected version may have come in the meantime.
  const ProcessType& type = of.newest_durable();
  const StepMarks* const marks = options.store->marks();
  const StepMarks::Suspect* const suspect =
      marks == nullptr ? nullptr : marks->Find(pid, type.code);
  if (suspect == nullptr) return;
  const std::string signal = StepMarks::SignalText(suspect->signal);
  const std::string text =
      absl::StrCat("in its step ", suspect->step, " it has ended the daemon ",
                   suspect->crashes, " times (store.max_crashes is ",
                   marks->max_crashes(), "), the last time by ", signal,
                   " in plugin ", type.plugin, " ", type.version);
  const std::string who =
      absl::StrCat("process ", FormatPid(pid), " of type ", type.name);
  const LogSubject about{.pid = pid, .type = type.name};
  if (!marks->IsPoison(*suspect)) {
    if (suspect->is_new) {
      options.log(LogLevel::kWarning, absl::StrCat(who, ": ", text), about);
    }
    return;
  }
  options.log(
      LogLevel::kError,
      absl::StrCat(who, " is in quarantine: ", text,
                   ". Its state and its mailbox are kept. Load a mended "
                   "version of the plugin, or try again with \"actorctl "
                   "quarantine retry ",
                   FormatPid(pid), "\", or terminate it"),
      about);
  EnterQuarantine(process,
                  {.pid = pid,
                   .process_type = type.name,
                   .owner = process.owner.load(std::memory_order_relaxed),
                   .cause = QuarantineCause::kCrashed,
                   .why = text,
                   .since_unix_ns = clock.UnixNs(),
                   .plugin = type.plugin,
                   .version = type.version,
                   .signal = signal,
                   .crashes = suspect->crashes,
                   .sequence = 0});
}

absl::Status Runtime::Core::NotRestored(const Pid& pid) const {
  absl::Status quarantined = durable->quarantine().Refusal(pid);
  if (!quarantined.ok()) return quarantined;
  return Retryable(absl::StatusCode::kUnavailable, reason::kNotRestored,
                   absl::StrCat("process ", FormatPid(pid),
                                " has not run since the start of the daemon"),
                   absl::Milliseconds(100));
}

}  // namespace actord::runtime
