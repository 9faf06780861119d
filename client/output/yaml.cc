#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "client/output/json.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// Text that every YAML reader reads as a string needs no quotes.
bool IsPlain(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kWords = {
      "true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  const auto allowed = [](unsigned char c) {
    return isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  };
  if (text.empty() || isalpha(static_cast<unsigned char>(text[0])) == 0 ||
      !std::all_of(text.begin(), text.end(), allowed)) {
    return false;
  }
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(tolower(c)); });
  return std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

// A JSON string is a YAML string in double quotes.
std::string Text(const std::string& text) {
  return IsPlain(text) ? text : Write(Json(text));
}

// YAML recognises a key of more than 1,024 characters, quotes included, only
// after a question mark.
constexpr size_t kMaxPlainKeyBytes = 1000;

std::string Scalar(const Json& value) {
  if (value.is_string()) return Text(value.get_ref<const std::string&>());
  // Also writes {} and [].
  std::string text = Write(value);
  if (value.is_number_float() && text.find('.') == std::string::npos) {
    // YAML 1.1 reads a number with an exponent only if it has a point.
    text.insert(std::min(text.find('e'), text.size()), ".0");
  }
  return text;
}

// Appends `value` at the current column, which is `indent` unless the value is
// a scalar.
void Append(const Json& value, size_t indent, std::string& out) {
  if (!value.is_structured() || value.empty()) {
    out += Scalar(value) + "\n";
    return;
  }
  bool first = true;
  const auto begin_line = [&first, indent, &out] {
    if (!first) out.append(indent, ' ');
    first = false;
  };
  if (value.is_array()) {
    for (const Json& element : value) {
      begin_line();
      out += "- ";
      Append(element, indent + 2, out);
    }
    return;
  }
  for (const auto& [key, member] : value.items()) {
    begin_line();
    const std::string name = Text(key);
    if (name.size() > kMaxPlainKeyBytes) {
      out += "? " + name + "\n" + std::string(indent, ' ') + ":";
    } else {
      out += name + ":";
    }
    if (member.is_structured() && !member.empty()) {
      out += "\n" + std::string(indent + 2, ' ');
      Append(member, indent + 2, out);
    } else {
      out += " ";
      Append(member, 0, out);
    }
  }
}

}  // namespace

std::string WriteYaml(const Json& value) {
  std::string out;
  Append(value, 0, out);
  return out;
}

}  // namespace actord::client
