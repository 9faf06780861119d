#include "daemon/connections/spaced_warning.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

constexpr uint64_t kSpaceNs = 10'000'000'000;

}  // namespace

void SpacedWarning::Say(std::string_view text) {
  const uint64_t now_ns = clock_.MonotonicNs();
  if (now_ns < next_ns_) {
    ++unsaid_;
    return;
  }
  next_ns_ = now_ns + kSpaceNs;
  logger_.Warning(
      unsaid_ == 0
          ? std::string(text)
          : absl::StrCat(std::string(text), " (and ", unsaid_,
                         " more of this kind since the last such line)"));
  unsaid_ = 0;
}

}  // namespace actord::daemon
