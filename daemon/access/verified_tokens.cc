#include "daemon/access/verified_tokens.h"

#include <cstring>
#include <span>

#include "identity/random.h"

namespace actord::daemon {
namespace {

// A token has fewer bytes (identity/token_text.h).
constexpr size_t kMaxTextBytes = 96;
constexpr size_t kWords = kMaxTextBytes / sizeof(uint64_t);

}  // namespace

VerifiedTokens::VerifiedTokens() {
  std::array<uint8_t, sizeof secret_> bytes{};
  is_on_ = identity::FillRandom(bytes).ok();
  std::memcpy(&secret_, bytes.data(), bytes.size());
}

std::optional<VerifiedTokens::Key> VerifiedTokens::KeyOf(
    std::string_view text) const {
  if (text.size() > kMaxTextBytes) return std::nullopt;
  // The length, and then the text, filled up with zeros.
  std::array<uint64_t, 1 + kWords> words{text.size()};
  std::memcpy(&words[1], text.data(), text.size());
  const std::span<const uint64_t> used(
      words.data(),
      1 + (text.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  return runtime::SipHash128(secret_, used);
}

VerifiedTokens::Found VerifiedTokens::Find(std::string_view text,
                                           uint64_t generation) const {
  const std::optional<Key> key = is_on_ ? KeyOf(text) : std::nullopt;
  if (!key.has_value()) return {};
  const Slot& slot = slots_[key->front() % kSlots];
  const absl::ReaderMutexLock lock(&slot.mutex);
  if (slot.key != *key || slot.generation != generation) return {};
  return slot.found;
}

void VerifiedTokens::Keep(std::string_view text, uint64_t generation,
                          const Token& token) {
  const std::optional<Key> key = is_on_ ? KeyOf(text) : std::nullopt;
  if (!key.has_value()) return;
  Slot& slot = slots_[key->front() % kSlots];
  const absl::MutexLock lock(&slot.mutex);
  slot.key = *key;
  slot.generation = generation;
  slot.found = {token, {}};
}

void VerifiedTokens::KeepHolder(std::string_view text, const Token& token,
                                const Holder& holder) {
  const std::optional<Key> key = is_on_ ? KeyOf(text) : std::nullopt;
  if (!key.has_value()) return;
  Slot& slot = slots_[key->front() % kSlots];
  const absl::MutexLock lock(&slot.mutex);
  // The slot has another token by now if another text needed it.
  if (slot.found.token == token) slot.found.holder = holder;
}

}  // namespace actord::daemon
