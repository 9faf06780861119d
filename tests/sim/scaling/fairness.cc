#include "tests/sim/scaling/fairness.h"

#include <actord/plugin.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/core.h"

namespace actord::sim {

using runtime::Owner;
using runtime::Pid;
using runtime::Runtime;

namespace {

constexpr uint64_t kWarmNs = 2'000'000;
constexpr uint64_t kWindowNs = 20'000'000;
constexpr uint64_t kDrainNs = 5'000'000;
// The client's own cost of a request.
constexpr uint64_t kClientNs = 500;
constexpr uint64_t kUnderWay = 32;
constexpr uint64_t kRefusedNs = 5'000;  // the pause after a refusal
constexpr int kReceiversPerWorker = 16;
constexpr auto kMeasured = Owner{1};

// The state that the processes and the clients share. Access is free of cost.
struct Scene {
  Machine& machine;
  const uint64_t step_ns;
  bool stopping = false;
  std::vector<uint64_t> waits_ns = {};
  uint64_t flood_events = 0;
  uint64_t under_way = 0;
};

class SceneProcess : public actord::Process {
 public:
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const actord::Payload& input) {
    std::memcpy(&scene_, input.bytes.data(), sizeof(scene_));
  }

 protected:
  [[nodiscard]] Scene& scene() const { return *scene_; }
  void Work(size_t events) const {
    scene_->machine.Work(scene_->step_ns * std::max<size_t>(events, 1));
  }

 private:
  Scene* scene_ = nullptr;
};

// Notes how late each message is. The message is the moment at which it is due.
class Measured : public SceneProcess {
 public:
  static constexpr const char* kName = "fair.measured";
  void Step(actord::Events events, actord::StepOutput& /*out*/) {
    for (const actord::Event event : events) {
      uint64_t due_ns = 0;
      std::memcpy(&due_ns, event.payload().bytes.data(), sizeof(due_ns));
      if (due_ns != 0) {
        scene().waits_ns.push_back(scene().machine.time_ns() - due_ns);
      }
      Work(1);
    }
  }
};

class FloodReceiver : public SceneProcess {
 public:
  static constexpr const char* kName = "fair.flood_receiver";
  void Step(actord::Events events, actord::StepOutput& /*out*/) {
    Work(events.size());
    scene().flood_events += events.size();
  }
};

class FloodOnce : public SceneProcess {
 public:
  static constexpr const char* kName = "fair.flood_once";
  void Step(actord::Events /*events*/, actord::StepOutput& out) {
    Work(1);
    ++scene().flood_events;
    --scene().under_way;
    out.Done();
  }
};

class FloodSpinner : public SceneProcess {
 public:
  static constexpr const char* kName = "fair.flood_spinner";
  void Step(actord::Events /*events*/, actord::StepOutput& out) {
    Work(1);
    ++scene().flood_events;
    out.Continue();
  }
};

class FairnessRun {
 public:
  explicit FairnessRun(const FairnessOptions& options)
      : options_(options),
        machine_(options.costs),
        scene_{.machine = machine_, .step_ns = options.step_ns} {}

  FairnessResult Run() {
    machine_.Run([this] { Main(); });
    return result_;
  }

 private:
  void Main();
  Pid Submit(const char* type, Owner owner);
  std::vector<Pid> SubmitMany(const char* type, Owner owner, int count);
  bool Send(const Pid& to, uint64_t due_ns);
  void BeginFlood();
  void FloodBySubmit();
  void FloodBySend(const std::vector<Pid>& to);
  void Measure(const std::vector<Pid>& to);

  const FairnessOptions options_;
  Machine machine_;
  Scene scene_;
  std::vector<Pid> flooded_;
  std::vector<uint64_t> clients_;
  std::unique_ptr<Runtime::Core> core_;
  FairnessResult result_;
};

Pid FairnessRun::Submit(const char* type, Owner owner) {
  runtime::SubmitRequest request;
  request.process_type = type;
  request.owner = options_.has_two_owners ? owner : kMeasured;
  Scene* const scene = &scene_;
  request.input.bytes.assign(reinterpret_cast<const char*>(&scene),
                             sizeof(scene));
  Pid pid;
  bool is_done = false;
  core_->admission.Submit(request, {}, /*keep_result=*/false,
                          [&](const absl::StatusOr<Pid>& started) {
                            if (started.ok()) pid = *started;
                            is_done = true;
                          });
  while (!is_done) machine_.Sleep(kClientNs);
  return pid;
}

std::vector<Pid> FairnessRun::SubmitMany(const char* type, Owner owner,
                                         int count) {
  std::vector<Pid> pids;
  for (int i = 0; i < count; ++i) pids.push_back(Submit(type, owner));
  return pids;
}

bool FairnessRun::Send(const Pid& to, uint64_t due_ns) {
  runtime::Message message;
  message.payload.bytes.assign(reinterpret_cast<const char*>(&due_ns),
                               sizeof(due_ns));
  return core_->SendFromOutside(Owner::kAny, to, message, nullptr).status.ok();
}

void FairnessRun::FloodBySubmit() {
  runtime::SubmitRequest request;
  request.process_type = FloodOnce::kName;
  request.owner = options_.has_two_owners ? Owner{2} : kMeasured;
  Scene* const scene = &scene_;
  request.input.bytes.assign(reinterpret_cast<const char*>(&scene),
                             sizeof(scene));
  const auto most = kUnderWay * static_cast<uint64_t>(options_.workers);
  while (!scene_.stopping) {
    machine_.Work(kClientNs);
    while (scene_.under_way >= most && !scene_.stopping) {
      machine_.Sleep(kClientNs);
    }
    ++scene_.under_way;
    core_->admission.Submit(request, {}, /*keep_result=*/false,
                            [](const absl::StatusOr<Pid>&) {});
  }
}

void FairnessRun::FloodBySend(const std::vector<Pid>& to) {
  for (size_t i = 0; !scene_.stopping; i = (i + 1) % to.size()) {
    machine_.Work(kClientNs / 5);  // a batch of a stream
    if (!Send(to[i], 0)) machine_.Sleep(kRefusedNs);
  }
}

void FairnessRun::BeginFlood() {
  const auto begin = [this](int count, auto run) {
    for (int i = 0; i < count; ++i) clients_.push_back(machine_.Start(run));
  };
  const int workers = options_.workers;
  switch (options_.flood) {
    case Flood::kNone:
      return;
    case Flood::kSubmit:
      return begin(2 * workers, [this] { FloodBySubmit(); });
    case Flood::kMessages:
    case Flood::kSpread:
      flooded_ = SubmitMany(
          FloodReceiver::kName, Owner{2},
          options_.flood == Flood::kMessages ? 2 * workers : 256 * workers);
      // Two keep 20 workers busy. More would delay the measured client by the
      // lock of the lane that all clients share.
      return begin(2, [this] { FloodBySend(flooded_); });
    case Flood::kContinue:
      static_cast<void>(SubmitMany(FloodSpinner::kName, Owner{2}, 4 * workers));
      return;
  }
}

void FairnessRun::Measure(const std::vector<Pid>& to) {
  const uint64_t interval_ns =
      4 * options_.step_ns / static_cast<uint64_t>(options_.workers);
  const uint64_t begin_ns = machine_.time_ns();
  size_t next = 0;
  for (uint64_t due = begin_ns; due < begin_ns + kWarmNs + kWindowNs;
       due += interval_ns) {
    if (machine_.time_ns() < due) machine_.Sleep(due - machine_.time_ns());
    machine_.Work(kClientNs);
    const bool counts = due >= begin_ns + kWarmNs;
    const bool is_sent = Send(to[next], counts ? due : 0);
    next = (next + 1) % to.size();
    if (counts) ++(is_sent ? result_.sent : result_.refused);
  }
  machine_.Sleep(kDrainNs);
}

void FairnessRun::Main() {
  runtime::Catalog catalog;
  for (const actord_process_type* type :
       {&kProcessType<Measured>, &kProcessType<FloodReceiver>,
        &kProcessType<FloodOnce>, &kProcessType<FloodSpinner>}) {
    catalog.AddProcessType(type, "fairness").IgnoreError();
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
  const std::vector<Pid> to = SubmitMany(
      Measured::kName, kMeasured, kReceiversPerWorker * options_.workers);
  BeginFlood();
  Measure(to);
  result_.flood_events = scene_.flood_events;
  std::vector<uint64_t>& waits = scene_.waits_ns;
  std::sort(waits.begin(), waits.end());
  result_.taken = waits.size();
  if (!waits.empty()) {
    result_.p50_ns = waits[waits.size() / 2];
    result_.p99_ns = waits[waits.size() * 99 / 100];
    result_.longest_ns = waits.back();
  }
  scene_.stopping = true;
  for (const uint64_t client : clients_) machine_.Join(client);
  core_->shutdown.Run(runtime::ShutdownMode::kNow, absl::ZeroDuration());
  core_ = nullptr;
}

}  // namespace

std::string_view FloodName(Flood flood) {
  switch (flood) {
    case Flood::kNone:
      return "none";
    case Flood::kSubmit:
      return "submit";
    case Flood::kMessages:
      return "messages";
    case Flood::kSpread:
      return "spread";
    case Flood::kContinue:
      return "continue";
  }
  return "";
}

FairnessResult MeasureFairness(const FairnessOptions& options) {
  FairnessRun run(options);
  return run.Run();
}

}  // namespace actord::sim
