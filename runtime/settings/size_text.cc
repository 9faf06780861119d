#include "runtime/settings/size_text.h"

#include <array>
#include <charconv>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace actord::runtime {
namespace {

struct SizeUnit {
  std::string_view name;
  uint64_t bytes;
};

// Largest first within each kind, for printing.
constexpr std::array<SizeUnit, 8> kSizeUnits = {{
    {"GiB", 1ull << 30},
    {"MiB", 1ull << 20},
    {"KiB", 1ull << 10},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"KB", 1'000},
    {"B", 1},
    {"", 1},
}};
constexpr size_t kBinaryUnits = 3;

absl::Status NoSize(std::string_view text) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "\"%s\" is not a size in bytes such as 4096, 64KiB, 16MiB or 1GiB",
      std::string(text)));
}

}  // namespace

absl::StatusOr<uint64_t> ParseSizeText(std::string_view text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return NoSize(text);
  const std::string_view name(rest, static_cast<size_t>(end - rest));
  for (const SizeUnit& unit : kSizeUnits) {
    if (name != unit.name) continue;
    if (number > std::numeric_limits<uint64_t>::max() / unit.bytes) break;
    return number * unit.bytes;
  }
  return NoSize(text);
}

std::string FormatSizeText(uint64_t bytes) {
  for (size_t i = 0; i < kBinaryUnits; ++i) {
    const SizeUnit& unit = kSizeUnits[i];
    if (bytes != 0 && bytes % unit.bytes == 0) {
      return absl::StrCat(
          bytes / unit.bytes,
          absl::string_view(unit.name.data(), unit.name.size()));
    }
  }
  return absl::StrCat(bytes);
}

}  // namespace actord::runtime
