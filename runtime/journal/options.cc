#include "runtime/journal/options.h"

#include <bit>

#include "runtime/journal/format.h"

namespace actord::runtime {

absl::Status JournalOptions::Check() const {
  const auto wrong = [](absl::string_view text) {
    return absl::InvalidArgumentError(text);
  };
  if (segment_bytes < 1 << 20 || segment_bytes > 256 << 20 ||
      segment_bytes % kBlockBytes != 0) {
    return wrong(
        "segment_bytes must be a multiple of 4 KiB between 1 and 256 MiB");
  }
  if (max_record_bytes == 0 || max_record_bytes > segment_bytes / 2) {
    return wrong("max_record_bytes must be at most half of segment_bytes");
  }
  if (!std::has_single_bit(ring_bytes) || ring_bytes / 4 < max_record_bytes) {
    return wrong(
        "ring_bytes must be a power of two, and at least four times "
        "max_record_bytes");
  }
  if (max_unsynced_bytes == 0 || max_unsynced_bytes > ring_bytes) {
    return wrong("max_unsynced_bytes must be at most ring_bytes");
  }
  if (max_group_bytes == 0 || max_group_bytes > segment_bytes / 2) {
    return wrong("max_group_bytes must be at most half of segment_bytes");
  }
  if (spare_segments < 2 || spare_segments > 8) {
    return wrong("spare_segments must be between 2 and 8");
  }
  if (directory.empty()) return wrong("directory is empty");
  return absl::OkStatus();
}

}  // namespace actord::runtime
