#include "daemon/boot_tree.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "daemon/settings/bounded_file.h"
#include "handlers/supervisor/supervisor_spec.h"
#include "runtime/system/clock.h"
#include "runtime/system/parker.h"

namespace actord::daemon {
namespace {

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
  // Returns the result; nullopt: there was no result within `patience`,
  // whatever happens to the time of day. For one thread.
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

absl::Status Late(absl::Duration timeout) {
  return absl::DeadlineExceededError(
      absl::StrCat("boot.tree: the tree did not start within ",
                   absl::FormatDuration(timeout)));
}

absl::Status CannotStart(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("boot.tree: the tree cannot be started: ", why));
}

// Returns the reason why the supervisor ended before it had started.
absl::Status WhyEnded(runtime::Runtime& runtime, const runtime::Pid& pid,
                      absl::Duration patience) {
  auto coming = std::make_shared<Coming<std::string>>();
  runtime.Await(pid, [coming](absl::StatusOr<runtime::Outcome> outcome) {
    coming->Set(outcome.ok() ? outcome->message
                             : std::string(outcome.status().message()));
  });
  return CannotStart(coming->WaitFor(patience).value_or("it has ended"));
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

absl::Status StartBootTree(const std::string& spec, absl::Duration timeout,
                           runtime::Runtime& runtime, ShutdownControl& shutdown,
                           Logger& logger) {
  const runtime::Clock& clock = runtime::Clock::System();
  const uint64_t began_ns = clock.MonotonicNs();
  const auto left = [&] {
    return timeout - absl::Nanoseconds(
                         static_cast<int64_t>(clock.MonotonicNs() - began_ns));
  };
  runtime::SubmitRequest request;
  request.process_type = "supervisor";
  request.input = {spec, "application/json"};
  request.name = std::string(kBootName);
  auto submitted = std::make_shared<Coming<absl::StatusOr<runtime::Pid>>>();
  auto started = std::make_shared<Coming<absl::Status>>();
  const absl::Status told =
      absl::CancelledError("told to end while the boot tree was starting");
  shutdown.OnRequest([submitted, started, told] {
    submitted->Set(told);
    started->Set(told);
  });
  runtime.Submit(request, [submitted](absl::StatusOr<runtime::Pid> pid) {
    submitted->Set(std::move(pid));
  });
  const auto pid = submitted->WaitFor(left());
  if (shutdown.requested()) return told;
  if (!pid) return Late(timeout);
  if (!pid->ok()) return CannotStart(pid->status().message());

  runtime.Call(**pid, {"started", {}},
               [started](absl::StatusOr<runtime::Payload> answer) {
                 started->Set(answer.status());
               });
  const auto status = started->WaitFor(left());
  if (shutdown.requested()) return told;
  if (!status) return Late(timeout);
  if (!status->ok()) return WhyEnded(runtime, **pid, left());
  logger.Info(absl::StrCat("the boot tree has started: @",
                           std::string(kBootName), " is ",
                           runtime::FormatPid(**pid)));
  runtime.Await(**pid, [&runtime,
                        &logger](absl::StatusOr<runtime::Outcome> outcome) {
    // While the daemon ends, the end of the supervisor is no failure.
    const bool serves = runtime.Stats().state == runtime::RunState::kServing;
    if (outcome.ok() && serves) LogEnd(*outcome, logger);
  });
  return absl::OkStatus();
}

}  // namespace actord::daemon
