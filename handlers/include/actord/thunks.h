// actord/thunks.h: the C functions and tables behind the classes of process.h
// and handler.h. Used by plugin.h; authors of plugins do not need it.
//
// No exception leaves a function of this file, except ProcessThunks::Close.
//
// Thread-safety: see the functions of abi.h.
#pragma once

#include <actord/abi.h>
#include <actord/handler.h>
#include <actord/process.h>
#include <actord/type_checks.h>

#include <concepts>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace actord {

// The C functions of process type `T`.
template <typename T>
class ProcessThunks {
 public:
  static int32_t Init(void* state, const actord_init* init, actord_step* step) {
    T* process = nullptr;
    Status status;
    try {
      process = ::new (state) T();
      const char* const method = T::kMethods[init->method].name;
      status =
          CallInit(*process, method, Payload(init->input), StepContext(step));
      if constexpr (HasCoroutine<T>) {
        if (status.ok()) {
          process->T::CoroutineProcess::body_.Create(*process, method,
                                                     Payload(init->input));
        }
      }
    } catch (...) {
      status = Status(Code::kInternal, detail::DescribeException("Init"));
    }
    if (status.ok()) return ACTORD_OK;
    if (process != nullptr) process->~T();
    return Refuse(status, step);
  }

  static int32_t Step(void* state, const actord_event* const* events,
                      size_t count, actord_step* step) {
    StepOutput out(step);
    try {
      Self(state)->Step(Events(events, count), out);
    } catch (...) {
      out.SetFailure(Code::kInternal, detail::DescribeException("Step"));
      return ACTORD_STEP_THREW;
    }
    return out.verdict_;
  }

  static int32_t Snapshot(const void* state,
                          actord_step* step) requires HasSnapshot<T> {
    const T& process = *static_cast<const T*>(state);
    if constexpr (HasCoroutine<T>) {
      // The coroutine's input, and the messages queued in it, would be lost.
      if (!process.T::CoroutineProcess::body_.CanEndHere()) {
        return ACTORD_UNAVAILABLE;
      }
    }
    try {
      const SnapshotResult result = process.Snapshot();
      if (!result.status().ok()) return Refuse(result.status(), step);
      const actord_payload payload = result.payload().ToAbi();
      step->api->set_result(step, &payload);
      return ACTORD_OK;
    } catch (...) {
      return Refuse(
          Status(Code::kInternal, detail::DescribeException("Snapshot")), step);
    }
  }

  static int32_t Restore(void* state, const actord_restore* restore,
                         actord_step* step) requires HasRestore<T> {
    T* process = nullptr;
    Status status;
    try {
      process = ::new (state) T();
      const char* const method = T::kMethods[restore->method].name;
      const RestoreFrom from = detail::ToRestoreFrom(*restore);
      RestoreContext context(step);
      status =
          ReturnStatus([&] { return process->Restore(method, from, context); });
      if constexpr (HasCoroutine<T>) {
        if (status.ok()) {
          process->T::CoroutineProcess::body_.CreateAnew(*process, method);
        }
      }
    } catch (...) {
      status = Status(Code::kInternal, detail::DescribeException("Restore"));
    }
    if (status.ok()) return ACTORD_OK;
    if (process != nullptr) process->~T();
    return Refuse(status, step);
  }

  // An exception out of T::Close passes through to the daemon, which reports
  // it: this function has no other way to report it.
  static void Close(void* state) {
    struct Destroyer {
      T* process;
      ~Destroyer() { process->~T(); }
    } destroyer{Self(state)};
    if constexpr (HasCoroutine<T>) {
      destroyer.process->T::CoroutineProcess::body_.Destroy();
    }
    destroyer.process->Close();
  }

 private:
  // The daemon owns the memory. Init constructed the object in it.
  static T* Self(void* state) { return static_cast<T*>(state); }

  static int32_t Refuse(const Status& why, actord_step* step) {
    const auto code = static_cast<int32_t>(why.code());
    step->api->set_failure(step, code, detail::ToAbi(why.message()));
    return code;
  }

  static Status CallInit(T& process, std::string_view method,
                         const Payload& input, const StepContext& context) {
    if constexpr (requires { process.Init(method, input, context); }) {
      return ReturnStatus([&] { return process.Init(method, input, context); });
    } else {
      return ReturnStatus([&] { return process.Init(method, input); });
    }
  }

  template <typename Call>
  static Status ReturnStatus(const Call& call) {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return {};
    } else {
      return call();
    }
  }
};

// NULL: `T` has no Snapshot or Restore.
template <typename T>
constexpr auto SnapshotThunk() -> decltype(actord_process_type::snapshot) {
  if constexpr (HasSnapshot<T>) {
    return &ProcessThunks<T>::Snapshot;
  } else {
    return nullptr;
  }
}
template <typename T>
constexpr auto RestoreThunk() -> decltype(actord_process_type::restore) {
  if constexpr (HasRestore<T>) {
    return &ProcessThunks<T>::Restore;
  } else {
    return nullptr;
  }
}

// The ABI table of process type `T`.
template <typename T>
constexpr actord_process_type MakeProcessType() {
  if constexpr (!detail::IsProcessType<T>()) {
    return {};  // does not compile; the first error says why
  } else {
    uint32_t flags = 0;
    if (T::kHandlesCancel) flags |= ACTORD_TYPE_HANDLES_CANCEL;
    if (T::kBlocksThread) flags |= ACTORD_TYPE_BLOCKS_THREAD;
    if (T::kTrapsExits) flags |= ACTORD_TYPE_TRAPS_EXITS;
    if (T::kStopsChildren) flags |= ACTORD_TYPE_STOPS_CHILDREN;
    return {sizeof(actord_process_type),
            flags,
            T::kName,
            T::kDoc,
            sizeof(T),
            alignof(T),
            T::kMethods,
            std::size(T::kMethods),
            &ProcessThunks<T>::Init,
            &ProcessThunks<T>::Step,
            &ProcessThunks<T>::Close,
            SnapshotThunk<T>(),
            RestoreThunk<T>(),
            static_cast<uint32_t>(T::kDurability),
            detail::FlatVersion<T>(),
            HasFlatState<T> ? sizeof(T) : 0};
  }
}

// The C functions of handler `T`. Make is for programs that host handlers
// themselves and pass them more than a Host.
template <typename T>
class HandlerThunks {
 public:
  // Creates the `self` of the other functions. `arguments` go to T's
  // constructor.
  template <typename... Arguments>
  static void* Make(const actord_host* host, Arguments&&... arguments) {
    return new Instance(Host(host), std::forward<Arguments>(arguments)...);
  }

  static int32_t Create(const actord_host* host, void** self) {
    try {
      if constexpr (std::constructible_from<T, Host>) {
        *self = Make(host, Host(host));
      } else if constexpr (std::default_initializable<T>) {
        *self = Make(host);
      } else {
        // Must be created by Make.
        return ACTORD_UNIMPLEMENTED;
      }
      return ACTORD_OK;
    } catch (...) {
      Host(host).Log(LogLevel::kError, detail::DescribeException(T::kCommand));
      return ACTORD_INTERNAL;
    }
  }

  static void Destroy(void* self) { delete static_cast<Instance*>(self); }

  static int32_t Handle(void* self, actord_call* call) {
    auto* instance = static_cast<Instance*>(self);
    const Command command(call);
    if constexpr (requires(Completion done) {
                    instance->handler.Handle(command, std::move(done));
                  }) {
      HandleAsync(*instance, command, call);
      return ACTORD_DEFERRED;
    } else {
      HandleSync(*instance, command, call);
      return ACTORD_HANDLED;
    }
  }

 private:
  struct Instance {
    template <typename... Arguments>
    explicit Instance(Host h, Arguments&&... arguments)
        : host(h), handler(std::forward<Arguments>(arguments)...) {}
    Host host;
    T handler;
  };

  static void HandleSync(Instance& instance, const Command& command,
                         actord_call* call) {
    try {
      const Reply reply = instance.handler.Handle(command);
      const actord_payload payload =
          Payload(reply.bytes(), reply.content_type()).ToAbi();
      call->api->reply(call, static_cast<int32_t>(reply.code()), &payload);
    } catch (...) {
      const std::string text = detail::DescribeException(T::kCommand);
      const actord_payload payload = Payload(text).ToAbi();
      call->api->reply(call, ACTORD_INTERNAL, &payload);
    }
  }

  static void HandleAsync(Instance& instance, const Command& command,
                          actord_call* call) {
    const actord_completion completion = call->api->defer(call);
    // No room: the daemon completes the command with that error.
    if (completion == 0) return;
    detail::HandleFrame frame = {completion, std::uncaught_exceptions(), false};
    // Handlers can nest on a thread when one of them drives another.
    detail::HandleFrame* const outer =
        std::exchange(detail::current_handle_frame, &frame);
    try {
      instance.handler.Handle(command, Completion(instance.host, completion));
      detail::current_handle_frame = outer;
      // An exception that Handle caught itself has dropped the completion.
      if (frame.left_to_thunk) Completion(instance.host, completion);
    } catch (...) {
      detail::current_handle_frame = outer;
      ReportException(instance.host, frame);
    }
  }

  static void ReportException(const Host& host,
                              const detail::HandleFrame& frame) {
    const std::string text = detail::DescribeException(T::kCommand);
    if (frame.left_to_thunk) {
      Completion(host, frame.completion).Fail(Code::kInternal, text);
    } else {
      // The handler had already completed the command, or keeps its completion.
      host.Log(LogLevel::kError, text);
    }
  }
};

// The ABI table of handler `T`.
template <typename T>
constexpr actord_command_handler MakeCommandHandler() {
  if constexpr (!detail::IsHandlerType<T>()) {
    return {};  // does not compile; the first error says why
  } else {
    return {sizeof(actord_command_handler),
            static_cast<uint32_t>(T::kMode),
            T::kCommand,
            T::kDoc,
            &HandlerThunks<T>::Create,
            &HandlerThunks<T>::Destroy,
            &HandlerThunks<T>::Handle,
            (T::kIdempotent ? uint32_t{ACTORD_HANDLER_FLAG_IDEMPOTENT} : 0) |
                (T::kPure ? uint32_t{ACTORD_HANDLER_FLAG_PURE} : 0),
            0};
  }
}

}  // namespace actord
