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
// List it in the plugin with plugin.h as any other process type. Its life:
//
// 1. The constructor, then Init, if the type has one: it may refuse the input,
//    as in process.h.
// 2. Main starts in the first step and runs until it waits (co_await); what its
//    waits are for goes on with it in later steps. While it waits for no
//    message, messages stay in the mailbox, but for the rest of a step's 319.
// 3. Main's end is the process's: a value is its result, an error its failure.
//    Cancelled, uncaught, fails it with CANCELLED and the reason; a Failure
//    with its code and text; any other exception as if Step had thrown it.
// 4. Whatever else ends the process (a terminate, a step that broke a rule of
//    the daemon) destroys the coroutine where it stands: destructors run, catch
//    blocks do not.
//
// A type may have Snapshot and Restore (process.h). Then Main begins anew in
// the new version, after Restore and without an input: members that Restore has
// set are what is left, locals are not, and neither is what SendAfter and Every
// have not sent. Snapshot says NotNow() while Main is in the middle of
// something; before Main's first step, and while messages or exits wait in the
// process, that is said for it.
//
// When the process is asked to end, what it waits for throws Cancelled, once.
// It may go on as long as it needs to clean up, and wait while it does so; a
// drain of the daemon waits for it until its deadline.
//
// Thread-safety: as in process.h. Between two waits it may change its thread:
// no lock and no reference to something thread-local may be held across
// co_await. Ownership: the process owns its coroutines; they die before it
// does.
#pragma once

#include <actord/context.h>
#include <actord/owned.h>
#include <actord/plugin.h>
#include <actord/process.h>
#include <actord/result.h>
#include <actord/task.h>
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

// What is fixed by a type.
struct BodyType {
  // Says what Main ended with; throws what it threw, unless it is a Failure.
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

// `R`: what Main's Task is of.
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

// Runs Main.
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
  // After Restore: there is no input.
  template <typename T>
  void CreateAnew(T& process, std::string_view method) {
    main_ = Call(process, &T::Main, method, Payload());
  }
  void Destroy() {
    if (main_) std::exchange(main_, nullptr).destroy();
  }

  // Nothing that was given to it would be lost with it: messages that wait in
  // it, and the input, of which Main knows nothing before the first step.
  [[nodiscard]] bool CanEndHere() const {
    return !holds_input_ && !context_.HasQueued();
  }

  void Step(Events events, StepOutput& out) {
    context_.Enter(out, events);
    // Also when finish throws.
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
    if (main_.done()) return type_->finish(main_, out);
    if (!has_room) {
      return out.Fail(Code::kResourceExhausted,
                      "too many messages wait for a Receive of their topic");
    }
    context_.SayWhatIsAwaited(out);
  }

 private:
  // The three forms of Main. They take no reference and no view of the input:
  // it would not outlive the call.
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
  // Only the frame of a Main that has not begun has it.
  bool holds_input_ = false;
};

}  // namespace detail

// The base of process types that are coroutines. Beside what Process asks for,
// a type `T` has one of
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
  // What Receive(topic) may leave queued: messages, and bytes of topics,
  // payloads and content types.
  static constexpr size_t kMaxQueuedMessages = 65'536;
  static constexpr size_t kMaxQueuedBytes = size_t{16} << 20;

  void Step(Events events, StepOutput& out) { body_.Step(events, out); }

 private:
  template <typename T>
  friend class ProcessThunks;

  detail::CoroutineBody body_;
};

}  // namespace actord
