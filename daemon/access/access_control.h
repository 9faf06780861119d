// Decides who may make a call: finds the token of the call, and asks the role
// of the token and the rule of the method.
//
// A call without a token that comes over a connection of the daemon's own user
// (connections.h) is made by a local administrator. So the user who runs the
// daemon needs no token. A call by a signed link needs none either: the
// signature has named the one yield that it completes.
//
//   off      nothing is refused, counted or logged
//   observe  nothing is refused; calls that enforce would refuse are counted
//            and logged
//   enforce  calls are refused, counted and logged
//
// Thread-safety: any thread; Start and Stop are for one thread. Ownership: owns
// its thread; borrows logger and clock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/access/access.h"
#include "daemon/access/call_source.h"
#include "daemon/access/client_quotas.h"
#include "daemon/access/live_tokens.h"
#include "daemon/access/owners.h"
#include "daemon/access/refusal_log.h"
#include "daemon/counters/stats.h"
#include "daemon/log/logging.h"
#include "daemon/settings/config.h"
#include "identity/token_table.h"
#include "runtime/process/owner_limits.h"
#include "runtime/system/clock.h"
#include "runtime/system/parker.h"

namespace actord::daemon {

class AccessControl {
 public:
  // Reads the file of tokens. INVALID_ARGUMENT: the file cannot be read or has
  // an error; the message names the file and the line.
  static absl::StatusOr<std::unique_ptr<AccessControl>> Open(
      const Config& config, Logger& logger, const runtime::Clock& clock);
  ~AccessControl() { Stop(); }
  AccessControl(const AccessControl&) = delete;
  AccessControl& operator=(const AccessControl&) = delete;

  // Sets the quotas that the runtime enforces: of all owners, and of the owners
  // that have quotas of their own. Called on any thread, on one at a time.
  using SetQuotas =
      std::function<void(const runtime::OwnerQuotas& all,
                         const std::vector<runtime::OwnQuotas>& own)>;
  // Starts the thread that reads the file again when it changes, and that calls
  // `recheck` each second, which must check open streams with Renew.
  // `set_quotas` is called at once, and when quotas have changed. INTERNAL: the
  // system has no thread left.
  absl::Status Start(std::function<void()> recheck, SetQuotas set_quotas);
  // After Stop `recheck` is no longer called.
  void Stop();

  // Sets the mode and the quotas, reads the file of tokens again, and checks
  // the open streams. kByTokens is kEnforce here, because there is a file of
  // tokens.
  void Reload(AuthMode setting, const QuotaSettings& quotas);
  // The quotas of the configuration.
  [[nodiscard]] QuotaSettings quotas() const { return quotas_.settings(); }
  // The largest quota of each kind that a client has; 0: no client has one.
  [[nodiscard]] QuotaSettings AnyQuotas() const;
  // Whether any owner has a quota for its mailboxes.
  [[nodiscard]] bool LimitsMailboxes() const;
  [[nodiscard]] AuthMode setting() const {
    return setting_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] AuthMode mode() const {
    const AuthMode mode = setting();
    return mode == AuthMode::kByTokens ? AuthMode::kEnforce : mode;
  }

  // The access of a new call, or the reason for its refusal. An admitted call
  // has spent its part of the quotas of its client. `request_bytes`: the size
  // of its request, 0 for a stream of requests.
  [[nodiscard]] absl::StatusOr<Access> Admit(
      const CallSource& source,
      const google::protobuf::MethodDescriptor& method, size_t request_bytes);

  // Checks whether `access` may continue with the present token. kMustStay: if
  // the rights of the token have changed, the access gets UNAVAILABLE, so that
  // its client opens the stream again.
  enum class Rights { kMayChange, kMustStay };
  [[nodiscard]] absl::StatusOr<Access> Renew(const Access& access,
                                             Rights rights);

  // The owners of processes. Valid as long as this object.
  [[nodiscard]] const Owners& owners() const { return owners_; }
  [[nodiscard]] Owners& owners() { return owners_; }

  void WriteStats(DaemonStats& stats) const;

 private:
  friend class Access;

  AccessControl(std::unique_ptr<LiveTokens> tokens, const Config& config,
                Logger& logger, const runtime::Clock& clock);

  struct Refused {
    // "": the caller has proved no token.
    std::string_view token_id;
    std::string_view method;
  };
  // Counts and logs `why`, as the mode says. Returns `why` if the call is to be
  // refused, and otherwise OK. `by`: as in Access::Who, or an address.
  absl::Status Refuse(const Refused& refused, absl::Status why,
                      const std::string& by);
  absl::Status Refuse(const Refused& refused, absl::Status why,
                      const Access& access);

  // Logs a call that the quotas of its client refuse. Returns `why`.
  absl::Status OverQuota(const Access& access, absl::Status why);

  struct Found {
    // Null: `why` is the reason.
    std::shared_ptr<const identity::StoredToken> token;
    absl::Status why;
    std::string known_id;
    std::string_view text = {};  // of the token
    VerifiedTokens::Holder holder = {};
  };
  [[nodiscard]] Found FindToken(const CallSource& source) const;
  [[nodiscard]] absl::Time Now() const {
    return absl::FromUnixNanos(static_cast<int64_t>(clock_.UnixNs()));
  }
  // Whether the access gets an owner. In observe, calls without a token are
  // served, too, and owners would hide the processes of these calls from the
  // calls with a token.
  [[nodiscard]] bool HasOwner(const Access& access) const {
    return mode() == AuthMode::kEnforce && access.token_ != local_;
  }
  // RESOURCE_EXHAUSTED (OWNER_LIMIT).
  [[nodiscard]] absl::StatusOr<VerifiedTokens::Holder> HolderOf(
      const identity::Identity& identity);
  // Gives the access its owner, its quotas and the owner that it sees.
  void Own(Access& access, const VerifiedTokens::Holder& holder) const;
  [[nodiscard]] std::string Who(const identity::StoredToken* token) const;
  void Run();
  // Puts the quotas of the configuration and of the tokens in force; nullopt:
  // the configured quotas are unchanged.
  void ApplyQuotas(std::optional<QuotaSettings> settings);

  const std::unique_ptr<LiveTokens> tokens_;
  // The local administrator, and the holder of a signed link. They are in no
  // file and never expire.
  const std::shared_ptr<const identity::StoredToken> local_;
  const std::shared_ptr<const identity::StoredToken> link_;
  const runtime::Clock& clock_;
  Owners owners_;
  ClientQuotas quotas_;
  RefusalLog refusals_;
  // Written by Reload. Relaxed: a call that begins during a reload may be
  // judged by the former mode.
  std::atomic<AuthMode> setting_;
  // Relaxed: counters.
  std::atomic<uint64_t> unauthenticated_{0};
  std::atomic<uint64_t> denied_{0};
  std::atomic<uint64_t> observed_{0};
  std::atomic<uint64_t> expired_{0};

  std::function<void()> recheck_;
  // Held while quotas are put in force; no call waits for it.
  absl::Mutex apply_mutex_;
  SetQuotas set_quotas_ ABSL_GUARDED_BY(apply_mutex_);
  // The tokens and the settings whose quotas are in force. Null: none so far.
  std::shared_ptr<const identity::TokenTable> applied_
      ABSL_GUARDED_BY(apply_mutex_);
  QuotaSettings configured_ ABSL_GUARDED_BY(apply_mutex_);
  // The thread waits here. (A wait for an absl::Mutex ends by the time of day:
  // if that were set back, revoked tokens would stay valid meanwhile.)
  runtime::Parker parker_;
  // Stop writes it, and the thread reads it. Relaxed: the parker orders the
  // write before the read.
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace actord::daemon
