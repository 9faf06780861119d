// actord/testing.h: run the processes of a plugin in a test, on one thread and
// with the test's own clock.
//
//   actord::testing::Harness harness(MY_PLUGIN_PATH);
//   const actord::Pid order = harness.Submit("order", "run", input);
//   harness.Advance(std::chrono::minutes(5));
//   harness.CompleteNext("payment.charge", R"({"receipt":"r1"})");
//   EXPECT_EQ(harness.ExpectResult(order).bytes, "...");
//
// The harness is a small daemon: it has the same ABI, life cycle, transactions,
// built-in commands (except file.read), calls, monitors, links, names and
// groups, and it runs the plugin's own handlers. A command without a handler is
// held for the test, as an external command is held for remote workers.
//
// Everything is under the test's control. Processes run only within Run,
// Advance and the functions that run them. Time moves only in Advance.
// Handlers, also pooled ones, run on the test's thread. The seed decides which
// ready process is next, how many of its events a step gets, and random(): the
// same seed gives the same run. ForEachSeed runs a scenario under many seeds.
//
// Each step of a process of a replay type (Durability::kReplay) is run again in
// a second state, with the same events, times, random numbers and PIDs. If the
// second run of a step differs, ExpectationFailed is thrown. All steps of the
// process are run again after each of its first 64 steps, after its steps 128,
// 256 and so on, and after its last step. After any other step only that step
// is run again. Effects of steps that are run again do not happen.
//
// An expectation that is not met throws ExpectationFailed, which any test
// framework reports. Its text ends with the last things that happened.
//
// Link actord::testing (find_package(actord)); it needs only the standard
// library. Thread-safety: none. A handler must not use its Host on other
// threads (Stub such a command). Ownership: a harness owns its processes and
// closes the live ones in its destructor.
#pragma once

#include <actord/abi.h>
#include <actord/handler.h>
#include <actord/owned.h>
#include <actord/plugin.h>
#include <actord/result.h>
#include <actord/values.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actord::testing {

// An expectation of the test was not met, or the test made a mistake, such as a
// process type that the plugin does not have.
class ExpectationFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct HarnessOptions {
  uint64_t seed = 1;
  // The first time of the clock. Default: 2026-01-01, 00:00:00 UTC.
  Time start{std::chrono::seconds(1'767'225'600)};
  // Timeout of yields that set none, as the daemon's `yields.default_timeout`.
  // 0: no timeout.
  Duration yield_timeout{0};
  // As the daemon's `limits.max_payload_bytes`.
  size_t max_payload_bytes = 1 << 20;
  // As the daemon's `limits.max_processes`. Submit throws at the limit.
  size_t max_processes = 1'000'000;
  // Run and Advance throw after this many turns without a pause. 1 or more.
  size_t max_turns = 1'000'000;
};

// How CrashEverywhere checks a process.
struct CrashOptions {
  // Also runs each step of an image type in a state that has never crashed, and
  // compares the effects. Turn it off for a type whose steps, given the same
  // events and the same context, do not always have the same effects.
  bool compare_images = true;
};

// How a process ended.
enum class EndKind {
  // It returned Done.
  kResult,
  // It returned Fail.
  kFailed,
  // Its code threw an exception, or it broke a rule.
  kThrew,
  // Its Init refused (spawned processes only).
  kInitRefused,
  // A cancel ended it.
  kCancelled,
  // It was terminated.
  kTerminated,
};

struct Outcome {
  EndKind kind = EndKind::kResult;
  // For kResult.
  OwnedPayload result;
  // For all other kinds: the reason.
  Status status;
  uint64_t steps = 0;
};

// A yielded command that waits for the test to complete it.
struct HeldYield {
  Pid pid;
  Tag tag = 0;
  std::string command;
  OwnedPayload payload;
  // nullopt: no timeout.
  std::optional<Time> deadline;
  // The policy of the yield. The harness never retries; tests can check this
  // value.
  WorkPolicy policy{};
};

// A message to a probe.
struct Received {
  Pid from;
  std::string topic;
  OwnedPayload payload;
  // Not 0: an answer is expected, see Reply.
  uint64_t call = 0;
};

// A publication of a process.
struct Published {
  Pid from;
  std::string topic;
  OwnedPayload payload;
};

struct LogLine {
  LogLevel level = LogLevel::kInfo;
  // Without the name of the process, with which the daemon's line begins.
  std::string text;
  // The process that has written the line, by Log or the command log.write;
  // empty() if a handler has written it for no process.
  Pid from{};
  // The step that has asked for the line failed. (The daemon marks the line.)
  bool step_failed = false;
};

class Harness {
 public:
  // Handles a command in place of its handler.
  using Stubbed = std::function<Result<>(const HeldYield&)>;

  // Runs a plugin that is linked into the test: Harness(actord_plugin). The
  // plugin must outlive the harness.
  explicit Harness(const actord_plugin_info& plugin,
                   const HarnessOptions& options = {});
  // Runs the shared object at `path`, which stays loaded until the harness
  // ends.
  explicit Harness(const char* path, const HarnessOptions& options = {});
  ~Harness();
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  // Actions of a client.

  // Starts a process; its Init runs at once. An empty method means the type's
  // first one. Throws if the type or method is unknown, or if Init refuses.
  Pid Submit(std::string_view type, std::string_view method = {},
             const OwnedPayload& input = {});
  // Expects that Init refuses with `code`; returns the error's text. Throws if
  // Init does not refuse, or refuses with another code.
  std::string ExpectRefused(Code code, std::string_view type,
                            std::string_view method = {},
                            const OwnedPayload& input = {});
  // Puts a message into a mailbox. Throws if the process has ended or never
  // existed.
  void Deliver(const Pid& to, std::string_view topic,
               const OwnedPayload& payload = {}, const Pid& from = {});
  // Asks a process to end. The process sees the cancel at its next step. Throws
  // if the process is not alive.
  void Cancel(const Pid& pid, std::string_view reason = "cancelled by a test");
  // Ends a process at once. Throws if the process is not alive.
  void Terminate(const Pid& pid, std::string_view reason = "ended by a test");

  // Sends a message that expects an answer, runs, and returns the answer.
  // Throws if there is no answer by then. The answer is ABORTED if the process
  // ends without one, and FAILED_PRECONDITION if it had already ended.
  Result<> Call(const Pid& to, std::string_view topic,
                const OwnedPayload& payload = {});

  // Upgrades a process to `NewType`, as a daemon does after loading a plugin
  // with that type: Snapshot, Restore, Close of the old object, and a step of
  // the new object with the next Run.
  //
  // Returns kOk, or the reason why the process keeps its version. kUnavailable
  // means "not now": Snapshot returned it, or the process was asked to end and
  // has not seen the cancel yet. A daemon would ask again. kUnavailable from
  // Restore is final and is returned as kFailedPrecondition.
  //
  // `from_version` is passed to Restore. Throws if the process is not alive, or
  // if the old type has no Snapshot or the new one no Restore.
  template <typename NewType>
  Status Upgrade(const Pid& pid, std::string_view from_version = "1") {
    return Upgrade(pid, kProcessType<NewType>, from_version);
  }
  // The same for a type of the ABI. `type` must outlive the harness.
  Status Upgrade(const Pid& pid, const actord_process_type& type,
                 std::string_view from_version);

  // From now on, each process of a durable type (durable.h) loses its state
  // after Init and after each step, as in a crash of the daemon, and continues
  // in a new state, made in the same way as in the daemon:
  //
  // - kImage: from the image of the lost state, by Restore with
  //   RestoreReason::kRecovery, or by a copy of the flat state. The process
  //   ends with EndKind::kThrew if Snapshot fails or returns NotNow().
  // - kReplay: by Init and all former steps.
  //
  // PID, mailbox, yields, tags and ties are kept. The run is the same as
  // without the crashes. If a step has another effect, verdict, result or
  // failure than without them, ExpectationFailed is thrown; it names the
  // process, the step, the first difference and both values.
  //
  // Close of a lost state is not called before the harness ends, so the memory
  // grows with each step. The time for a process of a replay type grows with
  // the square of its steps.
  void CrashEverywhere(const CrashOptions& options = {});

  // Returns a PID of the test's own. The test can read the messages sent to it.
  Pid Probe();
  // Answers a call to a probe. False: the call has already ended.
  bool Reply(const Received& message, const OwnedPayload& answer = {});
  // The holder of the name; empty(): no process holds it.
  [[nodiscard]] Pid HolderOf(std::string_view name) const;

  // Running and time.

  // Runs one turn of a ready process. False: no process is ready.
  bool RunOne();
  // Runs until no process is ready; returns the number of turns.
  size_t Run();
  // Runs, then moves the time from one timer to the next and runs after each,
  // until `duration` has passed.
  void Advance(Duration duration);
  [[nodiscard]] Time now() const;

  // Commands.

  // From now on this command is held, even if it has a handler.
  void Hold(std::string_view command);
  // From now on `answer` handles this command, at once.
  void Stub(std::string_view command, Stubbed answer);
  // The held yields of this command, oldest first; of all commands if it is
  // empty.
  [[nodiscard]] std::vector<HeldYield> Held(
      std::string_view command = {}) const;
  // Runs, then returns the oldest held yield of this command. Throws if there
  // is none.
  HeldYield ExpectHeld(std::string_view command);
  // Complete a held yield. False: the yield has already ended, by its timeout,
  // a cancel, the end of its process, or an earlier completion.
  bool Complete(const HeldYield& yield, const OwnedPayload& result = {});
  bool Fail(const HeldYield& yield, Code code, std::string_view message);
  // Run, then complete the oldest held yield of this command.
  void CompleteNext(std::string_view command, const OwnedPayload& result = {});
  void FailNext(std::string_view command, Code code, std::string_view message);

  // Queries and expectations.

  [[nodiscard]] bool IsLive(const Pid& pid) const;
  // The live processes of this type, oldest first; of all types if it is empty.
  [[nodiscard]] std::vector<Pid> Live(std::string_view type = {}) const;
  // How the process ended; nullopt: it is alive.
  [[nodiscard]] std::optional<Outcome> OutcomeOf(const Pid& pid) const;
  // Each of the three runs, then throws if the process is alive. ExpectEnded
  // accepts any end. ExpectResult expects a result and returns it. ExpectFailed
  // expects an end with `code` and returns the error's text.
  Outcome ExpectEnded(const Pid& pid);
  OwnedPayload ExpectResult(const Pid& pid);
  std::string ExpectFailed(const Pid& pid, Code code);
  // Runs, then takes the oldest message to the probe. Throws if there is none,
  // or if it has another topic.
  Received ExpectMessage(const Pid& probe, std::string_view topic);
  // Number of messages to the probe that were not taken yet.
  [[nodiscard]] size_t MessagesAt(const Pid& probe) const;
  // Runs, then takes the oldest publication under `topic`. Throws if there is
  // none. The harness keeps all publications until they are taken.
  Published ExpectPublished(std::string_view topic);
  // Takes all publications that were not taken yet, oldest first.
  std::vector<Published> TakePublished();
  // Number of messages that could not be delivered, or were still in a mailbox
  // when their process ended.
  [[nodiscard]] size_t dead_letters() const;
  // The lines of the log so far, of all levels, oldest first.
  [[nodiscard]] const std::vector<LogLine>& log() const;
  // The last things that happened, one a line.
  [[nodiscard]] std::string Trace() const;

  class World;

 private:
  const std::unique_ptr<World> world_;
};

// Runs `scenario(seed)` for the seeds 1 to `count`. An exception from it is
// rethrown as an ExpectationFailed that begins with the seed.
template <typename Scenario>
void ForEachSeed(uint64_t count, const Scenario& scenario) {
  for (uint64_t seed = 1; seed <= count; ++seed) {
    try {
      scenario(seed);
    } catch (const std::exception& error) {
      throw ExpectationFailed("seed " + std::to_string(seed) + ": " +
                              error.what());
    }
  }
}

}  // namespace actord::testing
