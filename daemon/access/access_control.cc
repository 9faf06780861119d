#include "daemon/access/access_control.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/access/own_quotas.h"
#include "daemon/log/client_address.h"
#include "identity/role.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"

namespace actord::daemon {
namespace {

constexpr absl::Duration kRecheckInterval = absl::Seconds(1);
constexpr absl::string_view kScheme = "Bearer ";

absl::Status Unauthenticated(std::string_view reason,
                             std::string_view message) {
  return runtime::Error(absl::StatusCode::kUnauthenticated, reason, message);
}

absl::Status WhyRefused(identity::Refusal refusal) {
  const auto message = identity::RefusalMessage(refusal);
  switch (refusal) {
    case identity::Refusal::kMalformed:
      return Unauthenticated(runtime::reason::kTokenMalformed, message);
    case identity::Refusal::kUnknown:
    case identity::Refusal::kWrongSecret:
      return Unauthenticated(runtime::reason::kTokenInvalid, message);
    case identity::Refusal::kExpired:
      return Unauthenticated(runtime::reason::kTokenExpired, message);
    case identity::Refusal::kUnchecked:
      break;
  }
  return Unauthenticated(runtime::reason::kTokenUnchecked, message);
}

std::shared_ptr<const identity::StoredToken> LocalAdministrator() {
  auto token = std::make_shared<identity::StoredToken>();
  identity::Identity& identity = token->identity;
  identity.name = "local";
  identity.role = identity::Role::kAdmin;
  identity.submit = identity.send = identity.work = {"*"};
  identity.sees = identity::Sees::kAll;
  return token;
}

// May complete a yield, and the link says which one.
std::shared_ptr<const identity::StoredToken> HolderOfLink() {
  auto token = std::make_shared<identity::StoredToken>();
  identity::Identity& identity = token->identity;
  identity.name = "link";
  identity.role = identity::Role::kWorker;
  identity.work = {"*"};
  identity.sees = identity::Sees::kAll;
  return token;
}

bool SameRights(identity::Identity a, const identity::Identity& b) {
  // Neither of these is a right of an admitted call.
  a.expires = b.expires;
  a.quotas = b.quotas;
  return a == b;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AccessControl>> AccessControl::Open(
    const Config& config, Logger& logger, const runtime::Clock& clock) {
  auto tokens = LiveTokens::Open(config.auth_tokens, logger);
  if (!tokens.ok()) {
    // The exit status of a configuration that is wrong.
    return absl::InvalidArgumentError(
        absl::StrCat("auth.tokens: ", tokens.status().message()));
  }
  return std::unique_ptr<AccessControl>(
      new AccessControl(*std::move(tokens), config, logger, clock));
}

AccessControl::AccessControl(std::unique_ptr<LiveTokens> tokens,
                             const Config& config, Logger& logger,
                             const runtime::Clock& clock)
    : tokens_(std::move(tokens)),
      local_(LocalAdministrator()),
      link_(HolderOfLink()),
      clock_(clock),
      quotas_(config.quotas, clock),
      refusals_(logger, clock),
      setting_(config.auth_mode) {}

absl::Status AccessControl::Start(std::function<void()> recheck,
                                  SetQuotas set_quotas) {
  recheck_ = std::move(recheck);
  {
    const absl::MutexLock lock(&apply_mutex_);
    set_quotas_ = std::move(set_quotas);
  }
  ApplyQuotas(quotas_.settings());
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that reads tokens again: ", error.what()));
  }
}

void AccessControl::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  parker_.Notify();
  thread_.join();
}

void AccessControl::Run() {
  pthread_setname_np(pthread_self(), "tokens");
  const auto interval_ns =
      static_cast<uint64_t>(absl::ToInt64Nanoseconds(kRecheckInterval));
  for (;;) {
    parker_.Wait(interval_ns);
    if (stopping_.load(std::memory_order_relaxed)) return;
    tokens_->Refresh(LiveTokens::When::kIfChanged);
    ApplyQuotas(std::nullopt);
    recheck_();
  }
}

void AccessControl::Reload(AuthMode setting, const QuotaSettings& quotas) {
  setting_.store(setting, std::memory_order_relaxed);
  tokens_->Refresh(LiveTokens::When::kAlways);
  ApplyQuotas(quotas);
  if (recheck_) recheck_();
}

QuotaSettings AccessControl::AnyQuotas() const {
  return mode() == AuthMode::kEnforce ? quotas_.Any() : QuotaSettings();
}

bool AccessControl::LimitsMailboxes() const {
  const QuotaSettings settings = quotas_.settings();
  if (settings.mailbox_bytes != 0) return true;
  const auto table = tokens_->table();
  return std::any_of(
      table->quotas().begin(), table->quotas().end(), [&](const auto& own) {
        return Overridden(settings, own.second).mailbox_bytes != 0;
      });
}

void AccessControl::ApplyQuotas(std::optional<QuotaSettings> settings) {
  const absl::MutexLock lock(&apply_mutex_);
  std::shared_ptr<const identity::TokenTable> table = tokens_->table();
  const bool is_same_file =
      applied_ != nullptr && applied_->quotas() == table->quotas();
  if (is_same_file && (!settings || *settings == configured_)) return;
  if (settings) configured_ = *settings;
  applied_ = std::move(table);
  ClientQuotas::Own own;
  std::vector<runtime::OwnQuotas> own_of_runtime;
  for (const auto& [name, quotas] : applied_->quotas()) {
    // If there is no number left, the name cannot call either.
    const auto owner = owners_.NumberOf(name);
    if (!owner.ok()) continue;
    const QuotaSettings of_owner = Overridden(configured_, quotas);
    own.emplace(*owner, of_owner);
    own_of_runtime.push_back({*owner, of_owner.OfRuntime()});
  }
  quotas_.Set(configured_, std::move(own));
  if (set_quotas_) set_quotas_(configured_.OfRuntime(), own_of_runtime);
}

// Admission.

AccessControl::Found AccessControl::FindToken(const CallSource& source) const {
  const CallSource::Value authorization = source.authorization();
  if (authorization.count == 0) {
    if (source.IsLocalUser()) return {local_, absl::OkStatus(), {}};
    return {nullptr,
            Unauthenticated(runtime::reason::kTokenMissing,
                            "the call has no token: the metadata entry (over "
                            "HTTP: the header) authorization must be "
                            "\"Bearer <token>\""),
            {}};
  }
  if (authorization.count > 1) {
    return {nullptr,
            Unauthenticated(runtime::reason::kTokenMalformed,
                            "the call has more than one metadata entry "
                            "authorization"),
            {}};
  }
  const absl::string_view text(authorization.text.data(),
                               authorization.text.size());
  if (!absl::StartsWithIgnoreCase(text, kScheme)) {
    return {nullptr,
            Unauthenticated(runtime::reason::kTokenMalformed,
                            "the metadata entry authorization must be "
                            "\"Bearer <token>\""),
            {}};
  }
  const absl::string_view token = text.substr(kScheme.size());
  const std::string_view secret(token.data(), token.size());
  LiveTokens::Answer answer = tokens_->Find(secret, [this] { return Now(); });
  if (answer.token != nullptr) {
    return {
        std::move(answer.token), absl::OkStatus(), {}, secret, answer.holder};
  }
  return {nullptr, WhyRefused(answer.refusal), std::move(answer.known_id)};
}

absl::StatusOr<Access> AccessControl::Admit(
    const CallSource& source, const google::protobuf::MethodDescriptor& method,
    size_t request_bytes) {
  const MethodRule* const rule = FindRule(method);
  if (rule == nullptr) {
    return absl::InternalError(
        absl::StrCat("no rule says who may call ", method.name()));
  }
  if (mode() == AuthMode::kOff) return Access(this, rule, nullptr);
  if (source.IsByLink()) {
    ACTORD_ASSERT(rule->method == "CompleteYield",
                  "call_source.h: a link completes a yield");
    return Access(this, rule, link_);
  }
  Found found = FindToken(source);
  absl::Status status = found.why;
  std::string known_id = std::move(found.known_id);
  if (found.token != nullptr) {
    status = CheckRights(*rule, found.token->identity);
  }
  if (!status.ok()) {
    if (found.token != nullptr) known_id = found.token->identity.token_id;
    std::string by = ClientAddress(source.peer());
    if (found.token != nullptr) {
      absl::StrAppend(&by, ", ", Who(found.token.get()));
    } else if (!known_id.empty()) {
      absl::StrAppend(&by, ", token ", known_id);
    }
    status = Refuse({.token_id = known_id, .method = rule->method},
                    std::move(status), by);
    if (!status.ok()) return status;
    // In observe: the gate has counted the call, and its items are not checked.
    return Access(this, rule, nullptr);
  }
  Access access(this, rule, std::move(found.token));
  if (!HasOwner(access)) return access;
  if (found.holder.quota == nullptr) {
    const auto holder = HolderOf(access.token_->identity);
    if (!holder.ok()) return holder.status();
    found.holder = *holder;
    tokens_->KeepHolder(found.text, access.token_, *holder);
  }
  Own(access, found.holder);
  if (access.quota() == nullptr) return access;
  absl::Status within = access.quota()->Take(rule->requests, request_bytes);
  if (!within.ok()) return OverQuota(access, std::move(within));
  return access;
}

absl::StatusOr<VerifiedTokens::Holder> AccessControl::HolderOf(
    const identity::Identity& identity) {
  const absl::StatusOr<runtime::Owner> owner = owners_.NumberOf(identity.name);
  if (!owner.ok()) return owner.status();
  return VerifiedTokens::Holder{*owner, &quotas_.PlaceOf(*owner)};
}

void AccessControl::Own(Access& access,
                        const VerifiedTokens::Holder& holder) const {
  access.owner_ = holder.owner;
  access.quota_ = quotas_.AreAnySet() ? holder.quota : nullptr;
  access.sees_ = access.token_->identity.sees == identity::Sees::kAll
                     ? runtime::Owner::kAny
                     : holder.owner;
}

absl::StatusOr<Access> AccessControl::Renew(const Access& access,
                                            Rights rights) {
  const Access unknown(this, access.rule_, nullptr);
  if (mode() == AuthMode::kOff) return access;
  const auto refuse = [&](absl::Status why) -> absl::StatusOr<Access> {
    absl::Status status =
        Refuse({.token_id = access.token_ == nullptr
                                ? std::string_view()
                                : access.token_->identity.token_id,
                .method = access.rule_->method},
               std::move(why), access);
    if (!status.ok()) return status;
    return unknown;
  };
  if (access.token_ == local_) return access;
  if (access.token_ == nullptr) {
    // The call was admitted, and counted, while the mode was observe or off.
    if (mode() == AuthMode::kObserve) return access;
    return refuse(Unauthenticated(runtime::reason::kTokenMissing,
                                  "the call began without a valid token, and "
                                  "tokens are required now"));
  }
  const identity::TokenTable::Answer answer =
      tokens_->table()->FindAgain(*access.token_, Now());
  if (answer.token == nullptr) {
    return refuse(answer.refusal == identity::Refusal::kExpired
                      ? WhyRefused(answer.refusal)
                      : Unauthenticated(runtime::reason::kTokenInvalid,
                                        "the token has been revoked"));
  }
  const identity::Identity& now = answer.token->identity;
  absl::Status permitted = CheckRights(*access.rule_, now);
  if (!permitted.ok()) return refuse(std::move(permitted));
  Access renewed(this, access.rule_, answer.token);
  if (HasOwner(renewed)) {
    const auto holder = HolderOf(now);
    if (!holder.ok()) return holder.status();
    Own(renewed, *holder);
  }
  if (rights == Rights::kMustStay && mode() == AuthMode::kEnforce &&
      (!SameRights(access.token_->identity, now) ||
       access.owner_ != renewed.owner_ || access.sees_ != renewed.sees_)) {
    return runtime::Retryable(
        absl::StatusCode::kUnavailable, runtime::reason::kTokenChanged,
        "the rights of the token have changed: open the stream again",
        absl::Milliseconds(100));
  }
  return renewed;
}

// Refusals.

absl::Status AccessControl::Refuse(const Refused& refused, absl::Status why,
                                   const std::string& by) {
  const AuthMode mode = this->mode();
  if (mode == AuthMode::kOff) return absl::OkStatus();
  const bool enforces = mode == AuthMode::kEnforce;
  std::atomic<uint64_t>& counter = !enforces ? observed_
                                   : absl::IsUnauthenticated(why)
                                       ? unauthenticated_
                                       : denied_;
  counter.fetch_add(1, std::memory_order_relaxed);
  const std::string reason = runtime::ReasonOf(why);
  if (enforces && reason == runtime::reason::kTokenExpired) {
    expired_.fetch_add(1, std::memory_order_relaxed);
  }
  refusals_.Say({.token_id = refused.token_id,
                 .reason = reason,
                 .method = refused.method,
                 .observed = !enforces},
                absl::StrCat(std::string(refused.method), " of ", by,
                             enforces ? " refused: " : " would be refused: ",
                             why.message(), " (", reason, ")"));
  return enforces ? why : absl::OkStatus();
}

absl::Status AccessControl::Refuse(const Refused& refused, absl::Status why,
                                   const Access& access) {
  if (mode() == AuthMode::kOff) return absl::OkStatus();
  return Refuse(refused, std::move(why), Who(access.token_.get()));
}

absl::Status AccessControl::OverQuota(const Access& access, absl::Status why) {
  const std::string reason = runtime::ReasonOf(why);
  refusals_.Say({.token_id = access.token_->identity.token_id,
                 .reason = reason,
                 .method = access.rule_->method},
                absl::StrCat(std::string(access.rule_->method), " of ",
                             Who(access.token_.get()),
                             " refused: ", why.message(), " (", reason, ")"));
  return why;
}

std::string AccessControl::Who(const identity::StoredToken* token) const {
  if (token == nullptr) return "a client without a valid token";
  if (token == local_.get()) return "the daemon's own user (admin)";
  const identity::Identity& identity = token->identity;
  return absl::StrCat(identity.name, " (token ", identity.token_id, ", ",
                      std::string(RoleName(identity.role)), ")");
}

void AccessControl::WriteStats(DaemonStats& stats) const {
  stats.calls_unauthenticated =
      unauthenticated_.load(std::memory_order_relaxed);
  stats.calls_denied = denied_.load(std::memory_order_relaxed);
  stats.calls_observed = observed_.load(std::memory_order_relaxed);
  stats.calls_token_expired = expired_.load(std::memory_order_relaxed);
  stats.owner_limit = owners_.refused();
  quotas_.WriteStats(stats);
}

}  // namespace actord::daemon
