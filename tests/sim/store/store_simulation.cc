#include "tests/sim/store/store_simulation.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/memory/buffer_pool.h"
#include "runtime/process/errors.h"
#include "tests/sim/store/journal_replay.h"
#include "tests/sim/store/rest.h"
#include "tests/sim/store/scribe.h"
#include "tests/sim/store/scribe_versions.h"
#include "tests/sim/store/store_client.h"
#include "tests/sim/store/store_life.h"
#include "tests/sim/store/store_operator.h"

namespace actord::sim {
namespace {

using runtime::Pid;
using runtime::Random;
using runtime::SimulatedDisk;

// No round ends before the journal has as many bytes.
constexpr uint64_t kNoRound = 256 << 20;

uint64_t DrawOneOf(Random& random, std::initializer_list<uint64_t> values) {
  return values.begin()[(random.Next() >> 16) % values.size()];
}

Schedule::Style DrawScheduleStyle(Random& random) {
  Schedule::Style style;
  style.switches = static_cast<uint32_t>(DrawOneOf(random, {1, 2, 8, 32, 256}));
  style.stalls = static_cast<uint32_t>(DrawOneOf(random, {0, 4, 32, 256}));
  style.stall_most = static_cast<uint32_t>(DrawOneOf(random, {16, 128, 1024}));
  style.spurious = static_cast<uint32_t>(DrawOneOf(random, {0, 64, 1024}));
  style.jumps = static_cast<uint32_t>(DrawOneOf(random, {0, 512, 4096}));
  style.creep_ns = DrawOneOf(random, {100, 2'000, 50'000});
  style.long_stalls = static_cast<uint32_t>(DrawOneOf(random, {0, 2, 4}));
  return style;
}

StoreStyle DrawStoreStyle(Random& random) {
  StoreStyle style;
  style.workers = static_cast<int>(DrawOneOf(random, {1, 1, 2, 3}));
  style.max_blocked_threads = static_cast<int>(DrawOneOf(random, {0, 1}));
  style.round_bytes = DrawOneOf(random, {4 << 10, 32 << 10, kNoRound});
  style.round_ns = style.round_bytes == kNoRound
                       ? UINT64_MAX
                       : DrawOneOf(random, {100'000'000, 60'000'000'000});
  style.max_unsynced_bytes = DrawOneOf(random, {8 << 10, 64 << 10, 256 << 10});
  style.linger_ns = DrawOneOf(random, {0, 2'000'000, 2'000'000});
  style.lone_groups =
      static_cast<uint32_t>(DrawOneOf(random, {0, 0, 1, UINT32_MAX}));
  const uint64_t passivate_ms = DrawOneOf(random, {0, 2, 2, 20});
  if (passivate_ms != 0) {
    style.passivate_after =
        absl::Milliseconds(static_cast<int64_t>(passivate_ms));
  }
  return style;
}

class StoreRun {
 public:
  StoreRun(Schedule& schedule, uint64_t seed)
      : schedule_(schedule),
        random_(seed ^ 0x73746f7265),
        style_(DrawScheduleStyle(random_)),
        store_style_(DrawStoreStyle(random_)),
        disk_(random_.Next() | 1),
        outside_(schedule, disk_, random_.Next() | 1) {}

  StoreSummary Run(uint64_t seed) {
    schedule_.when_quiet = [](uint64_t) {};
    Witness::outside = &outside_;
    schedule_.Run(seed, style_, [this] { Main(); });
    Witness::outside = nullptr;
    summary_.fingerprint = schedule_.fingerprint();
    summary_.choices = schedule_.choices();
    return summary_;
  }

 private:
  enum class End { kCrashAtCall, kKill, kDiskFailure, kStop, kLast };

  void Main();
  // True: the program was stopped, and has not ended by itself.
  bool Live(uint64_t number, End end);
  // What is wrong in a life. Sometimes it begins with a newer plugin.
  Trouble DrawTrouble();
  void Serve(StoreLife& life, End end);
  // Brings the end about from another thread.
  void ArrangeEnd(End end);
  void Reap(End end);
  void Reboot(End end);
  // A byte of the journal changes while no program runs. Precondition: the
  // program was stopped, so all records are sealed.
  void TryRot();
  // Waits until no dormant process has a timer that is due.
  void AwaitTimers(StoreLife& life);
  // Waits until nothing is under way, and checks what everybody tells.
  void Settle(StoreLife& life);
  // A program that has ended has freed all of its buffers, also if it crashed.
  void CheckBuffers(int64_t before);
  void CheckStore(StoreLife& life);
  uint64_t Draw(uint64_t below) { return (random_.Next() >> 16) % below; }

  Schedule& schedule_;
  Random random_;
  const Schedule::Style style_;
  const StoreStyle store_style_;
  SimulatedDisk disk_;
  runtime::MemoryStateStore state_;
  Outside outside_;
  StoreSummary summary_;
  // The threads of this life but for those of the program.
  std::vector<uint64_t> threads_;
  bool stops_ = false;
};

void StoreRun::ArrangeEnd(End end) {
  stops_ = false;
  if (end == End::kCrashAtCall) {
    disk_.CrashAt(disk_.calls() +
                  Draw(DrawOneOf(random_, {30, 60, 100, 200, 600})));
  }
  if (end == End::kDiskFailure) {
    disk_.set_failed_sync(Draw(2) == 0
                              ? SimulatedDisk::FailedSync::kDropsPages
                              : SimulatedDisk::FailedSync::kKeepsPages);
  }
}

void StoreRun::Reap(End end) {
  schedule_.SleepFor(Draw(DrawOneOf(random_, {100'000, 3'000'000, 30'000'000})),
                     /*busy=*/false);
  if (stops_ || outside_.IsDead()) return;
  if (end == End::kKill) {
    schedule_.Trace("kill");
    disk_.CrashNow();
  } else {
    schedule_.Trace("the next call of the disk fails");
    disk_.FailNext(
        Draw(3) == 0 ? SimulatedDisk::Call::kWrite : SimulatedDisk::Call::kSync,
        "/journal/", EIO);
  }
}

void StoreRun::Reboot(End end) {
  ++summary_.lives;
  if (disk_.has_failed()) ++summary_.disk_failures;
  const bool keep_cache = Draw(2) == 0;
  const uint64_t tear = Draw(2) == 0 ? SimulatedDisk::kSectorBytes : 4096;
  schedule_.Trace("reboot after end %d; the page cache is %s",
                  static_cast<int>(end), keep_cache ? "kept" : "lost");
  disk_.Restart(keep_cache, tear);
  state_.Crash(Draw(state_.unflushed() + 1));
  outside_.failed = false;
  // Long enough for timers to become due meanwhile.
  schedule_.SleepFor(Draw(DrawOneOf(random_, {10'000, 5'000'000, 100'000'000})),
                     false);
}

void StoreRun::TryRot() {
  std::vector<std::string> segments;
  for (const std::string& path : disk_.Files()) {
    if (path.find("/journal/") != std::string::npos) segments.push_back(path);
  }
  if (segments.empty()) return;
  const std::string& path = segments[Draw(segments.size())];
  const std::string contents = disk_.Contents(path);
  const size_t used = contents.find_last_not_of('\0') + 1;
  if (used == 0) return;
  const uint64_t offset = Draw(used);
  const auto mask = static_cast<unsigned char>(1 + Draw(255));
  schedule_.Trace("byte %lu of %s changes", offset, path.c_str());
  disk_.Flip(path, offset, mask);
  StoreLife life(outside_, state_, store_style_);
  const absl::Status status = life.Open();
  if (status.ok()) return CheckStore(life);
  if (!absl::IsDataLoss(status)) {
    outside_.Broken("a damaged store is refused with " +
                    std::string(status.message()));
  }
  ++summary_.refused;
  disk_.Flip(path, offset, mask);
}

void StoreRun::AwaitTimers(StoreLife& life) {
  // Long enough for all timers of scribes.
  schedule_.SleepFor(100'000'000, /*busy=*/false);
  std::optional<Pid> late;
  for (int look = 0; !outside_.IsDead(); ++look) {
    late = life.FindLateTimer();
    if (!late) return;
    outside_.Check(look < 100, *late, "it does not come back for its timer");
    schedule_.SleepFor(20'000'000, /*busy=*/false);
  }
}

void StoreRun::Settle(StoreLife& life) {
  StoreOperator(outside_, life).MendAll();
  // A question would bring a dormant process back, so the timers come first.
  if (Draw(2) == 0) AwaitTimers(life);
  const std::optional<uint64_t> entries = Rest(outside_, life).Check();
  if (entries) summary_.entries = *entries;
}

void StoreRun::CheckStore(StoreLife& life) {
  const absl::StatusOr<Cut> cut = Cut::Of(life.store());
  if (outside_.IsDead()) return;
  if (!cut.ok()) outside_.Broken(std::string(cut.status().message()));
  outside_.CheckCut(*cut);
  outside_.TakeStored(*cut);
}

void StoreRun::Serve(StoreLife& life, End end) {
  life.StartWitness();
  threads_.clear();
  StoreWorker worker(outside_, life.runtime());
  threads_.push_back(schedule_.Start([&] { worker.Run(stops_); }));
  if (end == End::kKill || end == End::kDiskFailure) {
    threads_.push_back(schedule_.Start([this, end] { Reap(end); }));
  }
  if (Draw(3) == 0) Settle(life);
  std::vector<std::unique_ptr<StoreClient>> clients;
  std::vector<uint64_t> acting;
  const uint64_t acts = DrawOneOf(random_, {3, 10, 30});
  for (uint64_t i = 0, count = 1 + Draw(2); i < count; ++i) {
    clients.push_back(std::make_unique<StoreClient>(outside_, life, i + 1));
    acting.push_back(schedule_.Start(
        [client = clients.back().get(), acts] { client->Run(acts); }));
  }
  for (const uint64_t thread : acting) schedule_.Join(thread);
  if (end == End::kLast || Draw(4) == 0) Settle(life);
  stops_ = true;
  for (const uint64_t thread : threads_) schedule_.Join(thread);
  if (end == End::kLast || end == End::kStop) {
    life.Stop(Draw(2) == 0 ? runtime::ShutdownMode::kDrain
                           : runtime::ShutdownMode::kNow);
  } else if (!outside_.IsDead()) {
    schedule_.Trace("kill");
    disk_.CrashNow();
  }
  const runtime::RuntimeStats stats = life.runtime().Stats();
  summary_.steps += stats.steps;
  summary_.dormant += stats.processes_dormant;
  summary_.upgrades += stats.upgrades;
  // The clients live as long as their callbacks may come.
  life.EndRuntime();
}

Trouble StoreRun::DrawTrouble() {
  if (outside_.newest < kScribeVersions && Draw(8) == 0) ++outside_.newest;
  switch (Draw(16)) {
    case 0:
      return Trouble::kNoPlugin;
    case 1:
      return Trouble::kRefusesRestores;
    default:
      return Trouble::kNone;
  }
}

bool StoreRun::Live(uint64_t number, End end) {
  outside_.BeginLife();
  ArrangeEnd(end);
  const int64_t buffers = runtime::buffers_in_use;
  StoreLife life(outside_, state_, store_style_);
  absl::Status status = life.Open();
  if (status.ok()) CheckStore(life);
  if (status.ok() && !outside_.IsDead()) {
    status = life.Serve(number, number == 0 ? Trouble::kNone : DrawTrouble());
  }
  if (outside_.IsDead()) {
    ++summary_.crashes_in_recovery;
    life.EndRuntime();
    CheckBuffers(buffers);
    return false;
  }
  if (!status.ok()) {
    outside_.Broken("the store cannot be opened: " +
                    std::string(status.message()));
  }
  Serve(life, end);
  CheckBuffers(buffers);
  if (outside_.IsDead()) {
    ++summary_.crashes;
    return false;
  }
  return true;
}

void StoreRun::CheckBuffers(int64_t before) {
  if (runtime::buffers_in_use != before) {
    outside_.Broken("a buffer is left, or was freed twice");
  }
}

void StoreRun::Main() {
  if (!disk_.MakeDirectory("/srv").ok() || !disk_.SyncDirectory("/").ok()) {
    outside_.Broken("the disk does not begin");
  }
  const uint64_t lives = 1 + Draw(4);
  for (uint64_t number = 0; number < lives; ++number) {
    const End end =
        static_cast<End>(DrawOneOf(random_, {0, 0, 0, 0, 1, 1, 2, 3}));
    const bool is_sealed = Live(number, end);
    Reboot(end);
    if (is_sealed && Draw(2) == 0) TryRot();
  }
  Live(lives, End::kLast);
  ++summary_.lives;
  summary_.cancels = outside_.cancels;
  summary_.quarantined = outside_.quarantined;
  disk_.Restart(/*keep_cache=*/false, SimulatedDisk::kSectorBytes);
  state_.Crash(0);
  {
    StoreLife last(outside_, state_, store_style_);
    const absl::Status status = last.Open();
    if (!status.ok()) {
      outside_.Broken("the store cannot be opened after a stop: " +
                      std::string(status.message()));
    }
    CheckStore(last);
    if (store_style_.round_bytes == kNoRound) {
      CheckReplay(outside_, last.store(), state_);
    }
  }
}

}  // namespace

void StoreSummary::Add(const StoreSummary& other) {
  choices += other.choices;
  lives += other.lives;
  crashes += other.crashes;
  crashes_in_recovery += other.crashes_in_recovery;
  disk_failures += other.disk_failures;
  refused += other.refused;
  dormant += other.dormant;
  cancels += other.cancels;
  upgrades += other.upgrades;
  quarantined += other.quarantined;
  steps += other.steps;
  entries += other.entries;
}

StoreSimulation::StoreSimulation(bool trace,
                                 std::function<void(const std::string&)> broken)
    : simulation_(trace, std::move(broken)) {}

StoreSummary StoreSimulation::Run(uint64_t seed) {
  if (seed % 8 == 0) return RunVolatile(seed);
  StoreRun run(simulation_.schedule(), seed);
  return run.Run(seed);
}

StoreSummary StoreSimulation::RunVolatile(uint64_t seed) {
  Random random(seed);
  SimulatedDisk disk(seed | 1);
  runtime::MemoryStateStore state;
  Schedule& schedule = simulation_.schedule();
  const auto open = [&]() -> std::unique_ptr<runtime::DurableStore> {
    auto options = StoreLife::OptionsOf(disk, schedule, DrawStoreStyle(random));
    options.failed = [&](const absl::Status& status) {
      schedule.when_broken("the store fails by itself: " +
                           std::string(status.message()));
    };
    options.open_state = [&] {
      return std::make_unique<runtime::MemoryStateStore>(state);
    };
    auto opened = disk.MakeDirectory("/srv").ok()
                      ? runtime::OpenedStore::Open(std::move(options))
                      : absl::InternalError("the disk does not begin");
    if (!opened.ok())
      schedule.when_broken(std::string(opened.status().message()));
    return *std::move(opened);
  };
  const Summary summary = simulation_.RunOverStore(seed, open);
  StoreSummary of_store;
  of_store.fingerprint = summary.fingerprint;
  of_store.choices = summary.choices;
  of_store.steps = summary.steps;
  of_store.lives = 1;
  return of_store;
}

}  // namespace actord::sim
