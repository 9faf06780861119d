// The effects that a step requests: the list of their types, one for each kind
// of effect. Each type is declared beside the class that carries it out.
//
// An effect is a value that can be written to a record. It owns its content.
// It holds no pointer or reference, no borrowed text and no union; the
// assertions below check each field of each type.
//
// A new kind needs a type in the list, a row in the codec, and an Apply of its
// owner.
#pragma once

#include <string_view>
#include <type_traits>
#include <variant>

#include "runtime/actors/tie_effect.h"
#include "runtime/delivery/send_effect.h"
#include "runtime/log/log_effect.h"
#include "runtime/step/call_effect.h"
#include "runtime/step/spawn_effect.h"
#include "runtime/step/yield_effect.h"
#include "runtime/topics/publish_effect.h"
#include "runtime/yields/cancel_yield_effect.h"

namespace actord::runtime {

using Effect =
    std::variant<SendEffect, SpawnEffect, YieldEffect, CallEffect, ReplyEffect,
                 TieEffect, CancelEffect, PublishEffect, LogEffect>;

namespace detail {

// Initialises a field of any type; in unevaluated operands only.
struct AnyField {
  template <typename Field>
  operator Field() const;  // NOLINT(google-explicit-constructor)
};
template <typename T, typename... Fields>
consteval size_t CountFields() {
  if constexpr (requires { T{Fields{}..., AnyField{}}; }) {
    return CountFields<T, Fields..., AnyField>();
  } else {
    return sizeof...(Fields);
  }
}

template <typename Field>
inline constexpr bool kIsOwned =
    !std::is_pointer_v<Field> && !std::is_reference_v<Field> &&
    !std::is_union_v<Field> && !std::is_same_v<Field, std::string_view> &&
    (std::is_arithmetic_v<Field> || std::is_enum_v<Field> ||
     std::is_same_v<Field, Pid> || std::is_same_v<Field, Content>);

// Calls `use` with the fields of `effect`. An assertion fails if there are too
// many fields.
template <typename T, typename Use>
constexpr decltype(auto) WithFields(T& effect, Use use) {
  constexpr size_t kFields = CountFields<std::remove_const_t<T>>();
  static_assert(kFields >= 1 && kFields <= 6);
  if constexpr (kFields == 1) {
    auto& [a] = effect;
    return use(a);
  } else if constexpr (kFields == 2) {
    auto& [a, b] = effect;
    return use(a, b);
  } else if constexpr (kFields == 3) {
    auto& [a, b, c] = effect;
    return use(a, b, c);
  } else if constexpr (kFields == 4) {
    auto& [a, b, c, d] = effect;
    return use(a, b, c, d);
  } else if constexpr (kFields == 5) {
    auto& [a, b, c, d, e] = effect;
    return use(a, b, c, d, e);
  } else {
    auto& [a, b, c, d, e, f] = effect;
    return use(a, b, c, d, e, f);
  }
}
template <typename T>
inline constexpr bool kHoldsWhatItOwns =
    decltype(WithFields(std::declval<T&>(), [](auto&... fields) {
      return std::bool_constant<(
          kIsOwned<std::remove_cvref_t<decltype(fields)>> && ...)>{};
    }))::value;

template <typename List>
inline constexpr bool kAreEffects = false;
template <typename... Effects>
inline constexpr bool kAreEffects<std::variant<Effects...>> = ((
    std::is_aggregate_v<Effects> && std::is_trivially_destructible_v<Effects> &&
    std::is_nothrow_move_constructible_v<Effects> &&
    kHoldsWhatItOwns<Effects>)&&...);

}  // namespace detail

static_assert(detail::kAreEffects<Effect>,
              "a field of an effect is a pointer, a reference, borrowed text, "
              "a union, or of a type that no record can hold");

// Frees the contents that the effect owns.
template <typename Lane>
void FreeContent(Effect& effect, Lane& lane) {
  const auto free_field = [&lane](auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>,
                                 Content>) {
      if (field) lane.Free(field.Take());
    }
  };
  std::visit(
      [&](auto& of_kind) {
        detail::WithFields(of_kind,
                           [&](auto&... fields) { (free_field(fields), ...); });
      },
      effect);
}

}  // namespace actord::runtime
