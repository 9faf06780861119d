#include "tests/sim/store/store_life.h"

#include <span>
#include <utility>

#include "handlers/builtin_handlers.h"
#include "tests/sim/store/scribe.h"
#include "tests/sim/store/scribe_versions.h"

namespace actord::sim {

using actord::testing::Call;
using actord::testing::ScriptHandler;
using runtime::OpenedStore;
using runtime::StateStore;

namespace {

// The state store outlives the program, as a directory does. A program that has
// ended writes nothing to it.
class Forwarding final : public StateStore {
 public:
  Forwarding(StateStore& to, const Outside& outside)
      : to_(to), outside_(outside) {}
  absl::StatusOr<std::optional<std::string>> Get(
      std::string_view key) override {
    return to_.Get(key);
  }
  absl::Status Write(std::span<const runtime::StateWrite> writes) override {
    return outside_.IsDead() ? Ended() : to_.Write(writes);
  }
  absl::Status Flush() override {
    return outside_.IsDead() ? Ended() : to_.Flush();
  }
  // As of one moment, though others may write while `use` runs.
  absl::Status Scan(std::string_view first, std::string_view last,
                    Use use) override {
    std::vector<std::pair<std::string, std::string>> found;
    absl::Status status = to_.Scan(
        first, last, [&](std::string_view key, std::string_view value) {
          found.emplace_back(key, value);
          return true;
        });
    for (const auto& [key, value] : found) {
      if (!use(key, value)) break;
    }
    return status;
  }

 private:
  static absl::Status Ended() {
    return absl::AbortedError("the program has ended");
  }
  StateStore& to_;
  const Outside& outside_;
};

}  // namespace

class StoreLife::Builtin {
 public:
  explicit Builtin(handlers::HandlerSet made) : set(std::move(made)) {}
  handlers::HandlerSet set;
};

StoreLife::StoreLife(Outside& outside, runtime::MemoryStateStore& state,
                     const StoreStyle& style)
    : outside_(outside), state_(state), style_(style) {}

StoreLife::~StoreLife() { EndRuntime(); }

std::optional<runtime::Pid> StoreLife::FindLateTimer() {
  runtime::Homes& homes = core_->durable->homes();
  for (uint32_t home = 0; home < runtime::kHomes; ++home) {
    for (uint32_t slot = 0; slot < homes.SlotsInUse(home); ++slot) {
      const auto pid = homes.PidIn(home, slot);
      if (!pid || !core_->processes.IsDormant(*pid)) continue;
      const auto stored =
          store_->ReadProcess(*pid, runtime::DurableStore::WithoutState);
      if (!stored.ok()) continue;
      const auto due_ns = core_->TimersDueNs(stored->entry.runtime);
      if (due_ns && *due_ns != 0 && *due_ns <= store_->NowNs() &&
          core_->processes.IsDormant(*pid)) {
        return pid;
      }
    }
  }
  return std::nullopt;
}

void StoreLife::EndRuntime() {
  core_ = nullptr;
  runtime_ = nullptr;
  builtin_ = nullptr;
  store_ = nullptr;
}

OpenedStore::Options StoreLife::OptionsOf(runtime::SimulatedDisk& disk,
                                          const runtime::Clock& clock,
                                          const StoreStyle& style) {
  OpenedStore::Options options;
  runtime::JournalOptions& journal = options.journal;
  journal.directory = "/srv/store";
  journal.segment_bytes = 1 << 20;
  journal.max_record_bytes = 64 << 10;
  journal.ring_bytes = 256 << 10;
  journal.max_unsynced_bytes = style.max_unsynced_bytes;
  journal.max_group_bytes = 64 << 10;
  journal.linger_ns = style.linger_ns;
  journal.lone_groups = style.lone_groups;
  journal.files = &disk;
  journal.clock = &clock;
  journal.seed = 1;
  options.round_bytes = style.round_bytes;
  options.round_ns = style.round_ns;
  options.disk_reserve_bytes = 1;
  return options;
}

absl::Status StoreLife::Open() {
  OpenedStore::Options options =
      OptionsOf(outside_.disk, outside_.schedule, style_);
  options.failed = [this](const absl::Status& status) {
    if (outside_.IsDead()) return;
    outside_.schedule.Trace("the disk has failed: %s",
                            std::string(status.message()).c_str());
    if (!outside_.disk.has_failed()) {
      outside_.Broken("the store fails by itself: " +
                      std::string(status.message()));
    }
    outside_.failed = true;
  };
  options.open_state = [this]() -> absl::StatusOr<std::unique_ptr<StateStore>> {
    return std::make_unique<Forwarding>(state_, outside_);
  };
  auto opened = OpenedStore::Open(std::move(options));
  if (!opened.ok()) return opened.status();
  store_ = *std::move(opened);
  return absl::OkStatus();
}

void StoreLife::AddEffect(std::string command, uint32_t mode) {
  handlers_.push_back(std::make_unique<ScriptHandler>(
      std::move(command), mode, [this](Call& call) -> int32_t {
        runtime::FailPoint();
        outside_.HearEffect({runtime::FromAbi(call.from()), call.tag()});
        call.Reply(ACTORD_OK, call.bytes());
        return ACTORD_HANDLED;
      }));
  if (!catalog_
           .AddCommand(handlers_.back()->descriptor(), handlers_.back().get(),
                       "sim")
           .ok()) {
    outside_.Broken("a handler is refused");
  }
}

void StoreLife::FillCatalog() {
  if (!catalog_.AddProcessType(&kProcessType<Witness>, "sim").ok()) {
    outside_.Broken("a process type is refused");
  }
  AddEffect("effect.inline", ACTORD_HANDLER_INLINE);
  AddEffect("effect.pooled", ACTORD_HANDLER_POOLED);
  auto made = handlers::CreateBuiltinHandlers({}, runtime_->host());
  if (!made.ok()) outside_.Broken("no built-in handlers");
  builtin_ = std::make_unique<Builtin>(*std::move(made));
  for (const auto& handler : builtin_->set.instances()) {
    if (!catalog_
             .AddCommand(handler.descriptor, handler.self,
                         handlers::kBuiltinPlugin)
             .ok()) {
      outside_.Broken("a built-in handler is refused");
    }
  }
}

bool StoreLife::Load() {
  const uint32_t version = outside_.newest;
  outside_.schedule.Trace("load version %u of the scribes", version);
  runtime::CatalogEntries entries = ScribesOf(version);
  if (kept_.insert(version).second) {
    const absl::Status kept = store_->KeepPlugin(
        {.number = version,
         .name = entries.plugin,
         .version = entries.version,
         .sha256 = std::string(32, static_cast<char>(version))});
    // A journal that has failed is about to end the program.
    while (absl::IsUnavailable(kept) && !outside_.IsDead()) {
      outside_.schedule.SleepFor(1'000'000, /*busy=*/false);
    }
    if (outside_.IsDead()) return false;
    if (!kept.ok()) {
      outside_.Broken("a plugin is not kept: " + std::string(kept.message()));
    }
  }
  entries.replace = entries.upgrade_processes = true;
  const auto types = catalog_.Add(entries);
  if (!types.ok()) outside_.Broken("the scribes are refused");
  added_.insert(version);
  if (!serves_) return true;
  const absl::flat_hash_set<const runtime::ProcessType*> versions(
      types->begin(), types->end());
  uint32_t next = 0;
  do {
    runtime::FailPoint();
    next = runtime_->TellOfUpgrade(versions, next).next_slot;
  } while (next != 0);
  return true;
}

void StoreLife::AddFormer(uint32_t version) {
  if (!added_.insert(version).second) return;
  outside_.schedule.Trace("processes are of version %u", version);
  if (!catalog_.AddFormer(ScribesOf(version)).ok()) {
    outside_.Broken("a former version is refused");
  }
}

void StoreLife::Upgrade() {
  if (outside_.newest == kScribeVersions || trouble_ == Trouble::kNoPlugin ||
      std::exchange(is_loading_, true)) {
    return;
  }
  // From now on the file is there, whenever the program ends.
  ++outside_.newest;
  outside_.in_force = 0;
  if (Load() && !had_refused_) outside_.in_force = outside_.newest;
  is_loading_ = false;
}

void StoreLife::Mend() {
  if (trouble_ == Trouble::kNone || std::exchange(is_loading_, true)) return;
  outside_.schedule.Trace("mend");
  if (trouble_ == Trouble::kNoPlugin) {
    for (const uint32_t version : runtime_->PluginsOfStore()) {
      if (version != outside_.newest) AddFormer(version);
    }
    if (!Load()) return;
    outside_.in_force = outside_.newest;
  }
  outside_.refuses_restores = false;
  trouble_ = Trouble::kNone;
  is_loading_ = false;
}

absl::Status StoreLife::Serve(uint64_t number, Trouble trouble) {
  runtime::RuntimeOptions options;
  options.workers = style_.workers;
  options.max_blocked_threads = style_.max_blocked_threads;
  options.blocking_threads = 1;
  options.external_commands = {"task.*"};
  options.seed = number + 1;
  options.incarnation = static_cast<uint32_t>(number + 1);
  options.max_processes = 1024;
  options.stuck_after = absl::Hours(24);
  options.durable.passivate_after = style_.passivate_after;
  options.clock = &outside_.schedule;
  options.store = store_.get();
  options.timer_delay_ns = handlers::TimerDelayNs;
  options.load_former = [this](uint32_t version) { AddFormer(version); };
  options.log = [this](runtime::LogLevel level, std::string_view text) {
    if (outside_.schedule.traces()) {
      outside_.schedule.Trace("log: %.*s", static_cast<int>(text.size()),
                              text.data());
    }
    const bool is_expected =
        outside_.has_trouble &&
        text.find("in quarantine") != std::string_view::npos;
    if (level == runtime::LogLevel::kError && !is_expected &&
        !outside_.IsDead()) {
      outside_.Broken("an error in the log: " + std::string(text));
    }
  };
  auto core = std::make_unique<runtime::Runtime::Core>(options, catalog_);
  core_ = core.get();
  runtime_ = std::make_unique<runtime::Runtime>(std::move(core));
  FillCatalog();
  trouble_ = trouble;
  had_refused_ = trouble == Trouble::kRefusesRestores;
  outside_.has_trouble = trouble != Trouble::kNone;
  outside_.refuses_restores = had_refused_;
  absl::Status status =
      store_->ForEachPlugin([this](runtime::records::Plugin&& plugin) {
        kept_.insert(plugin.number);
      });
  if (status.ok() && trouble != Trouble::kNoPlugin) {
    if (!Load()) return absl::AbortedError("the program has ended");
    if (trouble == Trouble::kNone) outside_.in_force = outside_.newest;
  }
  if (status.ok()) status = runtime_->Start();
  serves_ = status.ok();
  return status;
}

void StoreLife::StartWitness() {
  runtime::SubmitRequest request;
  request.process_type = Witness::kName;
  outside_.witness = {};
  runtime_->Submit(request, [this](const absl::StatusOr<runtime::Pid>& pid) {
    if (pid.ok()) outside_.witness = *pid;
  });
}

void StoreLife::Stop(runtime::ShutdownMode mode) {
  outside_.schedule.Trace("stop");
  const runtime::ShutdownReport report =
      runtime_->Shutdown(mode, absl::Seconds(10));
  if (report.stuck != 0 && !outside_.IsDead()) {
    outside_.Broken("a stop leaves somebody stuck");
  }
}

}  // namespace actord::sim
