// A process type in several versions whose behaviour a test writes as lambdas,
// over workers that run by hand.
//
// Thread-safety: one thread.
#pragma once

#include <actord/plugin.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {

using actord::RestoreContext;
using actord::RestoreFrom;
using actord::SnapshotResult;

// What all processes of one version do. `state` is a process's own.
struct VersionScript {
  std::function<SnapshotResult(const std::string& state)> snapshot;
  std::function<actord::Status(std::string& state, const RestoreFrom&,
                               RestoreContext&)>
      restore;
  std::function<void(std::string& state, Events, StepOutput&)> step;
  int closes = 0;
  int destroyed = 0;
};

template <int V>
class Versioned : public actord::Process {
 public:
  static constexpr const char* kName = "versioned";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static inline VersionScript script;

  Versioned() = default;
  Versioned(const Versioned&) = delete;
  Versioned& operator=(const Versioned&) = delete;
  ~Versioned() { ++script.destroyed; }

  void Init(std::string_view, const actord::Payload& input) {
    state_ = input.bytes;
  }
  SnapshotResult Snapshot() const {
    return script.snapshot ? script.snapshot(state_) : SnapshotResult(state_);
  }
  actord::Status Restore(std::string_view, const RestoreFrom& from,
                         RestoreContext& context) {
    if (script.restore) return script.restore(state_, from, context);
    state_ = from.snapshot.bytes;
    return {};
  }
  void Step(Events events, StepOutput& out) {
    if (script.step) script.step(state_, events, out);
  }
  void Close() { ++script.closes; }

 private:
  std::string state_;
  // Each version has a size of its own.
  std::array<char, 100 * V> padding_{};
};

// Its methods have another order, and one has gone.
class OtherMethods : public Versioned<4> {
 public:
  static constexpr actord::Method kMethods[] = {{"new", nullptr},
                                                {"run", nullptr}};
};
class NoMethods : public Versioned<5> {
 public:
  static constexpr actord::Method kMethods[] = {{"new", nullptr}};
};

class VersionsTest : public ToldTest {
 protected:
  void SetUp() override {
    Versioned<1>::script = {};
    Versioned<2>::script = {};
    Versioned<3>::script = {};
    for (VersionScript* script : {&Versioned<1>::script, &Versioned<2>::script,
                                  &Versioned<3>::script}) {
      script->step = [this](std::string& state, Events events,
                            StepOutput& out) { Trace(state, events, out); };
    }
    StartVersions({});
  }

  void StartVersions(RuntimeOptions options) {
    core_.reset();
    log_.clear();
    options.log = [this](LogLevel level, std::string_view text) {
      if (level == LogLevel::kWarning) log_.emplace_back(text);
    };
    Start(options);
    core_->AddCommand("echo", ACTORD_HANDLER_INLINE,
                      [](actord::testing::Call& call) {
                        call.Reply(ACTORD_OK, call.bytes());
                        return ACTORD_HANDLED;
                      });
    ASSERT_TRUE(Load<Versioned<1>>("1").ok());
  }

  // Puts a version in force; does not run anything.
  template <typename T>
  absl::StatusOr<const ProcessType*> Load(const std::string& version,
                                          bool upgrade_processes = true) {
    const auto types =
        core_->catalog.Add({.plugin = "versions",
                            .version = version,
                            .process_types = {&actord::kProcessType<T>},
                            .replace = true,
                            .upgrade_processes = upgrade_processes});
    if (!types.ok()) return types.status();
    return types->front();
  }
  // And tells the processes, and lets them run.
  template <typename T>
  const ProcessType* LoadAndRun(const std::string& version) {
    const auto type = Load<T>(version);
    EXPECT_TRUE(type.ok()) << type.status();
    Tell(*type);
    core_->Settle();
    return *type;
  }
  uint64_t Tell(const ProcessType* type) {
    uint64_t told = 0;
    uint32_t next = 0;
    do {
      const Runtime::UpgradePiece piece = core().TellOfUpgrade({type}, next);
      told += piece.told;
      next = piece.next_slot;
    } while (next != 0);
    return told;
  }

  // Begins a process with this state, of the version in force.
  Pid BeginVersioned(const std::string& state) {
    Pid submitted;
    core().admission.Submit(
        SubmitRequest{"versioned", "run", {state, ""}, {}}, Pid{},
        /*keep_result=*/true, [&submitted](absl::StatusOr<Pid> pid) {
          ASSERT_TRUE(pid.ok()) << pid.status();
          submitted = *pid;
        });
    core_->Settle();
    pids_[state] = submitted;
    return submitted;
  }
  const ProcessType& TypeOf(const Pid& pid) {
    return *core_->process(pid).type.load();
  }
  std::string VersionOf(const Pid& pid) { return TypeOf(pid).version; }
  // What the steps of all versions have been given since the last call.
  std::vector<std::string> Steps() {
    core_->Settle();
    return std::exchange(trace_, {});
  }
  void Trace(const std::string& state, Events events, StepOutput& out) {
    const std::string version = VersionOf(FromAbi(out.self()));
    std::string line = "v" + version + " " + state;
    for (const Event event : events) line += " " + TextOf(event);
    trace_.push_back(line);
    Act act = std::exchange(next_act_, nullptr);
    if (act) act(out);
  }
  // Nothing of a process's yields is left anywhere.
  void ExpectNoYields(const Pid& pid) {
    const Process& process = core_->process(pid);
    EXPECT_EQ(process.yields, kNoYieldSlot);
    EXPECT_EQ(process.yields_count, 0u);
    EXPECT_EQ(process.replies, 0u);
    EXPECT_EQ(process.completion_units, 0u);
    EXPECT_EQ(process.upgrading, nullptr);
  }
  uint64_t Declined() { return core().Stats().upgrades_declined; }
  uint64_t Upgraded() { return core().Stats().upgrades; }

  // The action of the next step of any process.
  Act next_act_;
  std::vector<std::string> trace_;
  std::vector<std::string> log_;
};

}  // namespace actord::runtime
