#include "runtime/actors/request_ids.h"

#include <array>
#include <utility>

#include "runtime/table/home_pid.h"

namespace actord::runtime {

RequestIds::RequestIds(const Options& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      remembered_(options.bounds),
      durable_(options.durable) {}

Fingerprint RequestKeyOf(const SipKey& secret, Owner owner,
                         std::string_view id) {
  const auto number = static_cast<uint16_t>(owner);
  const std::array<char, 2> bytes = {static_cast<char>(number),
                                     static_cast<char>(number >> 8)};
  return FingerprintOf(secret, {{{bytes.data(), bytes.size()}, id}});
}

RequestIds::Key RequestIds::KeyOf(Owner owner, std::string_view id) const {
  return RequestKeyOf(options_.ids, owner, id);
}

RequestIds::Role RequestIds::Begin(const Key& key, const Fingerprint& content,
                                   Callback callback) {
  Pid answer;
  {
    const MutexLock lock(mutex_);
    const uint64_t now_ns = clock_.MonotonicNs();
    remembered_.ForgetOld(now_ns);
    durable_.ForgetOld(now_ns);
    const RememberedIds::Entry* known = durable_.Find(key);
    if (known == nullptr) known = remembered_.Find(key);
    if (known == nullptr) {
      const auto [found, inserted] = flights_.try_emplace(key);
      Flight& flight = found->second;
      if (inserted) {
        flight.content = content;
        return Role::kFirst;
      }
      if (flight.content != content) return Role::kReused;
      flight.waiting.push_back(std::move(callback));
      return Role::kRepeat;
    }
    if (known->content != content) return Role::kReused;
    answer = known->answer;
  }
  std::move(callback)(answer);
  return Role::kRepeat;
}

void RequestIds::End(const Key& key, const absl::StatusOr<Pid>& answer) {
  std::vector<Callback> waiting;
  {
    const MutexLock lock(mutex_);
    const auto found = flights_.find(key);
    if (found == flights_.end()) return;
    waiting = std::move(found->second.waiting);
    if (answer.ok()) {
      RememberedIds& ids = IsHomePid(*answer) ? durable_ : remembered_;
      ids.Remember(key, {found->second.content, *answer}, clock_.MonotonicNs());
    }
    flights_.erase(found);
  }
  for (Callback& callback : waiting) std::move(callback)(answer);
}

void RequestIds::Restore(const Key& key, const RememberedIds::Entry& entry,
                         uint64_t left_ns) {
  const MutexLock lock(mutex_);
  durable_.Remember(key, entry, clock_.MonotonicNs(), left_ns);
}

size_t RequestIds::size() const {
  const MutexLock lock(mutex_);
  return flights_.size() + remembered_.size() + durable_.size();
}

}  // namespace actord::runtime
