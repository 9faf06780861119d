// actord/values.h: the plain values of the SDK: time, PIDs, payloads, status
// codes. Most of them are thin C++ wrappers of structs in abi.h.
//
// Thread-safety: plain values. Ownership: Payload and Error are views and own
// nothing. Status owns its text.
#pragma once

#include <actord/abi.h>
#include <actord/excerpt.h>
#include <actord/text.h>

#include <array>
#include <bit>
#include <chrono>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace actord {

// Wall-clock time with the resolution of the ABI.
using Time = std::chrono::time_point<std::chrono::system_clock,
                                     std::chrono::nanoseconds>;
using Duration = std::chrono::nanoseconds;

// Identifies one yield of one process. Never 0, never reused within a process.
using Tag = uint64_t;

// Identifies a message that expects an answer; 0 means none. A plain value that
// may be kept and passed on. Answering too late or twice is counted and does no
// harm.
using CallId = uint64_t;

// One way to start a process type: {name, doc}. Both are NUL-terminated; doc
// may be nullptr.
using Method = actord_method;

namespace detail {

constexpr actord_bytes ToAbi(std::string_view text) {
  return {text.data(), text.size()};
}

inline std::string_view View(const actord_bytes& bytes) {
  return {static_cast<const char*>(bytes.data), bytes.size};
}

// Joins the two halves of a PID that a call has returned in two registers.
// Without it, GCC 12 stores two halves and then copies them as one value, for
// which the processor stalls. The value is unchanged.
inline actord_pid InOnePiece(const actord_pid& pid) {
  return std::bit_cast<actord_pid>(std::bit_cast<std::array<uint64_t, 2>>(pid));
}

}  // namespace detail

// The identity of a process. Never reused. FormatPid and ParsePid (of Host,
// StepContext and Context) convert it to text and back.
struct Pid : actord_pid {
  constexpr Pid() : actord_pid{} {}
  constexpr Pid(const actord_pid& pid) : actord_pid(pid) {}  // NOLINT: same

  // True for "no process".
  [[nodiscard]] constexpr bool empty() const {
    return (node | incarnation | slot | generation) == 0;
  }

  friend constexpr bool operator==(const Pid& a, const Pid& b) {
    return (a <=> b) == 0;
  }
  friend constexpr std::strong_ordering operator<=>(const Pid& a,
                                                    const Pid& b) {
    if (auto order = a.node <=> b.node; order != 0) return order;
    if (auto order = a.incarnation <=> b.incarnation; order != 0) return order;
    if (auto order = a.slot <=> b.slot; order != 0) return order;
    return a.generation <=> b.generation;
  }
};

// Bytes with their content type. A view: copy the data to keep it. Anything
// that converts to std::string_view converts to a Payload of type text/plain;
// an empty text has no type. Json(text) and JsonPayload (json.h) make JSON. An
// empty content type means "application/json".
struct Payload {
  std::string_view bytes;
  std::string_view content_type;

  constexpr Payload() = default;
  template <typename Text>
  requires std::convertible_to<const Text&, std::string_view>
  constexpr Payload(const Text& text)  // NOLINT: implicit by intent
      : bytes(text), content_type(bytes.empty() ? "" : "text/plain") {}
  constexpr Payload(std::string_view payload_bytes, std::string_view type)
      : bytes(payload_bytes), content_type(type) {}
  Payload(const actord_payload& payload)  // NOLINT: the same thing
      : bytes(detail::View(payload.bytes)),
        content_type(detail::View(payload.content_type)) {}

  static constexpr Payload Text(std::string_view text) {
    return {text, "text/plain"};
  }
  // `text` must be valid JSON; it is not checked.
  static constexpr Payload Json(std::string_view text) {
    return {text, "application/json"};
  }
  static constexpr Payload Binary(std::string_view bytes) {
    return {bytes, "application/octet-stream"};
  }

  [[nodiscard]] constexpr bool empty() const { return bytes.empty(); }
  // Judged by the content type. The bytes are not checked.
  [[nodiscard]] constexpr bool is_json() const {
    return content_type.empty() || content_type == "application/json";
  }
  [[nodiscard]] constexpr actord_payload ToAbi() const {
    return {detail::ToAbi(bytes), detail::ToAbi(content_type)};
  }
};

// Status codes, with the numbers of google.rpc.Code.
enum class Code : int32_t {
  kOk = ACTORD_OK,
  kCancelled = ACTORD_CANCELLED,
  kUnknown = ACTORD_UNKNOWN,
  kInvalidArgument = ACTORD_INVALID_ARGUMENT,
  kDeadlineExceeded = ACTORD_DEADLINE_EXCEEDED,
  kNotFound = ACTORD_NOT_FOUND,
  kAlreadyExists = ACTORD_ALREADY_EXISTS,
  kPermissionDenied = ACTORD_PERMISSION_DENIED,
  kResourceExhausted = ACTORD_RESOURCE_EXHAUSTED,
  kFailedPrecondition = ACTORD_FAILED_PRECONDITION,
  kAborted = ACTORD_ABORTED,
  kOutOfRange = ACTORD_OUT_OF_RANGE,
  kUnimplemented = ACTORD_UNIMPLEMENTED,
  kInternal = ACTORD_INTERNAL,
  kUnavailable = ACTORD_UNAVAILABLE,
  kDataLoss = ACTORD_DATA_LOSS,
  kUnauthenticated = ACTORD_UNAUTHENTICATED,
};

// A number that is not a code is read as kUnknown.
constexpr Code ToCode(int32_t number) {
  return number >= ACTORD_OK && number <= ACTORD_UNAUTHENTICATED
             ? static_cast<Code>(number)
             : Code::kUnknown;
}

// "INVALID_ARGUMENT" and so on.
constexpr std::string_view CodeName(Code code) {
  constexpr std::string_view kNames[] = {"OK",
                                         "CANCELLED",
                                         "UNKNOWN",
                                         "INVALID_ARGUMENT",
                                         "DEADLINE_EXCEEDED",
                                         "NOT_FOUND",
                                         "ALREADY_EXISTS",
                                         "PERMISSION_DENIED",
                                         "RESOURCE_EXHAUSTED",
                                         "FAILED_PRECONDITION",
                                         "ABORTED",
                                         "OUT_OF_RANGE",
                                         "UNIMPLEMENTED",
                                         "INTERNAL",
                                         "UNAVAILABLE",
                                         "DATA_LOSS",
                                         "UNAUTHENTICATED"};
  return kNames[static_cast<int32_t>(ToCode(static_cast<int32_t>(code)))];
}

// An error that came with an event. A view, like Payload.
struct Error {
  Code code = Code::kOk;
  std::string_view message;
  // Of commands::Spawn and commands::RegisterName with kAlreadyExists: the
  // process that holds the name. Otherwise empty().
  Pid holder = {};

  // True for an error.
  explicit constexpr operator bool() const { return code != Code::kOk; }
};

// The outcome of an operation that can fail. Converts from an Error and copies
// its text.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, const Pid& holder = {})
      : code_(code), message_(std::move(message)), holder_(holder) {}
  Status(const Error& error)  // NOLINT: implicit by intent
      : Status(error.code, std::string(error.message), error.holder) {}

  static Status Ok() { return {}; }

  [[nodiscard]] bool ok() const { return code_ == Code::kOk; }
  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  // As Error::holder.
  [[nodiscard]] const Pid& holder() const { return holder_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
  Pid holder_;
};

// How a watched process ended.
enum class ExitReason : uint32_t {
  // Successfully, with a result.
  kDone = ACTORD_EXIT_DONE,
  // It returned Fail, or a linked process has failed.
  kFailed = ACTORD_EXIT_FAILED,
  // By an exception, or because it broke a rule.
  kThrew = ACTORD_EXIT_THREW,
  // Its Init refused.
  kInitRefused = ACTORD_EXIT_INIT_REFUSED,
  kCancelled = ACTORD_EXIT_CANCELLED,
  kTerminated = ACTORD_EXIT_TERMINATED,
  // It had already ended, or never existed.
  kNoProcess = ACTORD_EXIT_NO_PROCESS,
  // No link: the other process has reached its limit.
  kNoRoom = ACTORD_EXIT_NO_ROOM,
  // It was volatile, and ended with the daemon. Only durable processes get this
  // reason, after a restart of the daemon.
  kRestarted = ACTORD_EXIT_RESTARTED,
};

// Overrides the daemon's `commands.policies` for one external command. A field
// that is 0 keeps the daemon's value. A value out of range completes the yield
// with kInvalidArgument. Handlers in the daemon, and daemons older than this
// struct, ignore it.
struct WorkPolicy {
  // Maximum number of attempts; the yield then completes with the last error. 1
  // to 1,000,000.
  uint32_t max_attempts = 0;
  // How long a worker may hold the task without a heartbeat. 10 ms to 30 days.
  Duration lease{0};
  // Maximum duration of one attempt. 10 ms or more.
  Duration attempt_timeout{0};
  // Maximum time in the queue before each attempt; the yield then completes
  // with kDeadlineExceeded. 10 ms or more.
  Duration start_timeout{0};
  // Back-off after the first failed attempt; doubles each time, up to
  // max_backoff. At most 30 days; negative: none.
  Duration backoff{0};
  Duration max_backoff{0};

  friend bool operator==(const WorkPolicy&, const WorkPolicy&) = default;
};

namespace detail {

// Whether to monitor: a bool, and nothing that converts to one.
struct MonitorFlag {
  constexpr MonitorFlag() = default;
  template <typename Flag>
  constexpr MonitorFlag(Flag flag) {  // NOLINT: implicit by intent
    static_assert(
        std::is_same_v<Flag, bool>,
        "SpawnOptions::monitor is true or false; the exit has the tag "
        "of the yield. (ChildOptions::monitor, of a step's Spawn, is "
        "the address of a Tag.)");
    if constexpr (std::is_same_v<Flag, bool>) value = flag;
  }
  constexpr operator bool() const { return value; }  // NOLINT: implicit

  bool value = false;
};

}  // namespace detail

// For commands::Spawn and Completion::CompleteWithSpawn. A step's Spawn takes
// ChildOptions.
struct SpawnOptions {
  // Keep the child's result for Await, like the result of a process that was
  // submitted from outside.
  bool keep_result = false;
  // 0 (lowest) to 31 (highest): the ready process with the highest priority
  // runs first. Independent of the parent's priority. A value out of range
  // fails the step.
  int priority = ACTORD_PRIORITY_DEFAULT;
  // The parent links or monitors the child from the start. The monitor's exit
  // has the tag of the yield.
  bool link = false;
  detail::MonitorFlag monitor = {};
  // The child of a durable process is volatile, also if its type can be
  // durable: it ends with the daemon. An older daemon ignores this, and refuses
  // commands::Spawn with it (kInvalidArgument).
  bool is_volatile = false;
  // The child's name; empty: none. The spawn is refused (kAlreadyExists, with
  // Error::holder) if another process holds the name.
  std::string_view name = {};
};

namespace detail {

// Describes the exception being handled. Call it only in a catch block.
inline std::string DescribeException(const char* where) noexcept {
  try {
    try {
      throw;
    } catch (const std::exception& exception) {
      return std::string(where) +
             " threw: " + Excerpt(exception.what(), kMaxErrorTextBytes);
    } catch (...) {
      return std::string(where) + " threw something that is no std::exception";
    }
  } catch (...) {
    // No memory for the text.
    return {};
  }
}

// Nanoseconds for the ABI. A negative duration becomes 1: it has already
// passed. 0 means the daemon's default.
constexpr uint64_t ToNs(Duration duration) {
  return duration.count() >= 0 ? static_cast<uint64_t>(duration.count())
                               : uint64_t{1};
}

constexpr actord_work_policy ToAbi(const WorkPolicy& policy) {
  return {sizeof(actord_work_policy), policy.max_attempts,
          ToNs(policy.lease),         ToNs(policy.attempt_timeout),
          ToNs(policy.start_timeout), ToNs(policy.backoff),
          ToNs(policy.max_backoff)};
}

inline actord_message MakeMessage(std::string_view topic,
                                  const Payload& payload) {
  return {sizeof(actord_message), 0, ToAbi(topic), payload.ToAbi()};
}

inline actord_spawn MakeSpawn(std::string_view process_type,
                              std::string_view method, const Payload& input,
                              const SpawnOptions& options,
                              Tag* monitor_tag = nullptr) {
  uint32_t flags = ACTORD_SPAWN_PRIORITY;
  if (options.keep_result) flags |= ACTORD_SPAWN_KEEP_RESULT;
  if (options.link) flags |= ACTORD_SPAWN_LINK;
  if (options.monitor) flags |= ACTORD_SPAWN_MONITOR;
  if (options.is_volatile) flags |= ACTORD_SPAWN_VOLATILE;
  if (!options.name.empty()) flags |= ACTORD_SPAWN_NAME;
  return {sizeof(actord_spawn),
          flags,
          ToAbi(process_type),
          ToAbi(method),
          input.ToAbi(),
          static_cast<uint32_t>(options.priority),
          0,
          monitor_tag,
          ToAbi(options.name)};
}

}  // namespace detail
}  // namespace actord

template <>
struct std::hash<actord::Pid> {
  size_t operator()(const actord::Pid& pid) const noexcept {
    const uint64_t high = uint64_t{pid.node} << 32 | pid.incarnation;
    const uint64_t low = uint64_t{pid.slot} << 32 | pid.generation;
    const uint64_t mixed = (high * 0x9e3779b97f4a7c15u) ^ low;
    return static_cast<size_t>((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u);
  }
};
