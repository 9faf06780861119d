// What stands on a terminal, line by line, and how it gets there.
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
  kReverse,  // the selected row
  kGood,     // green
  kWarning,  // yellow
  kBad,      // red
};

struct Span {
  std::string text;  // fit for a terminal: see Cells
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

// What changes a terminal that shows `before` (empty: nothing is known of it)
// into one that shows `frame`. Without `colour` there are bold and reverse, but
// no colours.
std::string Encode(const Frame& frame, const Frame& before, bool colour);

// Without styles; lines without spaces at their ends.
std::string PlainText(const Frame& frame);

}  // namespace actord::client::top
