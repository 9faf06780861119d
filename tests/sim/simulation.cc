#include "tests/sim/simulation.h"

#include <memory>
#include <utility>
#include <vector>

#include "runtime/core.h"
#include "runtime/memory/buffer_pool.h"
#include "tests/sim/client.h"
#include "tests/sim/process.h"
#include "tests/support/script_handler.h"

namespace actord::sim {
namespace {

using actord::testing::Call;
using actord::testing::ScriptHandler;
using runtime::Random;
using runtime::Runtime;
using runtime::RuntimeOptions;
using runtime::ShutdownMode;

uint64_t OneOf(Random& random, std::initializer_list<uint64_t> values) {
  return values.begin()[random.Next() % values.size()];
}

Schedule::Style DrawStyle(Random& random) {
  Schedule::Style style;
  style.switches = static_cast<uint32_t>(OneOf(random, {1, 2, 8, 32, 256}));
  style.stalls = static_cast<uint32_t>(OneOf(random, {0, 4, 32, 256}));
  style.stall_most =
      static_cast<uint32_t>(OneOf(random, {16, 128, 1024, 1024}));
  style.spurious = static_cast<uint32_t>(OneOf(random, {0, 64, 1024}));
  style.jumps = static_cast<uint32_t>(OneOf(random, {0, 512, 4096}));
  style.creep_ns = OneOf(random, {100, 2'000, 50'000});
  return style;
}

RuntimeOptions DrawOptions(Random& random, const Schedule::Style& style,
                           bool has_store, World::Limits& limits) {
  limits.has_store = has_store;
  RuntimeOptions options;
  options.workers = 1 + static_cast<int>(random.Next() % 8);
  if (random.Next() % 2 == 0) options.workers = 1 + (options.workers & 1);
  options.max_blocked_threads = static_cast<int>(OneOf(random, {0, 1, 4}));
  options.blocking_threads = 1 + static_cast<int>(random.Next() % 2);
  options.external_commands = {"ext.*"};
  options.seed = random.Next() | 1;
  options.incarnation = 7;
  options.max_payload_bytes = kMostPayload;
  options.max_processes = 4096;
  options.max_yields = 64;
  // The time creeps faster here than steps do.
  options.stuck_after = absl::Hours(24);
  if (random.Next() % 8 == 0) {
    limits.is_crowded = true;
    limits.has_stranger = random.Next() % 2 == 0;
    options.workers = static_cast<int>(OneOf(random, {1, 1, 2, 3}));
    limits.most_actors = OneOf(random, {6, 12, 60, 240});
    limits.most_steps = 3000;
    limits.spins_are_counted =
        options.workers == 1 && style.switches <= 8 && style.stalls == 0;
    return options;
  }
  limits.priorities_differ = random.Next() % 2 == 0;
  limits.order_is_strict = limits.priorities_differ && options.workers == 1 &&
                           options.max_blocked_threads == 0;
  limits.steps_last = random.Next() % 4 == 0;
  const uint64_t small = random.Next();
  if ((limits.mailboxes_are_small = small % 8 == 0)) {
    options.max_mailbox_messages = 1 + random.Next() % 8;
    options.max_mailbox_bytes = 8192;
  }
  if ((limits.yields_are_few = small / 8 % 8 == 0)) options.max_yields = 2;
  if ((limits.pool_is_small = small / 64 % 8 == 0)) options.blocking_queue = 1;
  if ((limits.processes_are_few = small / 512 % 8 == 0)) {
    options.max_processes = 1 + random.Next() % 16;
  }
  limits.are_tied = small / 4096 % 2 == 0;
  limits.most_actors = OneOf(random, {2, 8, 32, 64, 64, 600});
  limits.most_steps = OneOf(random, {50, 300, 1000});
  return options;
}

class OneRun {
 public:
  // `open_store`: opens the store; null: there is none.
  OneRun(Schedule& schedule, uint64_t seed, Simulation::OpenStore open_store)
      : schedule_(schedule),
        open_store_(std::move(open_store)),
        random_(seed),
        style_(DrawStyle(random_)),
        options_(DrawOptions(random_, style_, open_store_ != nullptr, limits_)),
        world_(schedule, limits_, random_.Next()) {
    options_.clock = &schedule_;
    // Few enough that some are forgotten. In one of eight runs none is kept.
    options_.dead_letter_max_count = seed % 8;
    options_.log = [this](runtime::LogLevel, std::string_view text) {
      if (!schedule_.traces()) return;
      schedule_.Trace("log: %.*s", static_cast<int>(text.size()), text.data());
    };
  }

  Summary Run(uint64_t seed) {
    schedule_.when_quiet = [this](uint64_t next_ns) {
      world_.CheckQuiet(next_ns);
    };
    schedule_.Run(seed, style_, [this] { Main(); });
    return {schedule_.fingerprint(), world_.steps,
            schedule_.choices(),     world_.longest_wait,
            world_.longest_bound,    world_.longest_of_stranger};
  }

 private:
  void Main();
  void FillCatalog();
  void AddHandlers();
  void Add(std::string command, uint32_t mode, ScriptHandler::Function handle);
  // Adds a debt: a number that a handler has to answer with.
  void Owe(Call& call);
  void ShutDown(ShutdownMode mode, uint64_t timeout_ns);
  void LiveAndShutDown();

  Schedule& schedule_;
  const Simulation::OpenStore open_store_;
  Random random_;
  const Schedule::Style style_;
  World::Limits limits_;
  RuntimeOptions options_;
  World world_;
  runtime::Catalog catalog_;
  std::vector<std::unique_ptr<ScriptHandler>> handlers_;
  std::unique_ptr<Runtime> runtime_;
};

void OneRun::Add(std::string command, uint32_t mode,
                 ScriptHandler::Function handle) {
  handlers_.push_back(std::make_unique<ScriptHandler>(std::move(command), mode,
                                                      std::move(handle)));
  const absl::Status status = catalog_.AddCommand(
      handlers_.back()->descriptor(), handlers_.back().get(), "sim");
  world_.Check(status.ok(), nullptr, "a handler is refused");
}

void OneRun::Owe(Call& call) {
  const uint64_t number = std::stoull(std::string(call.bytes()));
  const actord_completion handle = call.Defer();
  world_.debts.push_back({handle, number, false});
}

void OneRun::AddHandlers() {
  const auto echo = [](Call& call) {
    runtime::FailPoint();
    call.Reply(ACTORD_OK, call.bytes());
    return ACTORD_HANDLED;
  };
  const auto late = [this](Call& call) {
    Owe(call);
    runtime::FailPoint();
    return ACTORD_DEFERRED;
  };
  Add("inline", ACTORD_HANDLER_INLINE, echo);
  Add("pooled", ACTORD_HANDLER_POOLED, echo);
  Add("late", ACTORD_HANDLER_INLINE, late);
  Add("pooled.late", ACTORD_HANDLER_POOLED, late);
  Add("never", ACTORD_HANDLER_INLINE, [](Call& call) {
    call.Defer();
    return ACTORD_DEFERRED;
  });
  Add("fails", ACTORD_HANDLER_INLINE, [](Call& call) {
    call.Reply(ACTORD_ABORTED, call.bytes());
    return ACTORD_HANDLED;
  });
  Add("throws", ACTORD_HANDLER_INLINE,
      [](Call&) -> int32_t { throw std::runtime_error("by intention"); });
  Add("sleep", ACTORD_HANDLER_INLINE, [this](Call& call) {
    const actord_host* host = runtime_->host();
    host->complete_after(host, call.Defer(),
                         std::stoull(std::string(call.bytes())));
    return ACTORD_DEFERRED;
  });
}

void OneRun::FillCatalog() {
  for (const actord_process_type* type :
       {&kProcessType<SimProcess>, &kProcessType<CancellableSimProcess>,
        &kProcessType<BlockingSimProcess>, &kProcessType<TrappingSimProcess>}) {
    world_.Check(catalog_.AddProcessType(type, "sim").ok(), nullptr,
                 "a process type is refused");
  }
  AddHandlers();
}

void OneRun::ShutDown(ShutdownMode mode, uint64_t timeout_ns) {
  schedule_.Trace("shutdown %s within %.3f ms",
                  mode == ShutdownMode::kDrain ? "drain" : "now",
                  static_cast<double>(timeout_ns) / 1e6);
  world_.shutdown_begun = true;
  const runtime::ShutdownReport report = runtime_->Shutdown(
      mode, absl::Nanoseconds(static_cast<int64_t>(timeout_ns)));
  world_.shut_down = true;
  world_.Check(report.stuck == 0, nullptr, "the shutdown left somebody stuck");
  world_.Check(runtime_->Stats().processes_live == 0, nullptr,
               "the shutdown left a process");
}

void OneRun::LiveAndShutDown() {
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<uint64_t> threads;
  const uint64_t count = 1 + random_.Next() % 3;
  for (uint64_t i = 0; i < count; ++i) {
    clients.push_back(
        std::make_unique<Client>(world_, *runtime_, i + 1, random_.Next()));
    const uint64_t acts =
        limits_.is_crowded ? 300 : OneOf(random_, {5, 40, 200});
    threads.push_back(schedule_.Start(
        [client = clients.back().get(), acts] { client->Run(acts); }));
  }
  if (limits_.has_stranger) {
    clients.push_back(
        std::make_unique<Client>(world_, *runtime_, count + 1, random_.Next()));
    threads.push_back(schedule_.Start(
        [client = clients.back().get()] { client->RunStranger(300); }));
  }
  const bool early = random_.Next() % 2 == 0 && !limits_.is_crowded;
  const uint64_t moment = random_.Next() % 3'000'000;
  const ShutdownMode mode =
      random_.Next() % 2 == 0 ? ShutdownMode::kDrain : ShutdownMode::kNow;
  const uint64_t timeout_ns =
      OneOf(random_, {0, 1'000'000, 100'000'000, 10'000'000'000});
  if (early) {
    schedule_.SleepFor(moment, /*busy=*/false);
  } else {
    for (const uint64_t thread : threads) schedule_.Join(thread);
    // A crowd shows starved processes when it runs without further load.
    for (int i = 0; i < 50 && limits_.is_crowded && !world_.stopping; ++i) {
      schedule_.SleepFor(1'000'000, /*busy=*/false);
    }
    world_.stopping = random_.Next() % 2 == 0;
  }
  if (random_.Next() % 4 == 0) {
    // A second shutdown at the same time: either may cut the other one short.
    threads.push_back(schedule_.Start([this, moment] {
      schedule_.SleepFor(moment / 4, /*busy=*/false);
      ShutDown(ShutdownMode::kNow, 0);
    }));
  }
  ShutDown(mode, timeout_ns);
  for (const uint64_t thread : threads) schedule_.Join(thread);
}

void OneRun::Main() {
  FillCatalog();
  const int64_t buffers = runtime::buffers_in_use;
  std::unique_ptr<runtime::DurableStore> store;
  if (open_store_) store = open_store_();
  options_.store = store.get();
  auto core = std::make_unique<Runtime::Core>(options_, catalog_);
  world_.core = core.get();
  runtime_ = std::make_unique<Runtime>(std::move(core));
  world_.Check(runtime_->Start().ok(), nullptr, "the runtime does not start");
  LiveAndShutDown();
  world_.CheckEnd(runtime_->Stats());
  world_.CheckDeadLetters(runtime_->Stats());
  runtime_ = nullptr;
  world_.core = nullptr;
  world_.Check(runtime::buffers_in_use == buffers, nullptr,
               "a buffer is left, or was freed twice");
}

}  // namespace

Simulation::Simulation(bool trace,
                       std::function<void(const std::string&)> broken)
    : schedule_(trace) {
  schedule_.when_broken = std::move(broken);
}

Summary Simulation::Run(uint64_t seed) {
  OneRun run(schedule_, seed, nullptr);
  return run.Run(seed);
}

Summary Simulation::RunOverStore(uint64_t seed, OpenStore open) {
  OneRun run(schedule_, seed, std::move(open));
  return run.Run(seed);
}

}  // namespace actord::sim
