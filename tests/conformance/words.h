// The words of a line.
//
// Thread-safety: pure functions.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace actord::conformance {

inline std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Takes the first word from `rest`; "" if there is none.
inline std::string TakeWord(std::string_view& rest) {
  const std::string_view text = Trim(rest);
  const size_t end = text.find(' ');
  rest = end == std::string_view::npos ? std::string_view()
                                       : Trim(text.substr(end));
  return std::string(text.substr(0, end));
}

// With N letters instead of each word "#N".
inline std::string Expand(std::string_view line) {
  std::string text;
  for (size_t at = 0; at < line.size();) {
    const bool begins = at == 0 || line[at - 1] == ' ';
    size_t end = at + 1;
    while (end < line.size() && std::isdigit(line[end]) != 0) ++end;
    if (begins && line[at] == '#' && end > at + 1) {
      text.append(std::stoul(std::string(line.substr(at + 1, end - at - 1))),
                  'x');
      at = end;
    } else {
      text += line[at++];
    }
  }
  return text;
}

// As a script shows it: long texts by their lengths alone.
inline std::string Shorten(std::string text) {
  constexpr size_t kShown = 200;
  if (text.size() <= kShown) return text;
  return "#" + std::to_string(text.size());
}

}  // namespace actord::conformance
