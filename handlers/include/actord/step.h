// actord/step.h: what a step of a process looks at, does and says. Included by
// process.h.
//
// Thread-safety and ownership: as process.h says.
#pragma once

#include <actord/abi.h>
#include <actord/values.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace actord {

// What a process may look at during Init and Step. A process asks no clock and
// no random source but these, so that its steps can be repeated exactly.
class StepContext {
 public:
  explicit StepContext(actord_step* step) : step_(step) {}
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  [[nodiscard]] Pid self() const { return step_->api->self(step_); }
  // Who spawned this process; empty() when it was submitted from outside.
  [[nodiscard]] Pid parent() const { return step_->api->parent(step_); }
  // Stands still during one call.
  [[nodiscard]] Time now() const {
    return Time(
        Duration(static_cast<Duration::rep>(step_->api->unix_time_ns(step_))));
  }
  // The text of a PID, for payloads, and back; nullopt: that is none.
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
  // 64 uniformly random bits; not for secrets.
  [[nodiscard]] uint64_t random() const { return step_->api->random(step_); }
  // From an arbitrary origin; is never set. Stands still during one call.
  [[nodiscard]] Duration monotonic_now() const {
    Require(offsetof(actord_step_api, monotonic_ns));
    return Duration(
        static_cast<Duration::rep>(step_->api->monotonic_ns(step_)));
  }
  // The daemon's `limits.max_payload_bytes`, which may change between steps: a
  // longer payload of an effect fails the step.
  [[nodiscard]] size_t max_payload_bytes() const {
    Require(offsetof(actord_step_api, max_payload_bytes));
    return step_->api->max_payload_bytes(step_);
  }

 protected:
  friend class Context;  // context.h

  // Whether this daemon has the function at this offset of its table.
  [[nodiscard]] bool Has(size_t offset) const {
    return step_->api->struct_size >= offset + sizeof(void*);
  }
  void Require(size_t offset) const {
    if (!Has(offset)) {
      throw std::runtime_error("this daemon is too old for what the step does");
    }
  }

  actord_step* const step_;
};

struct YieldOptions {
  // Until the yield completes with DEADLINE_EXCEEDED. 0: the daemon's default.
  // A negative one has passed already; Duration::max() never does.
  Duration timeout{0};
  // Of Yield, for external commands: attempts, pauses and times of its own.
  WorkPolicy policy{};
};

// Something that names a command and has its payload, as commands.h builds
// them.
template <typename T>
concept CommandRequest = requires(const T& request) {
  { request.command() } -> std::convertible_to<std::string_view>;
  { request.payload() } -> std::convertible_to<Payload>;
};

// What a step says and does. A step is a transaction: its effects (Yield, Send,
// Spawn) happen together and in order after Step has returned; if it fails or
// throws, none of them does. The daemon copies every argument before the call
// returns.
//
// The verdict (Done, Fail, Block, Idle, Continue) says how to go on. The last
// one counts; a step that says nothing is idle.
class StepOutput : public StepContext {
 public:
  using StepContext::StepContext;

  // Effects ------------------------------------------------------------------

  // Hands out a command. Exactly one completion event with the returned tag
  // follows, whatever becomes of it: unknown commands, limits and timeouts
  // complete it with an error. A payload above the daemon's limit fails the
  // step, as with Send and Spawn.
  Tag Yield(std::string_view command, const Payload& payload = {},
            const YieldOptions& options = {}) {
    // Without a policy `struct_size` ends before it, so that the daemon does
    // not read the field: GCC 12 writes it in two parts, and the processor
    // would wait to read them as one.
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
  // The same for a command of commands.h: out.Yield(commands::Sleep(5ms)).
  template <CommandRequest Request>
  Tag Yield(const Request& request, const YieldOptions& options = {}) {
    return Yield(std::string_view(request.command()),
                 Payload(request.payload()), options);
  }

  // Sends a message. There is no answer: what cannot be delivered becomes a
  // dead letter. The command process.send (commands::Send) answers.
  void Send(const Pid& to, std::string_view topic,
            const Payload& payload = {}) {
    const actord_message message = detail::MakeMessage(topic, payload);
    step_->api->send(step_, &to, &message);
  }

  // Starts a process and returns its PID, to which can be sent at once. An Init
  // that refuses is the child's own end; the command process.spawn
  // (commands::Spawn) is the variant that answers. empty() only when the
  // daemon's limit of processes is reached. An empty method is the type's
  // first.
  [[nodiscard]] Pid Spawn(std::string_view process_type,
                          std::string_view method = {},
                          const Payload& input = {},
                          const SpawnOptions& options = {}) {
    const actord_spawn spawn =
        detail::MakeSpawn(process_type, method, input, options);
    return detail::InOnePiece(step_->api->spawn(step_, &spawn));
  }

  // Sends a message that wants an answer. Exactly one completion event with the
  // returned tag follows: what was replied, or an error: kDeadlineExceeded;
  // kNotFound, kFailedPrecondition: there is no such process, or it has ended;
  // kResourceExhausted: its mailbox is full, or the limit of yields is reached;
  // kAborted: it ended without a reply.
  Tag Call(const Pid& to, std::string_view topic, const Payload& payload = {},
           const YieldOptions& options = {}) {
    return CallEither(to, {}, topic, payload, options);
  }
  // The same for whoever holds the name.
  Tag Call(std::string_view name, std::string_view topic,
           const Payload& payload = {}, const YieldOptions& options = {}) {
    return CallEither(Pid(), name, topic, payload, options);
  }
  // Answers a call: now, or in a later step. The first answer counts; one that
  // comes too late is dropped and counted.
  void Reply(CallId call, const Payload& result = {}) {
    AnswerCall(call, ACTORD_OK, result);
  }
  // kOk is no error and is read as kUnknown.
  void ReplyError(CallId call, Code code, std::string_view message) {
    const Code error = code == Code::kOk ? Code::kUnknown : code;
    AnswerCall(call, static_cast<int32_t>(error), Payload::Text(message));
  }

  // Watches a process: exactly one exit event with the returned tag follows,
  // also if it has ended before. Above 100,000 watches the step fails.
  Tag Monitor(const Pid& pid) {
    Require(offsetof(actord_step_api, monitor));
    return step_->api->monitor(step_, &pid);
  }
  // No exit of the monitor comes in a later step, also if the process has ended
  // by now.
  void Demonitor(Tag monitor) {
    Require(offsetof(actord_step_api, demonitor));
    step_->api->demonitor(step_, monitor);
  }
  // Ties this process to another one: when one of the two fails (ends otherwise
  // than by Done), so does the other, unless its type has kTrapsExits: then it
  // gets an exit event.
  void Link(const Pid& pid) {
    Require(offsetof(actord_step_api, link));
    step_->api->link(step_, &pid);
  }
  // Whoever has linked them. No end and no exit follows by a link that was made
  // before, also if the other process has failed by now.
  void Unlink(const Pid& pid) {
    Require(offsetof(actord_step_api, unlink));
    step_->api->unlink(step_, &pid);
  }

  // Gives a yield or a call up: it completes as kCancelled, unless it has
  // completed. What remote workers have not answered is taken back.
  void CancelYield(Tag tag) {
    Require(offsetof(actord_step_api, cancel_yield));
    step_->api->cancel_yield(step_, tag);
  }

  // Verdicts -----------------------------------------------------------------

  // Ended well, with a result.
  void Done(const Payload& result = {}) {
    const actord_payload payload = result.ToAbi();
    step_->api->set_result(step_, &payload);
    verdict_ = ACTORD_STEP_DONE;
  }
  // Failed. kOk is no failure and is read as kUnknown.
  void Fail(Code code, std::string_view message) {
    SetFailure(code, message);
    verdict_ = ACTORD_STEP_FAIL;
  }
  void Fail(const Status& status) { Fail(status.code(), status.message()); }
  // Wait for a completion (or a cancel); messages stay in the mailbox
  // meanwhile. Without an outstanding yield the process fails.
  void Block() { verdict_ = ACTORD_STEP_BLOCK; }
  // Wait for any event.
  void Idle() { verdict_ = ACTORD_STEP_IDLE; }
  // Run again after the others that are ready, also without an event.
  void Continue() { verdict_ = ACTORD_STEP_CONTINUE; }

  // ACTORD_STEP_* as it stands.
  [[nodiscard]] int32_t verdict() const { return verdict_; }

 private:
  template <typename T>
  friend class ProcessThunks;  // thunks.h
  friend class Context;        // context.h

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
