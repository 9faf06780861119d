// Fits text into the cells of a terminal: computes widths and replaces
// characters that a terminal must not get.
//
// Thread-safety: const functions of one object may be called from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "client/cli/invocation.h"

namespace actord::client::top {

enum class Align { kLeft, kRight };

class Cells {
 public:
  // `utf8`: the terminal shows UTF-8. If it does not, or if the system has no
  // locale C.UTF-8, characters beyond ASCII are shown as '?'.
  explicit Cells(bool utf8);
  ~Cells();
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  // `text` in exactly `width` cells: padded, or cut with a sign that shows the
  // cut. Control characters, broken UTF-8, and characters without a width of
  // their own (such as marks that change the direction of writing) become '?',
  // line ends and tabs a space.
  [[nodiscard]] std::string Fit(std::string_view text, size_t width,
                                Align align = Align::kLeft) const;
  // Like Fit, but without padding: at most `width` cells.
  [[nodiscard]] std::string Clip(std::string_view text, size_t width) const;
  // Unit: cells. Fit does not cut `text` in this width.
  [[nodiscard]] size_t Width(std::string_view text) const;

  [[nodiscard]] const char* ellipsis() const { return utf8_ ? "…" : "~"; }
  [[nodiscard]] const char* descending() const { return utf8_ ? "▼" : "v"; }
  [[nodiscard]] const char* ascending() const { return utf8_ ? "▲" : "^"; }

 private:
  struct Character {
    std::string_view shown;
    size_t taken_bytes;
    size_t cells;
  };
  // Decodes the first character of `text`, which is not empty.
  [[nodiscard]] Character First(std::string_view text) const;

  // A locale_t.
  void* locale_ = nullptr;
  const bool utf8_;
};

// Whether the environment says that the terminal shows UTF-8.
bool IsUtf8Terminal(const Environment& environment);

}  // namespace actord::client::top
