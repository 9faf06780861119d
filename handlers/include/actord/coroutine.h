// actord/coroutine.h: write a process type as a coroutine.
//
//   class Door : public actord::CoroutineProcess {
//    public:
//     static constexpr const char* kName = "door";
//     static constexpr actord::Method kMethods[] = {{"run", "Opens once."}};
//
//     actord::Task<> Main(actord::Context& ctx) {
//       const actord::Message knock = co_await ctx.Receive("open");
//       ctx.Send(knock.from(), "opened");
//       co_await ctx.Sleep(std::chrono::seconds(2));
//     }
//   };
//
// List it in the plugin with plugin.h, like any other process type. Its life:
//
// 1. The constructor runs, then Init, if the type has one. Init may refuse the
//    input, as in process.h.
// 2. Main starts in the first step and runs until it waits (co_await). A later
//    step resumes it when the awaited event arrives. While Main waits for no
//    message, messages stay in the mailbox, except the rest of the up to 319
//    events that the step has already taken.
// 3. When Main returns, the process ends: a value is its result, an error its
//    failure. An uncaught Cancelled fails the process with CANCELLED and the
//    reason. An uncaught Failure fails it with its code and text. Any other
//    exception counts as thrown by Step.
//    After ContinueAs, Main begins again with another input, in a new object.
// 4. If anything else ends the process (a terminate, or a step that broke a
//    rule of the daemon), the coroutine is destroyed at the point where it
//    waits: destructors run, catch blocks do not.
//
// A type may have Snapshot and Restore (process.h). After an upgrade Main
// starts again in the new version, after Restore and without an input. Only
// members that Restore has set are kept. Local variables, and messages of
// SendAfter and Every that were not sent yet, are lost. So Snapshot should
// return NotNow() while Main is in the middle of something. Before Main's first
// step, and while messages or exits are queued in the process, NotNow() is
// returned automatically.
//
// When the process is asked to end, each of its waits throws Cancelled, once.
// The process may take as long as it needs to clean up, and may wait while it
// does. A drain of the daemon waits for the process until the drain's deadline.
//
// Thread-safety: as in process.h. A coroutine may change its thread at each
// wait: hold no lock and no reference to thread-local data across co_await.
// Ownership: the process owns its coroutines; they are destroyed before the
// process.
#pragma once

#include <actord/context.h>
#include <actord/owned.h>
#include <actord/plugin.h>
#include <actord/process.h>
#include <actord/result.h>
#include <actord/task.h>
#include <actord/task_group.h>
#include <actord/when.h>

#include <coroutine>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace actord {

namespace detail {

// The parts of CoroutineBody that depend on the type only.
struct BodyType {
  // Reports Main's result. Rethrows Main's exception unless it is a Failure.
  void (*finish)(std::coroutine_handle<> main, StepOutput& out);
  QueueLimits queue;
};

inline void EndWith(std::monostate, StepOutput& out) { out.Done(); }
inline void EndWith(const OwnedPayload& result, StepOutput& out) {
  out.Done(result);
}
inline void EndWith(const std::string& result, StepOutput& out) {
  out.Done(result);
}
template <typename T>
void EndWith(const Result<T>& result, StepOutput& out) {
  if (const Error error = result.error()) return out.Fail(error);
  EndWith(*result, out);
}

// Whether a process can end with an `R`, the value of Main's Task.
template <typename R>
inline constexpr bool kCanEndWith = requires(const R& result, StepOutput& out) {
  EndWith(result, out);
};
template <>
inline constexpr bool kCanEndWith<void> = true;
template <typename T>
inline constexpr bool kCanEndWith<Result<T>> = kCanEndWith<T>;

// The facts in Main's type; its forms are listed at CoroutineProcess.
template <typename Main>
struct FormOfMain {
  static constexpr bool kIsKnown = false;
};
template <typename R>
struct KnownForm {
  static constexpr bool kIsKnown = true;
  static constexpr bool kHasResult = kCanEndWith<R>;
};
template <typename R, typename T>
struct FormOfMain<Task<R> (T::*)(Context&)> : KnownForm<R> {};
template <typename R, typename T>
struct FormOfMain<Task<R> (T::*)(Context&, OwnedPayload)> : KnownForm<R> {};
template <typename R, typename T>
struct FormOfMain<Task<R> (T::*)(Context&, std::string_view, OwnedPayload)>
    : KnownForm<R> {};
template <typename R, typename T, typename... Args>
struct FormOfMain<Task<R> (T::*)(Args...) noexcept>
    : FormOfMain<Task<R> (T::*)(Args...)> {};

// Whether `T` has a Main in one of these forms.
template <typename T>
constexpr bool HasKnownMain() {
  if constexpr (requires { &T::Main; }) {
    return FormOfMain<decltype(&T::Main)>::kIsKnown;
  } else {
    return false;
  }
}

// `R`: the result type of Main's Task.
template <typename R>
void FinishMain(std::coroutine_handle<> main, StepOutput& out) {
  using Promise = typename Task<R>::promise_type;
  auto& promise =
      std::coroutine_handle<Promise>::from_address(main.address()).promise();
  try {
    if constexpr (std::is_void_v<R>) {
      promise.Take();
      out.Done();
    } else {
      EndWith(promise.Take(), out);
    }
  } catch (const Failure& failure) {
    out.Fail(failure.status());
  }
}

template <typename T, typename R>
inline constexpr BodyType kBodyType = {
    &FinishMain<R>, {T::kMaxQueuedMessages, T::kMaxQueuedBytes}};

// Runs Main and hands it the events of each step.
class CoroutineBody {
 public:
  CoroutineBody() = default;
  CoroutineBody(const CoroutineBody&) = delete;
  CoroutineBody& operator=(const CoroutineBody&) = delete;
  ~CoroutineBody() { Destroy(); }

  template <typename T>
  void Create(T& process, std::string_view method, const Payload& input) {
    main_ = Call(process, &T::Main, method, input);
    holds_input_ = true;
  }
  // For use after Restore: Main gets an empty input.
  template <typename T>
  void CreateAnew(T& process, std::string_view method) {
    main_ = Call(process, &T::Main, method, Payload());
  }
  void Destroy() {
    if (main_) std::exchange(main_, nullptr).destroy();
  }

  // True if the coroutine can be destroyed without losing input: no messages or
  // exits are queued in it, and Main, which knows its input only from its first
  // step on, has started.
  [[nodiscard]] bool CanEndHere() const {
    return !holds_input_ && !context_.HasQueued();
  }

  void Step(Events events, StepOutput& out) {
    context_.Enter(out, events);
    // Leaves also if finish throws.
    struct Leaver {
      Context& context;
      ~Leaver() { context.Leave(); }
    } leaver{context_};
    if (started_) [[likely]] {
      context_.ResumeContinuing();
    } else {
      started_ = true;
      holds_input_ = false;
      main_.resume();
    }
    const bool has_room = context_.HandleEvents(type_->queue);
    if (main_.done()) return Finish(out);
    if (!has_room) {
      return out.Fail(
          Code::kResourceExhausted,
          "too many messages are queued for a Receive of their topic");
    }
    context_.SayWhatIsAwaited(out);
  }

 private:
  void Finish(StepOutput& out) const {
    type_->finish(main_, out);
    if (context_.next_life_ != nullptr && out.verdict() == ACTORD_STEP_DONE) {
      context_.GiveNextLife(out);
    }
  }

  // The three forms of Main. None takes the input by reference or as a view,
  // which would dangle after the call.
  template <typename T, typename Owner, typename R>
  std::coroutine_handle<> Call(T& process, Task<R> (Owner::*main)(Context&),
                               std::string_view /*method*/,
                               const Payload& /*input*/) {
    return Adopt<T>((process.*main)(context_));
  }
  template <typename T, typename Owner, typename R>
  std::coroutine_handle<> Call(T& process,
                               Task<R> (Owner::*main)(Context&, OwnedPayload),
                               std::string_view /*method*/,
                               const Payload& input) {
    return Adopt<T>((process.*main)(context_, OwnedPayload(input)));
  }
  template <typename T, typename Owner, typename R>
  std::coroutine_handle<> Call(T& process,
                               Task<R> (Owner::*main)(Context&,
                                                      std::string_view,
                                                      OwnedPayload),
                               std::string_view method, const Payload& input) {
    return Adopt<T>((process.*main)(context_, method, OwnedPayload(input)));
  }

  template <typename T, typename R>
  std::coroutine_handle<> Adopt(Task<R> main) {
    type_ = &kBodyType<T, R>;
    return std::move(main).TakeFrame().Release();
  }

  Context context_;
  std::coroutine_handle<> main_ = nullptr;
  const BodyType* type_ = nullptr;
  bool started_ = false;
  // True until Main's first step: until then only the coroutine's frame holds
  // the input.
  bool holds_input_ = false;
};

}  // namespace detail

// The base of process types that are coroutines. In addition to the members
// described at Process, a type `T` has one of
//
//   Task<R> Main(Context& ctx);
//   Task<R> Main(Context& ctx, OwnedPayload input);
//   Task<R> Main(Context& ctx, std::string_view method, OwnedPayload input);
//
// where `method` is one of kMethods, and R is void, OwnedPayload, std::string,
// or a Result of one of them. It has no Step.
class CoroutineProcess : public Process {
 public:
  static constexpr bool kHandlesCancel = true;
  // Limits of the messages that Receive(topic) may leave queued: their number,
  // and the total size of their topics, payloads and content types.
  static constexpr size_t kMaxQueuedMessages = 65'536;
  static constexpr size_t kMaxQueuedBytes = size_t{16} << 20;

  void Step(Events events, StepOutput& out) { body_.Step(events, out); }

 private:
  template <typename T>
  friend class ProcessThunks;
  template <typename T>
  friend constexpr bool detail::IsProcessType();

  // True if Main of `T` has a form that the SDK can run. Otherwise the
  // compilation fails.
  template <typename T>
  static constexpr bool HasValidMain() {
    static_assert(detail::HasKnownMain<T>(),
                  "a coroutine needs one public Main: "
                  "actord::Task<> Main(actord::Context& ctx); it may also take "
                  "(ctx, actord::OwnedPayload input) or (ctx, std::string_view "
                  "method, actord::OwnedPayload input)");
    if constexpr (!detail::HasKnownMain<T>()) {
      return false;
    } else {
      constexpr bool has_result =
          detail::FormOfMain<decltype(&T::Main)>::kHasResult;
      static_assert(has_result,
                    "Main must return a Task of nothing, std::string, "
                    "actord::OwnedPayload, or an actord::Result of one of "
                    "them; make text of a number with std::to_string");
      return has_result;
    }
  }

  detail::CoroutineBody body_;
};

}  // namespace actord
