#include "daemon/boot_tree.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/settings/bounded_file.h"
#include "handlers/supervisor/supervisor_spec.h"
#include "runtime/system/clock.h"
#include "runtime/system/parker.h"

namespace actord::daemon {
namespace {

constexpr const char* kSupervisorType = "supervisor";

// The result of a callback. The callback and the waiter share the result,
// because the callback may run after the wait has ended.
template <typename T>
class Coming {
 public:
  // Sets the result. Only the first call counts.
  void Set(T value) {
    {
      const absl::MutexLock lock(&mutex_);
      if (!value_) value_ = std::move(value);
    }
    parker_.Notify();
  }
  // Returns the result; nullopt: there was no result within `patience`, which
  // does not depend on the time of day. For one thread.
  std::optional<T> WaitFor(absl::Duration patience) {
    const runtime::Clock& clock = runtime::Clock::System();
    const bool is_endless = patience == absl::InfiniteDuration();
    const uint64_t until_ns =
        clock.MonotonicNs() + static_cast<uint64_t>(std::max<int64_t>(
                                  0, absl::ToInt64Nanoseconds(patience)));
    for (;;) {
      {
        const absl::MutexLock lock(&mutex_);
        if (value_) return std::exchange(value_, std::nullopt);
      }
      const uint64_t now_ns = clock.MonotonicNs();
      if (!is_endless && now_ns >= until_ns) return std::nullopt;
      parker_.Wait(is_endless ? runtime::Parker::kForever : until_ns - now_ns);
    }
  }

 private:
  absl::Mutex mutex_;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
  runtime::Parker parker_;
};

absl::Status CannotStart(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("boot.tree: the tree cannot be started: ", why));
}

void LogEnd(const runtime::Outcome& outcome, Logger& logger) {
  const std::string text =
      absl::StrCat("the boot tree has ended; the daemon continues without it: ",
                   outcome.message);
  if (outcome.kind == runtime::EndKind::kCancelled) {
    logger.Info(text);
  } else {
    logger.Error(text);
  }
}

// Ends the current wait when a shutdown is requested. The callback of the
// shutdown may outlive the start.
class Interruption {
 public:
  // Only the `tell` of the last call counts.
  void SetWait(std::function<void()> tell) {
    const absl::MutexLock lock(&mutex_);
    if (requested_) return tell();
    tell_ = std::move(tell);
  }
  void Request() {
    const absl::MutexLock lock(&mutex_);
    requested_ = true;
    if (tell_) tell_();
  }

 private:
  absl::Mutex mutex_;
  bool requested_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> tell_ ABSL_GUARDED_BY(mutex_);
};

struct BootTreeOptions {
  const std::string& spec;
  absl::Duration timeout;  // for the whole start
  // A tree of the store that was started from another text is ended first.
  bool replace = false;
};

// One start of the tree. Its functions block.
class BootTree {
 public:
  BootTree(const BootTreeOptions& options, runtime::Runtime& runtime,
           ShutdownControl& shutdown, Logger& logger)
      : options_(options),
        runtime_(runtime),
        shutdown_(shutdown),
        logger_(logger) {
    shutdown.OnRequest(
        [interruption = interruption_] { interruption->Request(); });
  }

  absl::StatusOr<BootTreeState> Start() {
    for (;;) {
      runtime::Pid pid;
      const absl::StatusOr<BootTreeState> state = FindOrSubmit(pid);
      if (!state.ok()) return state.status();
      const bool is_new = *state == BootTreeState::kStarted;
      const absl::Status up = AwaitStarted(pid);
      // The tree of the store was cancelled, and the daemon was killed before
      // the tree had ended.
      if (was_cancelled_ && !is_new) continue;
      if (!up.ok()) return up;
      logger_.Info(absl::StrCat(
          is_new ? "the boot tree has started: @"
                 : "the boot tree goes on from the store: @",
          std::string(kBootName), " is ", runtime::FormatPid(pid)));
      LogLaterEnd(pid);
      return *state;
    }
  }

 private:
  [[nodiscard]] absl::Duration Left() const {
    return options_.timeout - absl::Nanoseconds(static_cast<int64_t>(
                                  clock_.MonotonicNs() - began_ns_));
  }
  static absl::Status Told() {
    return absl::CancelledError("told to end while the boot tree was starting");
  }
  absl::Status Late() const {
    return absl::DeadlineExceededError(
        absl::StrCat("boot.tree: the tree did not start within ",
                     absl::FormatDuration(options_.timeout)));
  }
  // Waits for the result of a callback that gets `coming`. CANCELLED,
  // DEADLINE_EXCEEDED: as StartBootTree.
  template <typename T>
  absl::StatusOr<T> WaitFor(
      const std::shared_ptr<Coming<absl::StatusOr<T>>>& coming,
      absl::Duration patience) {
    interruption_->SetWait([coming] { coming->Set(Told()); });
    std::optional<absl::StatusOr<T>> result = coming->WaitFor(patience);
    if (shutdown_.requested()) return Told();
    if (!result) return Late();
    return *std::move(result);
  }
  absl::StatusOr<runtime::Payload> Call(const runtime::Pid& pid,
                                        std::string topic,
                                        absl::Duration patience) {
    const auto coming =
        std::make_shared<Coming<absl::StatusOr<runtime::Payload>>>();
    runtime_.Call(pid, {std::move(topic), {}},
                  [coming](absl::StatusOr<runtime::Payload> answer) {
                    coming->Set(std::move(answer));
                  });
    return WaitFor(coming, patience);
  }
  absl::StatusOr<runtime::Outcome> Await(const runtime::Pid& pid) {
    const auto coming =
        std::make_shared<Coming<absl::StatusOr<runtime::Outcome>>>();
    runtime_.Await(pid, [coming](absl::StatusOr<runtime::Outcome> outcome) {
      coming->Set(std::move(outcome));
    });
    return WaitFor(coming, Left());
  }

  // Calls `ask` again while the disk is behind, which is likely when many
  // durable processes continue at once.
  template <typename Ask>
  auto Insist(const Ask& ask) {
    constexpr uint64_t kAskAgainNs = 50'000'000;
    for (;;) {
      auto answer = ask();
      absl::Status status;
      if constexpr (std::is_same_v<decltype(answer), absl::Status>) {
        status = answer;
      } else {
        status = answer.status();
      }
      const bool again = absl::IsUnavailable(status) &&
                         Left() > absl::ZeroDuration() &&
                         !shutdown_.requested();
      if (!again) return answer;
      parker_.Wait(kAskAgainNs);
    }
  }

  // `pid` receives the PID of the supervisor.
  absl::StatusOr<BootTreeState> FindOrSubmit(runtime::Pid& pid) {
    const absl::StatusOr<runtime::Pid> found = runtime_.FindName(kBootName);
    if (found.ok()) {
      pid = *found;
      const absl::StatusOr<BootTreeState> state = Compare(pid);
      if (!state.ok() || *state == BootTreeState::kContinued ||
          (*state == BootTreeState::kDiffers && !options_.replace)) {
        return state;
      }
      if (*state == BootTreeState::kDiffers) {
        const absl::Status ended = End(pid);
        if (!ended.ok()) return ended;
      }
    }
    const absl::StatusOr<runtime::Pid> submitted =
        Insist([this] { return Submit(); });
    if (!submitted.ok()) {
      const absl::Status& why = submitted.status();
      const bool is_of_wait =
          absl::IsCancelled(why) || absl::IsDeadlineExceeded(why);
      return is_of_wait ? why : CannotStart(why.message());
    }
    pid = *submitted;
    return BootTreeState::kStarted;
  }

  // Whether the supervisor of the store was started from the file. kStarted: it
  // has ended in the meantime.
  absl::StatusOr<BootTreeState> Compare(const runtime::Pid& pid) {
    const absl::StatusOr<runtime::ProcessInfo> info = runtime_.Describe(pid);
    if (info.ok() && info->process_type != kSupervisorType) {
      return CannotStart(absl::StrCat(
          "process ", runtime::FormatPid(pid), " of type ", info->process_type,
          " in the store has the name ", std::string(kBootName),
          "; end it, or let it release the name"));
    }
    const absl::StatusOr<runtime::Payload> input = Insist([&] {
      return Call(pid, "input", options_.replace ? Left() / 2 : Left());
    });
    // A supervisor in quarantine does not answer, and can be replaced.
    if (absl::IsDeadlineExceeded(input.status()) && options_.replace) {
      return BootTreeState::kDiffers;
    }
    if (!input.ok() && !HoldsName(pid)) return BootTreeState::kStarted;
    if (!input.ok()) return input.status();
    if (input->bytes == options_.spec) return BootTreeState::kContinued;
    if (options_.replace) return BootTreeState::kDiffers;
    logger_.Warning(absl::StrCat(
        "boot.tree: the file differs from the text from which the tree in the "
        "store, process ",
        runtime::FormatPid(pid),
        ", was started. The tree in the store goes on; \"actord "
        "--boot-tree-replace\" ends it and starts the tree of the file"));
    return BootTreeState::kDiffers;
  }

  // Ends the tree of the store. When this returns, its end is durable and the
  // name is free.
  absl::Status End(const runtime::Pid& pid) {
    logger_.Info(absl::StrCat(
        "boot.tree: the file differs from the text from which the tree in the "
        "store, process ",
        runtime::FormatPid(pid), ", was started. The daemon ends that tree"));
    // A tree that does not end in time is terminated, while there is time left.
    const absl::Status status = Insist([&] {
      return runtime_.Cancel(pid, "the boot tree is replaced", Left() / 4 * 3);
    });
    if (!status.ok() && HoldsName(pid)) return CannotStart(status.message());
    const absl::Status waited = Await(pid).status();
    if (absl::IsCancelled(waited) || absl::IsDeadlineExceeded(waited)) {
      return waited;
    }
    // The outcome arrives a moment before the name is free.
    constexpr uint64_t kLookAgainNs = 1'000'000;
    while (HoldsName(pid)) {
      if (Left() <= absl::ZeroDuration()) return Late();
      parker_.Wait(kLookAgainNs);
    }
    return absl::OkStatus();
  }
  [[nodiscard]] bool HoldsName(const runtime::Pid& pid) const {
    const absl::StatusOr<runtime::Pid> holder = runtime_.FindName(kBootName);
    return holder.ok() && *holder == pid;
  }

  absl::StatusOr<runtime::Pid> Submit() {
    runtime::SubmitRequest request;
    request.process_type = kSupervisorType;
    request.input = {options_.spec, "application/json"};
    request.name = std::string(kBootName);
    request.durable_if_possible = true;
    const auto coming =
        std::make_shared<Coming<absl::StatusOr<runtime::Pid>>>();
    runtime_.Submit(request, [coming](absl::StatusOr<runtime::Pid> pid) {
      coming->Set(std::move(pid));
    });
    return WaitFor(coming, Left());
  }

  absl::Status AwaitStarted(const runtime::Pid& pid) {
    was_cancelled_ = false;
    const absl::Status status =
        Insist([&] { return Call(pid, "started", Left()); }).status();
    if (status.ok() || absl::IsCancelled(status) ||
        absl::IsDeadlineExceeded(status)) {
      return status;
    }
    // The supervisor has ended before it had started.
    const absl::StatusOr<runtime::Outcome> outcome = Await(pid);
    if (shutdown_.requested()) return Told();
    was_cancelled_ =
        outcome.ok() && outcome->kind == runtime::EndKind::kCancelled;
    return CannotStart(outcome.ok() ? outcome->message : "it has ended");
  }

  void LogLaterEnd(const runtime::Pid& pid) {
    runtime_.Await(pid, [&runtime = runtime_, &logger = logger_](
                            absl::StatusOr<runtime::Outcome> outcome) {
      // While the daemon ends, the end of the supervisor is not a failure.
      const bool serves = runtime.Stats().state == runtime::RunState::kServing;
      if (outcome.ok() && serves) LogEnd(*outcome, logger);
    });
  }

  const BootTreeOptions options_;
  runtime::Runtime& runtime_;
  ShutdownControl& shutdown_;
  Logger& logger_;
  const std::shared_ptr<Interruption> interruption_ =
      std::make_shared<Interruption>();
  runtime::Parker parker_;
  // The supervisor of the last AwaitStarted has ended by a cancel.
  bool was_cancelled_ = false;
  const runtime::Clock& clock_ = runtime::Clock::System();
  const uint64_t began_ns_ = clock_.MonotonicNs();
};

}  // namespace

absl::StatusOr<std::string> ReadBootTree(const std::string& path,
                                         size_t max_payload_bytes) {
  const auto refuse = [&path](std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("boot.tree: ", path, ": ", std::string(why)));
  };
  auto text = ReadBoundedFile(path, FileReading::kOnce, max_payload_bytes,
                              "the value of limits.max_payload_bytes");
  if (!text.ok()) return refuse(std::string(text.status().message()));
  if (text->empty())
    return refuse("is empty; write {} for a tree without children");
  const Status status =
      handlers::ParseSupervisorSpec(*text, max_payload_bytes).status();
  if (!status.ok()) return refuse(status.message());
  return text;
}

absl::Status StartBootTree(const std::string& spec, const Config& config,
                           runtime::Runtime& runtime, ShutdownControl& shutdown,
                           Logger& logger, BootTreeState& state) {
  const auto started = BootTree({.spec = spec,
                                 .timeout = config.boot_timeout,
                                 .replace = config.boot_tree_replace},
                                runtime, shutdown, logger)
                           .Start();
  if (started.ok()) state = *started;
  return started.status();
}

}  // namespace actord::daemon
