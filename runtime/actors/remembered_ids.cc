#include "runtime/actors/remembered_ids.h"

#include <algorithm>

namespace actord::runtime {

const RememberedIds::Entry* RememberedIds::Find(const Fingerprint& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

void RememberedIds::Remember(const Fingerprint& key, const Entry& entry,
                             uint64_t now_ns, uint64_t left_ns) {
  const uint64_t ttl_ns = std::min(left_ns, bounds_.ttl_ns);
  entries_[key] = entry;
  expiries_.push_back(
      {ttl_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + ttl_ns, key});
  ForgetOld(now_ns);
}

void RememberedIds::ForgetOld(uint64_t now_ns) {
  while (!expiries_.empty() && (expiries_.size() > bounds_.max ||
                                expiries_.front().at_ns <= now_ns)) {
    entries_.erase(expiries_.front().key);
    expiries_.pop_front();
  }
}

}  // namespace actord::runtime
