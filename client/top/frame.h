// The contents of a terminal, line by line, and the bytes that write them.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace actord::client::top {

enum class Style {
  kPlain,
  kBold,
  kFaint,
  // The selected row.
  kReverse,
  // Green.
  kGood,
  // Yellow.
  kWarning,
  // Red.
  kBad,
};

struct Span {
  // Fit for a terminal: see Cells.
  std::string text;
  Style style = Style::kPlain;

  friend bool operator==(const Span&, const Span&) = default;
};

using Line = std::vector<Span>;

// Lines that fit the terminal, from its top.
using Frame = std::vector<Line>;

// Unit: cells.
struct Size {
  size_t width = 80;
  size_t height = 24;
};

// The bytes that change a terminal from `before` (empty: unknown) to `frame`.
// Without `colour` there are bold and reverse, but no colours.
std::string Encode(const Frame& frame, const Frame& before, bool colour);

// Without styles, and without trailing spaces.
std::string PlainText(const Frame& frame);

}  // namespace actord::client::top
