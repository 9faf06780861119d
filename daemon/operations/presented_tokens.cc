#include "daemon/operations/presented_tokens.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "identity/identity.h"
#include "identity/role.h"

namespace actord::daemon {

absl::Status PresentedTokens::Note(const grpc_auth_context& context,
                                   const Caller& caller) {
  const identity::Identity* const identity = caller.access().identity();
  // The daemon's own user, without a token.
  if (identity == nullptr || identity->token_id.empty()) {
    return absl::OkStatus();
  }
  // All calls of a connection have one context. Only its address is used.
  const void* const address = &context;
  const auto place = absl::HashOf(address);
  const uint64_t mark =
      absl::HashOf(address, identity, round_.load(std::memory_order_relaxed));
  std::atomic<uint64_t>& noted = noted_[place % kPlaces];
  if (noted.load(std::memory_order_relaxed) == mark) return absl::OkStatus();
  const uint64_t connection = caller.connection();
  if (connection != 0 &&
      !connections_.SetToken(
          connection,
          std::make_shared<const PresentedToken>(
              PresentedToken{.name = identity->name,
                             .id = identity->token_id,
                             .role = std::string(RoleName(identity->role))}),
          caller.access().max_connections())) {
    {
      const absl::MutexLock lock(&mutex_);
      if (!over_quota_before_.contains(connection)) {
        over_quota_.insert(connection);
      }
    }
    return caller.access().RefuseConnection();
  }
  noted.store(mark, std::memory_order_relaxed);
  return absl::OkStatus();
}

std::vector<uint64_t> PresentedTokens::NextRound() {
  round_.fetch_add(1, std::memory_order_relaxed);
  const absl::MutexLock lock(&mutex_);
  const std::vector<uint64_t> due(over_quota_before_.begin(),
                                  over_quota_before_.end());
  over_quota_before_ = std::exchange(over_quota_, {});
  return due;
}

}  // namespace actord::daemon
