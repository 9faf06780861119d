// The pages of the admin port: /healthz, /readyz and /metrics. They are open to
// everybody who reaches the port, so they tell nothing of single processes.
//
// Thread-safety: one thread, that of the AdminServer.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/admin/admin_request.h"

namespace actord::daemon {

// The answer to a question of a load balancer or an operator.
struct HealthReport {
  // Empty: all is well.
  std::vector<std::string> problems;
  // What an operator should know, although all is well.
  std::vector<std::string> notes;
};

class AdminPages {
 public:
  struct Sources {
    // Whether the daemon should be left alone rather than killed.
    std::function<HealthReport()> health;
    // Whether clients should be sent here.
    std::function<HealthReport()> readiness;
    // The text of Prometheus (metric_text.h).
    std::function<std::string(const AdminCounts&)> metrics;
  };

  explicit AdminPages(Sources sources) : sources_(std::move(sources)) {}

  [[nodiscard]] AdminAnswer Answer(const AdminRequest& request,
                                   const AdminCounts& counts) const;

 private:
  const Sources sources_;
};

// Whether a client with this header Accept wants JSON more than plain text.
bool PrefersJson(std::string_view accept);

}  // namespace actord::daemon
