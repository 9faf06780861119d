// Writes a page of the manual in the language of man(7).
//
// Texts are UTF-8; each character stands for itself, so no text can contain a
// request of roff.
//
// Thread-safety: none.
#pragma once

#include <string>
#include <string_view>

namespace actord::manual {

// The heading and the footer of a page.
struct PageTitle {
  std::string name;     // "actord"
  int section = 0;      // 1 to 8
  std::string date;     // "2026-11-27"
  std::string version;  // "0.1.0"
};

class RoffPage {
 public:
  explicit RoffPage(const PageTitle& title);

  void Section(std::string_view heading);
  void Subsection(std::string_view heading);
  // Text that is wrapped. "" adds nothing.
  void Paragraph(std::string_view text);
  // An entry of a list: `name` in bold type, `value` in italics behind it, and
  // below them the text. `value` and `text` may be "".
  void Term(std::string_view name, std::string_view value,
            std::string_view text);
  // Lines as they are, in a type of constant width. Empty lines at the begin
  // and at the end are left out.
  void Lines(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  // Begins a paragraph, unless a heading has begun it.
  void Break();
  // Appends the words in lines of at most 76 characters, unless one word is
  // longer.
  void AppendWrapped(std::string_view text);

  std::string text_;
  bool begins_section_ = false;
};

}  // namespace actord::manual
