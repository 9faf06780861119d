// Text in the cells of a terminal: what a character takes, and what must never
// get there.
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
  // `utf8`: the terminal shows UTF-8. If not, or if the system has no locale
  // C.UTF-8, everything beyond ASCII is shown as '?'.
  explicit Cells(bool utf8);
  ~Cells();
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  // `text` in exactly `width` cells: padded, or cut with a sign that says so.
  // Control characters, broken UTF-8, and what has no width of its own (such as
  // marks that turn the direction of writing) become '?', line ends and tabs a
  // space.
  [[nodiscard]] std::string Fit(std::string_view text, size_t width,
                                Align align = Align::kLeft) const;
  // The same without padding: at most `width` cells.
  [[nodiscard]] std::string Clip(std::string_view text, size_t width) const;
  // Unit: cells, at least as many as Fit would not cut `text` in.
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
  // The first character of `text`, which is not empty.
  [[nodiscard]] Character First(std::string_view text) const;

  void* locale_ = nullptr;  // a locale_t
  const bool utf8_;
};

// Whether the environment says that the terminal shows UTF-8.
bool IsUtf8Terminal(const Environment& environment);

}  // namespace actord::client::top
