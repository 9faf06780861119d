// actord/context.h: what a process written as a coroutine sees and does. See
// coroutine.h for the whole.
//
// Thread-safety: belongs to its process. Ownership: part of its process; what
// it returns owns its bytes.
#pragma once

#include <actord/frame_pool.h>
#include <actord/owned.h>
#include <actord/process.h>
#include <actord/result.h>
#include <actord/task.h>
#include <actord/values.h>
#include <actord/waiting.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace actord {

namespace detail {

class CoroutineBody;

// A message that nobody has asked for yet.
struct QueuedMessage {
  Message message;
  QueuedMessage* next = nullptr;

  static void* operator new(size_t bytes) { return FramePool::Allocate(bytes); }
  static void operator delete(void* memory, size_t bytes) noexcept {
    FramePool::Deallocate(memory, bytes);
  }
};

// An exit that nobody has asked for yet.
struct QueuedExit {
  Exit exit;
  QueuedExit* next = nullptr;
};

// A message to be sent later.
struct DueSend {
  Tag id;           // what SendAfter or Every returned
  Tag tag;          // of its timer
  Duration due;     // by Context's clock
  Duration period;  // 0: once
  Pid to;
  std::string topic;
  OwnedPayload payload;
  DueSend* next;
};

// A timer of the daemon.
struct Timer {
  Tag tag;
  Time deadline;
  Timer* next;

  static void* operator new(size_t bytes) { return FramePool::Allocate(bytes); }
  static void operator delete(void* memory, size_t bytes) noexcept {
    FramePool::Deallocate(memory, bytes);
  }
};

// The events of a step that have not been taken.
struct EventCursor {
  const actord_event* const* next;
  const actord_event* const* end;
};

struct QueueLimits {
  size_t messages;
  size_t bytes;
};

}  // namespace detail

class ReceiveAwaiter;
class ReceiveTopicAwaiter;
class RunAwaiter;
class CallAwaiter;
class ExitAwaiter;
class SleepAwaiter;
class ContinueAwaiter;
template <Awaitable A>
class ShieldAwaiter;
template <Awaitable A>
class TimeoutAwaiter;

// Effects (Send, Spawn, and the commands of Run) happen when the step has
// ended, which is when every coroutine of the process waits; if the step fails,
// none of them does. In destructors that run because the process has ended,
// nothing can be done any more: effects are left out, and what is looked at is
// empty.
class Context {
 public:
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Looking ------------------------------------------------------------------

  [[nodiscard]] Pid self() const { return step_ ? out().self() : Pid(); }
  // Who spawned this process; empty() when it was submitted from outside.
  [[nodiscard]] Pid parent() const { return step_ ? out().parent() : Pid(); }
  // Stands still until the coroutine waits.
  [[nodiscard]] Time now() const { return step_ ? out().now() : Time(); }
  // 64 uniformly random bits; not for secrets.
  [[nodiscard]] uint64_t random() const { return step_ ? out().random() : 0; }
  [[nodiscard]] std::string FormatPid(const Pid& pid) const {
    return step_ ? out().FormatPid(pid) : std::string();
  }
  [[nodiscard]] std::optional<Pid> ParsePid(std::string_view text) const {
    return step_ ? out().ParsePid(text) : std::nullopt;
  }
  // Whether the process has been asked to end, and why.
  [[nodiscard]] bool cancelled() const { return cancel_reason_ != nullptr; }
  [[nodiscard]] std::string_view cancel_reason() const {
    return cancelled() ? std::string_view(*cancel_reason_) : "";
  }

  // Doing without waiting ----------------------------------------------------

  // As StepOutput::Send: what cannot be delivered becomes a dead letter.
  void Send(const Pid& to, std::string_view topic,
            const Payload& payload = {}) {
    if (step_ != nullptr) out().Send(to, topic, payload);
  }
  // As StepOutput::Spawn: the PID can be sent to at once; empty() only when the
  // daemon's limit of processes is reached. Running commands::Spawn answers
  // when Init has.
  [[nodiscard]] Pid Spawn(std::string_view process_type,
                          std::string_view method = {},
                          const Payload& input = {},
                          const SpawnOptions& options = {}) {
    return step_ ? out().Spawn(process_type, method, input, options) : Pid();
  }

  // Answers a message whose call() is not 0, now or later. The first answer
  // counts; one that comes too late is dropped and counted.
  void Reply(CallId call, const Payload& result = {}) {
    if (step_ != nullptr) out().Reply(call, result);
  }
  void Reply(const Message& message, const Payload& result = {}) {
    Reply(message.call(), result);
  }
  // kOk is no error and is read as kUnknown.
  void ReplyError(CallId call, Code code, std::string_view text) {
    if (step_ != nullptr) out().ReplyError(call, code, text);
  }
  void ReplyError(const Message& message, Code code, std::string_view text) {
    ReplyError(message.call(), code, text);
  }

  // As the functions of StepOutput; ReceiveExit waits for the exits.
  Tag Monitor(const Pid& pid) { return step_ ? out().Monitor(pid) : Tag{0}; }
  // Also forgets an exit that is queued in the process, as Unlink does.
  inline void Demonitor(Tag monitor);
  void Link(const Pid& pid) {
    if (step_ != nullptr) out().Link(pid);
  }
  inline void Unlink(const Pid& pid);

  // Sends a message after `duration`, as Send does; one to self() comes as any
  // other. Returns what CancelSend takes. What has not been sent goes with the
  // process. It is a timer of the daemon and counts as an outstanding yield; if
  // the daemon grants none, the step in which it says so fails.
  inline Tag SendAfter(Duration duration, const Pid& to, std::string topic,
                       OwnedPayload payload = {});
  // The same every `period` (1 ms at least), the first time after one; a beat
  // that was missed is left out. Until CancelSend, or the process's end.
  inline Tag Every(Duration period, const Pid& to, std::string topic,
                   OwnedPayload payload = {});
  // Nothing if it has been sent.
  inline void CancelSend(Tag id);

  // Waiting: to be co_awaited ------------------------------------------------
  //
  // Each of them throws Cancelled, once, when the process is asked to end.

  // The next message: a Message.
  inline ReceiveAwaiter Receive();
  // The next one with this topic. Others stay queued in the process, in their
  // order, for a later Receive; when more are queued than the type's
  // kMaxQueuedMessages or kMaxQueuedBytes, the process fails with
  // RESOURCE_EXHAUSTED. What a step was given beyond what was asked for (up to
  // 319 messages) is queued likewise.
  inline ReceiveTopicAwaiter Receive(std::string topic);

  // Hands out a command and waits for its completion: a Result<OwnedPayload>.
  inline RunAwaiter Run(std::string command, OwnedPayload payload = {},
                        const YieldOptions& options = {});
  // The same for a command of commands.h: ctx.Run(commands::ReadFile("a")).
  template <CommandRequest Request>
  RunAwaiter Run(const Request& request, const YieldOptions& options = {});

  // Sends a message that wants an answer and waits for that: a
  // Result<OwnedPayload>. See StepOutput::Call.
  inline CallAwaiter Call(const Pid& to, std::string topic,
                          OwnedPayload payload = {},
                          const YieldOptions& options = {});
  // The same for whoever holds the name.
  inline CallAwaiter Call(std::string name, std::string topic,
                          OwnedPayload payload = {},
                          const YieldOptions& options = {});

  // The next end of a watched process: an Exit. It comes after all messages
  // that the process has sent to this one. Exits that nobody has asked for are
  // queued, and count, as messages.
  inline ExitAwaiter ReceiveExit();
  // That of one monitor.
  inline ExitAwaiter ReceiveExit(Tag monitor);

  // Nothing, after `duration`; one that is not above 0 does not wait. Throws a
  // Failure when the daemon grants no timer (its limit of yields, or more than
  // ten years).
  inline SleepAwaiter Sleep(Duration duration);

  // Nothing, when the other processes that are ready have run.
  inline ContinueAwaiter Continue();

  // Like `awaitable`, but a cancel waits until no Shield is waited for any
  // more; the next wait after it throws.
  template <Awaitable A>
  ShieldAwaiter<A> Shield(A awaitable);

  // An optional of the result: empty when `duration` has passed before. Of an
  // awaitable without a result: whether it ended in time. What is late is
  // destroyed where it stands.
  template <Awaitable A>
  TimeoutAwaiter<A> WithTimeout(A awaitable, Duration duration);

 private:
  friend class detail::CoroutineBody;
  friend class ReceiveAwaiter;
  friend class RunAwaiter;
  friend class CallAwaiter;
  friend class ExitAwaiter;
  friend class SleepAwaiter;
  friend class ContinueAwaiter;
  template <Awaitable A>
  friend class ShieldAwaiter;

  Context() = default;
  inline ~Context();

  // Only in a step.
  [[nodiscard]] StepOutput out() const { return StepOutput(step_); }
  void Enter(const StepOutput& out, const Events& events) {
    step_ = out.step_;
    events_ = {events.events_, events.events_ + events.count_};
  }
  void Leave() { step_ = nullptr; }

  // For a wait that is about to begin: true if it has to throw Cancelled.
  bool MustCancel() {
    if (!cancel_due_ || shields_ != 0) [[likely]]
      return false;
    CancelAll();
    return true;
  }
  [[noreturn]] void ThrowCancelled() const {
    throw Cancelled(std::string(cancel_reason()));
  }

  // A step's parts, but for Main's start and end.
  inline void ResumeContinuing();
  // False: too many messages are queued.
  [[nodiscard]] inline bool HandleEvents(const detail::QueueLimits& limits);
  // The verdict of the step, unless Main has ended.
  inline void SayWhatIsAwaited(StepOutput& out) const;

  // What most messages and events do not need is a function of its own, so that
  // the way of the others stays short.
  inline void OnMessage(const actord_event* event);
  [[gnu::noinline]] inline void OfferByTopic(const actord_event* event);
  [[gnu::noinline]] inline void OnCompletion(const actord_event* event);
  [[gnu::noinline]] inline void OnExit(const actord_event* event);
  // Nobody waits for the command or call any more.
  void GiveUp(Tag tag) {
    if (step_ == nullptr || tag == 0) return;
    StepOutput now = out();
    if (now.Has(offsetof(actord_step_api, cancel_yield))) now.CancelYield(tag);
  }
  [[gnu::noinline]] inline void OnCancel(const Event& event);
  inline void CancelAll();
  // Resumes whatever is ready by now.
  [[gnu::noinline]] inline void ResumeReady();
  static void Resume(detail::Waiter& waiter) { waiter.handle.resume(); }

  [[gnu::noinline]] inline void Enqueue(const Event& event);
  // Whether there are messages or exits that nobody has asked for.
  [[nodiscard]] bool HasQueued() const { return queued_messages_ != 0; }
  // Whether there is a message in the queue for it, and the oldest of them.
  [[nodiscard]] bool HasQueued(const detail::Receiver& receiver) const {
    return last_queued_ != nullptr && BeforeQueued(receiver) != nullptr;
  }
  inline Message Dequeue(const detail::Receiver& receiver);
  // The one before the oldest; nullptr: there is none. The queue is not empty.
  [[nodiscard]] inline detail::QueuedMessage* BeforeQueued(
      const detail::Receiver& receiver) const;
  // The next event of this step, if it is a message that is wanted and that
  // nobody else is waiting for; otherwise nullptr.
  inline const actord_event* TakeNext(const detail::Receiver& receiver);

  // The link to the oldest queued exit for it; its target is null: there is
  // none.
  inline detail::QueuedExit** FindExit(const detail::ExitReceiver& receiver);
  inline Exit DequeueExit(const detail::ExitReceiver& receiver);
  inline Exit DequeueExit(detail::QueuedExit** link);

  // In a step: a clock that is not set, if the daemon has one.
  [[nodiscard]] inline Duration Clock() const;
  inline Tag AddDueSend(Duration delay, Duration period, const Pid& to,
                        std::string topic, OwnedPayload payload);
  // False: that was not the timer of one.
  [[gnu::noinline]] inline bool OnDueSend(const actord_event* event);

  inline void AddSleeper(detail::Sleeper& sleeper);
  inline void Arm(Time deadline, Duration duration);
  [[gnu::noinline]] inline void OnTimer(const actord_event* event);

  // Null between steps.
  actord_step* step_ = nullptr;
  // In a step.
  detail::EventCursor events_ = {};

  detail::WaiterList receivers_;
  detail::WaiterList callers_;
  detail::WaiterList exit_receivers_;
  detail::WaiterList sleepers_;  // the earliest deadline first
  detail::WaiterList continuing_;
  detail::WaiterList ready_;

  // Timers under way, the earliest first. A sleeper has one that is due when it
  // is or before; so what no longer waits leaves at most a few behind.
  detail::Timer* timers_ = nullptr;

  detail::DueSend* due_sends_ = nullptr;

  // Messages in the order in which they came; the last one points to the first.
  detail::QueuedMessage* last_queued_ = nullptr;
  // Exits, the oldest first.
  detail::QueuedExit* queued_exits_ = nullptr;
  // Of both.
  size_t queued_bytes_ = 0;
  uint32_t queued_messages_ = 0;

  uint32_t shields_ = 0;
  bool cancel_due_ = false;
  std::unique_ptr<std::string> cancel_reason_;
};

}  // namespace actord

#include <actord/context_events.h>  // IWYU pragma: export
#include <actord/context_sends.h>   // IWYU pragma: export
#include <actord/context_waits.h>   // IWYU pragma: export
