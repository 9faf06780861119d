#include "runtime/settings/command_pattern.h"

namespace actord::runtime {

bool PatternsOverlap(std::string_view a, std::string_view b) {
  if (!a.ends_with('*')) return MatchesPattern(b, a);
  if (!b.ends_with('*')) return MatchesPattern(a, b);
  a.remove_suffix(1);
  b.remove_suffix(1);
  return a.starts_with(b) || b.starts_with(a);
}

}  // namespace actord::runtime
