// actord/context_waits.h: the awaitables that Context's waits return. Included
// by context.h; authors of plugins do not need it.
//
// Each awaitable owns its arguments, so it may be kept and awaited later. It
// does nothing before it is awaited.
//
// Thread-safety: belongs to its process. Ownership: a part of the coroutine
// that awaits it.
#pragma once

#include <actord/context.h>

namespace actord {

class [[nodiscard]] ReceiveAwaiter : protected detail::Receiver {
 public:
  using Value = Message;

  ReceiveAwaiter(ReceiveAwaiter&&) = default;

  bool await_ready() {
    if (context_.MustCancel()) return cancelled = true;
    if (context_.HasQueued(*this)) {
      event = nullptr;
      return true;
    }
    // The next event of this step, without suspending in between.
    const actord_event* const next = context_.TakeNext(*this);
    if (next == nullptr) return false;
    event = next;
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
    if (event != nullptr) [[likely]]
      return Message(Event(event));
    return context_.Dequeue(*this);
  }

 protected:
  friend class Context;

  explicit ReceiveAwaiter(Context& context) : context_(context) {}

  Context& context_;
};

class [[nodiscard]] ReceiveTopicAwaiter : private ReceiveAwaiter {
 public:
  using ReceiveAwaiter::Value;

  ReceiveTopicAwaiter(ReceiveTopicAwaiter&&) = default;

  bool await_ready() {
    // Set here, because the object is not moved any more.
    topic = &topic_;
    return ReceiveAwaiter::await_ready();
  }
  using ReceiveAwaiter::await_resume;
  using ReceiveAwaiter::await_suspend;

 private:
  friend class Context;

  ReceiveTopicAwaiter(Context& context, std::string of_message)
      : ReceiveAwaiter(context), topic_(std::move(of_message)) {}

  std::string topic_;
};

class [[nodiscard]] RunAwaiter : private detail::Caller {
 public:
  using Value = Result<OwnedPayload>;

  RunAwaiter(RunAwaiter&&) = default;
  // If it is destroyed while it waits, as by WhenAny, its command is cancelled.
  ~RunAwaiter() {
    if (waits()) context_.GiveUp(tag);
  }

  bool await_ready() { return cancelled = context_.MustCancel(); }
  bool await_suspend(std::coroutine_handle<> caller) {
    handle = caller;
    tag = context_.out().Yield(command_, payload_, options_);
    context_.callers_.PushBack(*this);
    return true;
  }
  Value await_resume() {
    if (cancelled) [[unlikely]] {
      context_.GiveUp(tag);
      context_.ThrowCancelled();
    }
    const Event completion(event);
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

class [[nodiscard]] CallAwaiter : private detail::Caller {
 public:
  using Value = Result<OwnedPayload>;

  CallAwaiter(CallAwaiter&&) = default;
  // Same as ~RunAwaiter.
  ~CallAwaiter() {
    if (waits()) context_.GiveUp(tag);
  }

  bool await_ready() { return cancelled = context_.MustCancel(); }
  bool await_suspend(std::coroutine_handle<> caller) {
    handle = caller;
    StepOutput out = context_.out();
    tag = to_.empty() ? out.Call(name_, topic_, payload_, options_)
                      : out.Call(to_, topic_, payload_, options_);
    context_.callers_.PushBack(*this);
    return true;
  }
  Value await_resume() {
    if (cancelled) [[unlikely]] {
      context_.GiveUp(tag);
      context_.ThrowCancelled();
    }
    const Event completion(event);
    if (const Error error = completion.error()) return error;
    return OwnedPayload(completion.payload());
  }

 private:
  friend class Context;

  CallAwaiter(Context& context, const Pid& to, std::string name,
              std::string topic, OwnedPayload payload,
              const YieldOptions& options)
      : context_(context),
        to_(to),
        name_(std::move(name)),
        topic_(std::move(topic)),
        payload_(std::move(payload)),
        options_(options) {}

  Context& context_;
  // Empty: the holder of name_.
  Pid to_;
  std::string name_;
  std::string topic_;
  OwnedPayload payload_;
  YieldOptions options_;
};

class [[nodiscard]] ExitAwaiter : private detail::ExitReceiver {
 public:
  using Value = Exit;

  ExitAwaiter(ExitAwaiter&&) = default;

  bool await_ready() {
    if (context_.MustCancel()) return cancelled = true;
    // An exit in the queue.
    event = nullptr;
    return *context_.FindExit(*this) != nullptr;
  }
  bool await_suspend(std::coroutine_handle<> caller) {
    handle = caller;
    context_.exit_receivers_.PushBack(*this);
    return true;
  }
  Exit await_resume() {
    if (cancelled) [[unlikely]]
      context_.ThrowCancelled();
    if (event != nullptr) return Exit(Event(event));
    return context_.DequeueExit(*this);
  }

 private:
  friend class Context;

  explicit ExitAwaiter(Context& context) : context_(context) {}
  ExitAwaiter(Context& context, Tag of_monitor) : context_(context) {
    any = false;
    monitor = of_monitor;
  }

  Context& context_;
};

class [[nodiscard]] SleepAwaiter : private detail::Sleeper {
 public:
  using Value = void;

  SleepAwaiter(SleepAwaiter&&) = default;

  bool await_ready() {
    cancelled = context_.MustCancel();
    event = nullptr;
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
    if (event == nullptr) return;  // it did not wait
    if (const Error error = Event(event).error()) {
      throw Failure(Status(error));
    }
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
  // Precondition: it does not wait yet.
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

inline ReceiveTopicAwaiter Context::Receive(std::string topic) {
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

inline CallAwaiter Context::Call(const Pid& to, std::string topic,
                                 OwnedPayload payload,
                                 const YieldOptions& options) {
  return {*this, to, {}, std::move(topic), std::move(payload), options};
}

inline CallAwaiter Context::Call(std::string name, std::string topic,
                                 OwnedPayload payload,
                                 const YieldOptions& options) {
  return {*this,  Pid(), std::move(name), std::move(topic), std::move(payload),
          options};
}

inline ExitAwaiter Context::ReceiveExit() { return ExitAwaiter(*this); }

inline ExitAwaiter Context::ReceiveExit(Tag monitor) {
  return {*this, monitor};
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
