#include "identity/names/nearest.h"

#include <algorithm>
#include <cstddef>

namespace actord::identity {
namespace {

constexpr size_t kMaxCompared = 64;
constexpr size_t kMaxWrong = 3;
constexpr size_t kMinBeginning = 2;

// The optimal string alignment distance: insertions, deletions, replacements,
// and exchanges of neighbours.
size_t Distance(std::string_view one, std::string_view other) {
  const size_t width = other.size() + 1;
  std::vector<size_t> before(width);
  std::vector<size_t> last(width);
  std::vector<size_t> row(width);
  for (size_t j = 0; j < width; ++j) last[j] = j;
  for (size_t i = 1; i <= one.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j < width; ++j) {
      const size_t replaced = one[i - 1] == other[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + replaced});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] &&
          one[i - 2] == other[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[other.size()];
}

}  // namespace

std::string NearestName(std::string_view typed,
                        const std::vector<std::string>& known) {
  if (typed.empty() || typed.size() > kMaxCompared) return "";
  const std::string* nearest = nullptr;
  size_t least = kMaxWrong + 1;
  for (const std::string& name : known) {
    const bool begins = typed.size() >= kMinBeginning &&
                        std::string_view(name).starts_with(typed);
    // At least as many characters are missing or too much.
    if (!begins && (name.size() > typed.size() + kMaxWrong ||
                    typed.size() > name.size() + kMaxWrong)) {
      continue;
    }
    const size_t wrong = begins ? 1 : Distance(typed, name);
    if (wrong < least && wrong * 3 <= std::max(typed.size(), name.size())) {
      nearest = &name;
      least = wrong;
    }
  }
  return nearest == nullptr ? "" : *nearest;
}

std::string DidYouMean(std::string_view typed,
                       const std::vector<std::string>& known) {
  const std::string nearest = NearestName(typed, known);
  return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

}  // namespace actord::identity
