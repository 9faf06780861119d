#include "client/output/progress.h"

#include <algorithm>

#include "client/output/text.h"

namespace actord::client {
namespace {

constexpr int kBarWidth = 24;

std::string Bar(double fraction) {
  const auto full = static_cast<size_t>(fraction * kBarWidth);
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '-') +
         "] ";
}

}  // namespace

Progress::Progress(std::ostream& err, bool enabled, int terminal_width)
    : err_(err), enabled_(enabled), terminal_width_(terminal_width) {}

Progress::~Progress() { Clear(); }

void Progress::Update(const ProgressCounts& counts, absl::Time now) {
  if (!enabled_) return;
  if (start_ == absl::InfinitePast()) start_ = now;
  if (now - last_ < absl::Milliseconds(100)) return;
  last_ = now;
  err_ << "\r\x1b[K" << ProgressLine(counts, now - start_, terminal_width_ - 1)
       << std::flush;
  visible_ = true;
}

void Progress::Clear() {
  if (visible_) err_ << "\r\x1b[K" << std::flush;
  visible_ = false;
}

std::string ProgressLine(const ProgressCounts& counts, absl::Duration elapsed,
                         int width) {
  std::string line;
  if (counts.fraction) {
    const double fraction = std::clamp(*counts.fraction, 0.0, 1.0);
    line += Bar(fraction);
    line += std::to_string(static_cast<int>(fraction * 100)) + "%  ";
  }
  line += WithThousands(counts.finished) + " of " +
          WithThousands(counts.begun) + " begun";
  const double seconds = absl::ToDoubleSeconds(elapsed);
  if (seconds >= 0.5) {
    const double rate = static_cast<double>(counts.finished) / seconds;
    line += "  " + WithThousands(static_cast<uint64_t>(rate)) + "/s";
  }
  if (counts.failed > 0) {
    line += "  " + WithThousands(counts.failed) + " failed";
  }
  if (width > 0 && line.size() > static_cast<size_t>(width)) {
    line.resize(static_cast<size_t>(width));
  }
  return line;
}

}  // namespace actord::client
