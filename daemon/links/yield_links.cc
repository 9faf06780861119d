#include "daemon/links/yield_links.h"

#include "absl/strings/str_cat.h"

namespace actord::daemon {

void YieldLinks::SetUrl(std::string url) {
  const absl::MutexLock lock(&mutex_);
  url_ = std::move(url);
}

std::optional<std::string> YieldLinks::UrlOf(const YieldLink& link) const {
  const absl::MutexLock lock(&mutex_);
  if (url_.empty()) return std::nullopt;
  return absl::StrCat(url_, std::string(kLinkPath), SignLink(key_, link));
}

absl::Time YieldLinks::Now() const {
  return absl::FromUnixNanos(static_cast<int64_t>(clock_.UnixNs()));
}

bool YieldLinks::IsExpired(const YieldLink& link) const {
  return Now() >=
         absl::FromUnixSeconds(static_cast<int64_t>(link.expires_unix_s));
}

}  // namespace actord::daemon
