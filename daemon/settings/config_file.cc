#include "daemon/settings/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/settings/bounded_file.h"
#include "daemon/settings/config_keys.h"
#include "identity/toml_nesting.h"

namespace actord::daemon {
namespace {

std::string Place(std::string_view name, const toml::source_region& source) {
  return absl::StrCat(std::string(name), ":", source.begin.line, ": ");
}

// Converts a number or a text; a key has a value of another type only if it is
// a flag or a list.
std::optional<std::string> TextOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) {
    return absl::StrCat(number->get());
  }
  return std::nullopt;
}

absl::StatusOr<ConfigValue> ReadValue(const ConfigKey& key,
                                      const toml::node& node,
                                      std::string origin) {
  ConfigValue value{&key, {}, std::move(origin)};
  if (key.is_flag) {
    const auto* const flag = node.as_boolean();
    if (flag == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(value.origin, ": must be true or false"));
    }
    value.texts.emplace_back(flag->get() ? "true" : "false");
    return value;
  }
  if (!key.is_list) {
    const std::optional<std::string> text = TextOf(node);
    if (!text.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(value.origin, ": must be a string or a whole number"));
    }
    value.texts.push_back(*text);
    return value;
  }
  const toml::array* const array = node.as_array();
  if (array == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(value.origin, ": must be an array of strings"));
  }
  for (const toml::node& item : *array) {
    if (!item.is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat(value.origin, ": must be an array of strings"));
    }
    value.texts.push_back(item.as_string()->get());
  }
  return value;
}

// A key has two parts: a section and a name.
absl::Status ReadSection(std::string_view section, const toml::table& table,
                         std::string_view name,
                         std::vector<std::pair<uint32_t, ConfigValue>>& out) {
  for (const auto& [key_text, node] : table) {
    const std::string path =
        absl::StrCat(std::string(section), ".", std::string(key_text.str()));
    const std::string place = Place(name, key_text.source());
    const ConfigKey* const key = FindConfigKey(path);
    if (key == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, "unknown key ", path));
    }
    absl::StatusOr<ConfigValue> value =
        ReadValue(*key, node, absl::StrCat(place, path));
    if (!value.ok()) return value.status();
    out.emplace_back(key_text.source().begin.line, *std::move(value));
  }
  return absl::OkStatus();
}

bool IsSection(std::string_view name) {
  return std::any_of(ConfigKeys().begin(), ConfigKeys().end(),
                     [name](const ConfigKey& key) {
                       return key.path.substr(0, key.path.find('.')) == name;
                     });
}

}  // namespace

absl::StatusOr<std::vector<ConfigValue>> ParseConfigText(
    std::string_view text, std::string_view name) {
  const absl::Status nesting = identity::CheckTomlNesting(text, name);
  if (!nesting.ok()) return nesting;
  toml::table parsed;
  try {
    parsed = toml::parse(text, name);
    // Debian's library throws.
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        Place(name, error.source()), std::string(error.description())));
  }
  std::vector<std::pair<uint32_t, ConfigValue>> values;
  for (const auto& [section, node] : parsed) {
    if (!node.is_table() || !IsSection(section.str())) {
      return absl::InvalidArgumentError(
          absl::StrCat(Place(name, section.source()), "unknown ",
                       node.is_table() ? "section [" : "key ",
                       std::string(section.str()), node.is_table() ? "]" : ""));
    }
    absl::Status status =
        ReadSection(section.str(), *node.as_table(), name, values);
    if (!status.ok()) return status;
  }
  // toml++ sorts by name, but a message should report the first wrong line.
  std::stable_sort(
      values.begin(), values.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ConfigValue> in_order;
  for (auto& [line, value] : values) in_order.push_back(std::move(value));
  return in_order;
}

absl::StatusOr<std::vector<ConfigValue>> ReadConfigFile(const std::string& path,
                                                        ConfigReading reading) {
  const auto text = ReadBoundedFile(
      path,
      reading == ConfigReading::kAgain ? FileReading::kAgain
                                       : FileReading::kOnce,
      kMaxConfigFileBytes, "the maximum size of a configuration");
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", text.status().message()));
  }
  return ParseConfigText(*text, path);
}

}  // namespace actord::daemon
