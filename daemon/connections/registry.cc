#include "daemon/connections/registry.h"

#include <algorithm>
#include <utility>

#include "daemon/listening/unix_peer_name.h"

namespace actord::daemon {

uint64_t ConnectionRegistry::Add(Connection connection) {
  const absl::MutexLock lock(&mutex_);
  RemoveLocked(connection.fd);
  connection.id = ++last_id_;
  if (connection.address_group.empty()) {
    connection.peer = UnixPeerName(connection.id);
  }
  fd_of_[connection.id] = connection.fd;
  ++of_group_[connection.address_group];
  of_peer_[connection.peer] = connection.id;
  by_fd_[connection.fd] = std::move(connection);
  return last_id_;
}

void ConnectionRegistry::Remove(uint64_t id) {
  const absl::MutexLock lock(&mutex_);
  const auto found = fd_of_.find(id);
  if (found != fd_of_.end()) RemoveLocked(found->second);
}

void ConnectionRegistry::RemoveLocked(int fd) {
  const auto found = by_fd_.find(fd);
  if (found == by_fd_.end()) return;
  const auto group = of_group_.find(found->second.address_group);
  if (--group->second == 0) of_group_.erase(group);
  // A newer connection may have the same peer.
  const auto peer = of_peer_.find(found->second.peer);
  if (peer != of_peer_.end() && peer->second == found->second.id) {
    of_peer_.erase(peer);
  }
  if (found->second.counted != nullptr) {
    const auto count = of_name_.find(found->second.counted->name);
    if (--count->second == 0) of_name_.erase(count);
  }
  fd_of_.erase(found->second.id);
  by_fd_.erase(found);
}

size_t ConnectionRegistry::OfNameLocked(const std::string& name) const {
  const auto count = of_name_.find(name);
  return count == of_name_.end() ? 0 : count->second;
}

bool ConnectionRegistry::HasRoomLocked(const std::string& name, size_t max) {
  if (max == 0 || OfNameLocked(name) < max) return true;
  std::vector<int> over;
  for (const auto& [fd, connection] : by_fd_) {
    if (connection.counted != nullptr && connection.counted->name == name &&
        SocketCookie(fd) != connection.cookie) {
      over.push_back(fd);
    }
  }
  for (const int fd : over) RemoveLocked(fd);
  return OfNameLocked(name) < max;
}

void ConnectionRegistry::Sweep(size_t max) {
  const absl::MutexLock lock(&mutex_);
  if (to_sweep_.empty()) {
    to_sweep_.reserve(by_fd_.size());
    for (const auto& [fd, connection] : by_fd_) to_sweep_.push_back(fd);
  }
  for (; max > 0 && !to_sweep_.empty(); --max) {
    const int fd = to_sweep_.back();
    to_sweep_.pop_back();
    const auto found = by_fd_.find(fd);
    if (found == by_fd_.end()) continue;
    if (SocketCookie(fd) != found->second.cookie) RemoveLocked(fd);
  }
}

size_t ConnectionRegistry::open() const {
  const absl::MutexLock lock(&mutex_);
  return by_fd_.size();
}

size_t ConnectionRegistry::OpenOf(std::string_view address_group) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = of_group_.find(
      absl::string_view(address_group.data(), address_group.size()));
  return found == of_group_.end() ? 0 : found->second;
}

std::vector<Connection> ConnectionRegistry::List() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<Connection> all;
  all.reserve(by_fd_.size());
  for (const auto& [fd, connection] : by_fd_) all.push_back(connection);
  return all;
}

std::vector<Connection> ConnectionRegistry::ListAfter(
    uint64_t after, size_t max, std::string_view owner) const {
  const absl::MutexLock lock(&mutex_);
  std::vector<Connection> page;
  for (auto it = fd_of_.upper_bound(after);
       it != fd_of_.end() && page.size() < max; ++it) {
    const Connection& connection = by_fd_.at(it->second);
    if (connection.IsSeenBy(owner)) page.push_back(connection);
  }
  return page;
}

Connection* ConnectionRegistry::FindLocked(uint64_t id) {
  const auto found = fd_of_.find(id);
  return found == fd_of_.end() ? nullptr : &by_fd_.at(found->second);
}

bool ConnectionRegistry::SetToken(uint64_t id,
                                  std::shared_ptr<const PresentedToken> token,
                                  size_t max) {
  const absl::MutexLock lock(&mutex_);
  Connection* found = FindLocked(id);
  if (found == nullptr) return true;
  if (found->token != nullptr && found->token->name != token->name) {
    found->has_several_owners = true;
  }
  if (found->counted == nullptr && !found->is_over_quota) {
    const bool has_room = HasRoomLocked(token->name, max);
    found = FindLocked(id);
    if (has_room) {
      ++of_name_[token->name];
      found->counted = token;
    } else {
      found->is_over_quota = true;
    }
  }
  const bool is_over_quota = found->is_over_quota;
  found->token = std::move(token);
  return !is_over_quota;
}

std::optional<Connection> ConnectionRegistry::Find(uint64_t id) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = fd_of_.find(id);
  if (found == fd_of_.end()) return std::nullopt;
  return by_fd_.at(found->second);
}

std::optional<int> ConnectionRegistry::FindDescriptor(uint64_t id) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = fd_of_.find(id);
  if (found == fd_of_.end()) return std::nullopt;
  return found->second;
}

uint64_t ConnectionRegistry::FindPeer(std::string_view peer) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = of_peer_.find(absl::string_view(peer.data(), peer.size()));
  return found == of_peer_.end() ? 0 : found->second;
}

bool ConnectionRegistry::CutOne(uint64_t id, Cut how) {
  int fd = -1;
  uint64_t cookie = 0;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = fd_of_.find(id);
    if (found == fd_of_.end()) return false;
    fd = found->second;
    cookie = by_fd_.at(fd).cookie;
  }
  // Without the lock, because dropping the bytes takes time.
  if (!CutSocket(fd, cookie, how)) return false;
  const absl::MutexLock lock(&mutex_);
  if (Connection* const found = FindLocked(id)) {
    const bool is_first = !std::exchange(found->is_cut, true);
    if (is_first && found->address_group.empty()) cut_unix_.push_back(id);
  }
  return true;
}

size_t ConnectionRegistry::CountCutOver(int listener) {
  const absl::MutexLock lock(&mutex_);
  std::erase_if(cut_unix_, [this](uint64_t id) {
    mutex_.AssertHeld();
    const Connection* const found = FindLocked(id);
    if (found == nullptr) return true;
    if (SocketCookie(found->fd) == found->cookie) return false;
    RemoveLocked(found->fd);
    return true;
  });
  return static_cast<size_t>(
      std::count_if(cut_unix_.begin(), cut_unix_.end(), [&](uint64_t id) {
        mutex_.AssertHeld();
        return FindLocked(id)->listener == listener;
      }));
}

size_t ConnectionRegistry::CutAll(Cut how) {
  size_t cut = 0;
  for (const Connection& connection : List()) {
    cut += CutSocket(connection.fd, connection.cookie, how) ? 1 : 0;
  }
  return cut;
}

}  // namespace actord::daemon
