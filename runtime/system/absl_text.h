// Debian 12 builds Abseil for C++17's predecessors: its string_view is a class
// of its own, to which a std::string_view does not convert.
//
// Thread-safety: a pure function.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace actord::runtime {

// The same bytes, which must outlive the result.
inline absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace actord::runtime
