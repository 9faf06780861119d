// actord/child_options.h: the options of a step's Spawn. Those of the command
// process.spawn are SpawnOptions (values.h).
//
// Thread-safety: plain values. Ownership: borrows the place of the tag.
#pragma once

#include <actord/abi.h>
#include <actord/values.h>

#include <cstddef>
#include <type_traits>

namespace actord {
namespace detail {

// Stands where a name could be, and has none.
struct NoName {
  NoName() = default;
  template <typename Name>
  NoName(const Name&) {  // NOLINT: implicit by intent
    static_assert(sizeof(Name) == 0,
                  "a step's Spawn cannot give the child a name, which may be "
                  "taken: run commands::Spawn, which then answers "
                  "kAlreadyExists");
  }
};

// Where a tag is written: the address of a Tag, and nothing else.
struct TagPlace {
  constexpr TagPlace() = default;
  constexpr TagPlace(std::nullptr_t) {}  // NOLINT: implicit by intent
  template <typename Place>
  constexpr TagPlace(Place to) {  // NOLINT: implicit by intent
    static_assert(std::is_same_v<Place, Tag*>,
                  "ChildOptions::monitor is the address of a Tag, where Spawn "
                  "writes the tag of the child's exit. (SpawnOptions::monitor, "
                  "of commands::Spawn, is true or false.)");
    if constexpr (std::is_same_v<Place, Tag*>) place = to;
  }

  Tag* place = nullptr;
};

}  // namespace detail

// As SpawnOptions, but for `monitor`, and without a name.
struct ChildOptions {
  bool keep_result = false;
  int priority = ACTORD_PRIORITY_DEFAULT;
  bool link = false;
  // Where Spawn writes the tag of the child's exit; nullptr: the child is not
  // monitored.
  detail::TagPlace monitor = {};
  bool is_volatile = false;
  detail::NoName name = {};
};

}  // namespace actord
