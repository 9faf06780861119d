// The key of a name or a group: the same text of two owners is two names.
//
// Thread-safety: plain values. Ownership: OwnedName owns its text;
// OwnedNameView borrows it.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "runtime/process/owner.h"

namespace actord::runtime {

struct OwnedNameView {
  Owner owner = Owner::kNobody;
  std::string_view text;

  friend auto operator<=>(const OwnedNameView&, const OwnedNameView&) = default;
};

struct OwnedName {
  Owner owner = Owner::kNobody;
  std::string text;

  // NOLINTNEXTLINE(google-explicit-constructor): look-ups compare the two.
  operator OwnedNameView() const { return {owner, text}; }
  friend bool operator<(const OwnedName& a, const OwnedName& b) {
    return OwnedNameView(a) < OwnedNameView(b);
  }
  friend bool operator<(const OwnedName& a, const OwnedNameView& b) {
    return OwnedNameView(a) < b;
  }
  friend bool operator<(const OwnedNameView& a, const OwnedName& b) {
    return a < OwnedNameView(b);
  }
};

}  // namespace actord::runtime
