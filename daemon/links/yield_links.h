// Makes and reads the links to yields.
//
// A link gives one right: to complete one yield. It works once because a yield
// is completed once, over concurrent requests and, if its process is durable,
// over a restart: so the daemon keeps nothing about a link.
//
// Thread-safety: any thread. Ownership: borrows the clock.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/links/link_key.h"
#include "daemon/links/yield_link.h"
#include "runtime/system/clock.h"
#include "runtime/tasks/remote_tasks.h"

namespace actord::daemon {

// The path of every link begins with it.
inline constexpr std::string_view kLinkPath = "/v1/links/";

class YieldLinks {
 public:
  using FindFate =
      std::function<runtime::YieldFate(const runtime::YieldToken&)>;

  YieldLinks(const LinkKey& key, FindFate fate_of, const runtime::Clock& clock)
      : key_(key), fate_of_(std::move(fate_of)), clock_(clock) {}

  // Sets the prefix of all links, before the path.
  void SetUrl(std::string url);
  // The address of the link; nullopt: SetUrl has not been called.
  [[nodiscard]] std::optional<std::string> UrlOf(const YieldLink& link) const;

  // The link with this text, perhaps an expired one; nullopt: the daemon has
  // not made it.
  [[nodiscard]] std::optional<YieldLink> Read(std::string_view text) const {
    return ReadLink(key_, text);
  }
  [[nodiscard]] bool IsExpired(const YieldLink& link) const;
  [[nodiscard]] absl::Time Now() const;
  // The fate of the link's yield.
  [[nodiscard]] runtime::YieldFate Fate(const YieldLink& link) const {
    return fate_of_(link.yield);
  }

 private:
  const LinkKey key_;
  const FindFate fate_of_;
  const runtime::Clock& clock_;
  mutable absl::Mutex mutex_;
  std::string url_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
