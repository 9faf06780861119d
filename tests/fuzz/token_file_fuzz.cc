// A file of tokens is refused with its name and nothing secret, or each of its
// tokens is whole. toml++ never sees a text that is nested too deeply.
#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "identity/token_text.h"
#include "identity/token_toml.h"
#include "identity/toml_nesting.h"
#include "tests/fuzz/input.h"

namespace actord::identity {
namespace {

size_t DepthOf(const toml::node& node) {
  size_t deepest = 0;
  if (const toml::table* const table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      deepest = std::max(deepest, 1 + DepthOf(value));
    }
  } else if (const toml::array* const array = node.as_array()) {
    for (const toml::node& value : *array) {
      deepest = std::max(deepest, 1 + DepthOf(value));
    }
  }
  return deepest;
}

void CheckDepth(std::string_view text) {
  if (!CheckTomlNesting(text, "f").ok()) return;
  try {
    fuzz::Require(DepthOf(toml::parse(text)) <= kMaxTomlDepth,
                  "the depth of an accepted text is bounded");
  } catch (const toml::parse_error& error) {
    fuzz::Require(!error.description().empty(), "an error has a text");
  }
}

void Read(std::string_view text) {
  const auto entries = ParseTokens(text, "f");
  if (!entries.ok()) {
    const std::string message(entries.status().message());
    fuzz::Require(message.substr(0, 2) == "f:", "an error names the file");
    fuzz::Require(RedactTokens(message) == message, "an error has no token");
    return;
  }
  fuzz::Require(entries->size() <= kMaxTokens, "the number is bounded");
  for (const TokenEntry& entry : *entries) {
    fuzz::Require(IsTokenId(entry.token.identity.token_id), "IDs are valid");
    fuzz::Require(!entry.token.identity.name.empty(), "a token has a name");
    fuzz::Require(entry.first_line <= entry.last_line, "lines are in order");
  }
}

}  // namespace
}  // namespace actord::identity

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  actord::identity::Read(text);
  actord::identity::CheckDepth(text);
  return 0;
}
