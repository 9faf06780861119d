// actord/context_waits.h: what Context's waits return. Included by context.h;
// authors of plugins do not need it.
//
// Each owns what it was given, so it may be kept and awaited later. Nothing
// happens before it is awaited.
//
// Thread-safety: belongs to its process. Ownership: a part of the coroutine
// that awaits it.
#pragma once

#include <actord/context.h>

namespace actord {

class [[nodiscard]] ReceiveAwaiter : private detail::Receiver {
 public:
  using Value = Message;

  ReceiveAwaiter(ReceiveAwaiter&&) = default;

  bool await_ready() {
    if (context_.MustCancel()) return cancelled = true;
    if (context_.last_queued_ != nullptr) {
      queued_ = context_.Dequeue(*this);
      if (queued_ != nullptr) return true;
    }
    // The next event of this step, without going to sleep in between.
    detail::RunningStep& step = *context_.step_;
    if (step.next == step.end || !context_.receivers_.empty()) return false;
    const Event next = *step.next;
    if (!next.is_message() || !Wants(next.topic())) return false;
    event = step.next++;
    return true;
  }
  bool await_suspend(std::coroutine_handle<> caller) {
    handle = caller;
    context_.receivers_.PushBack(*this);
    return true;
  }
  Message await_resume() {
    if (cancelled) [[unlikely]]
      context_.ThrowCancelled();
    if (queued_ != nullptr) {
      const auto queued = std::move(queued_);
      return std::move(queued->message);
    }
    return Message(*event);
  }

 private:
  friend class Context;

  explicit ReceiveAwaiter(Context& context) : context_(context) {}
  ReceiveAwaiter(Context& context, std::string topic)
      : Receiver(std::move(topic)), context_(context) {}

  Context& context_;
  std::unique_ptr<detail::QueuedMessage> queued_;
};

class [[nodiscard]] RunAwaiter : private detail::Caller {
 public:
  using Value = Result<OwnedPayload>;

  RunAwaiter(RunAwaiter&&) = default;

  bool await_ready() { return cancelled = context_.MustCancel(); }
  bool await_suspend(std::coroutine_handle<> caller) {
    handle = caller;
    tag = context_.step_->out.Yield(command_, payload_, options_);
    context_.callers_.PushBack(*this);
    return true;
  }
  Value await_resume() {
    if (cancelled) [[unlikely]]
      context_.ThrowCancelled();
    const Event completion = *event;
    if (const Error error = completion.error()) return error;
    return OwnedPayload(completion.payload());
  }

 private:
  friend class Context;

  RunAwaiter(Context& context, std::string command, OwnedPayload payload,
             const YieldOptions& options)
      : context_(context),
        command_(std::move(command)),
        payload_(std::move(payload)),
        options_(options) {}

  Context& context_;
  std::string command_;
  OwnedPayload payload_;
  YieldOptions options_;
};

class [[nodiscard]] SleepAwaiter : private detail::Sleeper {
 public:
  using Value = void;

  SleepAwaiter(SleepAwaiter&&) = default;

  bool await_ready() {
    cancelled = context_.MustCancel();
    return cancelled || duration <= Duration::zero();
  }
  bool await_suspend(std::coroutine_handle<> caller) {
    handle = caller;
    context_.AddSleeper(*this);
    return true;
  }
  void await_resume() {
    if (cancelled) [[unlikely]]
      context_.ThrowCancelled();
    if (event == Events::Iterator()) return;  // it did not wait
    if (const Error error = (*event).error()) throw Failure(Status(error));
  }

 private:
  friend class Context;

  SleepAwaiter(Context& context, Duration how_long) : context_(context) {
    duration = how_long;
  }

  Context& context_;
};

class [[nodiscard]] ContinueAwaiter : private detail::Waiter {
 public:
  using Value = void;

  ContinueAwaiter(ContinueAwaiter&&) = default;

  bool await_ready() { return cancelled = context_.MustCancel(); }
  bool await_suspend(std::coroutine_handle<> caller) {
    handle = caller;
    context_.continuing_.PushBack(*this);
    return true;
  }
  void await_resume() {
    if (cancelled) [[unlikely]]
      context_.ThrowCancelled();
  }

 private:
  friend class Context;

  explicit ContinueAwaiter(Context& context) : context_(context) {}

  Context& context_;
};

template <Awaitable A>
class [[nodiscard]] ShieldAwaiter {
 public:
  using Value = typename A::Value;

  ShieldAwaiter(Context& context, A inner)
      : context_(context), inner_(std::move(inner)) {}
  // Only before it waits.
  ShieldAwaiter(ShieldAwaiter&& other) noexcept
      : context_(other.context_), inner_(std::move(other.inner_)) {}
  ~ShieldAwaiter() { Lower(); }

  bool await_ready() {
    raised_ = true;
    ++context_.shields_;
    return inner_.await_ready();
  }
  bool await_suspend(std::coroutine_handle<> caller) {
    return inner_.await_suspend(caller);
  }
  Value await_resume() {
    Lower();
    return inner_.await_resume();
  }

 private:
  void Lower() {
    if (std::exchange(raised_, false)) --context_.shields_;
  }

  Context& context_;
  A inner_;
  bool raised_ = false;
};

inline ReceiveAwaiter Context::Receive() { return ReceiveAwaiter(*this); }

inline ReceiveAwaiter Context::Receive(std::string topic) {
  return {*this, std::move(topic)};
}

inline RunAwaiter Context::Run(std::string command, OwnedPayload payload,
                               const YieldOptions& options) {
  return {*this, std::move(command), std::move(payload), options};
}

template <CommandRequest Request>
RunAwaiter Context::Run(const Request& request, const YieldOptions& options) {
  return {*this, std::string(std::string_view(request.command())),
          Payload(request.payload()), options};
}

inline SleepAwaiter Context::Sleep(Duration duration) {
  return {*this, duration};
}

inline ContinueAwaiter Context::Continue() { return ContinueAwaiter(*this); }

template <Awaitable A>
ShieldAwaiter<A> Context::Shield(A awaitable) {
  return {*this, std::move(awaitable)};
}

}  // namespace actord
