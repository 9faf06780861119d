// actord/durable_checks.h: the checks behind durable.h, all of them at compile
// time. Used by thunks.h; authors of plugins do not need it.
//
// Thread-safety: constants.
#pragma once

#include <actord/abi.h>
#include <actord/durable.h>
#include <actord/upgrade.h>
#include <actord/values.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace actord {

namespace detail {

// The types that a leaf of a flat state may have.
template <typename T>
concept FlatLeaf = std::is_integral_v<T> || std::is_enum_v<T> ||
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, Pid> ||
    std::same_as<T, Time> || std::same_as<T, Duration>;

// Probes convert to a leaf, or to any type that is neither a leaf nor made of
// leaves. The checks below initialise a State with probes and see whether that
// compiles. No probe converts to an array or a class that is an aggregate, so
// the compiler initialises the elements of such a member one by one ("brace
// elision"), and each probe stands for one leaf. A union is an aggregate, too;
// OtherProbe finds it.
struct LeafProbe {
  template <FlatLeaf T>
  operator T() const;  // NOLINT: implicit by intent
};
struct OtherProbe {
  template <typename T>
  requires(!FlatLeaf<T> && (!std::is_aggregate_v<T> || std::is_union_v<T>))
  operator T() const;  // NOLINT: implicit by intent
};
template <size_t>
using LeafProbeAt = LeafProbe;

// Whether `count` leaves begin a State; whether another element follows them,
// which `{}` stands for; whether a member that is not a leaf follows them.
template <typename State, typename Indexes>
struct Leaves;
template <typename State, size_t... i>
struct Leaves<State, std::index_sequence<i...>> {
  static constexpr bool kBegin = requires { State{LeafProbeAt<i>{}...}; };
  static constexpr bool kHasNext = requires { State{LeafProbeAt<i>{}..., {}}; };
  static constexpr bool kHasOther = requires {
    State{LeafProbeAt<i>{}..., OtherProbe{}};
  };
};
template <typename State, size_t count>
using LeavesOf = Leaves<State, std::make_index_sequence<count>>;

// True if a State consists of leaves. `count` of them are known.
template <typename State, size_t count = 0>
constexpr bool HasOnlyLeaves() {
  using Known = LeavesOf<State, count>;
  if constexpr (!Known::kHasNext) {
    return true;
  } else if constexpr (Known::kHasOther ||
                       !LeavesOf<State, count + 1>::kBegin) {
    return false;
  } else {
    return HasOnlyLeaves<State, count + 1>();
  }
}

template <typename T>
constexpr bool HasStateMember() {
  if constexpr (requires { &T::state; }) {
    return std::same_as<decltype(&T::state), typename T::State T::*>;
  } else {
    return false;
  }
}

// Checks the flat state of process type `T`.
template <typename T>
constexpr bool CheckFlatState() {
  static_assert(
      requires { typename T::State; } && HasStateMember<T>(),
      "a type with kStateVersion needs a public member type State and a public "
      "data member `State state` (actord/durable.h)");
  if constexpr (requires { typename T::State; } && HasStateMember<T>()) {
    using State = typename T::State;
    constexpr bool kIsPlain =
        std::is_class_v<State> && std::is_aggregate_v<State> &&
        std::is_trivially_copyable_v<State> && std::is_move_assignable_v<State>;
    static_assert(
        kIsPlain,
        "State must be an aggregate of integers, float, double, bool, "
        "enums, Pid and arrays of them, without const members, "
        "references and destructors");
    static_assert(sizeof(State) <= ACTORD_FLAT_MAX_BYTES,
                  "State must have at most 64 bytes; use Snapshot and Restore "
                  "for a larger state");
    if constexpr (kIsPlain && sizeof(State) <= ACTORD_FLAT_MAX_BYTES) {
      static_assert(
          HasOnlyLeaves<State>(),
          "a member of State is no integer, float, double, bool, enum, "
          "Pid, Time or Duration, and no array or aggregate of them; a "
          "pointer, a std::string_view and the like would dangle after "
          "a restart");
    }
    static_assert(sizeof(T) == sizeof(State) && std::is_trivially_copyable_v<T>,
                  "`state` must be the only data member of a type with "
                  "kStateVersion, and the type must have no destructor and no "
                  "virtual function: after a restart, nothing else is kept");
  }
  static_assert(T::kStateVersion >= 1, "kStateVersion must be 1 or more");
  return true;
}

// Checks the durability that process type `T` declares.
template <typename T, bool is_coroutine>
constexpr bool CheckDurability() {
  static_assert(T::kDurability == Durability::kNone ||
                    T::kDurability == Durability::kImage ||
                    T::kDurability == Durability::kReplay,
                "kDurability must be kNone, kImage or kReplay");
  static_assert(
      T::kDurability != Durability::kImage || !is_coroutine,
      "a coroutine cannot be kImage, because no image holds its local "
      "variables; use kReplay");
  static_assert(T::kDurability != Durability::kImage || HasFlatState<T> ||
                    (HasSnapshot<T> && HasRestore<T>),
                "kImage needs Snapshot and Restore, or a flat state: State, "
                "state and kStateVersion (actord/durable.h)");
  static_assert(T::kDurability == Durability::kImage || !HasFlatState<T>,
                "kStateVersion needs kDurability = kImage");
  if constexpr (HasFlatState<T>) return CheckFlatState<T>();
  return true;
}
// The version of the flat state of `T`; 0: it has none.
template <typename T>
constexpr uint32_t FlatVersion() {
  if constexpr (HasFlatState<T>) {
    return T::kStateVersion;
  } else {
    return 0;
  }
}

}  // namespace detail

}  // namespace actord
