// actord/handler.h: write a command handler as a class.
//
//   class Upper : public actord::Handler {          // answers at once
//    public:
//     static constexpr const char* kCommand = "text.upper";
//     actord::Reply Handle(const actord::Command& command);
//   };
//
//   class Charge : public actord::Handler {         // answers later
//    public:
//     static constexpr const char* kCommand = "payment.charge";
//     explicit Charge(actord::Host host);           // optional
//     void Handle(const actord::Command& command, actord::Completion done);
//   };
//
// Thread-safety: Handle runs on many threads at the same time and must guard
// shared members. Host and Completion may be used on any thread. Ownership: a
// Command is a view that ends with the call; copy data that you need longer.
#pragma once

#include <actord/abi.h>
#include <actord/owned.h>
#include <actord/pid_text.h>
#include <actord/result.h>
#include <actord/values.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actord {

// The daemon as seen by a handler. A cheap value, valid as long as the handler
// object. Every function may be called on any thread.
class Host {
 public:
  explicit Host(const actord_host* host) : host_(host) {}

  void Log(LogLevel level, std::string_view message) const {
    host_->log(host_, static_cast<int32_t>(level), detail::ToAbi(message));
  }
  // The same for a line that begins with the process: its PID, and while it
  // lives its type and name. A message above 15 KiB is cut. On a daemon without
  // this function the line has the PID alone.
  void Log(LogLevel level, const Pid& process, std::string_view message) const {
    if (Has(offsetof(actord_host, log_for))) {
      return host_->log_for(host_, static_cast<int32_t>(level), &process,
                            detail::ToAbi(message));
    }
    Log(level, "process " + FormatPid(process) + ": " + std::string(message));
  }
  // Monotonic time from an arbitrary origin. Never runs backwards.
  [[nodiscard]] Duration MonotonicNow() const {
    return Duration(static_cast<Duration::rep>(host_->monotonic_ns(host_)));
  }
  [[nodiscard]] Time Now() const {
    return Time(
        Duration(static_cast<Duration::rep>(host_->unix_time_ns(host_))));
  }

  // Sends a message. kOk: it is in the mailbox. kNotFound: no such process.
  // kFailedPrecondition: the process has ended. kResourceExhausted: its mailbox
  // is full. kInvalidArgument: the payload is above the daemon's limit.
  [[nodiscard]] Code Send(const Pid& from, const Pid& to,
                          std::string_view topic,
                          const Payload& payload) const {
    const actord_message message = detail::MakeMessage(topic, payload);
    return ToCode(host_->send(host_, &from, &to, &message));
  }

  // Names and groups (see abi_handler.h for their form, and for every code). On
  // a daemon without these functions: kUnimplemented, nullopt, or an empty
  // vector.

  // Gives `pid` the name. kOk: `pid` now holds it, or held it before.
  // kAlreadyExists: *holder holds it. kInvalidArgument: invalid name.
  // kFailedPrecondition: `pid` is not alive. kResourceExhausted: `pid` holds 64
  // names.
  [[nodiscard]] Code RegisterName(const Pid& pid, std::string_view name,
                                  Pid* holder = nullptr) const {
    if (!Has(offsetof(actord_host, register_name))) return Code::kUnimplemented;
    return ToCode(
        host_->register_name(host_, &pid, detail::ToAbi(name), holder));
  }
  // Takes the name from `pid`. kNotFound: `pid` does not hold it.
  [[nodiscard]] Code ReleaseName(const Pid& pid, std::string_view name) const {
    if (!Has(offsetof(actord_host, release_name))) return Code::kUnimplemented;
    return ToCode(host_->release_name(host_, &pid, detail::ToAbi(name)));
  }
  // The holder of the name. nullopt: no process holds it.
  [[nodiscard]] std::optional<Pid> LookUpName(std::string_view name) const {
    Pid pid;
    if (!Has(offsetof(actord_host, look_up_name)) ||
        host_->look_up_name(host_, detail::ToAbi(name), &pid) != ACTORD_OK) {
      return std::nullopt;
    }
    return pid;
  }
  // Adds `pid` to the group. kOk: `pid` is now a member, or was one before.
  // kInvalidArgument: invalid name. kFailedPrecondition: `pid` is not alive.
  // kResourceExhausted: the group has 4,096 members, or `pid` is in 64 groups.
  [[nodiscard]] Code JoinGroup(const Pid& pid, std::string_view group) const {
    if (!Has(offsetof(actord_host, join_group))) return Code::kUnimplemented;
    return ToCode(host_->join_group(host_, &pid, detail::ToAbi(group)));
  }
  // Removes `pid` from the group. kNotFound: `pid` is not a member.
  [[nodiscard]] Code LeaveGroup(const Pid& pid, std::string_view group) const {
    if (!Has(offsetof(actord_host, leave_group))) return Code::kUnimplemented;
    return ToCode(host_->leave_group(host_, &pid, detail::ToAbi(group)));
  }
  // The members, ordered by PID.
  [[nodiscard]] std::vector<Pid> GroupMembers(std::string_view group) const {
    constexpr size_t kMost = 4096;
    std::vector<Pid> members;
    if (!Has(offsetof(actord_host, group_members))) return members;
    std::vector<actord_pid> pids(kMost);
    const size_t count = host_->group_members(host_, detail::ToAbi(group),
                                              pids.data(), pids.size());
    pids.resize(std::min(count, pids.size()));
    members.assign(pids.begin(), pids.end());
    return members;
  }

  // Cancel asks a process to end. Terminate ends it, after its current step if
  // it is in one. At most 1,024 bytes of `reason` are kept. kNotFound: there
  // never was such a process. kFailedPrecondition: it has ended.
  // kResourceExhausted: 15,000 cancels are already queued for it.
  // kUnimplemented: the daemon is too old.
  [[nodiscard]] Code Cancel(const Pid& pid, std::string_view reason) const {
    if (!Has(offsetof(actord_host, cancel))) return Code::kUnimplemented;
    return ToCode(host_->cancel(host_, &pid, detail::ToAbi(reason)));
  }
  [[nodiscard]] Code Terminate(const Pid& pid, std::string_view reason) const {
    if (!Has(offsetof(actord_host, terminate))) return Code::kUnimplemented;
    return ToCode(host_->terminate(host_, &pid, detail::ToAbi(reason)));
  }

  // Convert a PID to text and back. nullopt: `text` is not a PID.
  [[nodiscard]] std::string FormatPid(const Pid& pid) const {
    char text[64];
    return {text, host_->format_pid(host_, &pid, text)};
  }
  [[nodiscard]] std::optional<Pid> ParsePid(std::string_view text) const {
    Pid pid;
    if (host_->parse_pid(host_, detail::ToAbi(text), &pid) != ACTORD_OK) {
      return std::nullopt;
    }
    return pid;
  }

  [[nodiscard]] const actord_host* abi() const { return host_; }

 private:
  // True if this daemon has the function at this offset of its table.
  [[nodiscard]] bool Has(size_t offset) const {
    return host_->struct_size >= offset + sizeof(void*);
  }

  const actord_host* host_;
};

namespace detail {

// The asynchronous Handle call that this thread is in. If an exception leaves
// Handle and drops the completion, the completion must end with the exception's
// text. A destructor cannot see that text, so it leaves the completion to the
// thunk that catches the exception.
struct HandleFrame {
  actord_completion completion;
  int uncaught_exceptions;
  bool left_to_thunk;
};
inline constinit thread_local HandleFrame* current_handle_frame = nullptr;

}  // namespace detail

// The obligation to complete one command. It completes exactly once: by one of
// the functions below, or as CANCELLED when it is destroyed. Movable, not
// copyable. A moved-from or completed object is empty; using it does nothing.
// It may outlive the call of Handle, but not the handler object.
//
// The functions return kOk if this call completed the command.
// kFailedPrecondition: the command had already ended, by its timeout, a cancel
// or the end of its process; this is not an error of the handler.
// kInvalidArgument: the payload is too large. kResourceExhausted: too many
// completions are queued for the process. In the last two cases the command
// ends with that error.
class Completion {
 public:
  Completion() = default;
  Completion(Host host, actord_completion completion)
      : host_(host.abi()), completion_(completion) {}
  Completion(Completion&& other) noexcept
      : host_(other.host_), completion_(std::exchange(other.completion_, 0)) {}
  Completion& operator=(Completion&& other) noexcept {
    if (this != &other) {
      Drop();
      host_ = other.host_;
      completion_ = std::exchange(other.completion_, 0);
    }
    return *this;
  }
  ~Completion() { Drop(); }

  [[nodiscard]] bool empty() const { return completion_ == 0; }

  Code Complete(const Payload& result = {}) {
    return Finish(ACTORD_OK, result);
  }
  // kOk is not a failure; it is read as kUnknown.
  Code Fail(Code code, std::string_view message) {
    return FailWith(code, Payload(message));
  }
  Code Fail(const Status& status) {
    if (status.holder().empty()) return Fail(status.code(), status.message());
    return FailWith(status.code(), {std::string_view(status.message()),
                                    detail::HolderType(status.holder())});
  }
  // Completes with an empty result after `delay`, or at once if it is negative.
  // If the yield's timeout is more than 0.2 ms earlier, the timeout wins. The
  // timeout starts when an inline handler returns, or when the command is
  // handed to the pool.
  Code CompleteAfter(Duration delay) {
    if (empty()) return Code::kFailedPrecondition;
    const auto ns =
        delay.count() > 0 ? static_cast<uint64_t>(delay.count()) : uint64_t{0};
    return ToCode(
        host_->complete_after(host_, std::exchange(completion_, 0), ns));
  }
  // Starts a process for `parent`. When its Init has returned, the result is
  // the text of its PID (text/plain). Otherwise the error says why the process
  // did not start.
  //
  // options.link and options.monitor take effect before the child's first step.
  // They require that `parent` is the process that yielded; a child that the
  // parent can no longer learn of is terminated. The exit of a monitor has the
  // command's tag.
  void CompleteWithSpawn(const Pid& parent, std::string_view process_type,
                         std::string_view method, const Payload& input,
                         const SpawnOptions& options = {}) {
    if (empty()) return;
    const actord_spawn spawn =
        detail::MakeSpawn(process_type, method, input, options);
    host_->spawn(host_, &parent, &spawn, std::exchange(completion_, 0));
  }

 private:
  Code FailWith(Code code, const Payload& text) {
    const Code failure = code == Code::kOk ? Code::kUnknown : code;
    return Finish(static_cast<int32_t>(failure), text);
  }
  Code Finish(int32_t status, const Payload& payload) {
    if (empty()) return Code::kFailedPrecondition;
    const actord_payload abi = payload.ToAbi();
    return ToCode(
        host_->complete(host_, std::exchange(completion_, 0), status, &abi));
  }

  void Drop() noexcept {
    if (empty()) return;
    detail::HandleFrame* frame = detail::current_handle_frame;
    if (frame != nullptr && frame->completion == completion_ &&
        std::uncaught_exceptions() > frame->uncaught_exceptions) {
      frame->left_to_thunk = true;
      completion_ = 0;
      return;
    }
    Finish(ACTORD_CANCELLED, "the handler dropped the command");
  }

  const actord_host* host_ = nullptr;
  actord_completion completion_ = 0;
};

// A command to handle: a view that ends with the call of Handle.
class Command {
 public:
  explicit Command(const actord_call* call) : call_(call) {}

  [[nodiscard]] std::string_view name() const {
    return detail::View(call_->command);
  }
  [[nodiscard]] Payload payload() const { return call_->payload; }
  // The process that yielded.
  [[nodiscard]] Pid from() const { return call_->from; }
  // (from, tag) is never reused: a key for idempotent work.
  [[nodiscard]] Tag tag() const { return call_->tag; }

 private:
  const actord_call* call_;
};

// The answer of a synchronous handler: a result or an error. Owns its bytes.
// All conversions are implicit, so that a handler can return what it has.
class [[nodiscard]] Reply {
 public:
  // An empty result.
  Reply() = default;
  // A result: text/plain.
  Reply(std::string text)  // NOLINT: implicit by intent
      : Reply(OwnedPayload(std::move(text))) {}
  Reply(std::string bytes, std::string content_type)
      : bytes_(std::move(bytes)), content_type_(std::move(content_type)) {}
  Reply(OwnedPayload result)  // NOLINT: implicit by intent
      : bytes_(std::move(result.bytes)),
        content_type_(std::move(result.content_type)) {}
  // A copy of a Payload, or of any text.
  template <typename View>
  requires(std::convertible_to<const View&, Payload> &&
           !std::same_as<View, std::string> &&
           !std::same_as<View, OwnedPayload>)
      Reply(const View& result)  // NOLINT: implicit by intent
      : Reply(OwnedPayload(Payload(result))) {}

  // An error. kOk is not an error: the text is then the result.
  Reply(Status error)  // NOLINT: implicit by intent
      : code_(error.code()),
        bytes_(error.message()),
        content_type_(detail::HolderType(error.holder())) {}
  Reply(const Error& error)  // NOLINT: implicit by intent
      : Reply(Status(error)) {}
  Reply(Code code, std::string message)
      : code_(code), bytes_(std::move(message)) {}

  // The value of a Result as the result, or its error.
  template <std::convertible_to<OwnedPayload> T>
  Reply(const Result<T>& result)  // NOLINT: implicit by intent
      : Reply(result.ok() ? Reply(OwnedPayload(*result))
                          : Reply(result.status())) {}

  static Reply Text(std::string text) {
    return Reply(std::move(text), "text/plain");
  }
  // `text` must be valid JSON; it is not checked.
  static Reply Json(std::string text) {
    return Reply(OwnedPayload::Json(std::move(text)));
  }

  // kOk: bytes() is the result. Otherwise bytes() is the error's text.
  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] const std::string& content_type() const {
    return content_type_;
  }

 private:
  Code code_ = Code::kOk;
  std::string bytes_;
  std::string content_type_;
};

enum class HandlerMode : uint32_t {
  // On the worker: microseconds, must not block.
  kInline = ACTORD_HANDLER_INLINE,
  // On the blocking pool.
  kPooled = ACTORD_HANDLER_POOLED,
};

// The base of command handlers. A type `T` has
//
//   static constexpr const char* kCommand;  1 to 128 of [a-zA-Z0-9_.-]
//   static constexpr const char* kDoc;      optional: one line for people
//   static constexpr HandlerMode kMode;     optional; kInline
//   static constexpr bool kIdempotent;      optional; false
//   static constexpr bool kPure;            optional; false
//   T(Host) or T();          called once, when the plugin is loaded; an
//                            exception refuses the plugin
//   Reply Handle(const Command&);  or
//   void Handle(const Command&, Completion);
//
// kIdempotent and kPure matter for commands of durable processes alone.
// kIdempotent: handling a command twice has the effect of handling it once,
// because the handler uses (from, tag) of the command as a key; a command that
// had no answer when the daemon ended is handled again. Without it such a
// command completes with ABORTED. kPure: handling a command has no effect but
// the answer. It is handled again, too, and an inline handler answers within
// the turn, before the step is on the disk. If a repeated command ends the
// daemon `store.max_crashes` times, the process goes into quarantine.
//
// An exception out of Handle completes the command with INTERNAL and its
// what(). The object is destroyed after the last call of Handle has returned.
// No function is virtual.
class Handler {
 public:
  static constexpr const char* kDoc = nullptr;
  static constexpr HandlerMode kMode = HandlerMode::kInline;
  static constexpr bool kIdempotent = false;
  static constexpr bool kPure = false;
};

}  // namespace actord
