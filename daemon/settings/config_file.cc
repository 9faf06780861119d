#include "daemon/settings/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/settings/bounded_file.h"
#include "daemon/settings/config_keys.h"
#include "daemon/settings/config_place.h"
#include "daemon/settings/config_text.h"
#include "identity/names/nearest.h"
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
  if (const auto* number = node.as_floating_point()) {
    return FormatRatioText(number->get());
  }
  return std::nullopt;
}

// A value of another type than the key's. Shows the default, unless it is
// empty.
absl::Status WrongType(const ConfigValue& value, const char* expected) {
  const std::string example = value.key->print(Config());
  const bool is_empty = example == "\"\"" || example == "[]";
  return WrongValue(
      value, absl::StrCat("must be ", expected,
                          is_empty ? "" : absl::StrCat(", such as ", example)));
}

// `value` has its place and no texts yet.
absl::StatusOr<ConfigValue> ReadValue(ConfigValue value,
                                      const toml::node& node) {
  const ConfigKey& key = *value.key;
  if (key.is_flag) {
    const auto* const flag = node.as_boolean();
    if (flag == nullptr) return WrongValue(value, "must be true or false");
    value.texts.emplace_back(flag->get() ? "true" : "false");
    return value;
  }
  if (!key.is_list) {
    const std::optional<std::string> text = TextOf(node);
    if (!text.has_value()) return WrongType(value, "a string or a number");
    value.texts.push_back(*text);
    return value;
  }
  const toml::array* const array = node.as_array();
  if (array == nullptr) return WrongType(value, "an array of strings");
  for (const toml::node& item : *array) {
    if (!item.is_string()) return WrongType(value, "an array of strings");
    value.texts.push_back(item.as_string()->get());
  }
  return value;
}

std::string SectionOf(const ConfigKey& key) {
  return std::string(key.path.substr(0, key.path.find('.')));
}

std::string NameOf(const ConfigKey& key) {
  return std::string(key.path.substr(key.path.find('.') + 1));
}

bool IsSection(std::string_view name) {
  return std::any_of(
      ConfigKeys().begin(), ConfigKeys().end(),
      [name](const ConfigKey& key) { return SectionOf(key) == name; });
}

std::string DidYouMean(const std::string& meant, const std::string& otherwise) {
  return meant.empty() ? otherwise
                       : absl::StrCat("; did you mean ", meant, "?");
}

std::string KnownSections() {
  std::vector<std::string> sections;
  for (const ConfigKey& key : ConfigKeys()) {
    const std::string section = SectionOf(key);
    if (sections.empty() || sections.back() != section) {
      sections.push_back(section);
    }
  }
  return absl::StrCat("; the sections are ", absl::StrJoin(sections, ", "));
}

constexpr char kListOfKeys[] = "; actord --print-config lists the keys";

// A name without its section, or in a wrong section, means the key of that
// name.
std::string NearestKey(std::string_view path, std::string_view name) {
  std::vector<std::string> paths;
  for (const ConfigKey& key : ConfigKeys()) {
    if (NameOf(key) == name) return std::string(key.path);
    paths.emplace_back(key.path);
  }
  return identity::NearestName(path, paths);
}

std::string NearestSection(std::string_view name) {
  std::vector<std::string> sections;
  for (const ConfigKey& key : ConfigKeys()) sections.push_back(SectionOf(key));
  const std::string nearest = identity::NearestName(name, sections);
  return nearest.empty() ? "" : absl::StrCat("[", nearest, "]");
}

// The file, for messages.
struct Reading {
  std::string_view name;
  std::vector<std::string_view> lines;

  [[nodiscard]] std::string InLineOf(const toml::source_region& source) const {
    const toml::source_position& begin = source.begin;
    return begin.line == 0 || begin.line > lines.size()
               ? ""
               : InLine(lines[begin.line - 1], begin.column);
  }
};

// A value of the file, or the error in its place.
struct Setting {
  uint32_t line = 0;
  absl::StatusOr<ConfigValue> value;
};

// A key has two parts: a section and a name.
void ReadSection(std::string_view section, const toml::table& table,
                 const Reading& file, std::vector<Setting>& out) {
  for (const auto& [key_text, node] : table) {
    const std::string path =
        absl::StrCat(std::string(section), ".", std::string(key_text.str()));
    const std::string place = Place(file.name, key_text.source());
    const ConfigKey* const key = FindConfigKey(path);
    const uint32_t line = key_text.source().begin.line;
    if (key == nullptr) {
      out.push_back(
          {line, absl::InvalidArgumentError(absl::StrCat(
                     place, "unknown key ", path,
                     DidYouMean(NearestKey(path, key_text.str()), kListOfKeys),
                     file.InLineOf(key_text.source())))});
      continue;
    }
    out.push_back({line, ReadValue({.key = key,
                                    .texts = {},
                                    .origin = absl::StrCat(place, path),
                                    .in_line = file.InLineOf(node.source())},
                                   node)});
  }
}

absl::Status UnknownPart(std::string_view part, bool is_section,
                         const toml::source_region& source,
                         const Reading& file) {
  const std::string text(part);
  const std::string what =
      is_section
          ? absl::StrCat("unknown section [", text, "]",
                         DidYouMean(NearestSection(part), KnownSections()))
          : absl::StrCat("unknown key ", text,
                         DidYouMean(NearestKey(part, part), kListOfKeys));
  return absl::InvalidArgumentError(
      absl::StrCat(Place(file.name, source), what, file.InLineOf(source)));
}

}  // namespace

std::vector<ConfigValue> ReadConfigText(std::string_view text,
                                        std::string_view name,
                                        ProblemList& problems) {
  const absl::Status nesting = identity::CheckTomlNesting(text, name);
  problems.Add(nesting);
  if (!nesting.ok()) return {};
  const Reading file{name, LinesOf(text)};
  toml::table parsed;
  try {
    parsed = toml::parse(text, name);
    // Debian's library throws.
  } catch (const toml::parse_error& error) {
    problems.Add(absl::InvalidArgumentError(absl::StrCat(
        Place(name, error.source()), SyntaxMistake(error.description()),
        file.InLineOf(error.source()))));
    return {};
  }
  std::vector<Setting> settings;
  for (const auto& [section, node] : parsed) {
    if (node.is_table() && IsSection(section.str())) {
      ReadSection(section.str(), *node.as_table(), file, settings);
      continue;
    }
    settings.push_back(
        {section.source().begin.line,
         UnknownPart(section.str(), node.is_table(), section.source(), file)});
  }
  // toml++ sorts by name, but the errors should have the order of the lines.
  std::stable_sort(
      settings.begin(), settings.end(),
      [](const Setting& a, const Setting& b) { return a.line < b.line; });
  std::vector<ConfigValue> values;
  for (Setting& setting : settings) {
    problems.Add(setting.value.status());
    if (setting.value.ok()) values.push_back(*std::move(setting.value));
  }
  return values;
}

absl::StatusOr<std::vector<ConfigValue>> ParseConfigText(
    std::string_view text, std::string_view name) {
  ProblemList problems;
  std::vector<ConfigValue> values = ReadConfigText(text, name, problems);
  if (!problems.empty()) return problems.status();
  return values;
}

std::vector<ConfigValue> ReadConfigFile(const std::string& path,
                                        ConfigReading reading,
                                        ProblemList& problems) {
  const auto text = ReadBoundedFile(
      path,
      reading == ConfigReading::kAgain ? FileReading::kAgain
                                       : FileReading::kOnce,
      kMaxConfigFileBytes, "the maximum size of a configuration");
  if (text.ok()) return ReadConfigText(*text, path, problems);
  problems.Add(absl::InvalidArgumentError(
      absl::StrCat(path, ": ", text.status().message())));
  return {};
}

}  // namespace actord::daemon
