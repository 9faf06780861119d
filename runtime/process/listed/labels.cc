#include "runtime/process/listed/labels.h"

#include <actord/excerpt.h>
#include <actord/text.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool IsControl(char32_t point) {
  constexpr char32_t kLineSeparator = 0x2028;
  constexpr char32_t kParagraphSeparator = 0x2029;
  return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
         point == kLineSeparator || point == kParagraphSeparator;
}

absl::Status WrongLabel(std::string_view field, std::string_view why) {
  return InvalidField(field, reason::kInvalidField,
                      absl::StrCat(ToAbsl(field), ": ", ToAbsl(why)));
}

absl::Status CheckKey(std::string_view field, std::string_view key) {
  if (IsLabelKey(key)) return absl::OkStatus();
  return WrongLabel(field, absl::StrCat("the key \"", Excerpt(key),
                                        "\" is not a label key, which has ",
                                        ToAbsl(kLabelKeyRule)));
}

absl::Status CheckValue(std::string_view field, std::string_view key,
                        std::string_view value) {
  if (IsLabelValue(value)) return absl::OkStatus();
  return WrongLabel(field, absl::StrCat("the value of \"", ToAbsl(key),
                                        "\" is not a label value, which has ",
                                        ToAbsl(kLabelValueRule)));
}

}  // namespace

bool IsLabelKey(std::string_view key) {
  constexpr std::string_view kMarks = "._-/";
  return !key.empty() && key.size() <= kMaxLabelKeyBytes &&
         IsLowerOrDigit(key.front()) && IsLowerOrDigit(key.back()) &&
         std::all_of(key.begin(), key.end(), [&](char c) {
           return IsLowerOrDigit(c) || kMarks.find(c) != std::string_view::npos;
         });
}

bool IsLabelValue(std::string_view value) {
  if (value.size() > kMaxLabelValueBytes) return false;
  while (!value.empty()) {
    const size_t length = Utf8CharacterLength(value);
    if (length == 0 || IsControl(Utf8CodePoint(value.substr(0, length)))) {
      return false;
    }
    value.remove_prefix(length);
  }
  return true;
}

absl::StatusOr<LabelSelector> ReadLabelSelector(std::string_view field,
                                                std::string_view text) {
  const size_t equals = text.find('=');
  LabelSelector selector{.key = std::string(text.substr(0, equals)),
                         .value = std::nullopt};
  absl::Status status = CheckKey(field, selector.key);
  if (status.ok() && equals != std::string_view::npos) {
    selector.value = text.substr(equals + 1);
    status = CheckValue(field, selector.key, *selector.value);
  }
  if (!status.ok()) return status;
  return selector;
}

absl::StatusOr<Labels> Labels::Of(
    std::string_view field,
    std::vector<std::pair<std::string, std::string>> labels) {
  if (labels.size() > kMaxLabels) {
    return WrongLabel(field,
                      absl::StrCat("there are ", labels.size(),
                                   " labels; the limit is ", kMaxLabels));
  }
  std::sort(labels.begin(), labels.end());
  Labels made;
  const std::string* previous = nullptr;
  for (const auto& [key, value] : labels) {
    absl::Status status = CheckKey(field, key);
    if (status.ok()) status = CheckValue(field, key, value);
    if (status.ok() && previous != nullptr && *previous == key) {
      status = WrongLabel(field,
                          absl::StrCat("the key \"", key, "\" is given twice"));
    }
    if (!status.ok()) return status;
    previous = &key;
    made.packed_.append(key).append(1, '=').append(value).append(1, kEnd);
  }
  return made;
}

absl::StatusOr<Labels> Labels::OfTexts(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> labels;
  for (const std::string& text : texts) {
    const size_t equals = std::min(text.find('='), text.size());
    labels.emplace_back(text.substr(0, equals),
                        text.substr(std::min(equals + 1, text.size())));
  }
  return Of("labels", std::move(labels));
}

std::vector<std::string> Labels::Texts() const {
  std::vector<std::string> texts;
  ForEach([&](std::string_view key, std::string_view value) {
    texts.push_back(absl::StrCat(ToAbsl(key), "=", ToAbsl(value)));
  });
  return texts;
}

bool Labels::Match(const std::vector<LabelSelector>& selectors) const {
  return std::all_of(
      selectors.begin(), selectors.end(), [&](const LabelSelector& selector) {
        bool has = false;
        ForEach([&](std::string_view key, std::string_view value) {
          has |= key == selector.key &&
                 (!selector.value.has_value() || value == *selector.value);
        });
        return has;
      });
}

}  // namespace actord::runtime
