// The store of the daemon, and the options of a runtime with or without it.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "daemon/daemon.h"
#include "daemon/operations/restore_store.h"
#include "handlers/builtin_handlers.h"
#include "runtime/journal/group_walk.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

namespace {

// An infinite duration is for ever.
uint64_t NanosecondsOf(absl::Duration duration) {
  return static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration));
}

runtime::OpenedStore::Options OptionsOf(const StoreSettings& settings) {
  constexpr uint64_t kMaxRecordBytes = 16 << 20;
  constexpr uint64_t kMaxGroupBytes = 1 << 20;
  // Room for records that are appended together, beside the largest records.
  constexpr uint64_t kMinRingBytes = 8 << 20;
  // A busy disk writes that much between two looks at the journal.
  constexpr uint64_t kMinUnappliedBytes = 64 << 20;
  runtime::OpenedStore::Options options;
  runtime::JournalOptions& journal = options.journal;
  journal.directory = settings.directory;
  journal.segment_bytes = settings.segment_bytes;
  journal.max_record_bytes =
      settings.max_record_bytes != 0
          ? settings.max_record_bytes
          : std::min(kMaxRecordBytes, journal.segment_bytes / 4);
  journal.max_unsynced_bytes = settings.max_unsynced_bytes;
  journal.ring_bytes = std::bit_ceil(std::max(
      kMinRingBytes,
      4 * std::max(journal.max_record_bytes, journal.max_unsynced_bytes)));
  journal.max_group_bytes = std::min(kMaxGroupBytes, journal.segment_bytes / 2);
  options.disk_reserve_bytes = settings.disk_reserve;
  options.max_crashes = settings.max_crashes;
  options.round_bytes = settings.checkpoint_bytes;
  options.max_unapplied_bytes =
      std::max(kMinUnappliedBytes, 2 * settings.checkpoint_bytes);
  options.round_ns = NanosecondsOf(settings.checkpoint_interval);
  options.applier.result_ttl_ns = NanosecondsOf(settings.result_ttl);
  options.applier.request_id_ttl_ns = NanosecondsOf(settings.request_id_ttl);
  options.applier.request_id_max = settings.request_id_max;
  return options;
}

// A refusal of a damaged store with what to do. Messages about damage of the
// journal have their remedy already.
absl::Status WithRemedy(const absl::Status& status) {
  if (!absl::IsDataLoss(status) ||
      absl::StrContains(status.message(), "; restore ")) {
    return status;
  }
  return absl::DataLossError(
      absl::StrCat(status.message(), runtime::kAdviceOnDamage));
}

}  // namespace

absl::Status Daemon::RestoreOwners() {
  std::vector<std::string> names;
  bool has_gap = false;
  absl::Status status =
      store_->ForEachOwner([&](runtime::Owner owner, std::string_view name) {
        names.emplace_back(name);
        has_gap |= static_cast<size_t>(owner) != names.size();
      });
  if (has_gap) {
    status = absl::DataLossError(absl::StrCat(
        "store.directory ", config_.store.directory,
        ": the store is damaged: the name of an owner is missing"));
  }
  if (!status.ok()) return status;
  access_->owners().Restore(
      std::move(names), [this](runtime::Owner owner, const std::string& name) {
        if (store_->KeepOwner(owner, name).ok()) return absl::OkStatus();
        return runtime::Retryable(
            absl::StatusCode::kUnavailable, runtime::reason::kStopped,
            "the store is closed, because the daemon ends", absl::Seconds(1));
      });
  return status;
}

absl::Status Daemon::OpenStore() {
  if (config_.store.directory.empty()) return absl::OkStatus();
  absl::Status usable = CheckIsNoBackup(config_.store.directory);
  if (!usable.ok()) return usable;
  runtime::OpenedStore::Options options = OptionsOf(config_.store);
  constexpr int kMaxWorkers = 256;
  options.marked_threads =
      static_cast<size_t>(kMaxWorkers + config_.runtime.max_blocked_threads +
                          config_.runtime.blocking_threads);
  options.failed = [this](const absl::Status& status) {
    // The contents of the disk are unknown. No data has left that was not
    // durable.
    logger_.Error(absl::StrCat(
        "the store has failed, so the daemon ends: ", status.message(),
        ". Everything that was acknowledged is on the disk. Check the disk and "
        "its free space, and start the daemon again"));
    Exit(kExitStorageFailed);
  };
  auto store = runtime::OpenedStore::Open(std::move(options));
  if (!store.ok()) {
    return WithRemedy(
        absl::Status(store.status().code(),
                     absl::StrCat("store.directory ", config_.store.directory,
                                  ": ", store.status().message())));
  }
  store_ = *std::move(store);
  const runtime::RecoveryReport& report = store_->journal().report();
  logger_.Info(report.is_new
                   ? absl::StrCat("created the store in \"",
                                  config_.store.directory, "\"")
                   : absl::StrCat("opened the store in \"",
                                  config_.store.directory, "\", incarnation ",
                                  report.incarnation));
  if (!report.cut.empty()) logger_.Warning(absl::StrCat("store: ", report.cut));
  if (!report.repaired.empty()) {
    logger_.Warning(absl::StrCat("store: ", report.repaired, " was repaired"));
  }
  auto kept = KeptPlugins::Open(*store_, config_.store.directory);
  if (!kept.ok()) {
    return WithRemedy(
        absl::Status(kept.status().code(),
                     absl::StrCat("store.directory ", config_.store.directory,
                                  ": ", kept.status().message())));
  }
  kept_plugins_ = *std::move(kept);
  return WithRemedy(access_ == nullptr ? WarnOfOwners() : RestoreOwners());
}

absl::Status Daemon::WarnOfOwners() {
  size_t owners = 0;
  const absl::Status status = store_->ForEachOwner(
      [&owners](runtime::Owner, std::string_view) { ++owners; });
  if (owners > 0) {
    logger_.Warning(absl::StrCat(
        "the store has the processes and names of ", owners,
        owners == 1 ? " owner" : " owners",
        ", and auth.tokens is not set: no call reaches their names, such as "
        "@jobs, and a call that starts @jobs starts another process. Set "
        "auth.tokens; with auth.mode = \"off\" everybody may reach them as "
        "@jobs@OWNER"));
  }
  return status;
}

absl::Status Daemon::StartProcesses() {
  absl::Status status = WithRemedy(runtime_->Start());
  if (!status.ok() || kept_plugins_ == nullptr) return status;
  kept_plugins_->RemoveUnused(runtime_->PluginsOfStore(),
                              config_.store.keep_plugins, logger_);
  return status;
}

void Daemon::LoadFormer(runtime::records::PluginNumber number) {
  const absl::StatusOr<PluginInfo> former = plugins_.LoadKept(number);
  if (former.ok()) return logger_.Info(LoadedPlugins::TextOfKept(*former));
  logger_.Warning(absl::StrCat(
      former.status().message(),
      ". Its processes go on with the version in force, if that can restore "
      "them"));
}

absl::Status Daemon::StartStoreReaders() {
  if (store_ == nullptr) return absl::OkStatus();
  backups_ = std::make_unique<BackupThread>(*store_);
  histories_ = std::make_unique<HistoryThread>(
      *store_, absl::ToInt64Nanoseconds(config_.store.history_retention));
  return histories_->Start();
}

absl::Status Daemon::StartStoreWatch() {
  if (store_ == nullptr) return absl::OkStatus();
  store_watch_ = std::make_unique<StoreWatch>(
      StoreWatch::PartsOf(
          *store_, [this](bool serving) { server_->SetServing(serving); }),
      logger_);
  return store_watch_->Start();
}

runtime::RuntimeOptions Daemon::OptionsOfRuntime() {
  runtime::RuntimeOptions options = config_.runtime;
  if (store_ != nullptr) {
    options.store = store_.get();
    options.load_former = [this](runtime::records::PluginNumber number) {
      LoadFormer(number);
    };
    options.timer_delay_ns = handlers::TimerDelayNs;
    // States keep PIDs, so no two starts may have the same PIDs.
    options.incarnation =
        static_cast<uint32_t>(store_->journal().report().incarnation);
  }
  options.request_ids = {.ttl_ns = NanosecondsOf(config_.request_id_ttl),
                         .max = config_.request_id_max};
  options.spans = spans_.get();
  options.counts_owners = !config_.auth_tokens.empty();
  options.counts_mailboxes = access_ != nullptr && access_->LimitsMailboxes();
  // Only the page of metrics shows them.
  options.samples_turns = !config_.admin_listen.empty();
  options.stuck_after = config_.force_timeout;
  options.log = [this](runtime::LogLevel level, std::string_view message,
                       const runtime::LogSubject& about) {
    const std::string pid =
        about.pid.empty() ? std::string() : runtime::FormatPid(about.pid);
    logger_.Log(level, message,
                {.pid = pid, .type = about.type, .name = about.name});
  };
  options.has_level = [this](runtime::LogLevel level) {
    return level >= logger_.level();
  };
  options.failed = [this](const runtime::ProcessFailure& failure,
                          const runtime::StepLines& lines) {
    failure_lines_.Add(failure, lines);
  };
  return options;
}

}  // namespace actord::daemon
