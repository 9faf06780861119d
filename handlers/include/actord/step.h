// actord/step.h: the queries, effects and verdicts of a process's step.
// Included by process.h.
//
// Thread-safety and ownership: as in process.h.
#pragma once

#include <actord/abi.h>
#include <actord/child_options.h>
#include <actord/log_level.h>
#include <actord/values.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace actord {

// The queries that a process may make during Init and Step. A process must use
// no other clock and no other random source, so that its steps can be repeated
// exactly.
class StepContext {
 public:
  explicit StepContext(actord_step* step) : step_(step) {}
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  [[nodiscard]] Pid self() const { return step_->api->self(step_); }
  // The process that spawned this one; empty() if it was submitted from
  // outside.
  [[nodiscard]] Pid parent() const { return step_->api->parent(step_); }
  // Wall-clock time. Constant during one call.
  [[nodiscard]] Time now() const {
    return Time(
        Duration(static_cast<Duration::rep>(step_->api->unix_time_ns(step_))));
  }
  // Convert a PID to text, for payloads, and back. nullopt: `text` is not a
  // PID.
  [[nodiscard]] std::string FormatPid(const Pid& pid) const {
    char text[64];
    return {text, step_->api->format_pid(step_, &pid, text)};
  }
  [[nodiscard]] std::optional<Pid> ParsePid(std::string_view text) const {
    Pid pid;
    const int32_t status =
        step_->api->parse_pid(step_, detail::ToAbi(text), &pid);
    return status == ACTORD_OK ? std::optional<Pid>(pid) : std::nullopt;
  }
  // 64 uniformly random bits. Not for secrets.
  [[nodiscard]] uint64_t random() const { return step_->api->random(step_); }
  // Monotonic time from an arbitrary origin; never set. Constant during one
  // call. Throws if the daemon is too old.
  [[nodiscard]] Duration monotonic_now() const {
    Require(offsetof(actord_step_api, monotonic_ns));
    return Duration(
        static_cast<Duration::rep>(step_->api->monotonic_ns(step_)));
  }
  // The daemon's `limits.max_payload_bytes`; may change between steps. A longer
  // payload of an effect fails the step. Throws if the daemon is too old.
  [[nodiscard]] size_t max_payload_bytes() const {
    Require(offsetof(actord_step_api, max_payload_bytes));
    return step_->api->max_payload_bytes(step_);
  }
  // The trace of this call as a W3C traceparent, for logs and for headers of
  // requests to other systems; "": the call belongs to no trace, the process is
  // durable, or the daemon is too old. Not for decisions.
  [[nodiscard]] std::string TraceParent() const {
    if (!Has(offsetof(actord_step_api, trace_parent))) return {};
    return std::string(detail::View(step_->api->trace_parent(step_)));
  }

 protected:
  friend class Context;  // context.h

  // True if this daemon has the function at this offset of its table.
  [[nodiscard]] bool Has(size_t offset) const {
    return step_->api->struct_size >= offset + sizeof(void*);
  }
  void Require(size_t offset) const {
    if (!Has(offset)) {
      throw std::runtime_error(
          "this daemon is too old for a function that the step calls");
    }
  }

  actord_step* const step_;
};

struct YieldOptions {
  // Time until the yield completes with DEADLINE_EXCEEDED. 0: the daemon's
  // default. Negative: at once. Duration::max(): no timeout.
  Duration timeout{0};
  // For Yield of an external command: overrides of the daemon's policy.
  WorkPolicy policy{};
};

// A type that names a command and holds its payload, such as the classes of
// commands.h.
template <typename T>
concept CommandRequest = requires(const T& request) {
  { request.command() } -> std::convertible_to<std::string_view>;
  { request.payload() } -> std::convertible_to<Payload>;
};

class Events;  // process.h

// The effects and the verdict of a step. A step is a transaction: its effects
// (Yield, Send, Spawn and so on) take effect together and in order after Step
// has returned. If Step fails or throws, none takes effect. The daemon copies
// every argument before the call returns.
//
// The verdict (Done, Fail, Block, Idle, Continue, ContinueAs) decides how the
// process goes on. The last one counts. Without one the process is idle.
//
// Functions that an older daemon does not have throw std::runtime_error there,
// which fails the step.
class StepOutput : public StepContext {
 public:
  using StepContext::StepContext;

  // Effects.

  // Hands out a command and returns a tag. Exactly one completion event with
  // that tag follows: unknown commands, limits and timeouts complete the
  // command with an error. A payload above the daemon's limit fails the step,
  // as for Send and Spawn.
  Tag Yield(std::string_view command, const Payload& payload = {},
            const YieldOptions& options = {}) {
    // Without a policy, `struct_size` excludes that field, so that the daemon
    // does not read it. GCC 12 writes the field in two parts, and the processor
    // would stall when it reads them as one.
    constexpr auto kPlain =
        static_cast<uint32_t>(offsetof(actord_yield, policy));
    actord_yield yield = {kPlain,
                          0,
                          detail::ToNs(options.timeout),
                          detail::ToAbi(command),
                          payload.ToAbi(),
                          nullptr};
    if (options.policy == WorkPolicy()) return step_->api->yield(step_, &yield);
    const actord_work_policy policy = detail::ToAbi(options.policy);
    yield.struct_size = sizeof(yield);
    yield.policy = &policy;
    return step_->api->yield(step_, &yield);
  }
  // For a command of commands.h: out.Yield(commands::Sleep(5ms)).
  template <CommandRequest Request>
  Tag Yield(const Request& request, const YieldOptions& options = {}) {
    return Yield(std::string_view(request.command()),
                 Payload(request.payload()), options);
  }

  // Sends a message without an answer. An undeliverable message becomes a dead
  // letter. Use commands::Send to get an error.
  void Send(const Pid& to, std::string_view topic,
            const Payload& payload = {}) {
    const actord_message message = detail::MakeMessage(topic, payload);
    step_->api->send(step_, &to, &message);
  }

  // Sends a message to the process of the same owner that holds the name now.
  // False: there is none, and nothing is sent. Throws if the daemon is too old.
  [[nodiscard]] bool Send(std::string_view name, std::string_view topic,
                          const Payload& payload = {}) {
    const Pid holder = FindName(name);
    if (holder.empty()) return false;
    Send(holder, topic, payload);
    return true;
  }
  // The process of the same owner that holds the name; empty(): there is none.
  // It may end or release the name before a message reaches it. A step of a
  // durable process that asks for about 65,000 names fails. Throws if the
  // daemon is too old.
  [[nodiscard]] Pid FindName(std::string_view name) const {
    Require(offsetof(actord_step_api, find_name));
    return detail::InOnePiece(
        step_->api->find_name(step_, detail::ToAbi(name)));
  }

  // Publishes a payload under a topic (1 to 1,024 bytes), for the programs
  // outside that have subscribed to the topic with the rights of this process's
  // owner (`Subscribe`, `actorctl subscribe`). Subscribers get the publications
  // of one process in order, each at most once; a subscriber that reads too
  // slowly misses the oldest, and is told how many. Without subscribers the
  // publication is dropped. Throws if the daemon is too old.
  void Publish(std::string_view topic, const Payload& payload = {}) {
    Require(offsetof(actord_step_api, publish));
    const actord_message publication = detail::MakeMessage(topic, payload);
    step_->api->publish(step_, &publication);
  }

  // Writes a line into the daemon's log, without a wait and without a
  // completion. The line begins with the PID, the type and the name of this
  // process. A text above 15 KiB is cut, and the line says how many bytes are
  // missing. A durable process writes when the step is on the disk, and a
  // recovery writes nothing again. If the step fails, its newest 100 lines are
  // written with the failure of the process, and marked. Throws if the daemon
  // is too old.
  void Log(LogLevel level, std::string_view text) {
    Require(offsetof(actord_step_api, log));
    step_->api->log(step_, static_cast<int32_t>(level), detail::ToAbi(text));
  }

  // Starts a process and returns its PID; messages can be sent to it at once.
  // If its Init refuses, the child ends and this process is not told. Use
  // commands::Spawn to get an error, or to give the child a name. empty() only
  // at the daemon's limit of processes. An empty method means the type's first
  // one.
  [[nodiscard]] Pid Spawn(std::string_view process_type,
                          std::string_view method = {},
                          const Payload& input = {},
                          const ChildOptions& options = {}) {
    const actord_spawn spawn =
        detail::MakeSpawn(process_type, method, input,
                          {.keep_result = options.keep_result,
                           .priority = options.priority,
                           .link = options.link,
                           .monitor = options.monitor.place != nullptr,
                           .is_volatile = options.is_volatile},
                          options.monitor.place);
    return detail::InOnePiece(step_->api->spawn(step_, &spawn));
  }

  // Sends a message that expects an answer and returns a tag. Exactly one
  // completion event with that tag follows: the reply, or an error.
  // kDeadlineExceeded: the timeout passed. kNotFound, kFailedPrecondition:
  // there is no such process, or it has ended. kResourceExhausted: its mailbox
  // is full, or the limit of yields is reached. kAborted: it ended without a
  // reply.
  Tag Call(const Pid& to, std::string_view topic, const Payload& payload = {},
           const YieldOptions& options = {}) {
    return CallEither(to, {}, topic, payload, options);
  }
  // Calls the process that holds the name.
  Tag Call(std::string_view name, std::string_view topic,
           const Payload& payload = {}, const YieldOptions& options = {}) {
    return CallEither(Pid(), name, topic, payload, options);
  }
  // Answers a call, now or in a later step. The first answer counts; a late
  // answer is dropped and counted.
  void Reply(CallId call, const Payload& result = {}) {
    AnswerCall(call, ACTORD_OK, result);
  }
  // kOk is not an error; it is read as kUnknown.
  void ReplyError(CallId call, Code code, std::string_view message) {
    const Code error = code == Code::kOk ? Code::kUnknown : code;
    AnswerCall(call, static_cast<int32_t>(error), Payload::Text(message));
  }

  // Monitors a process and returns a tag. Exactly one exit event with that tag
  // follows, also if the process has already ended. More than 100,000 watches
  // (monitors, links, exits not yet seen) fail the step.
  Tag Monitor(const Pid& pid) {
    Require(offsetof(actord_step_api, monitor));
    return step_->api->monitor(step_, &pid);
  }
  // Ends a monitor. No exit of it arrives in a later step, even if the process
  // has already ended.
  void Demonitor(Tag monitor) {
    Require(offsetof(actord_step_api, demonitor));
    step_->api->demonitor(step_, monitor);
  }
  // Links this process to another one. If one of the two ends other than by
  // Done, so does the other. A process whose type has kTrapsExits gets an exit
  // event instead.
  void Link(const Pid& pid) {
    Require(offsetof(actord_step_api, link));
    step_->api->link(step_, &pid);
  }
  // Removes a link; either process may do so. After this step the link has no
  // effect and no exit of it arrives, even if the other process has already
  // failed.
  void Unlink(const Pid& pid) {
    Require(offsetof(actord_step_api, unlink));
    step_->api->unlink(step_, &pid);
  }

  // Cancels a yield or call: it completes as kCancelled unless it has already
  // completed. An external command is withdrawn.
  void CancelYield(Tag tag) {
    Require(offsetof(actord_step_api, cancel_yield));
    step_->api->cancel_yield(step_, tag);
  }

  // Verdicts.

  // Ends the process successfully, with a result.
  void Done(const Payload& result = {}) {
    const actord_payload payload = result.ToAbi();
    step_->api->set_result(step_, &payload);
    verdict_ = ACTORD_STEP_DONE;
  }
  // Ends the process as failed. kOk is not a failure; it is read as kUnknown.
  void Fail(Code code, std::string_view message) {
    SetFailure(code, message);
    verdict_ = ACTORD_STEP_FAIL;
  }
  void Fail(const Status& status) { Fail(status.code(), status.message()); }
  // Waits for a completion or a cancel. Messages stay in the mailbox meanwhile.
  // Without an outstanding yield the process fails.
  void Block() { verdict_ = ACTORD_STEP_BLOCK; }
  // Waits for any event.
  void Idle() { verdict_ = ACTORD_STEP_IDLE; }
  // Runs again after the other ready processes, also without an event.
  void Continue() { verdict_ = ACTORD_STEP_CONTINUE; }
  // Begins the process again: this object is closed, and Init is called on a
  // new object, with this input. An empty method: the method stays the same.
  // The process keeps its PID, mailbox, names, groups, monitors, links and
  // owner. Its yields and calls are cancelled, and calls that it has not
  // answered fail with ABORTED. If Init refuses, the process ends. A process
  // that was asked to end ends now, as cancelled. `unseen`: events of
  // this step that the process has not handled. The new object gets the
  // messages and exits among them again, before all others: the first Step as
  // many as a step can get, later Steps the rest.
  void ContinueAs(const Payload& input = {}, std::string_view method = {}) {
    ContinueAs(input, method, nullptr, 0);
  }
  inline void ContinueAs(const Payload& input, std::string_view method,
                         const Events& unseen);

  // The current verdict, as ACTORD_STEP_*.
  [[nodiscard]] int32_t verdict() const { return verdict_; }

 private:
  template <typename T>
  friend class ProcessThunks;  // thunks.h
  friend class Context;        // context.h

  void ContinueAs(const Payload& input, std::string_view method,
                  const actord_event* const* unseen, size_t count) {
    Require(offsetof(actord_step_api, continue_as));
    const actord_continuation next = {
        sizeof(actord_continuation), static_cast<uint32_t>(count),
        detail::ToAbi(method), input.ToAbi(), unseen};
    step_->api->continue_as(step_, &next);
    verdict_ = ACTORD_STEP_CONTINUE_AS;
  }
  Tag CallEither(const Pid& to, std::string_view name, std::string_view topic,
                 const Payload& payload, const YieldOptions& options) {
    Require(offsetof(actord_step_api, call));
    const actord_request request = {sizeof(actord_request),
                                    0,
                                    detail::ToNs(options.timeout),
                                    to,
                                    detail::ToAbi(name),
                                    detail::ToAbi(topic),
                                    payload.ToAbi()};
    return step_->api->call(step_, &request);
  }
  void AnswerCall(CallId call, int32_t status, const Payload& payload) {
    Require(offsetof(actord_step_api, reply));
    const actord_payload abi = payload.ToAbi();
    step_->api->reply(step_, call, status, &abi);
  }

  void SetFailure(Code code, std::string_view message) {
    const Code failure = code == Code::kOk ? Code::kUnknown : code;
    step_->api->set_failure(step_, static_cast<int32_t>(failure),
                            detail::ToAbi(message));
  }

  int32_t verdict_ = ACTORD_STEP_IDLE;
};

}  // namespace actord
