#include "runtime/settings/command_pattern.h"

namespace actord::runtime {
namespace {

bool IsPrefix(std::string_view pattern) {
  return !pattern.empty() && pattern.back() == '*';
}

}  // namespace

bool IsPattern(std::string_view text) {
  const size_t star = text.find('*');
  return !text.empty() &&
         (star == std::string_view::npos || star + 1 == text.size());
}

bool MatchesPattern(std::string_view pattern, std::string_view command) {
  if (IsPrefix(pattern)) {
    return command.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return pattern == command;
}

bool PatternsOverlap(std::string_view a, std::string_view b) {
  if (!IsPrefix(a)) return MatchesPattern(b, a);
  if (!IsPrefix(b)) return MatchesPattern(a, b);
  a.remove_suffix(1);
  b.remove_suffix(1);
  return a.starts_with(b) || b.starts_with(a);
}

}  // namespace actord::runtime
