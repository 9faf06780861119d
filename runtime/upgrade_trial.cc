#include "runtime/upgrade_trial.h"

#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/core.h"
#include "runtime/crash/running_code.h"
#include "runtime/durable_turn/durable_upgrade.h"
#include "runtime/process/upgrading.h"
#include "runtime/recovery.h"
#include "runtime/step/live_world.h"
#include "runtime/system/assert.h"
#include "runtime/system/clock.h"

namespace actord::runtime {
namespace {

using Kind = TrialResult::Kind;

RuntimeOptions OptionsOfTrial(const UpgradeTrial::Options& given) {
  RuntimeOptions options;
  options.workers = 1;
  options.max_blocked_threads = 0;
  options.incarnation = given.incarnation + 1;
  options.seed = 1;
  options.clock = &Clock::System();
  options.max_payload_bytes = given.max_payload_bytes;
  // The result of the trial has the reasons.
  options.log = [](LogLevel, std::string_view) {};
  return options;
}

TrialResult Quarantined(Kind kind, std::string why, uint64_t step = 0) {
  return {kind, TrialResult::Then::kQuarantine, step, std::move(why)};
}
TrialResult Keeps(Kind kind, std::string why) {
  return {kind, TrialResult::Then::kOldVersion, 0, std::move(why)};
}

}  // namespace

class UpgradeTrial::Parts {
 public:
  Parts(const Catalog& catalog, Options options)
      : options_(std::move(options)),
        catalog_(catalog),
        time_(options_.store_ns),
        homes_(options_.incarnation + 1),
        core_(OptionsOfTrial(options_), catalog),
        lane_(core_.buffers, Lane::Use::kOneThread),
        world_(catalog, core_.processes, &homes_, core_.names, core_.ties,
               core_.step_secret, core_.limits, core_.clock, lane_),
        inbox_(core_.processes, core_.broker, core_.ties, core_.undelivered,
               traces_, lane_),
        caller_(world_, core_.processes, core_.calls, nullptr, no_workers_,
                core_.options.log, core_.limits, &traces_,
                /*recordings=*/nullptr, lane_),
        upgrader_(inbox_, caller_, core_.broker, core_.options.log, lane_),
        images_(caller_, lane_),
        replay_(core_.processes, core_.calls, no_workers_, core_.options.log,
                core_.limits, images_, lane_),
        upgrade_(caller_, upgrader_, images_, replay_) {
    core_.processes.SetHomes(homes_);
    world_.TakeMonotonicTimeFrom(&time_);
  }

  absl::StatusOr<TrialResult> Run(StoredProcess&& stored);

 private:
  class StoppedTime final : public LastingTime {
   public:
    explicit StoppedTime(uint64_t store_ns) : store_ns_(store_ns) {}
    [[nodiscard]] uint64_t NowNs() const override { return store_ns_; }

   private:
    const uint64_t store_ns_;
  };

  // The thread holds no worker, so it can give none away.
  class NoWorkers final : public BlockingCalls {
   public:
    bool GiveAway(Hold& /*hold*/) override { return false; }
  };

  // DATA_LOSS: the store is damaged.
  absl::StatusOr<Process*> Bring(const StoredProcess& stored,
                                 const ProcessType& type);
  // Removes all traces of the process.
  void Forget(Process& process);
  TrialResult Try(Process& process, DurableState& state);
  // The result for a process that has its state and is not asked to upgrade.
  [[nodiscard]] TrialResult WithoutUpgrade(const Process& process,
                                           const DurableState& state) const;
  TrialResult ResultOf(const Process& process,
                       DurableUpgrade::Outcome&& outcome) const;
  [[nodiscard]] static std::string WhyDeclined(const Process& process);

  const Options options_;
  const Catalog& catalog_;
  const StoppedTime time_;
  NoWorkers no_workers_;
  Homes homes_;
  Runtime::Core core_;
  Lane lane_;
  LiveWorld world_;
  TurnTraces traces_;
  Inbox inbox_;
  StepCaller caller_;
  Upgrader upgrader_;
  StateImages images_;
  HistoryReplay replay_;
  DurableUpgrade upgrade_;
  absl::flat_hash_set<records::PluginNumber> asked_;
};

absl::StatusOr<Process*> UpgradeTrial::Parts::Bring(const StoredProcess& stored,
                                                    const ProcessType& type) {
  const records::RuntimeImage& image = stored.entry.runtime;
  if (!homes_.Keep(stored.pid)) {
    return absl::DataLossError(absl::StrCat("the store is damaged: process ",
                                            FormatPid(stored.pid),
                                            " has a PID of no earlier start"));
  }
  auto no_room = ProcessTable::NoRoom::kInTable;
  Process* const process = core_.processes.Reserve(
      lane_.processes(), &type,
      static_cast<uint16_t>(type.FindMethod(stored.entry.method)),
      image.priority, image.owner, image.parent, image.started_unix_ns,
      no_room);
  ACTORD_ASSERT(process != nullptr,
                "upgrade_trial.cc: one process at a time has room");
  core_.processes.Enter(*process, stored.pid);
  return process;
}

void UpgradeTrial::Parts::Forget(Process& process) {
  if (process.state != nullptr) {
    caller_.Close(process, *process.type.load(std::memory_order_relaxed),
                  std::exchange(process.state, nullptr));
  }
  if (process.input != nullptr) {
    lane_.Free(std::exchange(process.input, nullptr));
  }
  while (Envelope* event = process.urgent_taken.PopFront()) lane_.Free(event);
  process.TakeMessages([&](Envelope* message) {
    lane_.Free(message);
    return true;
  });
  Upgrading::Forget(process);
  process.replies = 0;
  process.step_due = process.init_due = false;
  process.completion_units.store(0, std::memory_order_relaxed);
  process.activity.store(Activity::kEnded, std::memory_order_relaxed);
  core_.processes.Unreserve(lane_.processes(), process);
}

std::string UpgradeTrial::Parts::WhyDeclined(const Process& process) {
  if (process.cancel_requested.load(std::memory_order_relaxed)) {
    return "it was cancelled, so it is about to end";
  }
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  const uint16_t method = process.method.load(std::memory_order_relaxed);
  return absl::StrCat("the new version has no method ",
                      type.descriptor->methods[method].name);
}

TrialResult UpgradeTrial::Parts::WithoutUpgrade(
    const Process& process, const DurableState& state) const {
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  const Upgrading* const upgrading = process.upgrading;
  if (upgrading != nullptr && upgrading->declined != nullptr) {
    return Keeps(Kind::kStays, WhyDeclined(process));
  }
  if (upgrading != nullptr && upgrading->put_off != nullptr) {
    return Keeps(Kind::kStays,
                 "it was asked to end; it is asked again after its next step");
  }
  const ProcessType& now = *catalog_.FindProcessType(type.name);
  if (&type != &now) {
    return Keeps(Kind::kStays, std::string(WhyNoUpgrade(type, now)));
  }
  if (type.plugin_number == state.plugin) {
    return Keeps(Kind::kStays, "it is of this version already");
  }
  return {};
}

TrialResult UpgradeTrial::Parts::ResultOf(
    const Process& process, DurableUpgrade::Outcome&& outcome) const {
  switch (outcome.verdict) {
    case DurableUpgrade::Verdict::kUpgraded:
      return {};
    case DurableUpgrade::Verdict::kPutOff:
      return Keeps(Kind::kStays,
                   "Snapshot says not now; it is asked again after each step");
    case DurableUpgrade::Verdict::kDeclined:
      return Keeps(Kind::kStays, WhyDeclined(process));
    case DurableUpgrade::Verdict::kSnapshotRefused:
    case DurableUpgrade::Verdict::kRestoreRefused:
    case DurableUpgrade::Verdict::kNotNoted:
      break;
  }
  return Keeps(Kind::kFails, std::move(outcome.why));
}

TrialResult UpgradeTrial::Parts::Try(Process& process, DurableState& state) {
  const Turn turn{
      .word = process.activity.load(std::memory_order_relaxed),
      .generation = process.generation.load(std::memory_order_relaxed)};
  const absl::Status restored = upgrade_.Restore(process, turn, state);
  if (!restored.ok()) {
    std::string why(restored.message());
    const std::optional<uint64_t> step = replay_.differs_at();
    const bool is_replayed =
        process.type.load(std::memory_order_relaxed)->is_replayed();
    return is_replayed && step
               ? Quarantined(Kind::kDiverges, std::move(why), *step)
               : Quarantined(Kind::kFails, std::move(why));
  }
  const ProcessType* const newer = DurableUpgrade::DueVersion(process);
  if (newer == nullptr) return WithoutUpgrade(process, state);
  YieldTags outstanding = state.YieldsOfImage();
  AddCompletedYields(process, outstanding);
  return ResultOf(
      process,
      upgrade_.Upgrade(process, turn, *newer, std::move(outstanding),
                       [&](std::string&& image) {
                         if (image.size() <= options_.max_record_bytes) {
                           return absl::OkStatus();
                         }
                         return absl::ResourceExhaustedError(absl::StrCat(
                             "an image of ", image.size(),
                             " bytes does not fit into a record of ",
                             options_.max_record_bytes, " bytes"));
                       }));
}

absl::StatusOr<TrialResult> UpgradeTrial::Parts::Run(StoredProcess&& stored) {
  const ProcessEntry& entry = stored.entry;
  // A signal handler reads this scope. `options_.load_former` has its own one.
  const LaneScope scope(lane_, core_.processes);
  if (options_.load_former && NeedsFormer(catalog_, entry) &&
      asked_.insert(entry.plugin).second) {
    options_.load_former(entry.plugin);
  }
  const FoundType found = FindTypeOf(catalog_, entry);
  if (!found.fits.ok()) {
    return Quarantined(Kind::kFails, std::string(found.fits.message()));
  }
  // Such a process calls Init in the version in force.
  if (!entry.started) return TrialResult{};
  const absl::StatusOr<Process*> process = Bring(stored, *found.type);
  if (!process.ok()) return process.status();
  const absl::Cleanup forget = [&] { Forget(**process); };
  DurableState state;
  absl::Status status = FillProcess(**process, stored, state, lane_);
  if (!status.ok()) return status;
  FillMailbox(**process, stored, core_.processes.mailbox_bytes_of(), lane_);
  return Try(**process, state);
}

UpgradeTrial::UpgradeTrial(const Catalog& catalog, Options options)
    : parts_(std::make_unique<Parts>(catalog, std::move(options))) {}
UpgradeTrial::~UpgradeTrial() = default;

absl::StatusOr<TrialResult> UpgradeTrial::Run(StoredProcess&& stored) {
  return parts_->Run(std::move(stored));
}

}  // namespace actord::runtime
