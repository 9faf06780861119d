// Patterns of commands. actord/text.h says what a pattern is.
//
// Thread-safety: pure functions.
#pragma once

#include <actord/text.h>

#include <string_view>

namespace actord::runtime {

using actord::IsPattern;
using actord::MatchesPattern;

// Whether some command matches both patterns.
bool PatternsOverlap(std::string_view a, std::string_view b);

}  // namespace actord::runtime
