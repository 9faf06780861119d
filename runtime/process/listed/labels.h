// Labels: short texts by key that a client gives a process when it submits the
// process, so that lists and watches can select processes by them. Labels never
// change, and mean nothing to the runtime.
//
// Thread-safety: plain values; SharedLabels may be shared by threads.
// Ownership: values own their contents.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace actord::runtime {

inline constexpr size_t kMaxLabels = 8;  // of one process
inline constexpr size_t kMaxLabelKeyBytes = 63;
inline constexpr size_t kMaxLabelValueBytes = 63;
inline constexpr std::string_view kLabelKeyRule =
    "1 to 63 characters of a-z, 0-9 and ._-/, and begins and ends with a "
    "letter or a digit";
inline constexpr std::string_view kLabelValueRule =
    "0 to 63 bytes of UTF-8 without control characters";

bool IsLabelKey(std::string_view key);
bool IsLabelValue(std::string_view value);

// A condition on the labels of a process: it has the key, with this value.
struct LabelSelector {
  std::string key;
  std::optional<std::string> value;  // nullopt: any value

  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const LabelSelector& selector) {
    return H::combine(std::move(h), selector.key, selector.value);
  }
};

// Reads KEY=VALUE or KEY. INVALID_FIELD, with `field`: it is neither.
absl::StatusOr<LabelSelector> ReadLabelSelector(std::string_view field,
                                                std::string_view text);

// The labels of one process, in the order of their keys.
class Labels {
 public:
  Labels() = default;
  // INVALID_FIELD, with `field`: too many labels, or one that breaks a rule, or
  // a key twice.
  static absl::StatusOr<Labels> Of(
      std::string_view field,
      std::vector<std::pair<std::string, std::string>> labels);
  // From the texts that Texts returns, of the store.
  static absl::StatusOr<Labels> OfTexts(const std::vector<std::string>& texts);

  [[nodiscard]] bool empty() const { return packed_.empty(); }
  // KEY=VALUE each.
  [[nodiscard]] std::vector<std::string> Texts() const;
  // Whether each selector holds.
  [[nodiscard]] bool Match(const std::vector<LabelSelector>& selectors) const;
  // Memory, for limits: the texts and their place in tables.
  [[nodiscard]] size_t ChargeBytes() const {
    return packed_.empty() ? 0 : kOverheadBytes + packed_.size();
  }
  // Calls `use(key, value)` for each label.
  template <typename Use>
  void ForEach(Use use) const {
    for (std::string_view left = packed_; !left.empty();) {
      const size_t end = left.find(kEnd);
      const size_t equals = left.find('=');
      use(left.substr(0, equals), left.substr(equals + 1, end - equals - 1));
      left.remove_prefix(end + 1);
    }
  }

  friend bool operator==(const Labels&, const Labels&) = default;

 private:
  static constexpr size_t kOverheadBytes = 192;
  // Ends each label; no value has it.
  static constexpr char kEnd = '\0';

  // KEY=VALUE, each with its end. One string, because most labels are short.
  std::string packed_;
};

// Shared by the process, its result and events about it; null: no labels.
using SharedLabels = std::shared_ptr<const Labels>;

// Whether labels, which may be null, meet all conditions.
inline bool Match(const std::vector<LabelSelector>& selectors,
                  const SharedLabels& labels) {
  return selectors.empty() || (labels != nullptr && labels->Match(selectors));
}

}  // namespace actord::runtime
