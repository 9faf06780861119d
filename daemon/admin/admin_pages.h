// The pages of the admin port: /healthz, /readyz and /metrics. They are open to
// everybody who reaches the port, so they show nothing about single processes.
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

// The answer to a health check of a load balancer or an operator.
struct HealthReport {
  // Empty: the daemon is healthy.
  std::vector<std::string> problems;
  // Facts for the operator, although the daemon is healthy.
  std::vector<std::string> notes;
};

class AdminPages {
 public:
  struct Sources {
    // Liveness: whether the daemon should not be restarted.
    std::function<HealthReport()> health;
    // Readiness: whether clients should be sent here.
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

// Whether a client with this Accept header prefers JSON to plain text.
bool PrefersJson(std::string_view accept);

}  // namespace actord::daemon
