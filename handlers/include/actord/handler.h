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
// Thread-safety: Handle runs on many threads at the same time and guards what
// it shares. Host and Completion may be used on any thread. Ownership: a
// Command is a view that ends with the call; copy what you need longer.
#pragma once

#include <actord/abi.h>
#include <actord/values.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actord {

enum class LogLevel : int32_t {
  kDebug = ACTORD_LOG_DEBUG,
  kInfo = ACTORD_LOG_INFO,
  kWarning = ACTORD_LOG_WARNING,
  kError = ACTORD_LOG_ERROR,
};

// What a handler sees of the daemon. A cheap value; valid as long as the
// handler object. Every function may be called on any thread.
class Host {
 public:
  explicit Host(const actord_host* host) : host_(host) {}

  void Log(LogLevel level, std::string_view message) const {
    host_->log(host_, static_cast<int32_t>(level), detail::ToAbi(message));
  }
  // From an arbitrary origin; never runs backwards.
  [[nodiscard]] Duration MonotonicNow() const {
    return Duration(static_cast<Duration::rep>(host_->monotonic_ns(host_)));
  }
  [[nodiscard]] Time Now() const {
    return Time(
        Duration(static_cast<Duration::rep>(host_->unix_time_ns(host_))));
  }

  // kOk: it is in the mailbox. kNotFound: no such process. kFailedPrecondition:
  // it has ended. kResourceExhausted: its mailbox is full. kInvalidArgument:
  // the payload is larger than the daemon's limit.
  [[nodiscard]] Code Send(const Pid& from, const Pid& to,
                          std::string_view topic,
                          const Payload& payload) const {
    const actord_message message = detail::MakeMessage(topic, payload);
    return ToCode(host_->send(host_, &from, &to, &message));
  }

  // Names and groups (abi_handler.h says what they are, and each code). On a
  // daemon that is too old for them: kUnimplemented, nobody, none.

  // kOk: `pid` holds the name now, or did so before. kAlreadyExists: *holder
  // does. kInvalidArgument: that is no name. kFailedPrecondition: `pid` does
  // not live. kResourceExhausted: it holds 64 names.
  [[nodiscard]] Code RegisterName(const Pid& pid, std::string_view name,
                                  Pid* holder = nullptr) const {
    if (!Has(offsetof(actord_host, register_name))) return Code::kUnimplemented;
    return ToCode(
        host_->register_name(host_, &pid, detail::ToAbi(name), holder));
  }
  // kNotFound: it does not hold it.
  [[nodiscard]] Code ReleaseName(const Pid& pid, std::string_view name) const {
    if (!Has(offsetof(actord_host, release_name))) return Code::kUnimplemented;
    return ToCode(host_->release_name(host_, &pid, detail::ToAbi(name)));
  }
  // nullopt: nobody.
  [[nodiscard]] std::optional<Pid> LookUpName(std::string_view name) const {
    Pid pid;
    if (!Has(offsetof(actord_host, look_up_name)) ||
        host_->look_up_name(host_, detail::ToAbi(name), &pid) != ACTORD_OK) {
      return std::nullopt;
    }
    return pid;
  }
  // kOk: `pid` is a member now, or was one before. kInvalidArgument: that is no
  // name. kFailedPrecondition: `pid` does not live. kResourceExhausted: the
  // group has 4,096 members, or `pid` is in 64 groups.
  [[nodiscard]] Code JoinGroup(const Pid& pid, std::string_view group) const {
    if (!Has(offsetof(actord_host, join_group))) return Code::kUnimplemented;
    return ToCode(host_->join_group(host_, &pid, detail::ToAbi(group)));
  }
  // kNotFound: it is no member.
  [[nodiscard]] Code LeaveGroup(const Pid& pid, std::string_view group) const {
    if (!Has(offsetof(actord_host, leave_group))) return Code::kUnimplemented;
    return ToCode(host_->leave_group(host_, &pid, detail::ToAbi(group)));
  }
  // In the order of their PIDs.
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

  // Asks a process to end, or ends it at the end of the step that it is in. Of
  // `reason` 1,024 bytes are kept. kNotFound: there never was such a process.
  // kFailedPrecondition: it has ended. kResourceExhausted: 15,000 cancels wait
  // for it. On a daemon that is too old: kUnimplemented.
  [[nodiscard]] Code Cancel(const Pid& pid, std::string_view reason) const {
    if (!Has(offsetof(actord_host, cancel))) return Code::kUnimplemented;
    return ToCode(host_->cancel(host_, &pid, detail::ToAbi(reason)));
  }
  [[nodiscard]] Code Terminate(const Pid& pid, std::string_view reason) const {
    if (!Has(offsetof(actord_host, terminate))) return Code::kUnimplemented;
    return ToCode(host_->terminate(host_, &pid, detail::ToAbi(reason)));
  }

  // The text of a PID, and back. nullopt: that is not the text of a PID.
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
  // Whether this daemon has the function at this offset of its table.
  [[nodiscard]] bool Has(size_t offset) const {
    return host_->struct_size >= offset + sizeof(void*);
  }

  const actord_host* host_;
};

namespace detail {

// The call of an asynchronous Handle that this thread is in. A completion that
// is dropped because an exception leaves Handle must end with that exception's
// text; a destructor cannot see the text, so it leaves the completion to the
// thunk that catches.
struct HandleFrame {
  actord_completion completion;
  int uncaught_exceptions;
  bool left_to_thunk;
};
inline constinit thread_local HandleFrame* current_handle_frame = nullptr;

}  // namespace detail

// The duty to complete one command. Completes exactly once: by one of the
// functions below, or, when it is dropped, as CANCELLED. Movable, not copyable;
// a moved-from or completed one is empty, and using that does nothing. May
// outlive the call of Handle, but not the handler object.
//
// The functions return kOk when they completed the command;
// kFailedPrecondition when it had ended before (its timeout, a cancel, the end
// of its process), which is no error of the handler; kInvalidArgument when the
// payload is too large, kResourceExhausted when too much waits for the process;
// the command ends with that error then.
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
  // kOk is no failure and is read as kUnknown.
  Code Fail(Code code, std::string_view message) {
    const Code failure = code == Code::kOk ? Code::kUnknown : code;
    return Finish(static_cast<int32_t>(failure), Payload(message));
  }
  Code Fail(const Status& status) {
    return Fail(status.code(), status.message());
  }
  // Completes with an empty result after `delay` (negative: at once). A timeout
  // of the yield that ends more than 0.2 ms before that comes first; it counts
  // from when an inline handler has returned, or from when the command was
  // handed to the pool.
  Code CompleteAfter(Duration delay) {
    if (empty()) return Code::kFailedPrecondition;
    const auto ns =
        delay.count() > 0 ? static_cast<uint64_t>(delay.count()) : uint64_t{0};
    return ToCode(
        host_->complete_after(host_, std::exchange(completion_, 0), ns));
  }
  // Starts a process for `parent`; the result is the text of its PID
  // (text/plain) when its Init has returned, or the error why there is none.
  // options.link and .monitor (any pointer; nothing is written to it, the exit
  // has the command's tag) begin before the child's first step; then `parent`
  // must be the process that yielded, and a child of which it will never hear
  // is terminated.
  void CompleteWithSpawn(const Pid& parent, std::string_view process_type,
                         std::string_view method, const Payload& input,
                         const SpawnOptions& options = {}) {
    if (empty()) return;
    const actord_spawn spawn =
        detail::MakeSpawn(process_type, method, input, options);
    host_->spawn(host_, &parent, &spawn, std::exchange(completion_, 0));
  }

 private:
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

// A command to carry out: a view that ends with the call of Handle.
class Command {
 public:
  explicit Command(const actord_call* call) : call_(call) {}

  [[nodiscard]] std::string_view name() const {
    return detail::View(call_->command);
  }
  [[nodiscard]] Payload payload() const { return call_->payload; }
  // The process that yielded.
  [[nodiscard]] Pid from() const { return call_->from; }
  // (from, tag) is unique for ever: a key for idempotent work.
  [[nodiscard]] Tag tag() const { return call_->tag; }

 private:
  const actord_call* call_;
};

// The answer of a synchronous handler: a result, or an error. Owns its bytes.
class [[nodiscard]] Reply {
 public:
  Reply() = default;  // an empty result
  explicit Reply(std::string bytes, std::string content_type = {})
      : bytes_(std::move(bytes)), content_type_(std::move(content_type)) {}
  Reply(Status error)  // NOLINT: implicit, so that a handler can return one
      : code_(error.code()), bytes_(error.message()) {}
  static Reply Text(std::string text) {
    return Reply(std::move(text), "text/plain");
  }

  // kOk: bytes() is the result. Otherwise it is the error's text.
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
  kInline = ACTORD_HANDLER_INLINE,  // on the worker: microseconds, no blocking
  kPooled = ACTORD_HANDLER_POOLED,  // on the blocking pool
};

// The base of command handlers. A type `T` has
//
//   static constexpr const char* kCommand;  1 to 128 of [a-zA-Z0-9_.-]
//   static constexpr const char* kDoc;      optional: one line for people
//   static constexpr HandlerMode kMode;     optional; kInline
//   T(Host) or T();          once, when the plugin is loaded; throwing refuses
//                            the plugin
//   Reply Handle(const Command&);  or
//   void Handle(const Command&, Completion);
//
// An exception out of Handle completes the command with INTERNAL and its
// what(). The object is destroyed when no call is running or will be. No
// function is virtual.
class Handler {
 public:
  static constexpr const char* kDoc = nullptr;
  static constexpr HandlerMode kMode = HandlerMode::kInline;
};

}  // namespace actord
