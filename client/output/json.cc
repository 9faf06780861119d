#include "client/output/json.h"

#include <actord/text.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "client/output/exit_status.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

constexpr size_t kMaxDepth = 100;

// Checks a JSON text while it is parsed, without keeping it.
class Inspector : public nlohmann::json::json_sax_t {
 public:
  [[nodiscard]] bool faithful() const { return faithful_; }
  [[nodiscard]] const std::string& error() const { return error_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(int64_t /*value*/) override { return true; }
  bool number_unsigned(uint64_t /*value*/) override { return true; }
  bool number_float(double /*value*/, const std::string& text) override {
    const auto digits = std::count_if(
        text.begin(), text.end(), [](unsigned char c) { return isdigit(c); });
    // A double keeps any 15 digits. 64-bit integers do not come here.
    if (digits > 15) faithful_ = false;
    return true;
  }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*elements*/) override {
    keys_.emplace_back();
    return Enter();
  }
  bool key(std::string& value) override {
    if (!keys_.back().insert(value).second) faithful_ = false;
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(size_t /*elements*/) override { return Enter(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t position, const std::string& last_token,
                   const nlohmann::json::exception& /*error*/) override {
    error_ = "not valid JSON at byte " + std::to_string(position);
    if (!last_token.empty()) error_ += ", near '" + last_token + "'";
    return false;
  }

 private:
  bool Enter() {
    if (++depth_ <= kMaxDepth) return true;
    error_ = "nested deeper than " + std::to_string(kMaxDepth);
    return false;
  }

  size_t depth_ = 0;
  std::vector<std::set<std::string>> keys_;
  bool faithful_ = true;
  std::string error_;
};

// Scans a text that is valid JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  char Peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void Skip() { ++at_; }

  // Returns the text of the next value.
  std::string_view Value() {
    const char first = Peek();
    const size_t begin = at_;
    if (first == '"') {
      SkipString();
    } else if (first == '{' || first == '[') {
      SkipNested();
    } else {
      at_ = std::min(text_.find_first_of(" \t\r\n,]}", at_), text_.size());
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  void SkipString() {
    for (++at_; text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  void SkipNested() {
    size_t depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    } while (depth > 0);
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::Status CheckJson(std::string_view text) {
  Inspector inspector;
  if (nlohmann::json::sax_parse(text, &inspector)) return absl::OkStatus();
  return UsageError(inspector.error());
}

bool IsFaithfulJson(std::string_view text) {
  Inspector inspector;
  return nlohmann::json::sax_parse(text, &inspector) && inspector.faithful();
}

absl::StatusOr<std::map<std::string, std::string_view>> SplitObject(
    std::string_view object) {
  if (absl::Status status = CheckJson(object); !status.ok()) return status;
  Scanner scanner(object);
  if (scanner.Peek() != '{') return UsageError("not a JSON object");
  scanner.Skip();
  std::map<std::string, std::string_view> members;
  while (scanner.Peek() != '}') {
    std::string key = Json::parse(scanner.Value()).get<std::string>();
    scanner.Peek();
    // The colon.
    scanner.Skip();
    const std::string_view value = scanner.Value();
    if (!members.emplace(key, value).second) {
      return UsageError("\"" + key + "\" is given twice");
    }
    if (scanner.Peek() == ',') scanner.Skip();
  }
  return members;
}

std::string Write(const Json& value, bool indented) {
  const std::string plain =
      value.dump(indented ? 2 : -1, ' ', /*ensure_ascii=*/false,
                 Json::error_handler_t::replace);
  const auto is_plain = [](unsigned char c) { return c < 0x7FU; };
  if (std::all_of(plain.begin(), plain.end(), is_plain)) return plain;
  std::string text;
  text.reserve(plain.size());
  for (std::string_view left = plain; !left.empty();) {
    const size_t length = std::max<size_t>(Utf8CharacterLength(left), 1);
    const std::string_view character = left.substr(0, length);
    left.remove_prefix(length);
    const char32_t code_point = Utf8CodePoint(character);
    // nlohmann has escaped the C0 controls in strings; the line ends between
    // values stay. The other characters occur only in strings, and have at most
    // four hexadecimal digits.
    if (code_point < 0x7FU || !IsTerminalControl(code_point)) {
      text += character;
    } else {
      text += absl::StrFormat("\\u%04x", static_cast<unsigned>(code_point));
    }
  }
  return text;
}

}  // namespace actord::client
