// actord/testing.h: run the processes of a plugin in a test, on one thread and
// with a clock of the test's own.
//
//   actord::testing::Harness harness(MY_PLUGIN_PATH);
//   const actord::Pid order = harness.Submit("order", "run", input);
//   harness.Advance(std::chrono::minutes(5));
//   harness.CompleteNext("payment.charge", R"({"receipt":"r1"})");
//   EXPECT_EQ(harness.ExpectResult(order).bytes, "...");
//
// It is a daemon in small: the same ABI, life cycle, transactions, built-in
// commands (but for file.read), calls, monitors, links, names and groups, and
// the plugin's own handlers. What no handler carries out is held for the test,
// as an external command is for remote workers.
//
// Nothing happens behind the test's back: processes run within Run and Advance,
// time stands still but for Advance, and handlers, pooled ones too, run on the
// test's thread. Which of the ready processes is next, how many of its events a
// step gets, and random() come from the seed: the same seed gives the same run.
// ForEachSeed tries a scenario under many.
//
// An expectation that is not met throws ExpectationFailed, which any test
// framework reports; its text ends with what happened last.
//
// Link actord::testing (find_package(actord)); no library but the standard one
// comes with it. Thread-safety: none; a handler must not use its Host on other
// threads (Stub such a command). Ownership: a harness owns its processes and
// closes those that live at its end.
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

// What the test expected did not happen; also a mistake of the test, such as a
// process type that the plugin has not.
class ExpectationFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct HarnessOptions {
  uint64_t seed = 1;
  // What the clock shows at first. Default: 2026-01-01, 00:00:00 UTC.
  Time start{std::chrono::seconds(1'767'225'600)};
  // Of yields that name none, as the daemon's `yields.default_timeout`. 0:
  // none.
  Duration yield_timeout{0};
  // As the daemon's `limits.max_payload_bytes`.
  size_t max_payload_bytes = 1 << 20;
  // As the daemon's `limits.max_processes`. Reaching it with Submit throws.
  size_t max_processes = 1'000'000;
  // After so many turns without a rest, Run and Advance give up: 1 or more.
  size_t max_turns = 1'000'000;
};

// How a process ended.
enum class EndKind {
  kResult,       // it said Done
  kFailed,       // it said Fail
  kThrew,        // an exception came out of its code, or it broke a rule
  kInitRefused,  // its Init said no (of spawned processes)
  kCancelled,    // a cancel ended it
  kTerminated,   // it was forced
};

struct Outcome {
  EndKind kind = EndKind::kResult;
  OwnedPayload result;  // of kResult
  Status status;        // of all others: why
  uint64_t steps = 0;
};

// A command that was yielded and waits for the test to complete it.
struct HeldYield {
  Pid pid;
  Tag tag = 0;
  std::string command;
  OwnedPayload payload;
  std::optional<Time> deadline;  // nullopt: it has no timeout
  // Its own. The harness tries nothing again: it is for the test to look at.
  WorkPolicy policy{};
};

// A message to a probe.
struct Received {
  Pid from;
  std::string topic;
  OwnedPayload payload;
  uint64_t call = 0;  // not 0: an answer is expected, see Reply
};

struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

class Harness {
 public:
  // Carries out a command in place of its handler.
  using Stubbed = std::function<Result<>(const HeldYield&)>;

  // Of a plugin that is linked into the test: Harness(actord_plugin). It must
  // outlive the harness.
  explicit Harness(const actord_plugin_info& plugin,
                   const HarnessOptions& options = {});
  // Of the shared object at `path`; it stays loaded until the harness ends.
  explicit Harness(const char* path, const HarnessOptions& options = {});
  ~Harness();
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  // ---- What a client does.

  // Starts a process; its Init runs at once. An empty method is the type's
  // first. Throws if the type or method is unknown or Init refuses.
  Pid Submit(std::string_view type, std::string_view method = {},
             const OwnedPayload& input = {});
  // The same, for an Init that refuses with `code`: what it says. Throws if it
  // does not.
  std::string ExpectRefused(Code code, std::string_view type,
                            std::string_view method = {},
                            const OwnedPayload& input = {});
  // Puts a message into a mailbox. Throws if the process has ended or never
  // was.
  void Deliver(const Pid& to, std::string_view topic,
               const OwnedPayload& payload = {}, const Pid& from = {});
  // Asks a process to end; the process sees it at its next step.
  void Cancel(const Pid& pid, std::string_view reason = "cancelled by a test");
  // Ends it at once.
  void Terminate(const Pid& pid, std::string_view reason = "ended by a test");

  // Sends a message that wants an answer, runs, and gives the answer back.
  // Throws if there is none by then; a process that ends without one has
  // answered ABORTED, and one that had ended before, FAILED_PRECONDITION.
  Result<> Call(const Pid& to, std::string_view topic,
                const OwnedPayload& payload = {});

  // Has the process go on in `NewType`, as a daemon does that has loaded a
  // plugin with it: Snapshot, Restore, Close of the old object, and a step of
  // the new one with the next Run. kOk; or why not, and the process goes on as
  // it was: kUnavailable is "not now", of Snapshot or because the process was
  // asked to end and has not seen that; a daemon asks again. kUnavailable of
  // Restore is for good, and comes as kFailedPrecondition.
  // `from_version` is what Restore is told. Throws if it does not live, or one
  // of the types lacks its part.
  template <typename NewType>
  Status Upgrade(const Pid& pid, std::string_view from_version = "1") {
    return Upgrade(pid, kProcessType<NewType>, from_version);
  }
  // The same. `type` must outlive the harness.
  Status Upgrade(const Pid& pid, const actord_process_type& type,
                 std::string_view from_version);

  // A PID of the test's own: what is sent there can be looked at.
  Pid Probe();
  // Answers a call to a probe. False: it has ended.
  bool Reply(const Received& message, const OwnedPayload& answer = {});
  // Who holds the name; empty(): nobody.
  [[nodiscard]] Pid HolderOf(std::string_view name) const;

  // ---- Running and time.

  // One turn of a process that is ready. False: none is.
  bool RunOne();
  // Runs until no process is ready; returns the number of turns.
  size_t Run();
  // Runs, then moves the time on from one timer to the next, running after
  // each, until `duration` has passed.
  void Advance(Duration duration);
  [[nodiscard]] Time now() const;

  // ---- Commands.

  // From now on this command is held, also if there is a handler for it.
  void Hold(std::string_view command);
  // From now on `answer` carries this command out, at once.
  void Stub(std::string_view command, Stubbed answer);
  // Those that are held, oldest first; of this command only, unless it is
  // empty.
  [[nodiscard]] std::vector<HeldYield> Held(
      std::string_view command = {}) const;
  // The oldest of this command that is held, after a Run. Throws if there is
  // none.
  HeldYield ExpectHeld(std::string_view command);
  // Completes a held yield. False: it has ended, by its timeout, a cancel or
  // its process's end, or it was completed before.
  bool Complete(const HeldYield& yield, const OwnedPayload& result = {});
  bool Fail(const HeldYield& yield, Code code, std::string_view message);
  // Completes the oldest of this command that is held, after a Run.
  void CompleteNext(std::string_view command, const OwnedPayload& result = {});
  void FailNext(std::string_view command, Code code, std::string_view message);

  // ---- Looking.

  [[nodiscard]] bool IsLive(const Pid& pid) const;
  // Those that live, oldest first; of this type only, unless it is empty.
  [[nodiscard]] std::vector<Pid> Live(std::string_view type = {}) const;
  // How it ended; nullopt: it lives.
  [[nodiscard]] std::optional<Outcome> OutcomeOf(const Pid& pid) const;
  // After a Run: the process has ended; with a result; without one and with
  // `code`, and what it said. Throws if it lives, or ended otherwise.
  Outcome ExpectEnded(const Pid& pid);
  OwnedPayload ExpectResult(const Pid& pid);
  std::string ExpectFailed(const Pid& pid, Code code);
  // After a Run: takes the oldest message to the probe, which has this topic.
  Received ExpectMessage(const Pid& probe, std::string_view topic);
  // What the probe was sent and nobody took.
  [[nodiscard]] size_t MessagesAt(const Pid& probe) const;
  // Messages that could not be delivered, or were left when their process
  // ended.
  [[nodiscard]] size_t dead_letters() const;
  [[nodiscard]] const std::vector<LogLine>& log() const;
  // The last things that happened, a line each.
  [[nodiscard]] std::string Trace() const;

  class World;

 private:
  const std::unique_ptr<World> world_;
};

// Runs `scenario(seed)` under the seeds 1 to `count`. What it throws gets the
// seed in front of it, as an ExpectationFailed.
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
