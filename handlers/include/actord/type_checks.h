// actord/type_checks.h: the checks of process types and handlers when a plugin
// is compiled. The first error says what is missing and what to write. Used by
// thunks.h; authors of plugins do not need it.
//
// Thread-safety: constants.
#pragma once

#include <actord/durable_checks.h>
#include <actord/handler.h>
#include <actord/process.h>
#include <actord/text.h>
#include <actord/upgrade.h>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

namespace actord {

class CoroutineProcess;

// A process type that is a coroutine (coroutine.h).
template <typename T>
concept HasCoroutine = std::derived_from<T, CoroutineProcess>;

namespace detail {

template <typename T>
concept VoidOrStatus = std::is_void_v<T> || std::convertible_to<T, Status>;

// The members that every process type must have, in the form that thunks.h
// uses.
template <typename T>
concept HasName = requires {
  { T::kName } -> std::convertible_to<const char*>;
};
template <typename T>
concept HasMethods = requires {
  { T::kMethods } -> std::convertible_to<const Method*>;
  std::size(T::kMethods);
};
template <typename T>
concept HasInit = requires(T& process, std::string_view method,
                           const Payload& input) {
  { process.Init(method, input) } -> VoidOrStatus;
}
|| requires(T& process, std::string_view method, const Payload& input,
            const StepContext& context) {
  { process.Init(method, input, context) } -> VoidOrStatus;
};
template <typename T>
concept HasStep = requires(T& process, Events events, StepOutput& out) {
  process.Step(events, out);
};
template <typename T>
concept HasClose = requires(T& process) {
  process.Close();
};

template <typename T>
concept HasCommand = requires {
  { T::kCommand } -> std::convertible_to<const char*>;
};
template <typename T>
concept HasHandle = requires(T& handler, const Command& command) {
  { handler.Handle(command) } -> std::convertible_to<Reply>;
}
|| requires(T& handler, const Command& command, Completion done) {
  handler.Handle(command, std::move(done));
};

template <typename T>
constexpr bool HasValidMethods() {
  for (size_t i = 0; i < std::size(T::kMethods); ++i) {
    if (T::kMethods[i].name == nullptr) return false;
    const std::string_view name = T::kMethods[i].name;
    if (!IsDeclaredName(name)) return false;
    for (size_t j = 0; j < i; ++j) {
      if (name == T::kMethods[j].name) return false;
    }
  }
  return true;
}

// True if `T` has any member of that name. The name is then ambiguous in a
// class that inherits a second member of that name.
struct SnapshotName {
  int Snapshot;
};
struct RestoreName {
  int Restore;
};
template <typename T, typename Name>
struct Beside : T, Name {};
template <typename T>
constexpr bool NamesSnapshot() {
  if constexpr (std::is_final_v<T>) {
    return requires { &T::Snapshot; };
  } else {
    return !requires { &Beside<T, SnapshotName>::Snapshot; };
  }
}
template <typename T>
constexpr bool NamesRestore() {
  if constexpr (std::is_final_v<T>) {
    return requires { &T::Restore; };
  } else {
    return !requires { &Beside<T, RestoreName>::Restore; };
  }
}

// True if `T` has the base and the members of a process type. Otherwise the
// compilation fails, and checks that need the missing member are left out.
template <typename T>
constexpr bool HasProcessMembers() {
  static_assert(std::derived_from<T, Process>,
                "a process type must derive from actord::Process");
  if constexpr (!std::derived_from<T, Process>) {
    return false;
  } else {
    static_assert(HasName<T>,
                  "a process type needs a name: write, in its public part, "
                  "static constexpr const char* kName = \"order\";");
    static_assert(HasMethods<T>,
                  "a process type needs methods: write, in its public part, "
                  "static constexpr actord::Method kMethods[] = "
                  "{{\"run\", \"What it does.\"}};");
    static_assert(HasInit<T>,
                  "Init must be public, take (std::string_view method, "
                  "actord::Payload input), and return actord::Status or void; "
                  "a third parameter may be const actord::StepContext&");
    static_assert(HasStep<T>,
                  "a process type needs a step: write, in its public part, "
                  "void Step(actord::Events events, actord::StepOutput& out)");
    static_assert(HasClose<T>, "Close must be public and take nothing");
    return HasName<T> && HasMethods<T> && HasInit<T> && HasStep<T> &&
           HasClose<T>;
  }
}

// True if `T` is a process type. Otherwise the compilation fails.
template <typename T>
constexpr bool IsProcessType() {
  if constexpr (!HasProcessMembers<T>()) {
    return false;
  } else {
    // Before the default constructor, which a wrong State can prevent.
    static_assert(CheckDurability<T, HasCoroutine<T>>());
    static_assert(
        std::default_initializable<T>,
        "a process type needs a default constructor; its input goes to Init");
    static_assert(IsDeclaredName(T::kName),
                  "kName must be 1 to 128 of [a-zA-Z0-9_.-]");
    static_assert(HasValidMethods<T>(),
                  "each name in kMethods must be unique and 1 to 128 of "
                  "[a-zA-Z0-9_.-]");
    static_assert(sizeof(T) <= size_t{1} << 20,
                  "a process object must have at most 1 MiB");
    static_assert(alignof(T) <= 64,
                  "a process object may be aligned to at most 64 bytes");
    static_assert(
        HasSnapshot<T> || !NamesSnapshot<T>(),
        "Snapshot must be public and const, and return a SnapshotResult");
    static_assert(HasRestore<T> || !NamesRestore<T>(),
                  "Restore must be public and take a std::string_view, a "
                  "const RestoreFrom& and a RestoreContext&");
    if constexpr (HasCoroutine<T>) {
      return std::default_initializable<T> &&
             T::CoroutineProcess::template HasValidMain<T>();
    } else {
      return std::default_initializable<T>;
    }
  }
}

// True if `T` is a command handler. Otherwise the compilation fails.
template <typename T>
constexpr bool IsHandlerType() {
  static_assert(std::derived_from<T, Handler>,
                "a command handler must derive from actord::Handler");
  static_assert(HasCommand<T>,
                "a command handler needs the name of its command: write, in "
                "its public part, "
                "static constexpr const char* kCommand = \"shop.quote\";");
  static_assert(HasHandle<T>,
                "a command handler needs, in its public part, "
                "actord::Reply Handle(const actord::Command& command) or "
                "void Handle(const actord::Command& command, "
                "actord::Completion done)");
  if constexpr (!std::derived_from<T, Handler> || !HasCommand<T> ||
                !HasHandle<T>) {
    return false;
  } else {
    static_assert(IsDeclaredName(T::kCommand),
                  "kCommand must be 1 to 128 of [a-zA-Z0-9_.-]");
    return true;
  }
}

}  // namespace detail
}  // namespace actord
