#include "tests/sim/scaling/scaling.h"

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "runtime/core.h"
#include "tests/sim/scaling/scaling_processes.h"

namespace actord::sim {

using runtime::Process;
using runtime::Runtime;

namespace {

constexpr uint64_t kWarmNs = 500'000;
constexpr uint64_t kWindowNs = 1'000'000;
constexpr uint64_t kLeaves = 100'000;
// The client's own cost of a submission, and its maximum number of submissions
// in flight.
constexpr uint64_t kClientNs = 500;
constexpr uint64_t kUnderWay = 32;

// Names the parts of the runtime's memory.
class Names {
 public:
  explicit Names(Runtime::Core& core) {
    runtime::Scheduler& scheduler = core.scheduler;
    for (size_t i = 0; i < scheduler.size(); ++i) AddQueue(scheduler.queue(i));
    Add(scheduler.idle(), "idle workers");
    // The other parts of it that are written.
    Add(scheduler, "global queue");
    constexpr uint32_t kChunk = 4096;
    for (uint32_t slot = 0; slot < core.processes.SlotsInUse();
         slot += kChunk) {
      Add(core.processes.At(slot), "process", kChunk * sizeof(Process));
    }
    Add(core.processes, "process table");
    Add(core.buffers, "buffer pool");
    Add(core.lane, "lane of the clients");
    Add(core.results, "results");
    Add(core.admission, "admission");
    Add(core.broker, "yield broker");
    for (size_t i = 0; i < core.threads.size(); ++i) {
      Add(core.threads.at(i), "thread");
    }
    Add(core.threads, "watchdog and spare threads");
  }

  [[nodiscard]] std::string Of(uintptr_t address) const {
    for (const Range& range : ranges_) {
      if (address - range.begin < range.size) return range.name;
    }
    return "message or state";
  }

 private:
  struct Range {
    uintptr_t begin;
    size_t size;
    const char* name;
  };

  // Names that are added first take precedence.
  template <typename T>
  void Add(const T& object, const char* name, size_t size = sizeof(T)) {
    ranges_.push_back({reinterpret_cast<uintptr_t>(&object), size, name});
  }
  void AddQueue(runtime::WorkerQueue& queue) {
    using Level = runtime::ReadyQueues::Level;
    constexpr size_t kLine = 64;
    // After the line of the bitmap come the queues of all levels, and then
    // their backs. Each has a line with its word, and its slots.
    Add(queue.ready, "a worker's levels", kLine);
    const auto* levels = reinterpret_cast<const std::byte*>(&queue.ready);
    for (int level = 0; level < 2 * runtime::kPriorities; ++level) {
      Add(levels[kLine + static_cast<size_t>(level) * sizeof(Level)],
          "run queue", kLine);
    }
    Add(queue.ready, "run queue's slots");
    Add(queue.timers, "timers");
    Add(queue, "a worker's next and parker");
  }

  std::vector<Range> ranges_;
};

class ScalingRun {
 public:
  explicit ScalingRun(const ScalingOptions& options)
      : options_(options),
        machine_(options.costs),
        load_{machine_, options.step_ns} {}

  ScalingResult Run() {
    machine_.Run([this] { Main(); });
    return result_;
  }

 private:
  void Main();
  void Submit(const char* type, uint64_t number);
  // Returns how long it took.
  uint64_t Begin();
  void RunClient();
  void BeginClients();
  uint64_t RunTree();
  uint64_t RunForAWhile();
  void Report(uint64_t duration_ns);

  const ScalingOptions options_;
  Machine machine_;
  Load load_;
  // Operations before the measurement.
  uint64_t before_ = 0;
  std::vector<uint64_t> clients_;
  std::unique_ptr<Runtime::Core> core_;
  ScalingResult result_;
};

void ScalingRun::Submit(const char* type, uint64_t number) {
  runtime::SubmitRequest request;
  request.process_type = type;
  const std::string input = BytesOf(LoadInput{&load_, number, {}});
  request.input.bytes = input;
  core_->admission.Submit(request, {}, /*keep_result=*/true,
                          [](const absl::StatusOr<runtime::Pid>&) {});
}

void ScalingRun::RunClient() {
  // The processes count their ends here; their input contains the address.
  uint64_t ended = 0;
  uint64_t submitted = 0;
  while (!load_.stopping) {
    machine_.Work(kClientNs);
    while (submitted - ended == kUnderWay) machine_.Sleep(kClientNs);
    Submit(LoadOnce::kName, reinterpret_cast<uint64_t>(&ended));
    ++submitted;
  }
  // `ended` must outlive the processes that count.
  while (ended != submitted) machine_.Sleep(kClientNs);
}

void ScalingRun::BeginClients() {
  clients_.resize(static_cast<size_t>(options_.workers));
  for (uint64_t& client : clients_) {
    client = machine_.Start([this] { RunClient(); });
  }
}

uint64_t ScalingRun::RunTree() {
  constexpr uint64_t kLookEveryNs = 1000;
  machine_.Sleep(kWarmNs);
  machine_.ForgetUses();
  const uint64_t begin_ns = machine_.time_ns();
  Submit(LoadNode::kName, kLeaves);
  while (!load_.done) machine_.Sleep(kLookEveryNs);
  return machine_.time_ns() - begin_ns;
}

uint64_t ScalingRun::RunForAWhile() {
  machine_.Sleep(kWarmNs);
  machine_.ForgetUses();
  before_ = load_.operations;
  machine_.Sleep(kWindowNs);
  return kWindowNs;
}

uint64_t ScalingRun::Begin() {
  const auto workers = static_cast<uint64_t>(options_.workers);
  const auto submit = [this](const char* type, uint64_t count,
                             uint64_t number) {
    for (uint64_t i = 0; i < count; ++i) Submit(type, number);
  };
  if (options_.load == "tree") return RunTree();
  if (options_.load == "pairs") submit(LoadPlayer::kName, 4 * workers, 0);
  if (options_.load == "fan-in") {
    const uint64_t sinks = (workers + 7) / 8;
    submit(LoadSink::kName, sinks, 16 * workers / sinks);
  }
  if (options_.load == "continue") submit(LoadSpinner::kName, 4 * workers, 0);
  if (options_.load == "ring") submit(LoadMember::kName, 1, 0);
  if (options_.load == "submit") BeginClients();
  return RunForAWhile();
}

void ScalingRun::Report(uint64_t duration_ns) {
  const auto operations = static_cast<double>(load_.operations - before_);
  const auto ns = static_cast<double>(duration_ns);
  result_.operations_per_us = operations / ns * 1000;
  result_.wakes_per_operation =
      static_cast<double>(machine_.wakes()) / operations;
  const Names names(*core_);
  const auto processors = static_cast<double>(options_.workers) +
                          static_cast<double>(clients_.size());
  for (const auto& [address, use] : machine_.uses()) {
    result_.waits[names.Of(address) + (use.is_mutex ? ": mutex" : "")] +=
        static_cast<double>(use.wait_ns) / (ns * processors);
  }
}

void ScalingRun::Main() {
  runtime::Catalog catalog;
  for (const actord_process_type* type :
       {&kProcessType<LoadPlayer>, &kProcessType<LoadNode>,
        &kProcessType<LoadProducer>, &kProcessType<LoadSink>,
        &kProcessType<LoadOnce>, &kProcessType<LoadSpinner>,
        &kProcessType<LoadMember>}) {
    catalog.AddProcessType(type, "scaling").IgnoreError();
  }
  runtime::RuntimeOptions options;
  options.workers = options_.workers;
  options.max_blocked_threads = 1;
  options.seed = 1;
  options.incarnation = 1;
  options.clock = &machine_;
  options.log = [](runtime::LogLevel, std::string_view) {};
  core_ = std::make_unique<Runtime::Core>(options, catalog);
  if (!core_->StartThreads().ok()) std::abort();
  Report(Begin());
  load_.stopping = true;
  for (const uint64_t client : clients_) machine_.Join(client);
  core_->shutdown.Run(runtime::ShutdownMode::kNow, absl::ZeroDuration());
  core_ = nullptr;
}

}  // namespace

const std::vector<std::string_view>& ScalingLoads() {
  static const std::vector<std::string_view> loads = {
      "pairs", "tree", "fan-in", "submit", "continue", "ring"};
  return loads;
}

ScalingResult MeasureScaling(const ScalingOptions& options) {
  ScalingRun run(options);
  return run.Run();
}

}  // namespace actord::sim
