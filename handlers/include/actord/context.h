// actord/context.h: the interface of a coroutine process to its daemon. See
// coroutine.h for an overview.
//
// Thread-safety: a Context belongs to its process. Ownership: a Context is part
// of its process. Its results own their bytes.
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

// A message that no Receive has asked for yet.
struct QueuedMessage {
  Message message;
  QueuedMessage* next = nullptr;

  static void* operator new(size_t bytes) { return FramePool::Allocate(bytes); }
  static void operator delete(void* memory, size_t bytes) noexcept {
    FramePool::Deallocate(memory, bytes);
  }
};

// An exit that no ReceiveExit has asked for yet.
struct QueuedExit {
  Exit exit;
  QueuedExit* next = nullptr;
};

// A message to be sent later, by SendAfter or Every.
struct DueSend {
  // Returned by SendAfter or Every.
  Tag id;
  // Tag of the current timer.
  Tag tag;
  // Due time on Context's clock.
  Duration due;
  // 0: sent once.
  Duration period;
  Pid to;
  std::string topic;
  OwnedPayload payload;
  DueSend* next;
};

// A timer of the daemon (timer.sleep) for sleeping coroutines.
struct Timer {
  Tag tag;
  Time deadline;
  Timer* next;

  static void* operator new(size_t bytes) { return FramePool::Allocate(bytes); }
  static void operator delete(void* memory, size_t bytes) noexcept {
    FramePool::Deallocate(memory, bytes);
  }
};

// The events of the current step that are not yet handled.
struct EventCursor {
  const actord_event* const* next;
  const actord_event* const* end;
};

// The arguments of ContinueAs.
struct NextLife {
  OwnedPayload input;
  std::string method;
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

// Effects (Send, Spawn, and the commands of Run) take effect when the step has
// ended, which is when every coroutine of the process waits. If the step fails,
// none takes effect. Destructors that run because the process has ended can do
// nothing: effects are ignored, and queries return empty values.
class Context {
 public:
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Queries.

  [[nodiscard]] Pid self() const { return step_ ? out().self() : Pid(); }
  // The process that spawned this one; empty() if it was submitted from
  // outside.
  [[nodiscard]] Pid parent() const { return step_ ? out().parent() : Pid(); }
  // Wall-clock time. Constant until the coroutine waits.
  [[nodiscard]] Time now() const { return step_ ? out().now() : Time(); }
  // 64 uniformly random bits. Not for secrets.
  [[nodiscard]] uint64_t random() const { return step_ ? out().random() : 0; }
  // As StepContext::TraceParent.
  [[nodiscard]] std::string TraceParent() const {
    return step_ ? out().TraceParent() : std::string();
  }
  [[nodiscard]] std::string FormatPid(const Pid& pid) const {
    return step_ ? out().FormatPid(pid) : std::string();
  }
  [[nodiscard]] std::optional<Pid> ParsePid(std::string_view text) const {
    return step_ ? out().ParsePid(text) : std::nullopt;
  }
  // True if the process has been asked to end; cancel_reason() says why.
  [[nodiscard]] bool cancelled() const { return cancel_reason_ != nullptr; }
  [[nodiscard]] std::string_view cancel_reason() const {
    return cancelled() ? std::string_view(*cancel_reason_) : "";
  }

  // Effects. None of them waits. An undeliverable message is a dead letter.
  void Send(const Pid& to, std::string_view topic,
            const Payload& payload = {}) {
    if (step_ != nullptr) out().Send(to, topic, payload);
  }
  // False, and empty(): no process holds the name.
  [[nodiscard]] bool Send(std::string_view name, std::string_view topic,
                          const Payload& payload = {}) {
    return step_ != nullptr && out().Send(name, topic, payload);
  }
  [[nodiscard]] Pid FindName(std::string_view name) {
    return step_ != nullptr ? out().FindName(name) : Pid();
  }
  // As the functions of StepOutput.
  inline void Publish(std::string_view topic, const Payload& payload = {});
  inline void Log(LogLevel level, std::string_view text);
  // As StepOutput::Spawn. Run(commands::Spawn(...)) waits until Init returned.
  [[nodiscard]] Pid Spawn(std::string_view process_type,
                          std::string_view method = {},
                          const Payload& input = {},
                          const ChildOptions& options = {}) {
    return step_ ? out().Spawn(process_type, method, input, options) : Pid();
  }

  // Answers a message whose call() is not 0, now or later. The first answer
  // counts; a late answer is dropped and counted.
  void Reply(CallId call, const Payload& result = {}) {
    if (step_ != nullptr) out().Reply(call, result);
  }
  void Reply(const Message& message, const Payload& result = {}) {
    Reply(message.call(), result);
  }
  // kOk is not an error; it is read as kUnknown.
  void ReplyError(CallId call, Code code, std::string_view text) {
    if (step_ != nullptr) out().ReplyError(call, code, text);
  }
  void ReplyError(const Message& message, Code code, std::string_view text) {
    ReplyError(message.call(), code, text);
  }

  // As the functions of StepOutput. ReceiveExit waits for exits.
  Tag Monitor(const Pid& pid) { return step_ ? out().Monitor(pid) : Tag{0}; }
  // Also drops its exit if that is queued in the process. So does Unlink.
  inline void Demonitor(Tag monitor);
  void Link(const Pid& pid) {
    if (step_ != nullptr) out().Link(pid);
  }
  inline void Unlink(const Pid& pid);

  // Sends a message after `duration`, as Send does. A message to self() arrives
  // like any other. Returns the ID for CancelSend. Messages not sent when the
  // process ends are dropped. Each pending message uses a timer of the daemon
  // and counts as an outstanding yield. If the daemon refuses the timer, the
  // step that learns of it fails.
  inline Tag SendAfter(Duration duration, const Pid& to, std::string topic,
                       OwnedPayload payload = {});
  // Sends a message every `period` (at least 1 ms), first after one period,
  // until CancelSend or the end of the process. Missed beats are skipped.
  inline Tag Every(Duration period, const Pid& to, std::string topic,
                   OwnedPayload payload = {});
  // Cancels a SendAfter or Every. Does nothing if the message has been sent.
  inline void CancelSend(Tag id);

  // Begins the process again when Main returns a value, instead of ending it:
  // `co_return ctx.ContinueAs(input);` in a Main without a result. The messages
  // and exits that no coroutine has received are the first ones of the new
  // Main. StepOutput::ContinueAs says what else stays. Calls without an answer,
  // commands, SendAfter and Every end.
  inline void ContinueAs(OwnedPayload input = {}, std::string method = {});

  // Waits, to be co_awaited. Each throws Cancelled, once, when the process is
  // asked to end.

  // Waits for the next message. Result: a Message.
  inline ReceiveAwaiter Receive();
  // Waits for the next message with this topic. Other messages stay queued in
  // the process, in order, for a later Receive. If more than the type's
  // kMaxQueuedMessages or kMaxQueuedBytes are queued, the process fails with
  // RESOURCE_EXHAUSTED. Other messages of the same step (up to 319 events) are
  // queued in the same way, if no coroutine receives them within the step.
  inline ReceiveTopicAwaiter Receive(std::string topic);

  // Hands out a command and waits for its completion. Result: a
  // Result<OwnedPayload>.
  inline RunAwaiter Run(std::string command, OwnedPayload payload = {},
                        const YieldOptions& options = {});
  // For a command of commands.h: ctx.Run(commands::ReadFile("a")).
  template <CommandRequest Request>
  RunAwaiter Run(const Request& request, const YieldOptions& options = {});

  // Sends a message that expects an answer and waits for the answer. Result: a
  // Result<OwnedPayload>. See StepOutput::Call for the errors.
  inline CallAwaiter Call(const Pid& to, std::string topic,
                          OwnedPayload payload = {},
                          const YieldOptions& options = {});
  // Calls the process that holds the name.
  inline CallAwaiter Call(std::string name, std::string topic,
                          OwnedPayload payload = {},
                          const YieldOptions& options = {});

  // Waits for the next end of a monitored or linked process. Result: an Exit.
  // It comes after every message from that process to this one. Exits that no
  // coroutine has asked for are queued, and count as queued messages.
  inline ExitAwaiter ReceiveExit();
  // Waits for the exit of one monitor.
  inline ExitAwaiter ReceiveExit(Tag monitor);

  // Waits for `duration`; returns at once if it is not above 0. Throws a
  // Failure if the daemon refuses the timer: at its limit of yields, or for
  // more than ten years.
  inline SleepAwaiter Sleep(Duration duration);

  // Waits until the other ready processes have run.
  inline ContinueAwaiter Continue();

  // Waits for `awaitable`. While any coroutine waits for a Shield, a cancel is
  // held back; the next wait after it throws.
  template <Awaitable A>
  ShieldAwaiter<A> Shield(A awaitable);

  // Waits for `awaitable`, but at most `duration`. Result: an optional of its
  // result, empty after a timeout. For an awaitable without a result: a bool,
  // true if it ended in time. After a timeout the awaitable is destroyed at the
  // point where it waits.
  template <Awaitable A>
  TimeoutAwaiter<A> WithTimeout(A awaitable, Duration duration);

 private:
  friend class detail::CoroutineBody;
  friend class TaskGroup;
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

  // Precondition: a step is running.
  [[nodiscard]] StepOutput out() const { return StepOutput(step_); }
  void Enter(const StepOutput& out, const Events& events) {
    step_ = out.step_;
    events_ = {events.events_, events.events_ + events.count_};
  }
  void Leave() { step_ = nullptr; }

  // For a wait that is about to begin: true if it must throw Cancelled.
  bool MustCancel() {
    if (!cancel_due_ || shields_ != 0) [[likely]]
      return false;
    CancelAll();
    return true;
  }
  [[noreturn]] void ThrowCancelled() const {
    throw Cancelled(std::string(cancel_reason()));
  }

  // The parts of a step, except Main's start and end.
  inline void ResumeContinuing();
  // False: too many messages are queued.
  [[nodiscard]] inline bool HandleEvents(const detail::QueueLimits& limits);
  // Sets the verdict of the step, unless Main has ended.
  inline void SayWhatIsAwaited(StepOutput& out) const;

  // Code that most messages and events do not need is in functions of its own,
  // to keep the common path short.
  inline void OnMessage(const actord_event* event);
  [[gnu::noinline]] inline void OfferByTopic(const actord_event* event);
  [[gnu::noinline]] inline void OnCompletion(const actord_event* event);
  [[gnu::noinline]] inline void OnExit(const actord_event* event);
  // Cancels a command or call that no coroutine waits for any more.
  void GiveUp(Tag tag) {
    if (step_ == nullptr || tag == 0) return;
    StepOutput now = out();
    if (now.Has(offsetof(actord_step_api, cancel_yield))) now.CancelYield(tag);
  }
  [[gnu::noinline]] inline void OnCancel(const Event& event);
  inline void CancelAll();
  // Precondition: ContinueAs was called.
  [[gnu::noinline]] inline void GiveNextLife(StepOutput& out) const;
  // Resumes every coroutine that is ready.
  [[gnu::noinline]] inline void ResumeReady();
  static void Resume(detail::Waiter& waiter) { waiter.handle.resume(); }

  [[gnu::noinline]] inline void Enqueue(const Event& event);
  // True if messages or exits are queued that no coroutine has asked for.
  [[nodiscard]] bool HasQueued() const { return queued_messages_ != 0; }
  // True if a queued message matches `receiver`. Dequeue takes the oldest one.
  [[nodiscard]] bool HasQueued(const detail::Receiver& receiver) const {
    return last_queued_ != nullptr && BeforeQueued(receiver) != nullptr;
  }
  inline Message Dequeue(const detail::Receiver& receiver);
  // The predecessor of the oldest match in the ring; nullptr: no match.
  // Precondition: the queue is not empty.
  [[nodiscard]] inline detail::QueuedMessage* BeforeQueued(
      const detail::Receiver& receiver) const;
  // Takes the next event of this step if it is a message that matches and no
  // other coroutine waits for a message. Otherwise nullptr.
  inline const actord_event* TakeNext(const detail::Receiver& receiver);

  // The link to the oldest queued exit that matches. Its target is null if
  // there is no match.
  inline detail::QueuedExit** FindExit(const detail::ExitReceiver& receiver);
  inline Exit DequeueExit(const detail::ExitReceiver& receiver);
  inline Exit DequeueExit(detail::QueuedExit** link);

  // The daemon's monotonic clock, or its wall clock if it is too old to have
  // one. Precondition: a step is running.
  [[nodiscard]] inline Duration Clock() const;
  inline Tag AddDueSend(Duration delay, Duration period, const Pid& to,
                        std::string topic, OwnedPayload payload);
  // False: the completion was not the timer of a due send.
  [[gnu::noinline]] inline bool OnDueSend(const actord_event* event);

  inline void AddSleeper(detail::Sleeper& sleeper);
  inline void Arm(Time deadline, Duration duration);
  [[gnu::noinline]] inline void OnTimer(const actord_event* event);

  // Null between steps.
  actord_step* step_ = nullptr;
  // Set during a step.
  detail::EventCursor events_ = {};

  detail::WaiterList receivers_;
  detail::WaiterList callers_;
  detail::WaiterList exit_receivers_;
  detail::WaiterList sleepers_;  // earliest deadline first
  detail::WaiterList continuing_;
  detail::WaiterList ready_;

  // Outstanding timers, earliest first. For each sleeper there is a timer that
  // is due at its deadline or before. So coroutines that no longer wait leave
  // at most a few timers behind.
  detail::Timer* timers_ = nullptr;

  detail::DueSend* due_sends_ = nullptr;

  // Messages in order of arrival. A ring: the last one points to the first.
  detail::QueuedMessage* last_queued_ = nullptr;
  detail::QueuedExit* queued_exits_ = nullptr;  // oldest first
  // Totals of both queues.
  size_t queued_bytes_ = 0;
  uint32_t queued_messages_ = 0;

  uint32_t shields_ = 0;
  bool cancel_due_ = false;
  std::unique_ptr<std::string> cancel_reason_;
  std::unique_ptr<detail::NextLife> next_life_;
};

}  // namespace actord

#include <actord/context_events.h>  // IWYU pragma: export
#include <actord/context_sends.h>   // IWYU pragma: export
#include <actord/context_waits.h>   // IWYU pragma: export
