#include "daemon/plugins/plugin_load_threads.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

// Pause between two pieces of a walk that makes processes ready, so that other
// ready processes are not delayed for long.
constexpr auto kBetweenPieces = std::chrono::milliseconds(1);

// Calls back exactly once: with a result or, if it is destroyed first, with an
// error.
template <typename Done>
class PendingAnswer {
 public:
  explicit PendingAnswer(Done done) : done_(std::move(done)) {}
  PendingAnswer(PendingAnswer&& other) noexcept
      : done_(std::exchange(other.done_, {})) {}
  PendingAnswer& operator=(PendingAnswer&&) = delete;
  ~PendingAnswer() {
    if (!done_) return;
    std::move(done_)(runtime::Retryable(
        absl::StatusCode::kUnavailable, runtime::reason::kPluginLoaderBusy,
        absl::StrCat("the daemon is ending, the system has no thread left, or ",
                     PluginLoadThreads::kMaxWaiting,
                     " plugins wait to be loaded already"),
        absl::Seconds(1)));
  }

  template <typename Result>
  void Give(Result result) {
    std::exchange(done_, {})(std::move(result));
  }

 private:
  Done done_;
};

}  // namespace

void PluginLoadThreads::Load(std::string path, bool new_processes_only,
                             LoadDone done) {
  // A task that is not enqueued is destroyed, which answers the call.
  loads_.Post([this, path = std::move(path), new_processes_only,
               answer = PendingAnswer(std::move(done))]() mutable {
    answer.Give(LoadNow(path, new_processes_only));
  });
}

absl::StatusOr<PluginLoadThreads::Loaded> PluginLoadThreads::LoadNow(
    const std::string& path, bool new_processes_only) {
  if (runtime_.Stats().state != runtime::RunState::kServing) {
    return runtime::Retryable(
        absl::StatusCode::kUnavailable, runtime::reason::kDraining,
        "the daemon is shutting down and loads no plugins", absl::Seconds(1));
  }
  auto loaded = plugins_.LoadVersion(path, new_processes_only);
  if (!loaded.ok()) {
    logger_.Warning(
        absl::StrCat("plugin not loaded: ", loaded.status().message()));
    return loaded.status();
  }
  const PluginInfo& plugin = loaded->plugin;
  logger_.Info(absl::StrCat(
      "plugin ", plugin.name, " ", plugin.version, " loaded from ", plugin.path,
      ", SHA-256 ", plugin.digest,
      loaded->replaced_version.empty()
          ? std::string()
          : absl::StrCat(", in place of ", loaded->replaced_version)));
  Loaded result;
  result.plugin = *std::move(loaded);
  plugins_.LoadKeptOf(
      result.plugin.plugin.name, runtime_.PluginsOfStore(),
      [this](const absl::StatusOr<PluginInfo>& former) {
        if (former.ok()) {
          logger_.Info(LoadedPlugins::TextOfKept(*former));
        } else {
          logger_.Warning(std::string(former.status().message()));
        }
      });
  if (!new_processes_only) result.told = TellProcesses(result.plugin);
  RetryQuarantine(result.plugin);
  return result;
}

namespace {

// Counts the results of retrying the processes of one type in quarantine, and
// logs them after the last one.
class TriesOfType {
 public:
  TriesOfType(Logger& logger, std::string type)
      : logger_(logger), type_(type) {}
  // Logs, because nobody who could add a result holds the object any more.
  ~TriesOfType() {
    if (left_ == 0 && stay_ == 0) return;
    const std::string text = absl::StrCat(
        left_, " processes of type ", type_, " have left the quarantine",
        stay_ == 0 ? std::string()
                   : absl::StrCat(", and ", stay_,
                                  " stay, the first because: ", why_));
    stay_ == 0 ? logger_.Info(text) : logger_.Warning(text);
  }
  TriesOfType(const TriesOfType&) = delete;
  TriesOfType& operator=(const TriesOfType&) = delete;

  void Tried(const absl::Status& status) {
    const absl::MutexLock lock(&mutex_);
    if (status.ok()) {
      ++left_;
    } else if (stay_++ == 0) {
      why_ = std::string(status.message());
    }
  }

 private:
  Logger& logger_;
  const std::string type_;
  absl::Mutex mutex_;
  uint64_t left_ = 0;
  uint64_t stay_ = 0;
  std::string why_;
};

}  // namespace

void PluginLoadThreads::RetryQuarantine(const LoadedPlugins::Loaded& loaded) {
  constexpr size_t kAtOnce = 1000;
  for (const runtime::ProcessType* type : loaded.process_types) {
    const auto tries = std::make_shared<TriesOfType>(logger_, type->name);
    const runtime::QuarantineFilter filter{.process_type = type->name,
                                           .by = runtime::Owner::kAny};
    uint64_t next = 0;
    do {
      const runtime::QuarantinePage page =
          runtime_.ListQuarantine(filter, next, kAtOnce);
      for (const runtime::QuarantineEntry& entry : page.entries) {
        runtime_.RetryQuarantine(
            entry.pid,
            [tries](const absl::Status& status) { tries->Tried(status); });
      }
      next = page.next_sequence;
      if (!page.entries.empty()) std::this_thread::sleep_for(kBetweenPieces);
    } while (next != 0 && !stopping_.load(std::memory_order_relaxed));
  }
}

uint64_t PluginLoadThreads::TellProcesses(const LoadedPlugins::Loaded& loaded) {
  const absl::flat_hash_set<const runtime::ProcessType*> versions(
      loaded.process_types.begin(), loaded.process_types.end());
  uint64_t told = 0;
  uint32_t next = 0;
  do {
    const auto piece = runtime_.TellOfUpgrade(versions, next);
    told += piece.told;
    next = piece.next_slot;
    if (piece.told != 0) std::this_thread::sleep_for(kBetweenPieces);
  } while (next != 0 && !stopping_.load(std::memory_order_relaxed));
  return told;
}

void PluginLoadThreads::List(std::string name, ListDone done) {
  lists_.Post([this, name = std::move(name),
               answer = PendingAnswer(std::move(done))]() mutable {
    answer.Give(ListNow(name));
  });
}

std::vector<PluginLoadThreads::Version> PluginLoadThreads::ListNow(
    const std::string& name) const {
  absl::flat_hash_map<const runtime::ProcessType*,
                      runtime::Runtime::VersionCount>
      counts;
  uint32_t next = 0;
  do {
    next = runtime_.CountVersions(next, counts);
  } while (next != 0);
  std::vector<Version> versions;
  for (LoadedPlugins::Version& version : plugins_.Versions()) {
    if (!name.empty() && version.plugin.name != name) continue;
    Version& listed = versions.emplace_back();
    listed.plugin = std::move(version.plugin);
    listed.in_force = version.in_force;
    for (const runtime::ProcessType* type : version.process_types) {
      // Read after the walk, so it is a moment newer than the walk's counts: a
      // counted process may have declined or ended since. Acquire: pairs with
      // the turn that declined, for the counts that it wrote before.
      const uint64_t declined =
          type->declined_live.load(std::memory_order_acquire);
      const auto& [live, to_come] = counts[type];
      listed.process_types.push_back(
          {type, live, to_come - std::min(to_come, declined)});
    }
    std::sort(listed.process_types.begin(), listed.process_types.end(),
              [](const TypeVersion& a, const TypeVersion& b) {
                return a.type->name < b.type->name;
              });
  }
  return versions;
}

bool PluginLoadThreads::Stop(absl::Duration timeout) {
  stopping_.store(true, std::memory_order_relaxed);
  const auto timeout_ns = timeout == absl::InfiniteDuration()
                              ? UINT64_MAX
                              : static_cast<uint64_t>(std::max<int64_t>(
                                    0, absl::ToInt64Nanoseconds(timeout)));
  // A list takes as long as a walk over all processes.
  lists_.Stop(UINT64_MAX);
  return loads_.Stop(timeout_ns) == 0;
}

}  // namespace actord::daemon
