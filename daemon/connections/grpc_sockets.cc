#include "daemon/connections/grpc_sockets.h"

#include <algorithm>
#include <utility>

namespace actord::daemon {
namespace {

constexpr size_t kSpareSockets = 1000;
// Numbers before the newest one that are listed once more.
constexpr int64_t kListedAgain = 1024;

}  // namespace

void GrpcSockets::FindServer() {
  const absl::MutexLock lock(&mutex_);
  channelz_.FindServer();
}

void GrpcSockets::RefreshLocked() {
  // A thread of gRPC may list its connection after another thread has listed
  // one with a larger number.
  const int64_t first = std::max<int64_t>(next_ - kListedAgain, 0);
  const int64_t next =
      channelz_.List(first, [this](int64_t id, std::string peer) {
        mutex_.AssertHeld();
        by_peer_[std::move(peer)] = id;
      });
  next_ = std::max(next_, next);
}

void GrpcSockets::Refresh() {
  const absl::MutexLock lock(&mutex_);
  RefreshLocked();
}

int64_t GrpcSockets::Find(const std::string& peer) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_peer_.find(peer);
  return found == by_peer_.end() ? 0 : found->second;
}

void GrpcSockets::Forget(const std::string& peer) {
  const absl::MutexLock lock(&mutex_);
  by_peer_.erase(peer);
}

void GrpcSockets::Shrink(size_t open) {
  const absl::MutexLock lock(&mutex_);
  if (by_peer_.size() <= 2 * open + kSpareSockets) return;
  // Most of these are closed. The next list has the open ones again.
  by_peer_.clear();
  next_ = 0;
}

}  // namespace actord::daemon
