// The settings of the daemon that change while it runs.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/daemon.h"
#include "daemon/settings/config_keys.h"
#include "daemon/settings/config_text.h"

namespace actord::daemon {

Config Daemon::InForce() const {
  Config config = config_;
  static_cast<runtime::Limits&>(config.runtime) = runtime_->limits().Get();
  config.log_level = logger_.level();
  if (access_ != nullptr) {
    config.auth_mode = access_->setting();
    config.quotas = access_->quotas();
  }
  return config;
}

void Daemon::Reload(const Config& fresh) {
  const Config old = InForce();
  Config next = fresh;
  size_t& payload = next.runtime.max_payload_bytes;
  payload = std::min(payload, server_->max_payload_bytes());
  // Without a file of tokens at the start the mode cannot change.
  if (access_ == nullptr) {
    next.auth_mode = old.auth_mode;
    next.quotas = old.quotas;
  }
  const absl::Status status = runtime_->SetLimits(next.runtime);
  if (!status.ok()) {
    logger_.Error(
        absl::StrCat("configuration not reloaded: ", status.message()));
    return;
  }
  if (access_ != nullptr) access_->Reload(next.auth_mode, next.quotas);
  // The lower of the two levels applies while the changes are logged, so that a
  // raised level is logged too.
  logger_.SetLevel(std::min(old.log_level, next.log_level));
  std::vector<std::string> changed, left;
  for (const ConfigKey& key : ConfigKeys()) {
    const std::string value = key.print(next);
    if (value == key.print(old)) continue;
    (key.reloads ? changed : left)
        .push_back(absl::StrCat(std::string(key.path), " = ", value));
  }
  logger_.Info(absl::StrCat(
      "configuration reloaded: ",
      changed.empty() ? "nothing has changed" : absl::StrJoin(changed, ", ")));
  if (payload != fresh.runtime.max_payload_bytes) {
    logger_.Warning(
        absl::StrCat("limits.max_payload_bytes is ", FormatSizeText(payload),
                     " until a restart: requests are too small for ",
                     FormatSizeText(fresh.runtime.max_payload_bytes)));
  }
  if (!left.empty()) {
    logger_.Warning(absl::StrCat("restart the daemon to apply: ",
                                 absl::StrJoin(left, ", ")));
  }
  logger_.SetLevel(next.log_level);
}

}  // namespace actord::daemon
