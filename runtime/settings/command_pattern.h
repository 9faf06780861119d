// Patterns of commands: a name, or a prefix that ends in '*'.
//
// Thread-safety: pure functions.
#pragma once

#include <string_view>

namespace actord::runtime {

// True if `pattern` is not empty and has a '*' only at its end, if at all.
bool IsPattern(std::string_view text);

// Whether `command` matches `pattern`. "" matches "" alone.
bool MatchesPattern(std::string_view pattern, std::string_view command);

// Whether some command matches both patterns.
bool PatternsOverlap(std::string_view a, std::string_view b);

}  // namespace actord::runtime
