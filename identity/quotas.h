// The quotas of a client by their names, as in the section quotas of the
// configuration, and as in a token for its owner.
//
// Thread-safety: constants, pure functions and values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace actord::identity {

struct QuotaRow {
  std::string_view name;
  // 0, which means no limit, or at least `min` and at most `max`.
  uint64_t min = 1;
  uint64_t max = 0;
  std::string_view unit;
};

inline constexpr uint64_t kMaxQuotaCount = 10'000'000;
inline constexpr uint64_t kMinQuotaBytes = 1024;
inline constexpr uint64_t kMaxQuotaBytes = uint64_t{1} << 40;
inline constexpr auto kQuotaTable = std::to_array<QuotaRow>({
    {"requests_per_second", 1, kMaxQuotaCount, "requests"},
    {"request_burst", 1, kMaxQuotaCount, "requests"},
    {"bytes_per_second", kMinQuotaBytes, kMaxQuotaBytes, "bytes"},
    {"bytes_burst", kMinQuotaBytes, kMaxQuotaBytes, "bytes"},
    {"streams", 1, kMaxQuotaCount, "streams"},
    {"connections", 1, kMaxQuotaCount, "connections"},
    {"processes", 1, uint64_t{1} << 28, "processes"},
    {"mailbox_bytes", kMinQuotaBytes, kMaxQuotaBytes, "bytes"},
    {"yield_bytes", kMinQuotaBytes, kMaxQuotaBytes, "bytes"},
});
inline constexpr size_t kQuotas = kQuotaTable.size();

// The index of the quota in kQuotaTable; nullopt: there is none of this name.
constexpr std::optional<size_t> FindQuota(std::string_view name) {
  for (size_t i = 0; i < kQuotas; ++i) {
    if (kQuotaTable[i].name == name) return i;
  }
  return std::nullopt;
}
constexpr bool IsQuotaValue(const QuotaRow& row, uint64_t value) {
  return value == 0 || (value >= row.min && value <= row.max);
}

// The quotas of one owner, by their index in kQuotaTable; nullopt: the
// configured quota applies.
struct TokenQuotas {
  std::array<std::optional<uint64_t>, kQuotas> values;

  [[nodiscard]] bool empty() const { return *this == TokenQuotas{}; }
  // Replaces these quotas by the quotas of `newer`.
  void Update(const TokenQuotas& newer) {
    for (size_t i = 0; i < kQuotas; ++i) {
      if (newer.values[i]) values[i] = newer.values[i];
    }
  }
  bool operator==(const TokenQuotas&) const = default;
};

}  // namespace actord::identity
