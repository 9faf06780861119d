// actord/plugin.h: export the process types and handlers of a plugin. Use the
// macro once in a plugin, at namespace scope:
//
//   ACTORD_EXPORT_PLUGIN("shop", "1.0.0",
//                        actord::ProcessTypes<Order, Basket>,
//                        actord::Handlers<Quote>);
//
// The tables are constants: no code of the plugin runs before the daemon has
// checked them. Either list may be left out. Put your classes into an anonymous
// namespace, so that their symbols are not visible outside the plugin.
//
// Thread-safety: constants.
#pragma once

#include <actord/abi.h>
#include <actord/handler.h>
#include <actord/pid_text.h>
#include <actord/process.h>
#include <actord/text.h>
#include <actord/thunks.h>

#include <array>
#include <concepts>

namespace actord {

// The process types of a plugin.
template <typename... T>
struct ProcessTypes {};

// The command handlers of a plugin.
template <typename... T>
struct Handlers {};

template <typename T>
inline constexpr actord_process_type kProcessType = MakeProcessType<T>();

template <typename T>
inline constexpr actord_command_handler kCommandHandler =
    MakeCommandHandler<T>();

namespace detail {

template <typename... T>
inline constexpr std::array<const actord_process_type*, sizeof...(T)>
    kProcessTypeTable = {&kProcessType<T>...};

template <typename... T>
inline constexpr std::array<const actord_command_handler*, sizeof...(T)>
    kCommandTable = {&kCommandHandler<T>...};

template <typename... T>
constexpr void List(actord_plugin_info& info, ProcessTypes<T...>) {
  info.process_types = kProcessTypeTable<T...>.data();
  info.process_type_count = sizeof...(T);
}
template <typename... T>
constexpr void List(actord_plugin_info& info, Handlers<T...>) {
  static_assert(((std::constructible_from<T, Host> ||
                  std::default_initializable<T>)&&...),
                "a handler needs a constructor from a Host, or a default one");
  info.commands = kCommandTable<T...>.data();
  info.command_count = sizeof...(T);
}

}  // namespace detail

// The table behind ACTORD_EXPORT_PLUGIN.
template <typename... Lists>
constexpr actord_plugin_info MakePlugin(const char* name, const char* version) {
  actord_plugin_info info = {ACTORD_ABI_MAGIC,
                             ACTORD_ABI_VERSION,
                             sizeof(actord_plugin_info),
                             name,
                             version,
                             nullptr,
                             0,
                             nullptr,
                             0};
  (detail::List(info, Lists{}), ...);
  return info;
}

}  // namespace actord

// name: 1 to 128 of [a-zA-Z0-9_.-], unique in a daemon. version: the plugin's
// own version, for people. Then ProcessTypes<…>, Handlers<…>, or both.
#define ACTORD_EXPORT_PLUGIN(name, version, ...)                       \
  static_assert(::actord::IsDeclaredName(name),                        \
                "a plugin's name must be 1 to 128 of [a-zA-Z0-9_.-]"); \
  extern "C" {                                                         \
  constinit const actord_plugin_info actord_plugin =                   \
      ::actord::MakePlugin<__VA_ARGS__>(name, version);                \
  }                                                                    \
  static_assert(true, "needs a semicolon")
