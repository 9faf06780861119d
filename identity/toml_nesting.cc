#include "identity/toml_nesting.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace actord::identity {
namespace {

// Walks once over a text.
class NestingCheck {
 public:
  NestingCheck(std::string_view text, std::string_view file)
      : text_(text), file_(file) {}

  absl::Status Run() {
    while (!text_.empty()) {
      const char c = text_.front();
      if (c == '"' || c == '\'') {
        SkipString(c);
        continue;
      }
      if (c == '#') {
        SkipComment();
        continue;
      }
      if (absl::Status status = See(c); !status.ok()) return status;
      Skip(1);
    }
    return absl::OkStatus();
  }

 private:
  void Skip(size_t count) {
    for (const char c : text_.substr(0, count)) line_ += c == '\n' ? 1 : 0;
    text_.remove_prefix(count);
  }

  void SkipComment() { text_.remove_prefix(Until("\n")); }

  // The number of bytes before the first of `ends`, or to the end.
  [[nodiscard]] size_t Until(std::string_view ends) const {
    const size_t at = text_.find_first_of(ends);
    return at == std::string_view::npos ? text_.size() : at;
  }

  void SkipString(char quote) {
    const std::string triple(3, quote);
    const bool is_long = text_.starts_with(triple);
    const bool has_escapes = quote == '"';
    text_.remove_prefix(is_long ? 3 : 1);
    while (!text_.empty()) {
      if (has_escapes && text_.front() == '\\') {
        Skip(text_.size() < 2 ? 1 : 2);
      } else if (text_.front() == '\n' && !is_long) {
        return;  // not TOML
      } else if (text_.front() != quote ||
                 (is_long && !text_.starts_with(triple))) {
        Skip(1);
      } else if (is_long) {
        SkipLongEnd(quote);
        return;
      } else {
        Skip(1);
        return;
      }
    }
  }

  // Up to two quotes belong to the content: """a quote: """"".
  void SkipLongEnd(char quote) {
    for (int quotes = 0; quotes < 5 && !text_.empty() && text_.front() == quote;
         ++quotes) {
      text_.remove_prefix(1);
    }
  }

  // A character outside strings and comments.
  absl::Status See(char c) {
    switch (c) {
      case '.':
        if (++dots_ < kMaxTomlKeyParts) return absl::OkStatus();
        return Error(absl::StrCat("a key has more than ", kMaxTomlKeyParts,
                                  " parts with dots between them"));
      case '[':
      case '{':
        dots_ = 0;
        // A header of an array of tables begins with two brackets.
        if (++depth_ <= kMaxTomlNesting) return absl::OkStatus();
        return Error(absl::StrCat("a value is nested more than ",
                                  kMaxTomlNesting, " levels deep"));
      case ']':
      case '}':
        dots_ = 0;
        if (depth_ > 0) --depth_;
        return absl::OkStatus();
      case '\n':
      case '=':
      case ',':
        dots_ = 0;
        return absl::OkStatus();
      default:
        return absl::OkStatus();
    }
  }

  [[nodiscard]] absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(file_), ":", line_, ": ", what));
  }

  std::string_view text_;  // the rest
  const std::string_view file_;
  uint32_t line_ = 1;
  size_t dots_ = 0;   // since the beginning of the key
  size_t depth_ = 0;  // open brackets and braces
};

}  // namespace

absl::Status CheckTomlNesting(std::string_view text, std::string_view file) {
  return NestingCheck(text, file).Run();
}

}  // namespace actord::identity
